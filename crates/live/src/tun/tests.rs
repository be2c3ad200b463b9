use super::*;

#[test]
fn a_name_is_refused_before_the_kernel_sees_it() {
    for name in ["", ".", "..", "a/b", "a b", "tun%d", "sixteen-letters-"] {
        let refused = Tun::open(name).expect_err("no name").to_string();
        assert!(refused.starts_with(&format!("device `{name}`: expected 1 to 15")), "{refused}");
    }
    assert!(Request::of("fifteen-letters").is_some());
}
