//! Speed of the simulator on one core, as a ratio to the floor and the goal of the design.
//!
//! `cargo bench -p sojourn-sim`, or `make bench`. Times are medians over five runs after one
//! warm-up; compare ratios on one machine, not digits between machines.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::fmt::Write as _;
use std::time::Instant;

use sojourn_scenario::{Scenario, load};

const RUNS: usize = 5;

/// Data packets per wall-clock second of other simulators, one flow, measured side by side on one
/// machine of this class in 2026.
const PEERS: [(&str, f64); 5] = [
    ("ns-3 (L4S patch), 1 Prague over DualPI2", 26e3),
    ("ns-3, 1 DCTCP over fq_codel", 40e3),
    ("scim, 1 Reno-SCE", 140e3),
    ("picoquic pico_sim, 1 Cubic", 250e3),
    ("htsim, 1 DCTCP, no SACK, pacing or AQM", 4.5e6),
];

fn main() {
    let one = measure(&one_flow("prague"));
    println!("one flow, htb + dualpi2, 100 Mbit/s, 20 ms, one core, 60 s simulated");
    row("prague", one.rate() / 1e6, "M data packets/s", 1.5, 4.0);
    row("cubic", measure(&one_flow("cubic")).rate() / 1e6, "M data packets/s", 1.5, 4.0);
    for (peer, rate) in PEERS {
        println!("  {:>8.1} x  {peer}", one.rate() / rate);
    }
    println!("\n100 flows (50 cubic, 50 prague), 1 Gbit/s, 20 ms, 10 s simulated, one core");
    let hundred = measure(&hundred_flows());
    println!("  {:>8.2} s wall (floor 2 s, goal 0.5 s)", hundred.seconds);
    println!("  {:>8.2} M data packets/s", hundred.rate() / 1e6);
}

fn row(name: &str, value: f64, unit: &str, floor: f64, goal: f64) {
    println!(
        "  {value:>8.2} {unit}, {name}: {:.2} x the floor of {floor}, {:.2} x the goal of {goal}",
        value / floor,
        value / goal
    );
}

struct Measured {
    seconds: f64,
    data_packets: u64,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.data_packets as f64 / self.seconds
    }
}

fn measure(text: &str) -> Measured {
    let scenario: Scenario = load(text, "bench.toml", &[]).expect("a valid scenario").scenario;
    let mut seconds = Vec::new();
    let mut data_packets = 0;
    for run in 0..=RUNS {
        let start = Instant::now();
        let output = sojourn_sim::run(&scenario).expect("time moves");
        if run > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
        data_packets = output.summary.data_packets;
    }
    seconds.sort_by(f64::total_cmp);
    Measured { seconds: seconds[RUNS / 2], data_packets }
}

fn one_flow(cc: &str) -> String {
    dumbbell("60s", "100Mbit", &[cc])
}

fn hundred_flows() -> String {
    let ccs: Vec<&str> = (0..100).map(|n| if n % 2 == 0 { "cubic" } else { "prague" }).collect();
    dumbbell("10s", "1Gbit", &ccs)
}

fn dumbbell(duration: &str, rate: &str, ccs: &[&str]) -> String {
    let mut text = format!(
        "name = \"bench\"\nduration = \"{duration}\"\n[[link]]\nname = \"bneck\"\nrate = \
         \"{rate}\"\nshaper = \"htb\"\nqdisc = \"dualpi2\"\ningress = [\"netem delay 10ms limit \
         1000000\"]\n"
    );
    for (n, cc) in ccs.iter().enumerate() {
        let _ =
            write!(text, "[[flow]]\nname = \"f{n}\"\ncc = \"{cc}\"\nstart = \"{}ms\"\n", 10 * n);
    }
    text
}
