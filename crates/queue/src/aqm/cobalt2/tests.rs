use super::*;
use sojourn_core::ecn::Ecn;
use sojourn_core::units::Time;

const MS: u64 = 1_000_000;
const START: u64 = 1000 * 1_000_000_000;

fn packet(ecn: Ecn) -> Packet {
    Packet { len: 1514, tos: ecn as u8, stamp: Time::ZERO, ..Packet::default() }
}

fn law(version: Version, divisor: u16) -> Law {
    Law::new(&LawParams::with_divisor(divisor), version)
}

/// Milliseconds at which packets 1 ms apart, with the delays that `sojourn_ms` gives, are marked
/// `codepoint`; controllers begin fresh 1000 s after boot.
fn marks(version: Version, codepoint: Ecn, last: u64, sojourn_ms: impl Fn(u64) -> u64) -> Vec<u64> {
    let law = law(version, 4);
    let (mut cobalt, mut log) = (Cobalt2::default(), Log::default());
    let mut rng = Rng::named(1, "t");
    (0..=last)
        .filter(|ms| {
            let mut pkt = packet(Ecn::Ect0);
            let judged = Judged::plain(START + ms * MS, sojourn_ms(*ms) * MS);
            assert_eq!(cobalt.should_drop(&law, &judged, &mut pkt, &mut rng, &mut log), None);
            pkt.ecn() == codepoint
        })
        .collect()
}

// KAT cobalt2 2, cobalt 1
#[test]
fn dynamic_cache_differs_from_the_exact_one_in_three_places() {
    let expected = [
        u32::MAX,
        u32::MAX,
        0xB4EA_D8A0,
        0x93CD_39E7,
        2147483647,
        1920767767,
        0x6882_F5BF,
        1623345051,
        1518500250,
        1431655765,
        1358187914,
        1294981364,
        1239850263,
        1191209601,
        1147878294,
        1108955788,
    ];
    assert_eq!(NEWTON, expected);
}

// KAT cobalt2 1
#[test]
fn sce_marks_after_a_short_leave_follow_each_law() {
    let delay = |ms| if ms == 1 { 2 } else { 3 };
    let reflected = [3, 20, 35, 47, 58, 68, 78, 87, 95, 103];
    assert_eq!(marks(Version::V2020, Ecn::Ect1, 103, delay), reflected);
    let restarted = [27, 45, 60, 72, 83, 93, 103];
    assert_eq!(marks(Version::V2019, Ecn::Ect1, 103, delay), restarted);
    assert_eq!(marks(Version::V2022, Ecn::Ect1, 103, delay), restarted);
}

// KAT cobalt2 1
#[test]
fn sce_marks_of_a_steady_first_episode_follow_each_law() {
    let expected = [1, 18, 33, 45, 56, 66, 76, 85, 93];
    assert_eq!(marks(Version::V2019, Ecn::Ect1, 93, |_| 3), expected);
    assert_eq!(marks(Version::V2022, Ecn::Ect1, 93, |_| 3), expected);
    assert_eq!(marks(Version::V2020, Ecn::Ect1, 1000, |_| 3), [0; 0]);
}

// KAT cobalt2 4
#[test]
fn reflection_of_fresh_state_is_twice_the_uptime() {
    let law = law(Version::V2020, 4);
    let (mut cobalt, mut log) = (Cobalt2::default(), Log::default());
    let judged = Judged::plain(START, 3 * MS);
    let mut rng = Rng::named(1, "t");
    let drop = cobalt.should_drop(&law, &judged, &mut packet(Ecn::Ect0), &mut rng, &mut log);
    assert_eq!((drop, cobalt.sce_next), (None, 2 * START));
}

// KAT cobalt2 1
#[test]
fn ce_marks_are_the_same_in_every_law() {
    for version in [Version::V2019, Version::V2020, Version::V2022] {
        let expected = [1, 71, 129, 179, 224, 264, 302, 338];
        assert_eq!(marks(version, Ecn::Ce, 338, |_| 6), expected, "{version:?}");
    }
}

// KAT cobalt2 3
#[test]
fn unmarkable_packets_leave_the_sce_mark_to_the_next_ect0_packet() {
    let law = law(Version::V2022, 4);
    for blind in [Ecn::NotEct, Ecn::Ect1] {
        let (mut cobalt, mut log) = (Cobalt2::default(), Log::default());
        let mut rng = Rng::named(1, "t");
        for ms in 0..500 {
            let judged = Judged::plain(START + ms * MS, 3 * MS);
            let mut pkt = packet(blind);
            assert_eq!(cobalt.should_drop(&law, &judged, &mut pkt, &mut rng, &mut log), None);
            assert_eq!((cobalt.sce_count, pkt.ecn()), (1, blind));
        }
        let mut pkt = packet(Ecn::Ect0);
        let judged = Judged::plain(START + 500 * MS, 3 * MS);
        assert_eq!(cobalt.should_drop(&law, &judged, &mut pkt, &mut rng, &mut log), None);
        assert_eq!((cobalt.sce_count, pkt.ecn()), (2, Ecn::Ect1));
    }
}

#[test]
fn blue_rises_once_per_target_beyond_its_threshold_and_falls_when_empty() {
    let law = law(Version::V2020, 0);
    let (mut cobalt, mut log) = (Cobalt2::default(), Log::default());
    let mut rng = Rng::named(1, "t");
    for ms in 0..=12 {
        let judged = Judged::plain(START + ms * MS, 401 * MS);
        let _ = cobalt.should_drop(&law, &judged, &mut packet(Ecn::Ect0), &mut rng, &mut log);
    }
    assert_eq!(cobalt.p_drop, 3 * P_INC);
    cobalt.queue_empty(&law, START + 13 * MS);
    assert_eq!(cobalt.p_drop, 3 * P_INC, "5 ms after the last rise are not over");
    cobalt.queue_empty(&law, START + 20 * MS);
    assert_eq!(cobalt.p_drop, 3 * P_INC - P_DEC);
    assert!(!cobalt.ce_dropping);
}

#[test]
fn delay_counts_by_the_share_of_the_flow() {
    let judged = Judged { now: START, sojourn: 4 * MS, weight: (3, 2) };
    assert!(judged.exceeds(6 * MS - 1) && !judged.exceeds(6 * MS));
    // The last packet of the last flow weighs nothing.
    assert!(!Judged { weight: (0, 1), ..judged }.exceeds(0));
}

// Linux 6.12 reciprocal_scale() takes both arguments as 32 bits.
#[test]
fn intervals_of_four_seconds_wrap() {
    assert_eq!(control(0, 1 << 32, u32::MAX), 0);
    assert_eq!(control(7, (1 << 32) + 10, u32::MAX), 7 + 9);
}

// chromi/sce 2020: COBALT2's parameters, sch_twin_codel_af.
#[test]
fn one_instance_takes_48_bytes_and_the_low_latency_class_a_fifth_of_each_time() {
    assert_eq!(std::mem::size_of::<Cobalt2>(), 48);
    let low = law(Version::V2020, 4).fifth();
    assert_eq!((low.ce_interval, low.ce_target), (20 * MS, MS));
    assert_eq!((low.sce_interval, low.sce_target, low.blue_thresh), (5 * MS, MS / 2, 80 * MS));
    assert_eq!(law(Version::V2020, 0).fifth().sce_interval, 0);
}
