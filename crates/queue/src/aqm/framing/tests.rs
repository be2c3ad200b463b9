use super::*;
use sojourn_core::grammar::{read, table};

#[test]
fn names_of_one_text_add_up_and_replace_the_overhead_before() {
    let mut framing = Framing::default();
    for (text, overhead) in [
        ("docsis", Some(18)),
        ("mpu 84 ptm", Some(18)),
        ("ethernet ether-vlan", Some(42)),
        ("overhead 10 ether-vlan", Some(14)),
        ("ether-vlan", Some(4)),
        ("ethernet conservative", Some(48)),
        ("ethernet raw", None),
    ] {
        read(&mut framing, &mut Args::of("t", &table::<Framing>, text)).unwrap();
        assert_eq!(framing.overhead.map(|overhead| overhead.bytes), overhead, "{text}");
    }
}
