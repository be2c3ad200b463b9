//! TCP Prague of 2019: `p0` is the module of the summer, `p1` the tag testing/5-11-2019 that the
//! SCE-L4S bakeoff used (dboru/linux and L4STeam/linux, net/ipv4/tcp_prague.c).
//!
//! Both are DCTCP with Reno's growth that owns cwnd, so a cut takes effect at once. They differ in
//! what the first mark costs: `p0` starts with alpha 0 and cuts at the end of a round, `p1` starts
//! with alpha 1, which it keeps until the first mark, and cuts when CWR is entered.

use super::super::{Ack, Controller, Needs, Output, Path, State, StateChange, Window, reno};
use super::{Law, NEEDS, Version};
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

/// Fraction bits of alpha.
const BITS: u32 = 31;
const ONE: u64 = 1 << BITS;
/// Gain of alpha, 1/16.
const SHIFT_G: u32 = 4;
const MIN_CWND: u32 = 2;
/// Segments on top of the window that `p0` paces out.
const PACING_ALLOWANCE: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Prague {
    law: Law,
    /// Alpha in 2^-31.
    alpha: u64,
    saw_ce: bool,
    /// End of the running round.
    next_seq: u64,
    /// Running totals when the round began (`p1`).
    round_delivered: u64,
    round_ce: u64,
    /// Bytes acknowledged, and bytes reckoned as marked, in the round (`p0`).
    round_bytes: u64,
    round_ce_bytes: u64,
    /// Mean payload of the segments of the last ACK that acknowledged any.
    mean_segment: u64,
    /// cwnd at the last `ssthresh` query that no state change has used.
    asked_cwnd: Option<u32>,
}

impl Prague {
    pub(super) fn new(law: Law) -> Self {
        Self { law, alpha: if law.version == Version::P0 { 0 } else { ONE }, ..Self::default() }
    }

    /// The window less alpha/2 of it, rounded to the nearest segment (tcp_prague.c of 2019).
    fn cut(&self, win: &mut Window) {
        let cut = (self.alpha * u64::from(win.cwnd) + ONE) >> (BITS + 1);
        win.cwnd = win.cwnd.saturating_sub(cut as u32).max(MIN_CWND);
        win.ssthresh = win.cwnd;
    }

    /// tcp_prague.c of 2019: DCTCP's average (RFC 8257 3.3), of bytes in p0 and of segments in p1.
    fn end_round(&mut self, path: &Path, win: &mut Window) {
        if path.snd_una < self.next_seq {
            return;
        }
        let share = if self.law.version == Version::P0 {
            (self.round_ce_bytes << BITS) / self.round_bytes.max(1)
        } else {
            let delivered = (path.delivered - self.round_delivered).max(1);
            ((path.delivered_ce - self.round_ce) << BITS) / delivered
        };
        if self.saw_ce {
            self.alpha = (self.alpha - (self.alpha >> SHIFT_G) + (share >> SHIFT_G)).min(ONE);
        }
        if self.law.version == Version::P0 && self.round_ce_bytes > 0 {
            self.cut(win);
        }
        self.start_round(path);
    }

    fn start_round(&mut self, path: &Path) {
        self.next_seq = path.snd_nxt;
        self.round_delivered = path.delivered;
        self.round_ce = path.delivered_ce;
        self.round_bytes = 0;
        self.round_ce_bytes = 0;
    }

    fn count_bytes(&mut self, ack: &Ack<'_>) {
        if ack.acked > 0 {
            self.mean_segment = ack.acked_bytes / u64::from(ack.acked);
        }
        self.round_bytes += u64::from(ack.delivered()) * self.mean_segment;
        self.round_ce_bytes += u64::from(ack.ce) * self.mean_segment;
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn on_established(&mut self, _now: Time, path: &Path, _win: &mut Window) {
        self.saw_ce = path.delivered_ce > 0;
        self.mean_segment = u64::from(path.mss);
        self.start_round(path);
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.saw_ce |= ack.ce > 0;
        if self.law.version == Version::P0 {
            self.count_bytes(ack);
            if ack.ce == 0 && ack.may_raise {
                reno::cong_avoid(ack, win);
            }
        } else {
            reno::cong_avoid(ack, win); // in every state, and for marked segments too
        }
        self.end_round(ack.path, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.asked_cwnd = Some(win.cwnd);
        win.ssthresh
    }

    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        match change.to {
            State::Cwr if self.law.version == Version::P1 => self.cut(win),
            State::Recovery => {
                win.ssthresh = reno::ssthresh(win);
                win.cwnd = win.ssthresh;
            }
            // The endpoint has set cwnd to the loss window.
            State::Loss => {
                if let Some(cwnd) = asked {
                    win.ssthresh = (cwnd / 2).max(MIN_CWND);
                }
            }
            State::Cwr | State::Open | State::Disorder => {}
        }
    }

    fn output(&self, path: &Path, win: &Window) -> Output {
        let (pacing, burst_shift) = if self.law.version == Version::P0 {
            let segments = (win.cwnd + PACING_ALLOWANCE).max(path.packets_out);
            let percent = if win.cwnd < win.ssthresh / 2 { 200 } else { 100 };
            (path.window_rate(segments, path.mss, percent), 11)
        } else {
            (path.linux_pacing_rate(win), 12)
        };
        let burst = (pacing.bytes_per_sec() >> burst_shift) / u64::from(path.mtu.max(1));
        Output {
            pacing_rate: Some(pacing),
            burst: Some(burst.clamp(1, u64::from(u32::MAX)) as u32),
            ..Output::default()
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", self.alpha as f64 / ONE as f64);
    }
}

#[cfg(test)]
mod tests;
