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
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_a_hundredth_and_small_ones_as_reno() {
        let path = Path { cwnd_limited: true, ..Path::default() };
        for (cwnd, expected) in [(1000, 1010), (200, 202), (100, 101), (50, 51), (10, 11)] {
            let mut win = Window { ssthresh: 5, ..Window::new(cwnd) };
            for _ in 0..cwnd / 2 {
                let ack = Ack { acked: 2, may_raise: true, ..Ack::new(&path) };
                Params::default().on_ack(Time::ZERO, &ack, &mut win);
            }
            assert_eq!(win.cwnd, expected, "cwnd {cwnd}");
        }
    }

    #[test]
    fn a_reduction_takes_an_eighth() {
        for (cwnd, expected) in [(1000, 875), (100, 88), (8, 7), (7, 7), (2, 2), (1, 2)] {
            let mut scalable = Params::default();
            let kept = scalable.ssthresh(Time::ZERO, &Path::default(), &Window::new(cwnd));
            assert_eq!(kept, expected, "cwnd {cwnd}");
        }
    }
}
