use super::*;

const MSS: u64 = 1448;

// Linux 5.4: `MAX_TCP_HEADER` is 128 bytes, the longest link-layer header (128 with wireless meshes, 96 with other
// wireless devices, 32 without) and 48 for tunnels.
#[test]
fn packets_and_copies_take_what_the_kernel_allocates() {
    for (header, copied, in_buffer) in [(208, 2304, 2304), (272, 2304, 4352), (304, 4352, 4352)] {
        let sizes = Memory::of_5(header, 1448);
        assert_eq!(sizes.packet(MSS), 2728);
        assert_eq!(sizes.segmented(MSS), 2728, "{header}");
        assert_eq!(sizes.segmented(2 * MSS), 2 * copied, "{header}");
        assert_eq!(sizes.segmented(2 * MSS + 1), 3 * copied, "{header}");
        assert_eq!(sizes.send_buffer(2, 100), 200 * in_buffer, "{header}");
    }
    // The buffer of a new connection (`ss -m`: tb87040, or tb46080).
    let first = [304, 208].map(|header| Memory::of_5(header, 1448).send_buffer(2, 1));
    assert_eq!(first, [87_040, 46_080]);
}

// Linux 7.2: heads of 704 bytes have a cache of their own.
#[test]
fn small_heads_are_not_rounded_up() {
    let sizes = Memory::of_7(MSS);
    assert_eq!((sizes.overhead(), sizes.segmented(2 * MSS)), (960, 2 * 4352));
    assert_eq!(sizes.send_buffer(2, 10), 87_040);
}
