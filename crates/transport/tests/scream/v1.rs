use sojourn_core::cc::scream::Config;
use sojourn_core::cc::scream::Version::{Rfc8298, V2020};

use crate::model::{Model, model, run};

#[test]
fn explore() {
    for version in [V2020, Rfc8298] {
        for parity in [true, false] {
            for name in ['A', 'B', 'C', 'D', 'E'] {
                let m = model(name, version);
                let m = Model { seconds: 60, config: Config { parity, ..m.config.clone() }, ..m };
                let out = run(&m);
                print!("{version:?} {parity} {name} drops {} ", out.drops);
                for t in (0..60).step_by(5) {
                    let lines: Vec<_> = out
                        .lines
                        .iter()
                        .filter(|l| (t as f32..t as f32 + 5.0).contains(&l.time.as_secs()))
                        .collect();
                    let n = lines.len().max(1) as f32;
                    let mean = |f: fn(&sojourn_core::cc::scream::AckLine) -> f32| {
                        lines.iter().map(|l| f(l)).sum::<f32>() / n
                    };
                    print!(
                        "| {:.1} {:.0}ms {:.0}q",
                        mean(|l| l.sent_rate) / 1e6,
                        mean(|l| l.queue_delay) * 1e3,
                        mean(|l| l.rtp_queue_delay) * 1e3
                    );
                }
                println!();
            }
        }
    }
}

#[test]
fn trace() {
    let out = run(&Model { seconds: 40, ..model('C', V2020) });
    for l in out.lines.iter().filter(|l| (30.0..31.0).contains(&l.time.as_secs())) {
        println!(
            "{:.3} q {:.4} rtt {:.3} cwnd {} fl {} fast {} acked {} ce {} sent {:.2} ackr {:.2} cer {:.3} tgt {:.3} rq {:.4}",
            l.time.as_secs(),
            l.queue_delay,
            l.rtt,
            l.cwnd,
            l.in_flight,
            l.fast_increase,
            l.acked,
            l.acked_ce,
            l.sent_rate / 1e6,
            l.acked_rate / 1e6,
            l.ce_rate / 1e6,
            l.target / 1e6,
            l.rtp_queue_delay
        );
    }
}
