//! What is drawn is valid, named for ever, and spread.

use std::collections::BTreeMap;

use super::*;

#[test]
fn every_case_is_a_scenario() {
    for kinds in [Kinds::Linux, Kinds::All] {
        for index in 0..1500 {
            if let Err(error) = draw(kinds, 1, index) {
                panic!("{error}\n{}", text(kinds, 1, index));
            }
        }
    }
}

#[test]
fn every_small_case_is_a_scenario_of_few_packets() {
    for index in 0..1500 {
        let case = draw_small(1, index);
        let case = case.unwrap_or_else(|error| panic!("{error}\n{}", text_small(1, index)));
        let rate = case.links[0].forward.rate().expect("it has a rate");
        let packets = rate.0 as f64 * case.duration.as_secs_f64() / FRAME_BITS;
        assert!(packets <= SMALL as f64 * 1.01, "case {index}: {packets}");
    }
}

/// Records of a kernel's runs name these cases by seed and index: a change needs new [`RULES`], and new records.
#[test]
fn what_kernels_were_asked_is_what_is_drawn() {
    let hash = (0..2000).fold(0xcbf2_9ce4_8422_2325_u64, |hash, index| {
        text(Kinds::Linux, 1, index)
            .bytes()
            .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    assert_eq!((RULES, hash), (3, 0x1d5a9e8630f67915));
}

#[test]
fn a_case_is_the_same_whatever_was_drawn_before() {
    let alone = text(Kinds::Linux, 7, 123);
    let _ = text(Kinds::Linux, 7, 122);
    assert_eq!(text(Kinds::Linux, 7, 123), alone);
    assert_ne!(text(Kinds::Linux, 8, 123), alone);
}

#[test]
fn no_case_sends_more_packets_than_it_may() {
    for index in 0..500 {
        let case = draw(Kinds::Linux, 3, index).expect("it is valid");
        let rate = case.links[0].forward.rate().expect("it has a shaper");
        let packets = rate.0 as f64 * case.duration.as_secs_f64() / FRAME_BITS;
        assert!(packets <= PACKETS as f64 * 1.01, "case {index}: {packets}");
    }
}

#[test]
fn rates_round_trips_and_queues_are_spread() {
    let mut queues = BTreeMap::new();
    let (mut slow, mut fast, mut near, mut far) = (0, 0, 0, 0);
    for index in 0..600 {
        let case = draw(Kinds::Linux, 5, index).expect("it is valid");
        let forward = &case.links[0].forward;
        let rate = forward.rate().expect("it has a shaper").0;
        slow += u32::from(rate < 5_000_000);
        fast += u32::from(rate > 100_000_000);
        near += u32::from(forward.delay < Dur::from_millis(3));
        far += u32::from(forward.delay > Dur::from_millis(50));
        let name = forward.qdisc.to_string();
        *queues.entry(name.split(' ').next().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    assert!(slow.min(fast).min(near).min(far) > 60, "{slow} {fast} {near} {far}");
    assert!(queues.len() >= 12, "{queues:?}");
    assert!(queues.values().all(|count| *count > 20), "{queues:?}");
}
