//! HyStart++ (RFC 9406): a rise of the round-trip time starts Conservative Slow Start, which either
//! proves spurious and is left for slow start, or ends it after five rounds.

use super::{Ack, Window};
use sojourn_core::units::Dur;

/// Bounds of the RTT increase that is significant.
const MIN_RTT_THRESH: Dur = Dur::from_millis(4);
const MAX_RTT_THRESH: Dur = Dur::from_millis(16);
/// The increase, as a fraction of the last round's minimum.
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples of a round before its minimum counts.
const N_RTT_SAMPLE: u32 = 8;
/// How much slower Conservative Slow Start grows.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// Rounds of Conservative Slow Start.
const CSS_ROUNDS: u32 = 5;
/// Segments that one ACK of an unpaced sender may add.
const L: u32 = 8;

/// Detection and growth of the first slow start; RFC 9406 leaves later ones alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct HystartPp {
    /// The running round ends when this is acknowledged.
    window_end: u64,
    last_round_min: Option<Dur>,
    round_min: Option<Dur>,
    samples: u32,
    /// In Conservative Slow Start: the round's minimum that led there.
    css_baseline: Option<Dur>,
    css_rounds: u32,
    /// Segments acknowledged in Conservative Slow Start and not yet turned into growth.
    carry: u32,
}

impl HystartPp {
    pub(super) const fn new() -> Self {
        Self {
            window_end: 0,
            last_round_min: None,
            round_min: None,
            samples: 0,
            css_baseline: None,
            css_rounds: 0,
            carry: 0,
        }
    }

    /// The connection is open; the first round is the first window.
    pub(super) fn start(&mut self, snd_nxt: u64) {
        *self = Self { window_end: snd_nxt, ..Self::new() };
    }

    /// Whether Conservative Slow Start runs.
    pub(super) const fn is_conservative(&self) -> bool {
        self.css_baseline.is_some()
    }

    /// Slow start's share of an ACK: growth if `grows`, then the round's book. Sets ssthresh when
    /// slow start is over. Returns the segments left for congestion avoidance.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, grows: bool, win: &mut Window) -> u32 {
        if win.ssthresh < Window::INFINITE {
            return if grows { win.slow_start(ack.delivered()) } else { 0 };
        }
        if grows {
            self.grow(ack.delivered(), ack.path.paced, win);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if ack.path.snd_una >= self.window_end {
            self.end_round(ack.path.snd_nxt, win);
        }
        0
    }

    /// RFC 9406 §4.2: `cwnd += min(N, L * SMSS)`, a quarter of it in Conservative Slow Start.
    fn grow(&mut self, acked: u32, paced: bool, win: &mut Window) {
        let n = if paced { acked } else { acked.min(L) };
        if self.is_conservative() {
            self.carry += n;
            win.slow_start(self.carry / CSS_GROWTH_DIVISOR);
            self.carry %= CSS_GROWTH_DIVISOR;
        } else {
            win.slow_start(n);
        }
    }

    /// RFC 9406 4.2: after N_RTT_SAMPLE samples the round's minimum decides, into Conservative Slow
    /// Start or back.
    fn sample(&mut self, rtt: Dur) {
        let round = self.round_min.map_or(rtt, |m| m.min(rtt));
        self.round_min = Some(round);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.css_baseline, self.last_round_min) {
            (Some(baseline), _) => {
                if round < baseline {
                    // The rise was spurious: slow start resumes.
                    self.css_baseline = None;
                }
            }
            (None, Some(last)) => {
                let rise = Dur(last.0 / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if round >= last + rise {
                    self.css_baseline = Some(round);
                    self.css_rounds = 0;
                    self.carry = 0;
                }
            }
            (None, None) => {}
        }
    }

    /// RFC 9406 4.2: a round is a window of data; CSS_ROUNDS of them in Conservative Slow Start end
    /// slow start.
    fn end_round(&mut self, snd_nxt: u64, win: &mut Window) {
        if self.is_conservative() {
            // The round in which it began counts too.
            self.css_rounds += 1;
            if self.css_rounds >= CSS_ROUNDS {
                win.ssthresh = win.cwnd;
            }
        }
        self.window_end = snd_nxt;
        self.last_round_min = self.round_min.take();
        self.samples = 0;
    }
}

#[cfg(test)]
mod tests {
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
}
