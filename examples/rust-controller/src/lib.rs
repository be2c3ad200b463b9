//! `myaimd`: AIMD that grows faster for as long as its packets do not queue.

use sojourn_cc::algorithm::{Algorithm, Entry, entry};
use sojourn_cc::{Ack, Controller, Kernel, Needs, Output, Path, Window};
use sojourn_core::Time;
use sojourn_core::grammar::forms::{decimal, number};
use sojourn_core::parameters;

/// What a program registers.
pub const ENTRY: Entry = entry::<Params>(
    "myaimd",
    "AIMD that grows faster for as long as its packets do not queue.",
    "examples/rust-controller",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `myaimd`.
    #[derive(Copy)]
    struct Params {
        /// What is left of cwnd after a loss or mark.
        beta: f64 = 0.7 => decimal("NUMBER", 0.1..=0.9);
        /// Segments per round trip while nothing queues.
        boost: u32 = 4 => number(1..=100);
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(MyAimd(*self))
    }
}

struct MyAimd(Params);

impl Controller for MyAimd {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        if !(ack.may_raise && ack.path.cwnd_limited) {
            return;
        }
        let mut left = ack.delivered();
        if win.in_slow_start() {
            left = win.slow_start(left);
        }
        let limit = 1.1 * ack.path.min_rtt.as_secs_f64();
        let queues = ack.rtt.is_none_or(|rtt| rtt.as_secs_f64() > limit);
        win.additive_increase(win.cwnd, if queues { left } else { left * self.0.boost });
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        ((f64::from(win.cwnd) * self.0.beta) as u32).max(2)
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }
}
