//! TCP Prague by the rules of draft-briscoe-iccrg-prague-congestion-control-04 (July 2024).
//!
//! All dynamics are those of a path of at least 25 ms, the virtual RTT. A fractional window in bytes
//! is what grows and is cut; the endpoint's cwnd moves towards it by one segment per ACK.

use super::super::{Ack, Controller, Needs, Output, Path, State, StateChange, Window};
use super::{Law, NEEDS};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

/// Fraction bits of alpha and of the window in bytes.
const BITS: u32 = 24;
const ALPHA_ONE: u64 = 1 << BITS;
/// Gain of alpha, 1/16.
const SHIFT_G: u32 = 4;
const MIN_CWND: u32 = 2;
const US_PER_S: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Prague {
    law: Law,
    /// Alpha in 2^-24.
    alpha: u64,
    saw_ce: bool,
    in_loss: bool,
    /// Window in 2^-24 bytes.
    window: u64,
    mtu: u32,
    /// End of the running round, and running totals when it began.
    next_seq: u64,
    round_delivered: u64,
    round_ce: u64,
    alpha_stamp: Time,
    /// The last reduction, and what it took off the window.
    cut_stamp: Option<Time>,
    cut: u64,
    /// CE total when the endpoint last entered CWR.
    seen_ce: u64,
    asked_cwnd: Option<u32>,
    /// Window before the last loss, for undo.
    loss_window: u64,
    loss_cwnd: u32,
    pacing: Rate,
    burst: u32,
}

impl Prague {
    pub(super) fn new(law: Law) -> Self {
        Self { law, pacing: Rate(u64::MAX), burst: 1, ..Self::default() }
    }

    fn virtual_rtt(&self, path: &Path) -> Dur {
        path.srtt.max(self.law.rtt_target)
    }

    fn bytes(segments: u32, mtu: u32) -> u64 {
        (u64::from(segments) * u64::from(mtu)) << BITS
    }

    /// cwnd that the window stands for.
    fn target(&self) -> u32 {
        let segments = self.window.div_ceil(u64::from(self.mtu.max(1)) << BITS);
        segments.clamp(u64::from(MIN_CWND), u64::from(u32::MAX)) as u32
    }

    /// Takes a part of the window away; slow start is over.
    fn reduce(&mut self, now: Time, by: u64, win: &mut Window) {
        self.cut_stamp = Some(now);
        self.cut = by;
        self.window = self.window.saturating_sub(by);
        win.ssthresh = self.target();
    }

    /// Draft 2.4.2: alpha/2 of the window, once per virtual RTT; the first mark acts as if alpha
    /// were 1.
    fn on_mark(&mut self, now: Time, path: &Path, win: &mut Window) {
        let first = !std::mem::replace(&mut self.saw_ce, true);
        let gate = self.virtual_rtt(path);
        if self.in_loss || self.cut_stamp.is_some_and(|cut| now.since(cut) < gate) {
            return;
        }
        if first {
            self.alpha = ALPHA_ONE;
        }
        let cut = (u128::from(self.window) * u128::from(self.alpha)) >> (BITS + 1);
        self.reduce(now, cut as u64, win);
    }

    /// Draft 2.4.1: a loss halves, as in Reno.
    fn on_loss(&mut self, now: Time, cwnd: u32, path: &Path, win: &mut Window) {
        self.loss_window = self.window;
        self.loss_cwnd = cwnd;
        self.in_loss = true;
        let recent = self.cut_stamp.is_some_and(|cut| now.since(cut) < path.srtt);
        // A mark's reduction in the same RTT counts: the two together are a halving.
        let by = if recent {
            u64::midpoint(self.window, self.cut).saturating_sub(self.cut)
        } else {
            self.window / 2
        };
        self.reduce(now, by, win);
    }

    /// Draft 2.4.3: additive increase on unmarked segments, also in CWR; 2.4.4: scaled by
    /// (srtt / virtual RTT)^2, so that flows with RTTs below the virtual one have equal rates.
    fn grow(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        let mut unmarked = ack.delivered().saturating_sub(ack.ce);
        if unmarked == 0 || !path.cwnd_limited || self.in_loss {
            return;
        }
        if win.in_slow_start() {
            unmarked = win.slow_start(unmarked);
            self.window = self.window.max(Self::bytes(win.cwnd, self.mtu));
            if unmarked == 0 {
                return;
            }
        }
        let virtual_rtt = u128::from(self.virtual_rtt(path).as_micros());
        let srtt = u128::from(path.srtt.as_micros()).min(virtual_rtt);
        let share = ((srtt * srtt) << BITS) / (virtual_rtt * virtual_rtt);
        let mtu = u128::from(self.mtu);
        let growth =
            ((u128::from(unmarked) * mtu * mtu * share) << BITS) / u128::from(self.window.max(1));
        self.window += growth as u64;
    }

    /// One step of cwnd towards the window.
    fn settle(&self, win: &mut Window) {
        let target = self.target();
        if win.cwnd < target {
            win.cwnd = (win.cwnd + 1).min(win.clamp);
        } else if win.cwnd > target {
            win.cwnd -= 1;
        }
    }

    /// Draft 2.3.2: the moving average of the marked share, once per virtual RTT.
    fn end_round(&mut self, now: Time, path: &Path) {
        if path.snd_una < self.next_seq || now.since(self.alpha_stamp) < self.virtual_rtt(path) {
            return;
        }
        if self.saw_ce {
            let delivered = (path.delivered - self.round_delivered).max(1);
            let share = ((path.delivered_ce - self.round_ce) << BITS) / delivered;
            let alpha = self.alpha - (self.alpha >> SHIFT_G) + (share >> SHIFT_G);
            self.alpha = alpha.min(ALPHA_ONE);
        }
        self.start_round(now, path);
    }

    fn start_round(&mut self, now: Time, path: &Path) {
        self.next_seq = path.snd_nxt;
        self.round_delivered = path.delivered;
        self.round_ce = path.delivered_ce;
        self.alpha_stamp = now;
    }

    /// Draft 2.5.1: the window per smoothed RTT, gain 1 throughout.
    fn update_pacing(&mut self, path: &Path) {
        let bytes = u128::from(self.window.max(Self::bytes(path.in_flight, self.mtu)));
        let us = u128::from(path.srtt.as_micros().max(1));
        let rate = (bytes * u128::from(US_PER_S) / us) >> BITS;
        let bytes_per_sec = u64::try_from(rate).unwrap_or(u64::MAX);
        self.pacing = Rate(bytes_per_sec.saturating_mul(8));
        let burst = (bytes_per_sec >> self.law.burst_shift) / u64::from(self.mtu.max(1));
        self.burst = burst.clamp(1, u64::from(u32::MAX)) as u32;
    }
}

impl Controller for Prague {
    /// The draft leaves a peer without AccECN to RFC 3168.
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.mtu = path.mtu;
        self.window = Self::bytes(win.cwnd, path.mtu);
        self.seen_ce = path.delivered_ce;
        self.start_round(now, path);
        self.update_pacing(path);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if ack.ce > 0 {
            self.on_mark(now, ack.path, win);
            self.seen_ce = ack.path.delivered_ce;
        }
        self.grow(ack, win);
        self.settle(win);
        self.end_round(now, ack.path);
        self.update_pacing(ack.path);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.asked_cwnd = Some(win.cwnd);
        win.ssthresh
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        match change.to {
            State::Recovery => self.on_loss(now, win.cwnd, path, win),
            // CWR without a new mark: a tail-loss probe has repaired a loss. Marks act in on_ack,
            // since a CWR state of one short round trip may end long before the virtual RTT.
            State::Cwr if path.delivered_ce == self.seen_ce => {
                self.on_loss(now, win.cwnd, path, win);
            }
            State::Loss => {
                if let Some(cwnd) = asked {
                    self.on_loss(now, cwnd, path, win);
                }
            }
            State::Open => self.in_loss = false,
            State::Cwr | State::Disorder => {}
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        self.window = self.window.max(self.loss_window);
        self.in_loss = false;
        win.cwnd.max(self.loss_cwnd)
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output { pacing_rate: Some(self.pacing), burst: Some(self.burst), ..Output::default() }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", self.alpha as f64 / ALPHA_ONE as f64);
        out.put("window", "bytes", self.window as f64 / ALPHA_ONE as f64);
        out.put("mtu", "bytes", f64::from(self.mtu));
        out.put("in_loss", "1", f64::from(u8::from(self.in_loss)));
    }
}

#[cfg(test)]
mod tests;
