//! TCP Prague as kernel module 0.7 (L4STeam/linux 893e1479, `tcp_prague.c`, 2024) has it.
//!
//! A fractional window in segments is what grows and is cut; the endpoint's cwnd follows its ceiling
//! by one segment per ACK. Small windows act on a rate instead. The endpoint's CWR state limits cuts to
//! one per round trip. Some rounds after slow start the flow behaves below 25 ms as if its
//! RTT were that long, and makes segments smaller where two per virtual RTT are too many.

use super::super::{Ack, Controller, Needs, Output, Path, State, StateChange, Window};
use super::{Law, NEEDS};
use sojourn_core::choices;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

choices! {
    /// What growth and cuts act upon.
    pub(super) enum Mode {
        Window = "window",
        Rate = "rate",
        /// The rate while cwnd is small, else the window.
        Switch = "switch",
    }
}

/// Fraction bits of the window in segments.
const WINDOW_BITS: u32 = 20;
const ONE: u64 = 1 << WINDOW_BITS;
/// Fraction bits of alpha, below those that carry the remainder of its average.
const ALPHA_BITS: u32 = 24;
const ALPHA_ONE: u64 = 1 << ALPHA_BITS;
/// Gain of alpha, 1/16.
const SHIFT_G: u32 = 4;
const MIN_CWND: u32 = 2;
/// Segments that a virtual RTT keeps.
const MIN_SEGMENTS: u128 = 2;
/// Bytes that a window grows by per virtual RTT, whatever the segment size.
const INCREASE: u64 = 1500;
/// Least payload of a segment.
const MIN_MSS: u32 = 150;
/// Least rate, 100 kbit/s, in bytes per second.
const MIN_RATE: u64 = 12_500;
/// `cwnd_mode switch` works on the rate up to this cwnd, bytes.
const SMALL_WINDOW: u64 = 4 * 1500;
/// In rate mode the pacing rate is 4/128 higher in the first half of a virtual RTT, and as much
/// lower in the second.
const PACING_OFFSET: u64 = 4;
const PACING_UNIT: u64 = 128;
/// A round moves the long-term RTT by 1/128.
const LONG_RTT_SHIFT: u32 = 7;
/// Microseconds of a second; where the rate rules the module divides by a power of two instead.
const SECOND_US: u64 = 1_000_000;
const SHIFTED_SECOND_US: u128 = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Prague {
    law: Law,
    /// Alpha in 2^-28.
    alpha: u64,
    saw_ce: bool,
    in_loss: bool,
    /// Fractional window in 2^-20 segments.
    window: u64,
    /// Bytes per second.
    rate: u64,
    on_rate: bool,
    /// IP bytes of a segment.
    mtu: u32,
    /// srtt averaged over rounds, 2^-7 us.
    long_rtt: u64,
    /// End of the running round, and running totals when it began.
    next_seq: u64,
    round_delivered: u64,
    round_ce: u64,
    /// Rounds since slow start.
    rounds: u32,
    alpha_stamp: Time,
    cwr_stamp: Option<Time>,
    /// cwnd at the last `ssthresh` query that no state change has used.
    asked_cwnd: Option<u32>,
    /// Before the last loss, for undo.
    loss_rate: u64,
    loss_cwnd: u32,
    pacing: Rate,
    burst: u32,
}

impl Prague {
    pub(super) fn new(law: Law) -> Self {
        Self {
            law,
            alpha: if law.alpha_starts_at_one { ALPHA_ONE << SHIFT_G } else { 0 },
            rate: MIN_RATE,
            on_rate: law.mode == Mode::Rate,
            pacing: Rate(u64::MAX),
            burst: 1,
            ..Self::default()
        }
    }

    fn rtt_independent(&self, win: &Window) -> bool {
        !win.in_slow_start() && self.rounds >= self.law.rtt_transition
    }

    /// Whether the rate rules now.
    fn acts_on_rate(&self, win: &Window) -> bool {
        self.on_rate && self.rtt_independent(win)
    }

    /// The draft's rtt_virt (draft-briscoe-iccrg-prague-congestion-control-04 2.4.4).
    fn virtual_rtt(&self, path: &Path) -> Dur {
        path.srtt.max(self.law.rtt_target)
    }

    /// cwnd that the window stands for.
    fn target(&self, win: &Window) -> u32 {
        let segments = self.window.div_ceil(ONE).clamp(u64::from(MIN_CWND), u64::from(u32::MAX));
        (segments as u32).min(win.clamp)
    }

    fn rate_of_window(&self, path: &Path) -> u64 {
        let bytes = u128::from(self.window) * u128::from(self.mtu) * u128::from(SECOND_US);
        let us = u128::from(path.srtt.as_micros().max(1));
        ((bytes / us) >> WINDOW_BITS).try_into().map_or(u64::MAX, |rate: u64| rate.max(MIN_RATE))
    }

    fn window_of_rate(&self) -> u64 {
        let us = u128::from(self.long_rtt >> LONG_RTT_SHIFT);
        let scaled = (u128::from(self.rate) * us) << WINDOW_BITS;
        (scaled / SHIFTED_SECOND_US).div_ceil(u128::from(self.mtu.max(1))) as u64
    }

    /// Segments of growth per round trip, in 2^-20: below the target as if the RTT were as long.
    fn increase(&self, path: &Path) -> u64 {
        let (srtt, target) = (path.srtt.as_micros(), self.law.rtt_target.as_micros());
        if self.rounds < self.law.rtt_transition || srtt >= target {
            return ONE;
        }
        let square = u128::from(target) * u128::from(target);
        ((u128::from(ONE) * u128::from(srtt) * u128::from(srtt) + square / 2) / square) as u64
    }

    /// Module 0.7 (L4STeam/linux 893e1479): per ACK growth for unmarked segments, then a step of
    /// cwnd.
    fn update_window(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        if ack.ce > 0 && !std::mem::replace(&mut self.saw_ce, true) {
            // Alpha knows nothing yet: the first mark halves by itself.
            if !self.law.alpha_starts_at_one {
                self.window = self.window.div_ceil(2);
            }
        }
        let mut unmarked = u64::from(ack.delivered().saturating_sub(ack.ce));
        if unmarked > 0 && path.cwnd_limited && !self.in_loss {
            if win.in_slow_start() {
                // A cut does not outlast an ACK with unmarked segments: slow start ends at one without.
                unmarked = u64::from(win.slow_start(unmarked as u32));
                self.window = u64::from(win.cwnd) << WINDOW_BITS;
                if unmarked == 0 {
                    return;
                }
            }
            self.grow(unmarked, path, win);
        }
        self.settle(win);
    }

    /// Module 0.7: (srtt / virtual RTT)^2 segments of 1500 bytes per round trip, on the rate or the
    /// window.
    fn grow(&mut self, unmarked: u64, path: &Path, win: &Window) {
        let mtu = u64::from(self.mtu);
        if self.acts_on_rate(win) {
            let virtual_rtt = u128::from(self.virtual_rtt(path).as_micros());
            let step = u128::from(unmarked * INCREASE) * SHIFTED_SECOND_US / virtual_rtt;
            let unit = u128::from(mtu) * SHIFTED_SECOND_US;
            let segments = (u128::from(self.rate) * virtual_rtt).div_ceil(unit).max(1);
            self.rate += ((step + segments / 2) / segments) as u64;
            self.window = (self.window + unmarked).max(self.window_of_rate());
        } else {
            let window = u128::from(self.window.max(1));
            let growth = u128::from(unmarked * self.increase(path)) << WINDOW_BITS;
            let growth = (growth + window / 2) / window * u128::from(INCREASE) / u128::from(mtu);
            self.window = self.window.saturating_add(unmarked.max(growth as u64));
            self.rate = (self.rate + unmarked).max(self.rate_of_window(path));
        }
    }

    /// One step of cwnd towards the window. A step down ends slow start.
    fn settle(&self, win: &mut Window) {
        let target = self.target(win);
        if win.cwnd > target {
            win.cwnd -= 1;
            win.ssthresh = win.cwnd;
        } else if win.cwnd < target {
            win.cwnd += 1;
        }
    }

    /// Module 0.7, the average of the marked share once per RTT and, after slow start, virtual RTT
    /// (draft 2.3.2).
    fn end_round(&mut self, now: Time, path: &Path, win: &mut Window) {
        let independent = self.rtt_independent(win);
        if path.snd_una < self.next_seq
            || (independent && now.since(self.alpha_stamp) < self.law.rtt_target)
        {
            return;
        }
        if self.saw_ce {
            let delivered = (path.delivered - self.round_delivered).max(1);
            let share = ((path.delivered_ce - self.round_ce) << ALPHA_BITS) / delivered;
            let alpha = self.alpha - (self.alpha >> SHIFT_G) + share;
            self.alpha = alpha.min(ALPHA_ONE << SHIFT_G);
            self.alpha_stamp = now;
            if independent && !self.in_loss {
                self.fit_segments(path, win);
            }
        }
        self.long_rtt += path.srtt.as_micros();
        self.long_rtt -= self.long_rtt >> LONG_RTT_SHIFT;
        self.start_round(path, win);
    }

    /// Segments so small that a virtual RTT has two.
    fn fit_segments(&mut self, path: &Path, win: &mut Window) {
        let virtual_us = u128::from(self.virtual_rtt(path).as_micros());
        let bytes = if self.on_rate {
            u128::from(self.rate) * virtual_us / SHIFTED_SECOND_US
        } else {
            let us = u128::from(path.srtt.as_micros().max(1));
            (u128::from(self.window) * virtual_us / us * u128::from(self.mtu)) >> WINDOW_BITS
        };
        let least = (MIN_MSS + path.mtu - path.mss).min(path.mtu);
        let fitting = bytes.div_ceil(MIN_SEGMENTS).min(u128::from(path.mtu)) as u32;
        let before = u64::from(std::mem::replace(&mut self.mtu, fitting.max(least)));
        let after = u64::from(self.mtu);
        if before == after {
            return;
        }
        // Growth divides by the window, which marks may have cut to a fraction of a segment, and module 0.7 has no bound.
        let window = u128::from(self.window) * u128::from(before) / u128::from(after);
        self.window = window.try_into().unwrap_or(u64::MAX);
        let cwnd = self.target(win);
        if win.cwnd != cwnd {
            win.cwnd = cwnd;
            let scaled = u64::from(win.ssthresh) * before / after;
            win.ssthresh = scaled.clamp(u64::from(MIN_CWND), u64::from(Window::INFINITE)) as u32;
        }
    }

    fn start_round(&mut self, path: &Path, win: &Window) {
        self.next_seq = path.snd_nxt;
        self.round_delivered = path.delivered;
        self.round_ce = path.delivered_ce;
        if !win.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Module 0.7: alpha/2 of rate or window, once per CWR state and RTT target (draft 2.4.2).
    fn enter_cwr(&mut self, now: Time, path: &Path, win: &Window) {
        let recent = self.cwr_stamp.is_some_and(|cut| now.since(cut) < self.law.rtt_target);
        if recent && self.rtt_independent(win) {
            return;
        }
        self.cwr_stamp = Some(now);
        let alpha = u128::from(self.alpha >> SHIFT_G);
        if self.acts_on_rate(win) {
            let cut = (u128::from(self.rate) * alpha) >> (ALPHA_BITS + 1);
            self.rate = (self.rate - cut as u64).max(MIN_RATE);
            self.window = self.window_of_rate();
        } else {
            let cut = (u128::from(self.window) * alpha + u128::from(ALPHA_ONE)) >> (ALPHA_BITS + 1);
            self.window -= cut as u64;
            self.rate = self.rate_of_window(path);
        }
    }

    /// Module 0.7: a loss halves rate or window (draft 2.4.1).
    fn enter_loss(&mut self, cwnd: u32, path: &Path, win: &Window) {
        self.loss_cwnd = cwnd;
        self.loss_rate = self.rate;
        if self.acts_on_rate(win) {
            self.rate -= self.rate / 2;
            self.window = self.window_of_rate();
        } else {
            self.window -= self.window / 2;
            self.rate = self.rate_of_window(path);
        }
        self.in_loss = true;
    }

    /// Module 0.7: the rate, in rate mode 1/32 above and below it in the halves of a virtual RTT,
    /// or the window per smoothed RTT; twice that early in slow start.
    fn update_pacing(&mut self, now: Time, path: &Path, win: &Window) {
        let mut rate = if self.acts_on_rate(win) {
            let offset = self.rate * PACING_OFFSET / PACING_UNIT;
            let early = now.since(self.alpha_stamp) < self.virtual_rtt(path) / 2;
            if early { self.rate + offset } else { self.rate - offset }
        } else {
            let segments = (self.window >> WINDOW_BITS).max(u64::from(path.in_flight));
            let us = path.srtt.as_micros().max(1);
            let rate = u128::from(segments) * u128::from(self.mtu) * u128::from(SECOND_US);
            self.rate = (rate / u128::from(us)).try_into().unwrap_or(u64::MAX).max(MIN_RATE);
            self.rate
        };
        if win.cwnd < win.ssthresh / 2 {
            rate = rate.saturating_mul(2);
        }
        self.pacing = Rate(rate.saturating_mul(8));
        let burst = (rate / u64::from(self.mtu.max(1))) >> self.law.burst_shift;
        self.burst = burst.clamp(1, u64::from(u32::MAX)) as u32;
    }

    /// Module 0.7, cwnd_mode 2: the rate rules windows of up to four segments of 1500 bytes.
    fn choose_mode(&mut self, path: &Path, win: &Window) {
        if self.law.mode != Mode::Switch {
            return;
        }
        let small = u64::from(win.cwnd) * u64::from(self.mtu) <= SMALL_WINDOW;
        self.on_rate = small && self.saw_ce;
        if self.on_rate {
            self.window = self.window_of_rate();
        } else {
            self.rate = self.rate_of_window(path);
        }
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        Needs { accecn_only: true, ..NEEDS }
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.mtu = path.mtu;
        self.saw_ce = path.delivered_ce > 0;
        self.window = u64::from(win.cwnd) << WINDOW_BITS;
        self.long_rtt = path.srtt.as_micros() << LONG_RTT_SHIFT;
        self.alpha_stamp = now;
        self.start_round(path, win);
        self.update_pacing(now, path, win);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.update_window(ack, win);
        self.end_round(now, ack.path, win);
        self.update_pacing(now, ack.path, win);
        self.choose_mode(ack.path, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.asked_cwnd = Some(win.cwnd);
        win.ssthresh
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        match change.to {
            State::Cwr => self.enter_cwr(now, path, win),
            State::Recovery => self.enter_loss(win.cwnd, path, win),
            // Linux reports a timeout only where it also asks for ssthresh; cwnd as of then.
            State::Loss => {
                if let Some(cwnd) = asked {
                    self.enter_loss(cwnd, path, win);
                }
            }
            State::Open => self.in_loss = false,
            State::Disorder => {}
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        self.in_loss = false;
        self.rate = self.rate.max(self.loss_rate);
        self.window = self.window_of_rate();
        win.cwnd.max(self.loss_cwnd)
    }

    fn output(&self, path: &Path, _win: &Window) -> Output {
        Output {
            pacing_rate: Some(self.pacing),
            burst: (!self.law.kernel_bursts).then_some(self.burst),
            mss: (self.mtu < path.mtu).then(|| self.mtu - (path.mtu - path.mss)),
            ..Output::default()
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", self.alpha as f64 / (ALPHA_ONE << SHIFT_G) as f64);
        out.put("window", "bytes", self.window as f64 * f64::from(self.mtu) / ONE as f64);
        out.put("mtu", "bytes", f64::from(self.mtu));
        out.put("in_loss", "1", f64::from(u8::from(self.in_loss)));
    }
}

#[cfg(test)]
mod tests;
