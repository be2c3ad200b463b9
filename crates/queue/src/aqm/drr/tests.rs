use super::*;

#[test]
fn new_flows_go_first_and_join_the_old_ones_after_a_quantum() {
    let mut r = Rotation::new(3);
    r.arrived(0, 100);
    assert_eq!(r.next(100), Some(0));
    r.sent(0, 150);
    r.arrived(1, 100);
    // Flow 0 owes 50 bytes; its quantum moves it behind the new flow.
    assert_eq!((r.next(100), r.lengths()), (Some(1), [1.0, 1.0]));
    r.emptied();
    assert_eq!((r.next(100), r.lengths()), (Some(0), [0.0, 2.0]));
}

#[test]
fn an_emptied_flow_is_new_again_only_after_a_round() {
    let mut r = Rotation::new(2);
    r.arrived(0, 100);
    r.next(100);
    r.sent(0, 100);
    r.next(100);
    r.arrived(1, 100);
    assert_eq!(r.next(100), Some(1));
    r.emptied();
    r.arrived(1, 100);
    assert_eq!((r.joined, r.next(100)), (2, Some(0)));
    r.emptied();
    r.emptied();
    r.arrived(1, 100);
    assert_eq!((r.joined, r.lengths()), (3, [1.0, 0.0]));
}
