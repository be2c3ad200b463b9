//! TCP Prague now: `current` is kernel module 0.7 (2024), `draft04` the rules of
//! draft-briscoe-iccrg-prague-congestion-control-04. Facts: `cc.md` 3.5 (draft and F), 3.13.2.
//!
//! All dynamics are those of a path of at least 25 ms, the virtual RTT. The module keeps a
//! fractional window in bytes and moves the endpoint's cwnd towards it by one segment per ACK.
//! Where two segments per virtual RTT are too many it makes segments smaller.

use super::super::{
    Ack, Controller, Feedback, Needs, Output, Path, State, StateChange, Window, reno,
};
use super::{NEEDS, Version};
use crate::probe::Probe;
use crate::units::{Dur, Rate, Time};

/// What growth and cuts act upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Window,
    Rate,
    /// The rate while the window is small, else the window.
    Switch,
}

pub(super) const MODES: [&str; 3] = ["window", "rate", "switch"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) version: Version,
    pub(super) mode: Mode,
    pub(super) alpha_starts_at_one: bool,
    /// Least virtual RTT.
    pub(super) rtt_target: Dur,
    pub(super) burst_shift: u32,
}

impl Params {
    pub(super) const fn default_of(version: Version) -> Self {
        Self {
            version,
            mode: Mode::Window,
            alpha_starts_at_one: false,
            rtt_target: Dur::from_millis(25),
            burst_shift: 12,
        }
    }

    fn describe(&self) -> String {
        let mut text = format!("prague version {}", self.version.word());
        if self.version == Version::Current {
            let mode = MODES[self.mode as usize];
            text += &format!(" cwnd_mode {mode} alpha_init {}", u8::from(self.alpha_starts_at_one));
        }
        text + &format!(" rtt_target {} burst_shift {}", self.rtt_target, self.burst_shift)
    }
}

/// Fraction bits of alpha and of the window in bytes.
const BITS: u32 = 24;
const ALPHA_ONE: u64 = 1 << BITS;
/// Fraction bits of the rate in bytes per second.
const RATE_SHIFT: u32 = 8;
/// Gain of alpha, 1/16.
const SHIFT_G: u32 = 4;
const MIN_CWND: u32 = 2;
/// Bytes that a window of whole virtual RTT grows by, whatever the segment size.
const INCREASE: u64 = 1500;
/// Least payload of a segment.
const MIN_MSS: u32 = 150;
/// Least rate, 100 kbit/s, in bytes per second.
const MIN_RATE: u64 = 12_500;
/// `cwnd_mode switch` works on the rate up to this window, bytes.
const SMALL_WINDOW: u64 = 4 * 1500;
/// In rate mode the pacing rate is 4/128 higher in the first half of a virtual RTT, and as much
/// lower in the second.
const PACING_OFFSET: u64 = 4;
const PACING_UNIT: u64 = 128;
const US_PER_S: u128 = 1_000_000;

#[derive(Debug)]
pub(super) struct Prague {
    params: Params,
    /// The peer has no AccECN: everything is Reno.
    reno: bool,
    /// Alpha in 2^-24.
    alpha: u64,
    saw_ce: bool,
    in_loss: bool,
    /// Window in 2^-24 bytes.
    window: u64,
    /// Window per smoothed RTT in 2^-8 bytes per second, what `cwnd_mode rate` acts upon.
    rate: u64,
    /// IP bytes of a segment.
    mtu: u32,
    path_mtu: u32,
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

/// Bytes per segment at which two segments per virtual RTT make `rate` (bytes per second).
fn fitting_mtu(rate: u64, virtual_rtt: Dur) -> u64 {
    (u128::from(rate) * u128::from(virtual_rtt.as_micros()) / (2 * US_PER_S)) as u64
}

impl Prague {
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            reno: false,
            alpha: if params.alpha_starts_at_one { ALPHA_ONE } else { 0 },
            saw_ce: false,
            in_loss: false,
            window: 0,
            rate: 0,
            mtu: 0,
            path_mtu: 0,
            next_seq: 0,
            round_delivered: 0,
            round_ce: 0,
            alpha_stamp: Time::ZERO,
            cut_stamp: None,
            cut: 0,
            seen_ce: 0,
            asked_cwnd: None,
            loss_window: 0,
            loss_cwnd: 0,
            pacing: Rate(u64::MAX),
            burst: 1,
        }
    }

    fn virtual_rtt(&self, path: &Path) -> Dur {
        path.srtt.max(self.params.rtt_target)
    }

    fn bytes(segments: u32, mtu: u32) -> u64 {
        (u64::from(segments) * u64::from(mtu)) << BITS
    }

    /// cwnd that the window stands for.
    fn target(&self) -> u32 {
        let segments = self.window.div_ceil(u64::from(self.mtu.max(1)) << BITS);
        segments.clamp(u64::from(MIN_CWND), u64::from(u32::MAX)) as u32
    }

    fn acts_on_rate(&self) -> bool {
        match self.params.mode {
            Mode::Window => false,
            Mode::Rate => true,
            Mode::Switch => self.window <= SMALL_WINDOW << BITS,
        }
    }

    fn rate_of(window: u64, srtt: Dur) -> u64 {
        let us = srtt.as_micros().max(1);
        let rate = match window.checked_mul(US_PER_S as u64) {
            Some(scaled) => u128::from(scaled / us),
            None => u128::from(window) * US_PER_S / u128::from(us),
        };
        (rate >> (BITS - RATE_SHIFT)) as u64
    }

    fn window_of(rate: u64, srtt: Dur) -> u64 {
        let us = u128::from(srtt.as_micros().max(1));
        (((u128::from(rate) * us) << (BITS - RATE_SHIFT)) / US_PER_S) as u64
    }

    /// Takes a part of the window away; slow start is over.
    fn reduce(&mut self, now: Time, by: u64, path: &Path, win: &mut Window) {
        self.cut_stamp = Some(now);
        self.cut = by;
        self.window = self.window.saturating_sub(by);
        self.rate = Self::rate_of(self.window, path.srtt);
        win.ssthresh = self.target();
    }

    fn on_mark(&mut self, now: Time, path: &Path, win: &mut Window) {
        let first = !std::mem::replace(&mut self.saw_ce, true);
        let gate = self.virtual_rtt(path);
        if self.in_loss || self.cut_stamp.is_some_and(|cut| now.since(cut) < gate) {
            return;
        }
        // The draft sets alpha to 1 at the first mark, the module halves and leaves alpha at 0.
        if first && self.params.version == Version::Draft04 {
            self.alpha = ALPHA_ONE;
        }
        let alpha = if first { ALPHA_ONE } else { self.alpha };
        let cut = (u128::from(self.window) * u128::from(alpha)) >> (BITS + 1);
        self.reduce(now, cut as u64, path, win);
    }

    fn on_loss(&mut self, now: Time, cwnd: u32, path: &Path, win: &mut Window) {
        self.loss_window = self.window;
        self.loss_cwnd = cwnd;
        self.in_loss = true;
        let recent = self.cut_stamp.is_some_and(|cut| now.since(cut) < path.srtt);
        let by = if recent && self.params.version == Version::Draft04 {
            // The two reductions together are a halving.
            u64::midpoint(self.window, self.cut).saturating_sub(self.cut)
        } else {
            self.window / 2
        };
        self.reduce(now, by, path, win);
    }

    fn grow(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        let mut unmarked = ack.delivered().saturating_sub(ack.ce);
        if unmarked == 0 || !path.cwnd_limited || self.in_loss {
            return;
        }
        if win.in_slow_start() {
            unmarked = win.slow_start(unmarked);
            self.window = self.window.max(Self::bytes(win.cwnd, self.mtu));
            self.rate = Self::rate_of(self.window, path.srtt);
            if unmarked == 0 {
                return;
            }
        }
        let virtual_rtt = u128::from(self.virtual_rtt(path).as_micros());
        let srtt = u128::from(path.srtt.as_micros()).min(virtual_rtt);
        let unmarked = u128::from(unmarked);
        if self.acts_on_rate() {
            let mtu = u128::from(self.mtu);
            let unit = (mtu * US_PER_S) << RATE_SHIFT;
            let segments = (u128::from(self.rate) * virtual_rtt).div_ceil(unit).max(1);
            let whole = ((u128::from(INCREASE) * US_PER_S) << RATE_SHIFT) / virtual_rtt;
            self.rate += (unmarked * whole / segments) as u64;
            self.window = Self::window_of(self.rate, path.srtt);
        } else {
            let share = ((srtt * srtt) << BITS) / (virtual_rtt * virtual_rtt);
            let increase = if self.params.version == Version::Draft04 {
                u128::from(self.path_mtu)
            } else {
                u128::from(INCREASE)
            };
            let inc = ((unmarked * increase * u128::from(self.mtu) * share) << BITS)
                / u128::from(self.window.max(1));
            self.window += inc as u64;
            self.rate = Self::rate_of(self.window, path.srtt);
        }
    }

    /// Bounds of the rate, the segment size that goes with it, and one step of cwnd.
    fn settle(&mut self, path: &Path, win: &mut Window) {
        if self.rate < MIN_RATE << RATE_SHIFT {
            self.rate = MIN_RATE << RATE_SHIFT;
            self.window = self.window.max(Self::window_of(self.rate, path.srtt));
        }
        if self.params.version == Version::Current {
            let headers = path.mtu - path.mss;
            let fitting = fitting_mtu(self.rate >> RATE_SHIFT, self.virtual_rtt(path));
            let least = (MIN_MSS + headers).min(path.mtu);
            self.mtu = fitting.clamp(u64::from(least), u64::from(path.mtu)) as u32;
        }
        let target = self.target();
        if win.cwnd < target {
            win.cwnd = (win.cwnd + 1).min(win.clamp);
        } else if win.cwnd > target {
            win.cwnd -= 1;
        }
    }

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

    fn update_pacing(&mut self, now: Time, path: &Path, win: &Window) {
        let flight = Self::bytes(path.in_flight, self.mtu);
        let rate = if self.acts_on_rate() {
            let early = now.since(self.alpha_stamp) < self.virtual_rtt(path) / 2;
            let factor =
                if early { PACING_UNIT + PACING_OFFSET } else { PACING_UNIT - PACING_OFFSET };
            self.rate * factor / PACING_UNIT
        } else {
            Self::rate_of(self.window.max(flight), path.srtt)
        };
        // The draft paces with gain 1 throughout.
        let doubled = self.params.version == Version::Current && win.cwnd < win.ssthresh / 2;
        let bytes_per_sec = (rate >> RATE_SHIFT) << u32::from(doubled);
        self.pacing = Rate(bytes_per_sec.saturating_mul(8));
        let burst = (bytes_per_sec >> self.params.burst_shift) / u64::from(self.mtu.max(1));
        self.burst = burst.clamp(1, u64::from(u32::MAX)) as u32;
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        if self.reno {
            return Needs::default();
        }
        // The draft leaves a peer without AccECN to RFC 3168.
        Needs { accecn_only: self.params.version == Version::Current, ..NEEDS }
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.reno = path.feedback != Feedback::AccEcn;
        self.mtu = path.mtu;
        self.path_mtu = path.mtu;
        self.window = Self::bytes(win.cwnd, path.mtu);
        self.rate = Self::rate_of(self.window, path.srtt);
        self.seen_ce = path.delivered_ce;
        self.start_round(now, path);
        self.update_pacing(now, path, win);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if self.reno {
            if ack.may_raise {
                reno::cong_avoid(ack, win);
            }
            return;
        }
        if ack.ce > 0 {
            self.on_mark(now, ack.path, win);
            self.seen_ce = ack.path.delivered_ce;
        }
        self.grow(ack, win);
        self.settle(ack.path, win);
        self.end_round(now, ack.path);
        self.update_pacing(now, ack.path, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        if self.reno {
            return reno::ssthresh(win);
        }
        self.asked_cwnd = Some(win.cwnd);
        win.ssthresh
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        if self.reno {
            return;
        }
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
        if self.reno {
            return win.cwnd.max(win.prior_cwnd);
        }
        self.window = self.window.max(self.loss_window);
        self.in_loss = false;
        win.cwnd.max(self.loss_cwnd)
    }

    fn output(&self, path: &Path, _win: &Window) -> Output {
        if self.reno {
            return Output::default();
        }
        Output {
            pacing_rate: Some(self.pacing),
            burst: Some(self.burst),
            mss: (self.mtu < path.mtu).then(|| self.mtu - (path.mtu - path.mss)),
            ..Output::default()
        }
    }

    fn describe(&self) -> String {
        self.params.describe()
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", self.alpha as f64 / ALPHA_ONE as f64);
        out.put("window", "bytes", self.window as f64 / ALPHA_ONE as f64);
        out.put("mtu", "bytes", f64::from(self.mtu));
        out.put("in_loss", "1", f64::from(u8::from(self.in_loss)));
    }
}

#[cfg(test)]
#[path = "current_tests.rs"]
mod tests;
