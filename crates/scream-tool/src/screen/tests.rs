use super::*;

#[test]
fn the_other_end_cannot_control_the_terminal() {
    assert_eq!(harmless(b" 1.0, \x1b[2J\n\xff"), " 1.0, ?[2J??");
    assert_eq!(harmless(&[b'a'; 1000]).len(), 450);
}
