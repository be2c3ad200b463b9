//! Scalable TCP: growth in proportion to cwnd, so that the time between losses does not depend on the
//! rate. T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2),
//! 2003: a = 0.01, b = 0.125. In Linux's integers (net/ipv4/tcp_scalable.c).

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Kernel, Path, Window};
use sojourn_core::grammar::forms::{number, whole};
use sojourn_core::parameters;
use sojourn_core::units::Time;

pub(super) const ENTRY: Entry = entry::<Params>(
    "scalable",
    "Grows by a hundredth of what is acknowledged, reduces by an eighth.",
    "Kelly, Scalable TCP, CCR 2003; Linux net/ipv4/tcp_scalable.c",
    Kernel::Mainline("2.6.13"),
);

parameters! {
    /// Parameters of `scalable`, which remembers everything else in [`Window`].
    #[derive(Copy)]
    struct Params {
        /// Acknowledged segments per segment of growth; below this cwnd, growth is Reno's.
        ai: u32 = 100 => whole("SEGMENTS", 1..=65_535, "");
        /// A reduction takes cwnd / 2^N.
        md_shift: u32 = 3 => number(1..=10);
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

const MIN_SSTHRESH: u32 = 2;

impl Controller for Params {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        if !ack.may_raise || !ack.path.cwnd_limited {
            return;
        }
        let mut acked = ack.delivered();
        if win.in_slow_start() {
            acked = win.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        // Linux tcp_scalable_cong_avoid().
        win.additive_increase(win.cwnd.min(self.ai), acked);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        // Linux tcp_scalable_ssthresh().
        (win.cwnd - (win.cwnd >> self.md_shift)).max(MIN_SSTHRESH)
    }
}

#[cfg(test)]
mod tests;
