use super::*;

const MS: u64 = 1_000_000;

#[test]
fn the_first_packet_of_a_value_and_its_first_echo_are_a_round_trip() {
    let mut stamps = Stamps::default();
    for (at, value) in [(0, 100), (1, 100), (2, 101), (3, 100), (4, 103)] {
        stamps.sent(at * MS, value, true);
    }
    assert_eq!(stamps.echoed(20 * MS, 100), Some(20 * MS));
    assert_eq!(stamps.echoed(21 * MS, 100), None);
    assert_eq!(stamps.echoed(22 * MS, 102), None, "never sent");
    assert_eq!(stamps.echoed(23 * MS, 101), None, "older than an echo before it");
    assert_eq!(stamps.echoed(24 * MS, 103), Some(20 * MS));
    assert!(stamps.is_old(102) && !stamps.is_old(103));
}

#[test]
fn a_pure_ack_waits_for_no_echo() {
    let mut stamps = Stamps::default();
    stamps.sent(0, 100, false);
    stamps.sent(MS, 100, true);
    stamps.sent(2 * MS, 101, false);
    assert_eq!(stamps.echoed(21 * MS, 100), Some(20 * MS));
    assert_eq!(stamps.echoed(41_000 * MS, 101), None);
    assert!(stamps.is_old(100) && !stamps.is_old(101));
}

#[test]
fn values_wrap_and_wait_in_bounded_number() {
    let mut stamps = Stamps::default();
    for n in 0..3 * MOST_STAMPS as u32 {
        stamps.sent(u64::from(n) * MS, (u32::MAX - 100).wrapping_add(n), true);
    }
    assert_eq!(stamps.waiting.len(), MOST_STAMPS);
    assert_eq!(stamps.tick_ms(), Some(1.0));
}

#[test]
fn the_tick_of_a_clock_that_nobody_has_is_given_as_it_is() {
    let mut stamps = Stamps::default();
    (0..100).for_each(|n| stamps.sent(u64::from(n) * 7 * MS, n, true));
    assert_eq!(stamps.tick_ms(), Some(7.0));
    let mut few = Stamps::default();
    (0..10).for_each(|n| few.sent(u64::from(n) * MS, n, true));
    assert_eq!(few.tick_ms(), None);
}
