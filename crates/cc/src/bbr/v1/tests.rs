use super::*;
use crate::build;

const RTT: Dur = Dur::from_millis(80);

fn path() -> Path {
    Path { mss: 1448, mtu: 1500, srtt: RTT, min_rtt: RTT, hz: 1000, ..Path::default() }
}

/// A connection that has filled a pipe of `bw`, at full phase `phase` of PROBE_BW.
fn cruising(bw: Bw, phase: usize) -> (V1, Window) {
    let (mut v1, mut win) = (V1::new(), Window::new(10));
    v1.on_established(Time::ZERO, &path(), &mut win);
    v1.max_bw.update(BW_ROUNDS, 0, bw);
    v1.full_pipe = true;
    v1.mode = Mode::ProbeBw;
    v1.phase = phase;
    v1.update_gains();
    v1.set_pacing_rate(&path(), bw, UNIT, &win);
    (v1, win)
}

/// 333 segments per 80 ms.
fn bdp_333() -> Bw {
    Bw::of(333, RTT)
}

fn sample(path: &Path, prior_delivered: u64, delivered: u32) -> RateSample {
    RateSample { delivered, interval: path.srtt, prior_delivered, ..RateSample::default() }
}

// KAT bbr1 1
#[test]
fn gains_of_a_probing_cycle_average_to_one() {
    assert_eq!(CYCLE.iter().sum::<u32>(), CYCLE.len() as u32 * UNIT);
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
}

// KAT bbr1 2: bursts at 333 segments per 80 ms and 99 % are 4 segments.
#[test]
fn cwnd_is_capped_at_two_bdp_and_three_bursts_rounded_to_even() {
    let (mut v1, mut win) = cruising(bdp_333(), 2);
    assert_eq!(v1.goal(), 4);
    let path = path();
    win.cwnd = 2000;
    v1.set_cwnd(&Ack { acked: 1, ..Ack::new(&path) }, &mut win);
    assert_eq!(win.cwnd, 2 * 333 + 3 * 4);
    // In the probing phase two more, and one segment per burst of room at odd windows.
    v1.phase = 0;
    win.cwnd = 2000;
    v1.set_cwnd(&Ack { acked: 1, ..Ack::new(&path) }, &mut win);
    assert_eq!(win.cwnd, 2 * 333 + 3 * 4 + 2);
}

// KAT bbr1 3: 50 Mbit/s of 1500-byte packets over 80 ms.
#[test]
fn two_bdp_of_a_real_rate_are_rounded_up() {
    let bw = Bw::of(50_000_000 / 8 / 15, Dur::from_secs(100));
    assert_eq!((bw.bdp(RTT, UNIT), bw.bdp(RTT, CWND_GAIN)), (334, 667));
    let (v1, _) = cruising(bw, 2);
    assert_eq!(v1.inflight(bw, CWND_GAIN), 680); // 667 + 12, made even
}

// KAT bbr1 4
#[test]
fn first_pacing_rate_is_the_initial_window_per_rtt_at_the_high_gain() {
    let (mut v1, mut win) = (V1::new(), Window::new(10));
    v1.on_established(Time::ZERO, &path(), &mut win);
    let ideal = 10.0 * 1448.0 * 8.0 / 0.08 * 2.885 * 0.99;
    assert!((v1.pacing.0 as f64 / ideal - 1.0).abs() < 2e-3, "{:?}", v1.pacing);
    let mut unknown = V1::new();
    unknown.on_established(Time::ZERO, &Path { srtt: Dur::ZERO, ..path() }, &mut win);
    assert!((unknown.pacing.0 as f64 / (80.0 * ideal) - 1.0).abs() < 2e-3, "{:?}", unknown.pacing);
}

// KAT bbr1 5
#[test]
fn three_rounds_without_a_quarter_more_bandwidth_fill_the_pipe() {
    let (mut v1, mut win) = (V1::new(), Window::new(10));
    let mut path = path();
    v1.on_established(Time::ZERO, &path, &mut win);
    let mut now = Time::ZERO;
    let mut rounds = Vec::new();
    for delivered in [10, 20, 40, 49, 61, 61, 70, 76] {
        now += RTT;
        let rate = Some(sample(&path, path.delivered, delivered));
        path.delivered += u64::from(delivered);
        path.in_flight = 1000;
        v1.on_ack(now, &Ack { acked: delivered, rate, ..Ack::new(&path) }, &mut win);
        rounds.push(v1.full_bw_count);
    }
    // 49 is less than 1.25 times 40, 61 is more; then 61, 70 and 76 are not 1.25 times 61.
    assert_eq!(rounds, [0, 0, 0, 1, 0, 1, 2, 3]);
    assert_eq!((v1.full_pipe, v1.mode), (true, Mode::Drain));
    assert_eq!(v1.pacing_gain, DRAIN_GAIN);
}

// KAT bbr1 10
#[test]
fn rate_samples_that_the_application_limited_count_only_if_they_raise_the_maximum() {
    let (mut v1, mut win) = (V1::new(), Window::new(10));
    let mut path = path();
    v1.on_established(Time::ZERO, &path, &mut win);
    for (delivered, app_limited, expected) in
        [(50, false, 50), (40, true, 50), (60, true, 60), (55, false, 60)]
    {
        let sample = RateSample { app_limited, ..sample(&path, path.delivered, delivered) };
        path.delivered += u64::from(delivered);
        let ack = Ack { acked: delivered, rate: Some(sample), ..Ack::new(&path) };
        v1.on_ack(Time::ZERO + RTT, &ack, &mut win);
        assert_eq!(v1.max_bw.get(), Bw::of(expected, RTT));
    }
}

// KAT bbr1 7
#[test]
fn a_cycle_begins_in_any_phase_but_the_draining_one() {
    let mut seen = [false; 8];
    let (mut v1, _) = cruising(bdp_333(), 0);
    v1.seed(Rng::named(3, "flow.a.cc"));
    for _ in 0..200 {
        v1.enter_probe_bw(Time::ZERO);
        seen[v1.phase] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

// KAT bbr1 6
#[test]
fn phases_last_a_minimum_rtt_but_wait_for_the_probe_and_end_with_the_drain() {
    let advanced = |phase: usize, after_ms: u64, in_flight: u32, lost: u32| {
        let (mut v1, _) = cruising(bdp_333(), phase);
        let path = path();
        let ack = Ack { prior_in_flight: in_flight, lost, ..Ack::new(&path) };
        v1.update_phase(Time::ZERO + Dur::from_millis(after_ms), &ack);
        v1.phase != phase
    };
    let probed = {
        let (v1, _) = cruising(bdp_333(), 0);
        v1.inflight(bdp_333(), CYCLE[0]) - v1.goal()
    };
    assert!(advanced(0, 81, probed, 0));
    assert!(!advanced(0, 81, probed - 1, 0), "the probe has not arrived");
    assert!(advanced(0, 81, probed - 1, 1), "the path cannot hold more");
    assert!(!advanced(0, 80, probed, 1), "less than a round trip");
    let (v1, _) = cruising(bdp_333(), 1);
    let drained = v1.inflight(bdp_333(), UNIT);
    assert!(advanced(1, 1, drained, 0));
    assert!(!advanced(1, 1, drained + 1, 0));
    assert!(advanced(1, 81, drained + 1, 0));
    assert!(advanced(4, 81, 9999, 0) && !advanced(4, 80, 0, 0));
}

// KAT bbr1 8
#[test]
fn minimum_rtt_is_probed_after_ten_seconds_with_four_segments_for_200_ms_and_a_round() {
    let (mut v1, mut win) = cruising(bdp_333(), 2);
    win.cwnd = 600;
    let mut path = Path { in_flight: 333, ..path() };
    let mut step = |ms: u64, in_flight: u32, win: &mut Window| {
        let rate = Some(sample(&path, path.delivered, 1));
        path.delivered += 1;
        path.in_flight = in_flight;
        let rtt = Some(RTT + Dur::from_millis(1));
        let ack = Ack { acked: 1, rate, rtt, ..Ack::new(&path) };
        v1.on_ack(Time::ZERO + Dur::from_millis(ms), &ack, win);
        (v1.mode, win.cwnd)
    };
    assert_eq!(step(10_000, 333, &mut win).0, Mode::ProbeBw);
    assert_eq!(step(10_001, 333, &mut win), (Mode::ProbeRtt, 4));
    assert_eq!(step(10_050, 4, &mut win), (Mode::ProbeRtt, 4));
    assert_eq!(step(10_250, 4, &mut win), (Mode::ProbeRtt, 4));
    let (mode, cwnd) = step(10_251, 4, &mut win);
    assert_eq!(mode, Mode::ProbeBw);
    assert!(cwnd >= 600, "{cwnd}");
}

// KAT bbr1 9
#[test]
fn recovery_conserves_packets_for_a_round_and_returns_to_the_window_before() {
    let (mut v1, mut win) = cruising(bdp_333(), 2);
    win.cwnd = 600;
    v1.delivered = 1000;
    let mut path = Path { delivered: 1000, in_flight: 500, state: State::Recovery, ..path() };
    assert_eq!(v1.ssthresh(Time::ZERO, &path, &win), Window::INFINITE);
    let mut ack = |prior: u64, state: State, lost: u32, win: &mut Window| {
        path.delivered += 2;
        path.state = state;
        let rate = Some(sample(&path, prior, 330));
        let ack = Ack { acked: 2, lost, rate, ..Ack::new(&path) };
        v1.on_ack(Time(1), &ack, win);
        win.cwnd
    };
    assert_eq!(ack(500, State::Recovery, 10, &mut win), 502, "flight and what was delivered");
    assert_eq!(ack(600, State::Recovery, 0, &mut win), 502);
    assert_eq!(ack(1002, State::Recovery, 0, &mut win), 504, "a round later it grows");
    assert_eq!(ack(1003, State::Open, 0, &mut win), 602);
}

// KAT bbr1 11: two intervals of at least 4 rounds with 20 % lost and the same throughput.
#[test]
fn a_policer_is_recognised_and_believed_for_48_rounds() {
    let (mut v1, mut win) = cruising(bdp_333(), 2);
    let mut path = Path { in_flight: 100, ..path() };
    let mut now = Time::ZERO;
    let mut round = |delivered: u32, lost: u32| {
        now += RTT;
        let rate = Some(sample(&path, path.delivered, delivered));
        path.delivered += u64::from(delivered);
        let event =
            Lost { tx_in_flight: 0, lost: 0, app_limited: false, delivered: path.delivered };
        for _ in 0..lost {
            v1.on_lost(now, &event, &win);
        }
        v1.on_ack(now, &Ack { acked: delivered, lost, rate, ..Ack::new(&path) }, &mut win);
        v1.long_term.used
    };
    // The first loss starts an interval; the next two end after four rounds each.
    let used: Vec<bool> = (0..9).map(|_| round(80, 30)).collect();
    assert_eq!(used, [false, false, false, false, false, false, false, true, true]);
    let rest = (0..60).position(|_| !round(80, 0)).expect("probes again");
    assert_eq!(rest, 46);
}

#[test]
fn light_loss_is_no_policer() {
    let (mut v1, mut win) = cruising(bdp_333(), 2);
    let mut path = Path { in_flight: 100, ..path() };
    for n in 1..100_u64 {
        let rate = Some(sample(&path, path.delivered, 80));
        path.delivered += 80;
        let event =
            Lost { tx_in_flight: 0, lost: 0, app_limited: false, delivered: path.delivered };
        for _ in 0..15 {
            v1.on_lost(Time::ZERO + RTT * n, &event, &win);
        }
        let ack = Ack { acked: 80, lost: 15, rate, ..Ack::new(&path) };
        v1.on_ack(Time::ZERO + RTT * n, &ack, &mut win);
        assert!(!v1.long_term.used);
    }
}

#[test]
fn aggregates_of_acks_widen_the_window_by_what_exceeds_the_bandwidth() {
    let mut aggregation = Aggregation::default();
    let (path, bw) = (path(), bdp_333());
    let mut allowance = |ms: u64, acked: u32| {
        let now = Time::ZERO + Dur::from_millis(ms);
        let ack = Ack { acked, rate: Some(sample(&path, 0, acked)), ..Ack::new(&path) };
        aggregation.update(now, &ack, bw, (false, 5), 1000);
        aggregation.allowance(bw)
    };
    assert_eq!(allowance(0, 41), 41);
    // 41 segments in 10 ms are what the bandwidth explains: a new epoch.
    assert_eq!(allowance(10, 60), 60);
    assert_eq!(allowance(10, 60), 120);
    assert_eq!(allowance(15, 10), 120, "130 less 20 that were due in 5 ms");
    assert_eq!(allowance(15, 800), 416, "at most 100 ms of the bandwidth");
}

#[test]
fn parameters_are_checked() {
    let error = |text| build(text).err().expect("refused").0;
    assert_eq!(error("bbr version v1 ecn"), "bbr: version v1 does not respond to ECN");
    assert_eq!(error("bbr version v4"), "bbr: `version v4`: expected one of v1, v2, v3");
    assert_eq!(crate::read("bbr").expect("valid").to_string(), "bbr version v3 noecn");
}
