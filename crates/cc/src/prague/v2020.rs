//! TCP Prague, the kernel modules of 2020 and 2021: `p2a` (March and early April 2020) ignores
//! losses in slow start, `p2b` is the module after the fix, `p2c` that of August 2020, `p3` is module 0.6.
//! The law is the same, the parameters that they load with are not. L4STeam tcp_prague.c.
//!
//! The module owns cwnd: a cut goes into a signed carry and leaves cwnd one segment per ACK. The
//! endpoint's CWR state is what limits cuts to one per round trip.

use super::super::classic_ecn::{BITS, Detector};
use super::super::{Ack, Controller, Feedback, Needs, Output, Path, State, StateChange, Window};
use super::{Law, NEEDS, Version};
use sojourn_core::choices;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

choices! {
    /// What is done about a classic ECN queue.
    pub(super) enum Fallback { Off = "0", Respond = "1", DetectOnly = "2" }
}

choices! {
    /// How growth depends on the RTT.
    pub(super) enum RttMode {
        None = "none",
        Rate = "rate",
        Scalable = "scalable",
        Additive = "additive",
    }
}

/// One segment in the carry, and alpha = 1.
const ONE: i64 = 1 << BITS;
/// Gain of alpha, 1/16.
const SHIFT_G: u32 = 4;
const MIN_CWND: u32 = 2;
/// `tcp_min_tso_segs`, which module 0.6 respects.
const MIN_TSO_SEGMENTS: u64 = 2;
/// The kernel counts RTTs in 128 us here.
const RTT_UNIT_US: u64 = 128;
/// Meant as 100 ms; compared in units of 128 us it is 12.8 s.
const MAX_SCALED_RTT: u64 = 100_000;
/// `rtt_mode scalable`: reference RTT of 2^14 us and offset of 1536 us, in 128 us.
const SCALABLE_R0: u64 = 128;
const SCALABLE_R1: u64 = 12;

#[derive(Debug, Default)]
pub(super) struct Prague {
    law: Law,
    /// Alpha in 2^-24: four bits below the kernel's 20 carry the average's remainder.
    alpha: u64,
    /// Growth and cuts that cwnd has not taken yet, in 2^-20 segments.
    carry: i64,
    saw_ce: bool,
    in_loss: bool,
    /// p2a's defect: it has lost in slow start, and stays there.
    ignores_loss: bool,
    /// End of the running round.
    next_seq: u64,
    /// Running totals when the round began.
    round_delivered: u64,
    round_ce: u64,
    /// CE total at the last ACK that reported CE (p2a).
    acked_ce: u64,
    rounds: u32,
    alpha_stamp: Time,
    cwr_stamp: Option<Time>,
    /// Segments of growth per window, in 2^-20.
    ai: u64,
    /// cwnd at the last `ssthresh` query that no state change has used.
    asked_cwnd: Option<u32>,
    loss_cwnd: u32,
    loss_carry: i64,
    detector: Detector,
    pacing: Rate,
    burst: u32,
}

impl Prague {
    pub(super) fn new(law: Law) -> Self {
        Self {
            law,
            alpha: (ONE as u64) << SHIFT_G,
            ai: ONE as u64,
            detector: Detector::new(),
            pacing: Rate(u64::MAX),
            burst: 1,
            ..Self::default()
        }
    }

    /// Alpha for the next cut, in 2^-20.
    fn alpha_used(&self) -> u64 {
        let alpha = self.alpha >> SHIFT_G;
        match self.law.fallback {
            Fallback::Respond => alpha.max(self.detector.alpha_floor()),
            Fallback::Off | Fallback::DetectOnly => alpha,
        }
    }

    fn rtt_mode_acts(&self, win: &Window) -> bool {
        self.law.rtt_mode != RttMode::None
            && !win.in_slow_start()
            && self.rounds >= self.law.rtt_transition
    }

    /// Least time between cuts and between updates of alpha while the RTT mode acts.
    fn target(&self, path: &Path) -> Dur {
        match self.law.rtt_mode {
            RttMode::Additive => self.law.rtt_target + path.srtt,
            _ => self.law.rtt_target,
        }
    }

    /// tcp_prague.c of 2020, RTT independence: growth as if the RTT were the target (`rate`,
    /// `additive`), or the polynomial of `scalable`; only after slow start and a transition.
    fn scaled_increase(&self, path: &Path, win: &Window) -> u64 {
        let one = ONE as u64;
        let units = |time: Dur| time.as_micros() / RTT_UNIT_US;
        let rtt = units(path.srtt);
        let target = units(self.target(path));
        if !self.rtt_mode_acts(win) || rtt > MAX_SCALED_RTT {
            return one;
        }
        match self.law.rtt_mode {
            RttMode::Scalable => {
                let offset = rtt.saturating_sub(SCALABLE_R1).min(SCALABLE_R0);
                (one * (SCALABLE_R0 / 8 + offset) * rtt) / (SCALABLE_R0 * SCALABLE_R0)
            }
            _ if rtt < target => one * rtt * rtt / (target * target),
            _ => one,
        }
    }

    /// tcp_prague.c of 2020: alpha/2 of cwnd goes into the carry, once per CWR state.
    fn enter_cwr(&mut self, now: Time, path: &Path, win: &Window) {
        let target = self.target(path);
        if self.rtt_mode_acts(win) && self.cwr_stamp.is_some_and(|cut| now.since(cut) < target) {
            return;
        }
        self.cwr_stamp = Some(now);
        let cut = self.alpha_used() * u64::from(win.cwnd);
        self.carry -= (cut.div_ceil(2)) as i64;
    }

    /// tcp_prague.c of 2020: half of cwnd goes into the carry. In p2a slow start never reads it;
    /// later modules set `in_loss`, which suspends growth until the state is Open.
    fn enter_loss(&mut self, cwnd: u32, win: &Window) {
        self.ignores_loss = self.law.version == Version::P2a && win.in_slow_start();
        self.loss_cwnd = cwnd;
        self.loss_carry = self.carry;
        self.carry -= i64::from(cwnd) * (ONE / 2) + (self.carry >> 1);
        self.in_loss = self.law.version != Version::P2a;
    }

    /// Module 0.6 as of 2021 asks whether cwnd limits. Those of 2020 let a paced flow with unsent
    /// data grow as well, since pacing may keep its flight below cwnd.
    fn may_grow(&self, path: &Path, win: &Window) -> bool {
        // DEVIATION: their authors note that this fails where the receive window limits; growth is
        // without end there. It ends here where Linux ends slow start's, at twice the flight.
        let paced = self.law.version != Version::P3 && path.paced && path.backlogged;
        path.cwnd_limited || (paced && win.cwnd < 2 * path.max_packets_out)
    }

    fn update_cwnd(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        let delivered = ack.delivered();
        let mut acked = u64::from(delivered);
        if ack.ce > 0 {
            self.saw_ce = true;
            let ce = match self.law.version {
                Version::P2a => path.delivered_ce - self.acked_ce,
                _ => u64::from(ack.ce),
            };
            self.acked_ce = path.delivered_ce;
            acked = acked.saturating_sub(ce);
        }
        let may_grow = self.may_grow(path, win);
        if acked > 0 && !may_grow && self.ignores_loss && win.in_slow_start() {
            // The module of p2a would grow here without bound, and its cut for the loss would wait on.
            return;
        }
        if acked > 0 && may_grow && !self.in_loss {
            if win.in_slow_start() {
                acked = u64::from(win.slow_start(acked as u32));
                if acked == 0 {
                    // Every module from 0.5 to 0.7 leaves the carry alone here: a cut takes effect, and
                    // ends slow start, with an ACK of marked segments only or one that may not grow.
                    return;
                }
            }
            let cwnd = u64::from(win.cwnd.max(1));
            let growth = (acked * self.ai + cwnd / 2) / cwnd;
            self.carry += growth.max(u64::from(delivered)) as i64;
        }
        self.adjust(win);
    }

    /// Moves at most one segment between the carry and cwnd.
    fn adjust(&mut self, win: &mut Window) {
        if self.carry <= -ONE {
            self.carry += ONE;
            win.cwnd = win.cwnd.saturating_sub(1);
            if win.cwnd < MIN_CWND {
                win.cwnd = MIN_CWND;
                self.carry = 0;
            }
            win.ssthresh = win.cwnd;
        } else if self.carry >= ONE {
            self.carry -= ONE;
            win.cwnd = (win.cwnd + 1).min(win.clamp);
        }
    }

    /// tcp_prague.c of 2020: detector (arXiv 1911.00710), average of the marked share, scale of the
    /// growth.
    fn end_round(&mut self, now: Time, path: &Path, win: &Window) {
        if path.snd_una < self.next_seq
            || (self.rtt_mode_acts(win) && now.since(self.alpha_stamp) < self.target(path))
        {
            return;
        }
        // Alpha keeps its first value, 1, until the first mark.
        if self.saw_ce {
            if self.law.fallback != Fallback::Off {
                self.detector.on_round(path.min_rtt);
            }
            let delivered = (path.delivered - self.round_delivered).max(1);
            let ce = path.delivered_ce - self.round_ce;
            let alpha = self.alpha - (self.alpha >> SHIFT_G) + (ce << BITS) / delivered;
            self.alpha = alpha.min((ONE as u64) << SHIFT_G);
        }
        if !win.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.ai = self.scaled_increase(path, win);
        self.start_round(now, path);
    }

    fn start_round(&mut self, now: Time, path: &Path) {
        self.next_seq = path.snd_nxt;
        self.round_delivered = path.delivered;
        self.round_ce = path.delivered_ce;
        self.alpha_stamp = now;
    }

    /// tcp_prague.c of 2020: cwnd or the flight per smoothed RTT, twice that early in slow start;
    /// bursts of 1/4096 s.
    fn update_pacing(&mut self, path: &Path, win: &Window) {
        let percent = if win.cwnd < win.ssthresh / 2 { 200 } else { 100 };
        self.pacing = path.window_rate(win.cwnd.max(path.in_flight), path.mtu, percent);
        let burst = self.pacing.bytes_per_sec() >> self.law.burst_shift;
        let segments = burst.checked_div(u64::from(path.mtu)).unwrap_or(1);
        let least = if self.law.version == Version::P3 { MIN_TSO_SEGMENTS } else { 1 };
        self.burst = segments.clamp(least, u64::from(u32::MAX)) as u32;
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        if path.feedback != Feedback::AccEcn {
            self.law.fallback = Fallback::Off;
        }
        self.saw_ce = path.delivered_ce > 0;
        self.acked_ce = path.delivered_ce;
        self.start_round(now, path);
        self.update_pacing(path, win);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.detector.on_rtt(rtt, ack.path.srtt);
        }
        self.update_cwnd(ack, win);
        self.end_round(now, ack.path, win);
        self.update_pacing(ack.path, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.asked_cwnd = Some(win.cwnd);
        self.detector.on_ssthresh(win.ssthresh);
        match self.law.version {
            Version::P2a => win.ssthresh.max(win.cwnd),
            _ => win.ssthresh,
        }
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        match change.to {
            State::Cwr => self.enter_cwr(now, path, win),
            State::Recovery => self.enter_loss(win.cwnd, win),
            // Linux reports a timeout only where it also asks for ssthresh; cwnd as of then.
            State::Loss => {
                if let Some(cwnd) = asked {
                    self.enter_loss(cwnd, win);
                }
            }
            State::Open => self.in_loss = false,
            State::Disorder => {}
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        // The kernel's sign: this deepens the debt instead of cancelling it.
        self.carry += self.carry - self.loss_carry;
        self.loss_cwnd.max(win.cwnd)
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output { pacing_rate: Some(self.pacing), burst: Some(self.burst), ..Output::default() }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let one = ONE as f64;
        out.put("alpha", "1", self.alpha as f64 / (one * f64::from(1 << SHIFT_G)));
        out.put("carry", "segments", self.carry as f64 / one);
        out.put("increase", "segments", self.ai as f64 / one);
        // A detector that does not look has found nothing, which is not the same as an L4S path.
        if self.law.fallback != Fallback::Off {
            self.detector.probe(out);
        }
        out.put("in_loss", "1", f64::from(u8::from(self.in_loss)));
    }
}

#[cfg(test)]
mod tests;
