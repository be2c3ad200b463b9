//! TCP Vegas as Linux runs it: counts the segments that the flow itself keeps in the queue and
//! moves by one segment per round trip to keep them between alpha and beta. Linux
//! net/ipv4/tcp_vegas.c; Brakmo and Peterson 1995.

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Kernel, Path, State, StateChange, Window, reno};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{Form, whole};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "vegas",
    "Keeps two to four segments of its own in the queue.",
    "Brakmo and Peterson 1995; Linux net/ipv4/tcp_vegas.c",
    Kernel::Mainline("2.6.13"),
);

parameters! {
    /// Parameters of `vegas`.
    #[derive(Copy)]
    struct Params {
        /// Grows with fewer segments in the queue.
        alpha: u32 = 2 => segments();
        /// Shrinks with more segments in the queue.
        beta: u32 = 4 => segments();
        /// Leaves slow start with more segments in the queue.
        gamma: u32 = 1 => segments();
    }
    settle in_order;
}

fn segments() -> impl Form<u32> {
    whole("SEGMENTS", 0..=10_000, "")
}

impl Params {
    fn in_order(&self, _: &Given) -> Result<(), String> {
        if self.alpha > self.beta { Err("alpha is more than beta".to_owned()) } else { Ok(()) }
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Vegas::new(*self))
    }
}

const MIN_CWND: u32 = 2;
/// Fewer samples in a round trip may all be of delayed ACKs.
const MIN_SAMPLES: u32 = 3;

#[derive(Debug, Default)]
struct Vegas {
    params: Params,
    /// Off while the endpoint repairs losses; Reno then.
    on: bool,
    base_rtt: Dur,
    /// Least RTT and number of samples of the running round trip.
    min_rtt: Dur,
    samples: u32,
    /// The running round trip ends when this byte is acknowledged.
    round_end: u64,
    snd_nxt: u64,
    queued: u32,
}

impl Vegas {
    fn new(params: Params) -> Self {
        Self { params, base_rtt: Dur::MAX, min_rtt: Dur::MAX, ..Self::default() }
    }

    fn enable(&mut self, snd_nxt: u64) {
        self.on = true;
        self.round_end = snd_nxt;
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.samples = 0;
        self.min_rtt = Dur::MAX;
    }

    /// Once per round trip: compares what is in flight with what the empty path would hold (Linux
    /// tcp_vegas_cong_avoid()).
    fn compare(&mut self, acked: u32, win: &mut Window) {
        let (rtt, base) = (u128::from(self.min_rtt.0), u128::from(self.base_rtt.0));
        let cwnd = u128::from(win.cwnd);
        let target = (cwnd * base / rtt) as u32;
        self.queued = (cwnd * (rtt - base) / base).min(u128::from(u32::MAX)) as u32;
        if win.in_slow_start() {
            if self.queued > self.params.gamma {
                win.cwnd = win.cwnd.min(target + 1);
                win.ssthresh = win.ssthresh.min(win.cwnd);
            } else {
                win.slow_start(acked);
            }
        } else if self.queued > self.params.beta {
            win.cwnd -= 1;
            win.ssthresh = win.ssthresh.min(win.cwnd);
        } else if self.queued < self.params.alpha {
            win.cwnd += 1;
        }
        win.cwnd = win.cwnd.max(MIN_CWND).min(win.clamp);
        win.ssthresh = win.ssthresh.max((win.cwnd >> 1) + (win.cwnd >> 2));
    }
}

impl Controller for Vegas {
    fn on_established(&mut self, _now: Time, path: &Path, _win: &mut Window) {
        self.snd_nxt = path.snd_nxt;
        self.enable(path.snd_nxt);
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.snd_nxt = ack.path.snd_nxt;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt + Dur::from_micros(1); // never zero
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.samples += 1;
        }
        if !ack.may_raise {
            return;
        }
        if !self.on {
            reno::cong_avoid(ack, win);
        } else if ack.path.snd_una > self.round_end {
            self.round_end = ack.path.snd_nxt;
            if self.samples < MIN_SAMPLES {
                reno::cong_avoid(ack, win);
            } else {
                self.compare(ack.delivered(), win);
            }
            self.forget_round();
        } else if win.in_slow_start() {
            win.slow_start(ack.delivered());
        }
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        reno::ssthresh(win)
    }

    fn on_state(&mut self, _now: Time, change: StateChange, path: &Path, _win: &mut Window) {
        if change.to == State::Open {
            self.enable(path.snd_nxt);
        } else {
            self.on = false;
        }
    }

    fn on_restart(&mut self, _now: Time, _idle: Dur, _win: &mut Window) {
        self.base_rtt = Dur::MAX; // the path may be another one
        self.enable(self.snd_nxt);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        if self.base_rtt != Dur::MAX {
            out.put("base_rtt", "ms", self.base_rtt.as_millis_f64());
        }
        out.put("queued", "segments", f64::from(self.queued));
    }
}

#[cfg(test)]
mod tests;
