//! `myaimd`: AIMD that grows faster for as long as its packets do not queue.

use sojourn_cc::{Ack, Controller, Entry, Needs, Output, Path, Window};
use sojourn_core::Time;
use sojourn_core::grammar::Param;

/// What a program registers.
pub const ENTRY: Entry = Entry {
    name: "myaimd",
    summary: "AIMD that grows faster for as long as its packets do not queue.",
    reference: "examples/rust-controller",
    params: &[
        Param {
            name: "beta",
            value: "NUMBER",
            default: "0.7",
            doc: "What is left of cwnd after a loss or mark.",
        },
        Param {
            name: "boost",
            value: "NUMBER",
            default: "4",
            doc: "Segments per round trip while nothing queues.",
        },
    ],
    build: |args| {
        let mut cc = MyAimd { beta: 0.7, boost: 4 };
        while let Some(key) = args.key() {
            match key {
                "beta" => cc.beta = args.decimal(0.1..=0.9)?,
                "boost" => cc.boost = args.number(1..=100)? as u32,
                _ => return Err(args.unknown()),
            }
        }
        Ok(Box::new(cc))
    },
};

struct MyAimd {
    beta: f64,
    boost: u32,
}

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
        win.additive_increase(win.cwnd, if queues { left } else { left * self.boost });
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        ((f64::from(win.cwnd) * self.beta) as u32).max(2)
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }

    fn describe(&self) -> String {
        format!("myaimd beta {} boost {}", self.beta, self.boost)
    }
}
