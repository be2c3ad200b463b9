use super::*;
use crate::Path;

/// One round: the whole window is acknowledged in single ACKs with this RTT.
fn round(h: &mut HystartPp, win: &mut Window, seq: &mut u64, rtt: Dur) {
    let window = u64::from(win.cwnd);
    let nxt = *seq + window;
    h.window_end = nxt;
    for _ in 0..window {
        *seq += 1;
        let path = Path { snd_una: *seq, snd_nxt: nxt, cwnd_limited: true, ..Path::default() };
        h.on_ack(&Ack { acked: 1, rtt: Some(rtt), ..Ack::new(&path) }, true, win);
    }
}

fn ms(n: u64) -> Dur {
    Dur::from_millis(n)
}

// KAT hystart++ 1: ×1.25 per round, five rounds, 305 from 100.
#[test]
fn conservative_slow_start_grows_by_a_quarter_for_five_rounds() {
    let (mut h, mut win, mut seq) = (HystartPp::new(), Window::new(100), 1);
    h.css_baseline = Some(ms(100));
    let mut windows = vec![];
    while win.in_slow_start() {
        round(&mut h, &mut win, &mut seq, ms(100));
        windows.push(win.cwnd);
    }
    assert_eq!(windows, [125, 156, 195, 244, 305]);
    assert_eq!(win.ssthresh, 305);
}

#[test]
fn a_rise_by_an_eighth_between_4_and_16_ms_starts_it_and_less_does_not() {
    for (last, rise) in [(10, 4), (80, 10), (400, 16)] {
        for (more, expected) in [(rise - 1, false), (rise, true)] {
            let (mut h, mut win, mut seq) = (HystartPp::new(), Window::new(20), 1);
            round(&mut h, &mut win, &mut seq, ms(last));
            assert_eq!(win.cwnd, 40, "slow start doubles");
            round(&mut h, &mut win, &mut seq, ms(last + more));
            assert_eq!(h.is_conservative(), expected, "{last} + {more} ms");
        }
    }
}

#[test]
fn seven_samples_decide_nothing() {
    let (mut h, mut win, mut seq) = (HystartPp::new(), Window::new(7), 1);
    h.last_round_min = Some(ms(20));
    round(&mut h, &mut win, &mut seq, ms(200));
    assert!(!h.is_conservative());
}

#[test]
fn a_round_below_the_baseline_resumes_slow_start() {
    let (mut h, mut win, mut seq) = (HystartPp::new(), Window::new(20), 1);
    round(&mut h, &mut win, &mut seq, ms(20));
    round(&mut h, &mut win, &mut seq, ms(30));
    assert!(h.is_conservative());
    round(&mut h, &mut win, &mut seq, ms(21));
    assert!(!h.is_conservative() && win.in_slow_start());
    let before = win.cwnd;
    round(&mut h, &mut win, &mut seq, ms(21));
    assert_eq!(win.cwnd, 2 * before);
}

#[test]
fn a_stretch_ack_adds_eight_segments_unless_the_flow_is_paced() {
    for (paced, expected) in [(false, 108), (true, 130)] {
        let (mut h, mut win) = (HystartPp::new(), Window::new(100));
        let path = Path { paced, cwnd_limited: true, ..Path::default() };
        h.on_ack(&Ack { acked: 30, ..Ack::new(&path) }, true, &mut win);
        assert_eq!(win.cwnd, expected);
    }
}

#[test]
fn slow_start_after_a_reduction_is_left_alone() {
    let mut h = HystartPp::new();
    h.css_baseline = Some(ms(20));
    let mut win = Window { ssthresh: 50, ..Window::new(45) };
    let path = Path { cwnd_limited: true, ..Path::default() };
    let left = h.on_ack(&Ack { acked: 9, ..Ack::new(&path) }, true, &mut win);
    assert_eq!((win.cwnd, left), (50, 4));
}
