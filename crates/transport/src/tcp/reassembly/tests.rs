use proptest::prelude::*;

use super::*;

#[test]
fn a_filled_hole_is_reported_alone_when_its_neighbours_are_forgotten() {
    let mut r = Reassembly::new();
    for n in 0..6 {
        r.store((n * 20, n * 20 + 10));
    }
    assert_eq!(r.report(None).as_slice(), [(100, 110), (80, 90), (60, 70)]);
    assert!(r.displaces((10, 20), REMEMBERED) && !r.displaces((110, 120), REMEMBERED));
    assert!(r.displaces((50, 55), 2) && !r.displaces((90, 95), 2));
    r.extend((70, 75));
    assert_eq!(r.report(None).as_slice(), [(100, 110), (80, 90), (60, 75)]);
    r.store((10, 20));
    assert_eq!(r.report(None).as_slice()[0], (10, 20));
    assert!(r.holds((0, 30)));
}

#[test]
fn blocks_that_meet_are_one() {
    let mut r = Reassembly::new();
    r.store((10, 20));
    r.store((30, 40));
    r.store((20, 30));
    assert_eq!(r.report(Some((0, 5))).as_slice(), [(0, 5), (10, 40)]);
    assert_eq!(r.absorb(10), 40);
    assert!(r.is_empty() && r.report(None).is_empty());
}

proptest! {
    #[test]
    fn everything_stored_is_delivered_once_and_in_order(order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle()) {
        let (mut r, mut next) = (Reassembly::new(), 0);
        for n in order {
            if n == next {
                next = r.absorb(n + 1);
            } else {
                r.store((n, n + 1));
            }
            for (start, end) in r.report(None).as_slice() {
                prop_assert!(next < *start && r.holds((*start, *end)));
            }
        }
        prop_assert_eq!(next, 40);
        prop_assert!(r.is_empty());
    }
}
