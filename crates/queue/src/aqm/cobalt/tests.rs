use super::super::control_law::{EXACT, NEWTON};
use super::*;

const MS: u64 = 1_000_000;

fn params() -> Params {
    Params { target: 5 * MS, interval: 100 * MS, mtu_time: 0, roots: &EXACT }
}

/// Judges an ECT(0) packet that has waited `sojourn`.
fn judge(q: &mut Cobalt, p: &Params, now: u64, sojourn: u64, rng: &mut Rng) -> Verdict {
    let mut pkt = Packet { stamp: Time(now - sojourn), tos: 2, ..Packet::default() };
    q.judge(p, Time(now), &mut pkt, 0, rng)
}

// KAT cobalt 1
#[test]
fn exact_table_is_the_reciprocal_square_root_of_its_index() {
    for (count, root) in EXACT.iter().enumerate().skip(1) {
        let exact = (1_u64 << 32) as f64 / (count as f64).sqrt();
        assert!((f64::from(*root) - exact).abs() <= 1.0, "{count}: {root} {exact}");
    }
    assert_eq!((EXACT[0], EXACT[2], EXACT[15]), (u32::MAX, 3037000500, 1108955788));
}

// KAT cobalt 1, cobalt2 2
#[test]
fn newton_table_differs_at_two_three_and_six() {
    for (count, (newton, exact)) in NEWTON.iter().zip(EXACT).enumerate() {
        match count {
            2 => assert_eq!((*newton, exact - newton), (0xB4EA_D8A0, 1_710_740)),
            3 => assert_eq!(*newton, 0x93CD_39E7),
            6 => assert_eq!(*newton, 0x6882_F5BF),
            _ => assert_eq!(*newton, exact, "{count}"),
        }
    }
}

// KAT cobalt 2
#[test]
fn fresh_state_signals_the_second_packet_over_target() {
    let (mut q, mut rng) = (Cobalt::new(0), Rng::named(1, "t"));
    let base = 1_000 * MS;
    let mut signals = Vec::new();
    for i in 0..40_300_u64 {
        if judge(&mut q, &params(), base + i * 10_000, 6 * MS, &mut rng).marked {
            signals.push(i);
        }
    }
    let expected = [1, 7072, 12845, 17845, 22317, 26400, 30179, 33715, 37048, 40210];
    assert_eq!(signals, expected);
}

// Linux 6.12 sch_cake.c cobalt_vars_init() leaves the root at zero.
#[test]
fn with_a_root_of_one_the_first_episode_waits_an_interval() {
    for (root, first) in [(0, 1), (u32::MAX, 10_000)] {
        let (mut q, mut rng) = (Cobalt::new(root), Rng::named(1, "t"));
        let base = 1_000 * MS;
        // A packet in time starts the clock; after a pause both signal the second late packet.
        judge(&mut q, &params(), base - 1, 0, &mut rng);
        let signal = (0..20_000_u64)
            .find(|i| judge(&mut q, &params(), base + i * 10_000, 6 * MS, &mut rng).marked);
        assert_eq!(signal, Some(first));
    }
}

#[test]
fn packets_without_ecn_are_dropped_instead() {
    let (mut q, mut rng) = (Cobalt::new(0), Rng::named(1, "t"));
    for (at, drop) in [(0, false), (1, true)] {
        let mut pkt = Packet { stamp: Time(0), ..Packet::default() };
        let verdict = q.judge(&params(), Time((100 + at) * MS), &mut pkt, 0, &mut rng);
        assert_eq!((verdict.drop, verdict.marked), (drop, false));
    }
}

#[test]
fn delay_within_four_frames_or_two_per_sharer_is_none() {
    let p = Params { mtu_time: 2 * MS, ..params() };
    for (sojourn, sharers, over) in [(8, 0, false), (9, 0, true), (40, 10, false), (41, 10, true)] {
        let (mut q, mut rng) = (Cobalt::new(0), Rng::named(1, "t"));
        let mut pkt = Packet { stamp: Time(0), tos: 2, ..Packet::default() };
        let verdict = q.judge(&p, Time(sojourn * MS), &mut pkt, sharers, &mut rng);
        assert_eq!(verdict.over, over, "{sojourn} ms, {sharers}");
    }
}

// Linux 6.12 sch_cake.c cobalt_queue_full(), cobalt_queue_empty().
#[test]
fn blue_rises_once_per_target_and_falls_sixteen_times_slower() {
    let (mut q, p) = (Cobalt::new(0), params());
    assert!(q.queue_full(&p, Time(0)));
    assert!(!q.queue_full(&p, Time(5 * MS)));
    assert_eq!((q.p_drop, q.count, q.dropping), (P_INC, 1, true));
    assert!(!q.queue_full(&p, Time(5 * MS + 1)));
    assert_eq!(q.p_drop, 2 * P_INC);
    let mut empties = 0;
    let mut now = 100 * MS;
    while q.p_drop != 0 {
        q.queue_empty(&p, Time(now));
        now += 6 * MS;
        empties += 1;
    }
    assert_eq!(empties, 32);
    q.p_drop = u32::MAX - 1;
    q.queue_full(&p, Time(now));
    assert_eq!(q.p_drop, u32::MAX);
}

#[test]
fn blue_drops_ecn_capable_packets_with_its_probability() {
    let (mut q, mut rng, p) = (Cobalt::new(0), Rng::named(1, "t"), params());
    q.p_drop = 1 << 30;
    let hits = (0..10_000).filter(|i| judge(&mut q, &p, 1_000 * MS + i, 0, &mut rng).blue).count();
    assert!((2300..2700).contains(&hits), "{hits}");
}

// Linux 6.12 reciprocal_scale() takes both arguments as 32 bits.
#[test]
fn an_interval_beyond_32_bits_of_nanoseconds_wraps() {
    let q = Cobalt::new(u32::MAX);
    let p = Params { interval: (1 << 32) + 1000, ..params() };
    assert_eq!(q.control(0, &p), 999);
}

#[test]
fn an_idle_queue_counts_back_to_rest() {
    let (mut q, mut rng, p) = (Cobalt::new(0), Rng::named(1, "t"), params());
    for i in 0..400 {
        judge(&mut q, &p, 1_000 * MS + i * MS, 6 * MS, &mut rng);
    }
    assert_eq!(q.count, 10);
    assert!(!q.at_rest(Time(1_400 * MS)));
    judge(&mut q, &p, 10_000 * MS, 0, &mut rng);
    assert_eq!(q.count, 0);
    assert!(!q.at_rest(Time(10_099 * MS)) && q.at_rest(Time(10_100 * MS)));
}
