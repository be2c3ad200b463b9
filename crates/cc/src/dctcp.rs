//! DCTCP: once per window, cwnd loses half of the share of it that was marked, averaged. RFC 8257 and
//! Linux 5.4 net/ipv4/tcp_dctcp.c.
//!
//! The endpoint carries a reduction out, by PRR in state CWR, and its receiver reports every mark
//! (feedback `dctcp`). RFC 3168 and AccECN feedback are read as they are; without ECN this is Reno.

use super::algorithm::{Algorithm, Entry, entry};
use super::or_reno::OrReno;
use super::{
    Ack, AckEvent, Controller, Feedback, Kernel, Needs, Path, State, StateChange, Window, reno,
};
use sojourn_core::grammar::forms::number;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;
use sojourn_core::{choices, parameters};

pub(super) const ENTRY: Entry = entry::<Params>(
    "dctcp",
    "Cuts by half the marked share per window; for data centres and step marking.",
    "RFC 8257; Linux 5.4 net/ipv4/tcp_dctcp.c",
    Kernel::Mainline("3.18"),
);

parameters! {
    /// Parameters of `dctcp`.
    #[derive(Copy)]
    struct Params {
        /// linux: alpha in 1/1024 over segments; rfc8257: real numbers over bytes.
        version: Version = Version::Linux;
        /// Gain of alpha, 2^-N.
        shift_g: u32 = 4 => number(0..=ONE_SHIFT.into());
        /// Alpha before the first window, in 1/1024.
        alpha_on_init: u32 = ONE => number(0..=ONE.into());
    }
}

choices! {
    /// Whose arithmetic.
    enum Version { Linux = "linux", Rfc8257 = "rfc8257" }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(OrReno::new(Dctcp::new(*self), |feedback| feedback != Feedback::None))
    }
}

/// Alpha = 1 in Linux's integers.
const ONE: u32 = 1024;
const ONE_SHIFT: u32 = 10;
const MIN_SSTHRESH: u32 = 2;

/// The average of the marked share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Alpha {
    /// In 1/1024.
    Linux(u32),
    Rfc8257(f64),
}

impl Alpha {
    fn new(params: Params) -> Self {
        match params.version {
            Version::Linux => Self::Linux(params.alpha_on_init),
            Version::Rfc8257 => Self::Rfc8257(f64::from(params.alpha_on_init) / f64::from(ONE)),
        }
    }

    /// A window of `delivered` ended, of which `marked`: DCTCP.Alpha of RFC 8257 3.3; Linux
    /// dctcp_update_alpha().
    fn update(&mut self, marked: u64, delivered: u64, shift_g: u32) {
        match self {
            Self::Linux(alpha) => {
                // Linux min_not_zero: what is too small to shrink goes to zero.
                *alpha -= match *alpha >> shift_g {
                    0 => *alpha,
                    decay => decay,
                };
                if marked > 0 {
                    let share = (marked << (ONE_SHIFT - shift_g)) / delivered.max(1);
                    *alpha = ONE.min(*alpha + share.min(u64::from(ONE)) as u32);
                }
            }
            Self::Rfc8257(alpha) => {
                let gain = 1.0 / f64::from(1 << shift_g);
                let share = marked as f64 / delivered.max(1) as f64;
                *alpha = (*alpha * (1.0 - gain) + gain * share).min(1.0);
            }
        }
    }

    /// What a cut leaves of cwnd, in whole segments (RFC 8257 3.3; Linux dctcp_ssthresh());
    /// `carry` keeps what RFC 8257's bytes have more.
    fn cut(self, cwnd: u32, carry: &mut f64) -> u32 {
        match self {
            // Below two segments marked per window the cut rounds to nothing.
            Self::Linux(alpha) => {
                cwnd - ((u64::from(cwnd) * u64::from(alpha)) >> (ONE_SHIFT + 1)) as u32
            }
            Self::Rfc8257(alpha) => {
                let left = f64::from(cwnd) * (1.0 - alpha / 2.0) + *carry;
                *carry = left.fract();
                left as u32
            }
        }
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Linux(alpha) => f64::from(alpha) / f64::from(ONE),
            Self::Rfc8257(alpha) => alpha,
        }
    }
}

#[derive(Debug)]
struct Dctcp {
    params: Params,
    alpha: Alpha,
    /// End of the running observation window.
    next_seq: u64,
    /// Running totals when the window began, in segments (`linux`).
    old_delivered: u64,
    old_delivered_ce: u64,
    /// Of the running window, in bytes (`rfc8257`).
    acked_bytes: u64,
    marked_bytes: u64,
    /// Marks counted so far where feedback is not a flag (`rfc8257` over AccECN).
    seen_ce: u64,
    /// Part of a segment that the last cut left over (`rfc8257`).
    carry: f64,
    loss_cwnd: u32,
    /// cwnd at the last `ssthresh` query that no state change has used.
    asked_cwnd: Option<u32>,
}

impl Dctcp {
    fn new(params: Params) -> Self {
        Self {
            params,
            alpha: Alpha::new(params),
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            acked_bytes: 0,
            marked_bytes: 0,
            seen_ce: 0,
            carry: 0.0,
            loss_cwnd: 0,
            asked_cwnd: None,
        }
    }

    fn start_window(&mut self, path: &Path) {
        self.next_seq = path.snd_nxt;
        self.old_delivered = path.delivered;
        self.old_delivered_ce = path.delivered_ce;
        self.acked_bytes = 0;
        self.marked_bytes = 0;
    }

    fn count_bytes(&mut self, event: &AckEvent<'_>) {
        let path = event.path;
        // RFC 8257 3.3: SACK is ignored for this computation.
        self.acked_bytes += event.acked_bytes;
        if path.feedback == Feedback::AccEcn {
            self.marked_bytes += (path.delivered_ce - self.seen_ce) * u64::from(path.mss);
            self.seen_ce = path.delivered_ce;
        } else if event.ece {
            self.marked_bytes += event.acked_bytes;
        }
    }

    /// Linux `dctcp_react_to_loss`, RFC 8257 3.5: a loss halves, whatever alpha says.
    fn react_to_loss(&mut self, cwnd: u32, win: &mut Window) {
        self.loss_cwnd = cwnd;
        win.ssthresh = (cwnd / 2).max(MIN_SSTHRESH);
    }
}

impl Controller for Dctcp {
    fn needs(&self) -> Needs {
        Needs { feedback: Some(Feedback::Dctcp), ect_on_control: true, ..Needs::default() }
    }

    fn on_established(&mut self, _now: Time, path: &Path, _win: &mut Window) {
        self.seen_ce = path.delivered_ce;
        self.start_window(path);
    }

    fn hears_ack_events(&self) -> bool {
        true
    }

    fn on_ack_event(&mut self, _now: Time, event: &AckEvent<'_>, _win: &mut Window) {
        let path = event.path;
        let (marked, delivered) = match self.params.version {
            Version::Linux => {
                (path.delivered_ce - self.old_delivered_ce, path.delivered - self.old_delivered)
            }
            Version::Rfc8257 => {
                self.count_bytes(event);
                (self.marked_bytes, self.acked_bytes)
            }
        };
        if path.snd_una >= self.next_seq {
            self.alpha.update(marked, delivered, self.params.shift_g);
            self.start_window(path);
        }
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        if ack.may_raise {
            reno::cong_avoid(ack, win);
        }
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.loss_cwnd = win.cwnd;
        self.asked_cwnd = Some(win.cwnd);
        self.alpha.cut(win.cwnd, &mut self.carry).max(MIN_SSTHRESH)
    }

    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, win: &mut Window) {
        let asked = self.asked_cwnd.take();
        match (change.to, asked) {
            (State::Recovery, _) => self.react_to_loss(win.cwnd, win),
            // Only the first timeout of an episode asks; cwnd has collapsed since.
            (State::Loss, Some(cwnd)) => self.react_to_loss(cwnd, win),
            _ => {}
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        win.cwnd.max(self.loss_cwnd)
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", self.alpha.as_f64());
    }
}

#[cfg(test)]
mod tests;
