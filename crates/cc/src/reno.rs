//! Reno as Linux runs it: RFC 5681 with segments counted instead of ACKs; NewReno's recovery is
//! the endpoint's. With `abe` a mark costs less than a loss (RFC 8511).

use super::algorithm::{Algorithm, Entry, entry};
use super::hystart_pp::HystartPp;
use super::{Ack, Controller, Kernel, Path, Signal, Window};
use sojourn_core::grammar::forms::one_of;
use sojourn_core::parameters;
use sojourn_core::units::Time;

pub(super) const ENTRY: Entry = entry::<Params>(
    "reno",
    "Halves on loss or ECN echo, grows by one segment per window.",
    "RFC 5681; Linux net/ipv4/tcp_cong.c; abe: RFC 8511; HyStart++: RFC 9406",
    Kernel::Mainline("2.2"),
);

parameters! {
    /// Parameters of `reno`.
    #[derive(Copy)]
    struct Params {
        /// What leaves slow start before the first loss: nothing, as in Linux, or RFC 9406.
        hystart: bool = false => one_of("off|++", &[("off", false), ("++", true)]);
    }
    groups { abe: Abe = Abe::default(); }
}

parameters! {
    /// Alternative Backoff with ECN, of Reno and of CUBIC.
    #[derive(Copy, PartialEq)]
    pub(super) struct Abe {
        /// Reduce less for a mark in congestion avoidance than for a loss (RFC 8511).
        pub(super) abe: bool = false, name "abe|noabe";
    }
}

impl Abe {
    /// Whether RFC 8511 replaces the factor of the reduction that starts now.
    pub(super) fn applies(self, path: &Path, win: &Window) -> bool {
        self.abe && path.signal == Signal::Mark && !win.in_slow_start()
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Reno { hystart: self.hystart.then(HystartPp::new), abe: self.abe })
    }
}

/// The smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u32 = 2;

/// Growth step of one ACK, slow start and its remainder in congestion avoidance; nothing happens
/// while the application or the receiver, not cwnd, is the limit.
/// Linux tcp_reno_cong_avoid(); RFC 5681 3.1, with segments counted instead of ACKs.
#[inline]
pub(super) fn cong_avoid(ack: &Ack<'_>, win: &mut Window) {
    if !ack.path.cwnd_limited {
        return;
    }
    let mut acked = ack.delivered();
    if win.in_slow_start() {
        acked = win.slow_start(acked);
        if acked == 0 {
            return;
        }
    }
    win.additive_increase(win.cwnd, acked);
}

/// Half of cwnd: RFC 5681 3.1, equation 4; Linux tcp_reno_ssthresh() takes cwnd for the flight.
pub(super) fn ssthresh(win: &Window) -> u32 {
    (win.cwnd / 2).max(MIN_SSTHRESH)
}

/// Apart from HyStart++, everything Reno remembers is in [`Window`].
#[derive(Debug, Default)]
struct Reno {
    hystart: Option<HystartPp>,
    abe: Abe,
}

impl Controller for Reno {
    fn on_established(&mut self, _now: Time, path: &Path, _win: &mut Window) {
        if let Some(hystart) = &mut self.hystart {
            hystart.start(path.snd_nxt);
        }
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        match &mut self.hystart {
            Some(hystart) if win.in_slow_start() => {
                let grows = ack.may_raise && ack.path.cwnd_limited;
                let left = hystart.on_ack(ack, grows, win);
                if left > 0 {
                    win.additive_increase(win.cwnd, left);
                }
            }
            _ if ack.may_raise => cong_avoid(ack, win),
            _ => {}
        }
    }

    fn ssthresh(&mut self, _now: Time, path: &Path, win: &Window) -> u32 {
        if self.abe.applies(path, win) {
            // RFC 8511 3: beta_ecn of 0.8.
            return (win.cwnd - win.cwnd.div_ceil(5)).max(MIN_SSTHRESH);
        }
        ssthresh(win)
    }
}

#[cfg(test)]
mod tests;
