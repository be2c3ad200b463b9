use super::*;

#[test]
fn a_request_is_as_large_as_the_kernel_s() {
    // 32 bytes where pointers have four.
    assert!(size_of::<Request>() >= size_of::<libc::ifreq>());
    assert_eq!(Request::of("t0").expect("a name").name[..3], *b"t0\0");
}
