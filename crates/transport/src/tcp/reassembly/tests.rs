use proptest::prelude::*;

use super::*;

fn store(r: &mut Reassembly, range: Range) {
    r.hold(range, 1);
    r.touch(range);
}

#[test]
fn a_filled_hole_is_reported_alone_when_its_neighbours_are_forgotten() {
    let mut r = Reassembly::new();
    for n in 0..6 {
        store(&mut r, (n * 20, n * 20 + 10));
    }
    assert_eq!(r.report(None).as_slice(), [(100, 110), (80, 90), (60, 70)]);
    assert!(r.displaces((10, 20), REMEMBERED) && !r.displaces((110, 120), REMEMBERED));
    assert!(r.displaces((50, 55), 2) && !r.displaces((90, 95), 2));
    r.extend((70, 75));
    assert_eq!(r.report(None).as_slice(), [(100, 110), (80, 90), (60, 75)]);
    store(&mut r, (10, 20));
    assert_eq!(r.report(None).as_slice()[0], (10, 20));
    assert!(r.holds((0, 30)));
}

#[test]
fn blocks_that_meet_are_one() {
    let mut r = Reassembly::new();
    store(&mut r, (10, 20));
    store(&mut r, (30, 40));
    store(&mut r, (20, 30));
    assert_eq!(r.report(Some((0, 5))).as_slice(), [(0, 5), (10, 40)]);
    assert_eq!(r.absorb(10, |_, _| ()), 40);
    assert!(r.is_empty() && r.report(None).is_empty());
}

#[test]
fn a_packet_takes_in_what_continues_it_up_to_17_pieces() {
    let mut r = Reassembly::new();
    assert!(!r.hold((100, 110), 1), "the first one is a packet");
    assert!((1..17).all(|n| r.hold((100 + n * 10, 110 + n * 10), 1)));
    assert!(!r.hold((270, 280), 1), "the 18th is another one");
    assert!(!r.hold((80, 90), 1) && r.hold((90, 100), 1), "what meets a packet does not join it");
    assert_eq!((r.bytes(), r.packets()), (200, 3));
    let mut pieces = Vec::new();
    assert_eq!(r.absorb(80, |bytes, n| pieces.push((bytes, n))), 280);
    assert_eq!((pieces, r.packets()), (vec![(20, 2), (170, 17), (10, 1)], 0));
    // A packet takes the place of those that it covers.
    assert!(!r.hold((300, 310), 1) && !r.hold((320, 330), 1) && !r.hold((290, 340), 5));
    assert_eq!((r.bytes(), r.packets()), (50, 1));
}

#[test]
fn a_segment_over_the_end_of_a_block_has_two_pieces() {
    assert_eq!(pieces((1, 1449), 1), 1);
    assert_eq!(pieces((31_321, 32_769), 1), 1, "it ends with the block of 32 KiB");
    assert_eq!(pieces((32_769, 34_217), 1), 1, "it begins with the next one");
    assert_eq!(pieces((31_322, 32_770), 1), 2);
    assert_eq!(pieces((1, 65_538), 45), 47);
}

proptest! {
    #[test]
    fn everything_stored_is_delivered_once_and_in_order(order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle()) {
        let (mut r, mut next) = (Reassembly::new(), 0);
        for n in order {
            if n == next {
                next = r.absorb(n + 1, |_, _| ());
            } else {
                store(&mut r, (n, n + 1));
            }
            for (start, end) in r.report(None).as_slice() {
                prop_assert!(next < *start && r.holds((*start, *end)));
            }
        }
        prop_assert_eq!(next, 40);
        prop_assert!(r.is_empty());
    }
}
