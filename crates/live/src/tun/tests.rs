use super::*;

#[test]
fn a_name_is_refused_before_the_kernel_sees_it() {
    for name in ["", ".", "..", "a/b", "a b", "tun%d", "sixteen-letters-"] {
        let refused = Tun::open(name).expect_err("no name").to_string();
        assert!(refused.starts_with(&format!("device `{name}`: expected 1 to 15")), "{refused}");
    }
    assert!(Request::of("fifteen-letters").is_some());
}

#[test]
fn a_request_is_as_large_as_the_kernel_s() {
    // 32 bytes where pointers have four.
    assert!(size_of::<Request>() >= size_of::<libc::ifreq>());
    assert_eq!(Request::of("t0").expect("a name").name[..3], *b"t0\0");
}
