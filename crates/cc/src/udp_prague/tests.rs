#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;
use sojourn_core::rng::Rng;

fn udp_prague(options: &str) -> UdpPrague {
    UdpPrague::new(crate::params(&format!("udp-prague {options}")))
}

/// A path of constant RTT whose every packet is acknowledged at once when it was paced out.
struct Run {
    cc: UdpPrague,
    now: Time,
    seen: Counts,
}

impl Run {
    fn new(rtt_us: i32) -> Self {
        let mut cc = udp_prague("");
        cc.srtt = rtt_us;
        let now = Time::ZERO + Dur::from_secs(1);
        cc.on_established(now, &Path::default(), &mut Window::new(10));
        Self { cc, now, seen: Counts::default() }
    }

    /// A running flow in window mode at `packets` of the largest size per RTT.
    fn at(rtt_us: i32, packets: u64) -> Self {
        let mut run = Self::new(rtt_us);
        run.cc.phase = Phase::Avoidance;
        run.cc.window = packets * 1400 * US_PER_S;
        run.cc.rate_mode = false;
        run.cc.derive();
        run
    }

    fn flight(&self) -> i32 {
        (self.cc.rate as f64 * f64::from(self.cc.srtt) / 1e6 / self.cc.packet_size as f64) as i32
    }

    fn ack(&mut self, received: i32, ce: i32, lost: i32) {
        self.seen.received += received;
        self.seen.ce += ce;
        self.seen.lost += lost;
        self.seen.sent = self.seen.received + self.seen.lost + self.flight();
        if self.cc.wake() <= self.now {
            self.cc.on_wake(self.now, &mut Window::new(1));
        }
        self.cc.on_counts(self.now, self.seen);
    }

    fn wait(&mut self, time: Dur) {
        self.now += time;
    }

    /// One packet at the pace of the rate.
    fn packet(&mut self, marked: bool) {
        self.wait(Rate(self.cc.rate * 8).time_for(self.cc.packet_size));
        self.ack(1, i32::from(marked), 0);
    }

    fn mbps(&self) -> f64 {
        self.cc.rate as f64 * 8.0 / 1e6
    }
}

// KAT udp-prague 1
#[test]
fn packets_fit_twice_into_25_ms_between_150_and_1400_bytes() {
    let mut cc = udp_prague("");
    for (rate, size) in [(12_500, 156), (125_000, 1400), (50_000, 625), (1, 150)] {
        cc.rate = rate;
        assert_eq!(cc.fitting_packet(), size);
    }
    assert_eq!(125_000_u64 * 25_000 / 1_000_000 / 2, 1562, "before the limit");
}

// KAT udp-prague 6
#[test]
fn it_starts_with_ten_large_packets_worth_of_small_ones_at_100_kilobits() {
    let cc = udp_prague("");
    assert_eq!((cc.packet_size, cc.packet_window, cc.rtts_to_growth), (156, 90, 7));
    let mut run = Run::new(20_000);
    run.ack(1, 0, 0);
    assert_eq!(run.cc.phase, Phase::Avoidance);
}

// KAT udp-prague 2
#[test]
fn a_mark_at_alpha_a_quarter_leaves_seven_of_eight_packets() {
    let mut run = Run::at(20_000, 8);
    run.cc.alpha = 1 << (PROB_BITS - 2);
    run.cc.alpha_mark = Mark { at: micros(run.now), sent: 1000 };
    run.ack(1, 1, 0);
    assert_eq!(run.cc.window, 7 * 1400 * US_PER_S);
    assert_eq!(run.cc.phase, Phase::InCwr);
    // No other within the virtual RTT.
    run.ack(1, 1, 0);
    assert_eq!(run.cc.window, 7 * 1400 * US_PER_S);
}

// KAT udp-prague 7
#[test]
fn packets_that_were_only_late_give_the_window_back_exactly() {
    let mut run = Run::at(20_000, 100);
    run.cc.rtts_to_growth = 5;
    run.cc.alpha_mark = Mark { at: micros(run.now), sent: 1000 };
    let before = run.cc.window;
    run.ack(0, 0, 3);
    assert_eq!((run.cc.window, run.cc.phase), (before / 2, Phase::InLoss));
    run.ack(0, 0, -2);
    assert_eq!(run.cc.window, before / 2, "one is still missing");
    run.ack(0, 0, -1);
    assert_eq!((run.cc.window, run.cc.phase), (before, Phase::Avoidance));
    assert_eq!(run.cc.rtts_to_growth, 5);
    run.ack(0, 0, 0);
    assert_eq!(run.cc.window, before, "only once");
}

// KAT udp-prague 4
#[test]
fn bursts_last_250_us() {
    for (mbit, burst) in [(50, 1), (100, 2), (1000, 22)] {
        let mut run = Run::at(20_000, 1);
        run.cc.window = mbit * 125_000 * 20_000;
        run.cc.derive();
        assert_eq!(run.cc.packet_burst, burst, "{mbit} Mbit/s");
    }
}

/// Marks of a share `p`, those of a virtual RTT at its start.
fn steady(p: f64, rtt_us: i32) -> f64 {
    let mut run = Run::at(rtt_us, 20);
    let (mut begun, mut packets, mut owed) = (run.now, 0.0, 0.0);
    let (mut sum, mut from) = (0.0, None);
    let start = run.now;
    while run.now.since(start) < Dur::from_secs(140) {
        packets += 1.0;
        if run.now.since(begun) >= Dur::from_micros(rtt_us.max(25_000) as u64) {
            owed += packets * p;
            (begun, packets) = (run.now, 0.0);
        }
        let mark = owed >= 1.0;
        owed -= f64::from(u8::from(mark));
        run.packet(mark);
        if run.now.since(start) > Dur::from_secs(40) {
            from.get_or_insert(run.now);
            sum += run.cc.packet_size as f64 * 8.0;
        }
    }
    sum / run.now.since(from.expect("it runs on")).as_secs_f64() / 1e6
}

// KAT udp-prague 8: 0.896 (1 - p)/p Mbit/s
#[test]
fn steady_rate_is_0_896_times_unmarked_per_marked_megabit_below_25_ms() {
    for p in [0.02, 0.05, 0.1] {
        for rtt in [5_000, 20_000] {
            let (rate, law) = (steady(p, rtt), 0.896 * (1.0 - p) / p);
            assert!((rate / law - 1.0).abs() < 0.08, "p {p}, {rtt} us: {rate:.2} for {law:.2}");
        }
    }
}

// KAT udp-prague 5: 17.9 Mbit/s per second at any RTT up to 25 ms, while rtts_to_growth lasts and up to 11.2
// Mbit/s
#[test]
fn growth_is_a_packet_per_virtual_rtt_squared() {
    for rtt in [1_000, 5_000, 20_000, 25_000] {
        let mut run = Run::new(rtt);
        let start = run.now;
        let at = |run: &mut Run, ms| {
            while run.now.since(start) < Dur::from_millis(ms) {
                run.packet(false);
            }
            run.mbps()
        };
        let (early, late) = (at(&mut run, 250), at(&mut run, 550));
        let slope = (late - early) / 0.3;
        assert!((slope / 17.92 - 1.0).abs() < 0.06, "{rtt} us: {slope:.2} Mbit/s/s");
        // Beyond 11.2 Mbit/s it is 4 % per 25 ms.
        let (middle, end) = (at(&mut run, 1000), at(&mut run, 1625));
        assert!(middle > 11.2);
        assert!(((end / middle).ln() - 0.981).abs() < 0.06, "{rtt} us: {middle:.1} to {end:.1}");
    }
}

// KAT udp-prague 3
#[test]
fn alpha_stalls_within_fifteen_units_of_the_share() {
    let mut run = Run::at(20_000, 50);
    for _ in 0..3000 {
        run.wait(Dur::from_millis(26));
        run.seen.received += 100;
        run.cc.alpha_mark.sent = 0;
        run.ack(0, 50, 0);
    }
    let share = 1 << (PROB_BITS - 1);
    assert!((share - run.cc.alpha) <= 15 && run.cc.alpha < share, "{}", share - run.cc.alpha);
}

// prague_cc.cpp, ACKReceived(): the half of 50 Mbit/s at one packet per virtual RTT takes 55 of them.
#[test]
fn a_loss_halves_once_and_delays_fast_growth() {
    let mut run = Run::at(20_000, 1);
    run.cc.window = 6_250_000 * 20_000;
    run.cc.derive();
    run.ack(1, 0, 1);
    assert_eq!((run.cc.rate, run.cc.rtts_to_growth), (3_125_000, 55));
    run.ack(1, 0, 1);
    assert_eq!(run.cc.rate, 3_125_000);
}

// prague_cc.cpp, GetCCInfo().
#[test]
fn pacing_is_three_percent_up_and_then_down_within_a_virtual_rtt() {
    let mut run = Run::at(20_000, 50);
    let start = run.cc.offset_until;
    assert_eq!(start, run.now + Dur::from_micros(12_500));
    assert_eq!(run.cc.pacing_rate(), run.cc.rate * 103 / 100);
    run.cc.on_wake(start, &mut Window::new(1));
    assert_eq!(run.cc.pacing_rate(), run.cc.rate * 100 / 103);
    assert_eq!(run.cc.wake(), Time::NEVER);
}

#[test]
fn short_paths_work_on_the_rate_and_longer_ones_on_the_window() {
    for (rtt, rate_mode) in [(2_000, true), (2_001, false)] {
        let mut run = Run::at(rtt, 20);
        run.ack(1, 0, 0);
        assert_eq!(run.cc.rate_mode, rate_mode, "{rtt} us");
    }
    let mut slow = Run::new(20_000);
    slow.ack(1, 0, 0);
    assert!(!slow.cc.rate_mode, "a packet of 156 bytes takes 12.5 ms");
    let mut slow = Run::new(12_000);
    slow.ack(1, 0, 0);
    assert!(slow.cc.rate_mode);
}

#[test]
fn acknowledgements_that_were_overtaken_change_nothing() {
    let mut run = Run::at(20_000, 20);
    run.ack(10, 3, 0);
    let before = format!("{:?}", run.cc);
    let newest = run.seen;
    run.ack(-2, 0, 0);
    run.seen = newest;
    run.ack(0, -1, 1);
    assert_eq!(format!("{:?}", run.cc), before);
}

#[test]
fn clocks_and_counters_may_wrap() {
    let rate = |now: Time, counted: i32| {
        let mut run = Run::at(20_000, 20);
        run.now = now;
        run.seen = Counts { sent: counted, received: counted, ce: 0, lost: 0 };
        run.cc.last = run.seen;
        let mark = Mark { at: micros(now), sent: counted };
        (run.cc.alpha_mark, run.cc.alpha_received) = (mark, counted);
        let mut rng = Rng::named(1, "udp_prague");
        for _ in 0..20_000 {
            run.wait(Rate(run.cc.rate * 8).time_for(run.cc.packet_size));
            let marked = i32::from(rng.unit() < 0.05);
            run.seen.received = run.seen.received.wrapping_add(1);
            run.seen.ce = run.seen.ce.wrapping_add(marked);
            run.seen.sent = run.seen.received.wrapping_add(run.flight());
            run.cc.on_counts(run.now, run.seen);
        }
        run.cc.rate
    };
    let from = |us: u64| Time::ZERO + Dur::from_micros(us);
    assert_eq!(rate(from(1_000_000), 0), rate(from(0x7fff_ffff - 1_000_000), i32::MAX - 5_000));
}

#[test]
fn an_rtt_beyond_32_bits_is_a_long_one() {
    for s in [61, 3_000, u64::MAX / 2_000_000_000] {
        let mut run = Run::at(20_000, 20);
        let path = Path { snd_nxt: 12, snd_una: 10, delivered: 10, ..Path::default() };
        let mut hears = |rtt| {
            let ack = Ack { rtt: Some(rtt), ..Ack::new(&path) };
            run.cc.on_ack(run.now, &ack, &mut Window::new(1));
            run.cc.srtt
        };
        for _ in 0..100 {
            assert!((20_000..=60_000_000).contains(&hears(Dur::from_secs(s))), "{s} s");
        }
        let long = hears(Dur::from_secs(s));
        assert!(hears(Dur::from_millis(20)) < long);
    }
}

#[test]
fn a_dead_path_starts_again_at_the_first_rate() {
    let mut run = Run::at(20_000, 50);
    run.ack(100, 30, 0);
    run.cc.alpha = 1000;
    let to_loss = StateChange { from: State::Open, to: State::Loss };
    run.cc.on_state(run.now, to_loss, &Path::default(), &mut Window::new(1));
    assert_eq!((run.cc.alpha, run.cc.rate, run.cc.phase), (0, 12_500, Phase::Init));
    assert_eq!(run.cc.window, 1400 * US_PER_S);
    run.ack(1, 0, 20);
    assert_eq!(run.cc.last.received, 101);
}

#[test]
fn wrong_rates_are_refused() {
    let error = |options| crate::read(&format!("udp-prague {options}")).unwrap_err().0;
    assert_eq!(error("init_rate 1kbit"), "udp-prague: rates are from 100Kbit to 100Gbit");
    assert_eq!(
        error("max_rate 1Mbit init_rate 2Mbit"),
        "udp-prague: expected min_rate <= init_rate <= max_rate"
    );
}
