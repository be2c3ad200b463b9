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
#[derive(Clone, Copy, Debug, Default)]
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
    pub(super) fn new() -> Self {
        Self { ..Self::default() }
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
mod tests;
