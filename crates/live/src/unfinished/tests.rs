use super::*;

/// A TSO packet of TCP over IPv4 with CWR, as Linux describes it: a sum from byte 20 on whose field is 16
/// bytes behind.
fn tso() -> [u8; Unfinished::BYTES] {
    let mut bytes = [0; Unfinished::BYTES];
    (bytes[0], bytes[1]) = (NEEDS_CSUM, GSO_TCPV4 | GSO_ECN);
    for (at, number) in [(2, 52_u16), (4, 1448), (6, 20), (8, 16)] {
        bytes[at..at + 2].copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}

#[test]
fn it_says_what_is_to_be_done() {
    let header = Unfinished::read(&tso());
    assert_eq!(header.checksum(), Some((20, 16)));
    let segments = Segments { size: 1448, cwr_first: true, by_transport: true };
    assert_eq!(header.segments(), Some(segments));
}

#[test]
fn zeros_and_too_few_bytes_are_a_whole_packet() {
    for bytes in [&[0; 100][..], &tso()[..9], &[]] {
        let header = Unfinished::read(bytes);
        assert_eq!((header.checksum(), header.segments()), (None, None));
    }
}

#[test]
fn fragments_of_a_datagram_are_not_cut_as_udp() {
    // VIRTIO_NET_HDR_GSO_UDP.
    let header = Unfinished::read(&[0, 3, 0, 0, 5, 0, 0, 0, 0, 0]);
    assert_eq!(header.segments().map(|it| it.by_transport), Some(false));
}
