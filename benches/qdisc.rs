//! Cost of each registered discipline per packet, enqueue and dequeue together, on one core.
//!
//! `cargo bench -p sojourn-queue`, or `make bench`; `-- --json` prints the same as JSON, names choose disciplines. A queue is filled to its backlog, then every
//! packet that leaves is followed by one that arrives, so that the backlog stays. Limits are far
//! above the backlog, shapers far above the load, and targets above every delay, so that what is
//! timed is the path of a packet that is neither marked nor dropped; cake is timed with its ACK
//! filter too, which searches the flow of every pure ACK. Values are medians of
//! CPU time; those above the ceiling are marked.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

#[path = "clock.rs"]
mod clock;

use clock::cpu_s;
use serde_json::{Map, Value, json};
use sojourn_core::{Dur, FlowId, Kind, Packet, Rng, Time};
use sojourn_queue::aqm::{Env, Event, Log, Qdisc};
use sojourn_queue::qdiscs::{self, REGISTRY};

/// Backlogs in packets, and over how many flows they are spread.
const CASES: [(u32, u32); 6] =
    [(10, 1), (1000, 1), (1000, 100), (10_000, 1), (10_000, 100), (10_000, 10_000)];

/// The case that the ceiling is for.
const JUDGED: (u32, u32) = (1000, 1);

/// Nanoseconds per packet that a discipline may take with 1000 packets of one flow.
const CEILING_NS: f64 = 250.0;

/// Packets per measurement, and how many measurements the median is of.
const PACKETS: u32 = 20_000;
const ROUNDS: usize = 5;

/// Time between packets: 100 Gbit/s keeps every sojourn below a few milliseconds.
const STEP: Dur = Dur(122);

/// What is timed of each discipline; by default its name alone.
fn configurations(name: &str) -> &'static [&'static str] {
    match name {
        "bfifo" | "curvy_red" | "docsis_ll" | "dualq" => &["limit 100Mb"],
        "blue" | "codel" | "pfifo" | "pfifo_head_drop" | "pi2" | "pie" => &["limit 100000"],
        // One host for all flows divides a turn's quantum by their number, as in Linux, so that a
        // packet takes as many turns as there are flows; `flows` isolates no hosts.
        "cake" => &[
            "memlimit 1Gb",
            "memlimit 1Gb flows",
            "memlimit 1Gb flows bandwidth 900Gbit",
            "memlimit 1Gb flows ack-filter",
        ],
        "cnq_cobalt" | "cnq_codel_af" | "deltic_boroshne" | "lfq_cobalt" | "twin_codel_af" => {
            &["", "bandwidth 900Gbit"]
        }
        "docsis_pie" => &["msr 900Gbit limit 100000000"],
        "drop" => &["percent 0.01%"],
        "fq" => &["limit 100000 flow_limit 100000"],
        "red_classic" => &["bandwidth 900Gbit limit 100000 min_th 50000 max_th 90000"],
        "dualpi2" => &["limit 100000 memlimit 1000000000"],
        "fq_codel" | "fq_pie" => &["limit 100000 memory_limit 1Gb"],
        "htb" => &[
            "rate 900Gbit burst 1Mb",
            "default 2 class 1:1 rate 900Gbit burst 1Mb class 1:2 parent 1:1 rate 900Gbit burst 1Mb \
             leaf { pfifo limit 100000 }",
        ],
        "police" => &["rate 900Gbit burst 1Mb"],
        "netem" => &["limit 100000", "limit 100000 delay 1us", "limit 100000 rate 900Gbit"],
        "red" => &["limit 100Mb min 20Mb max 60Mb avpkt 1Mb burst 40"],
        "sfb" => &["limit 100000 max 60000 target 50000"],
        "sfq" => &["limit 100000 flows 1024"],
        "tbf" => &["rate 900Gbit burst 1Mb limit 100Mb"],
        _ => &[""],
    }
}

/// What one discipline takes in one case; `None` if it does not hold the backlog.
type Cell = Option<(f64, usize)>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let only: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let entries = REGISTRY.iter().filter(|e| only.is_empty() || only.iter().any(|o| *o == e.name));
    let texts = entries.flat_map(|entry| {
        configurations(entry.name).iter().map(|words| format!("{} {words}", entry.name))
    });
    let rows = texts.map(|text| {
        let built = qdiscs::build(&text, Env::ethernet(Rng::named(1, "bench")));
        let row = built.map(|_| CASES.map(|(backlog, flows)| measure(&text, backlog, flows)));
        (text, row.map_err(|error| error.to_string()))
    });
    if words.iter().any(|word| word == "--json") {
        let rows: Vec<Value> = rows.map(|(text, row)| as_json(text.trim_end(), row)).collect();
        println!("{:#}", Value::from(rows));
    } else {
        table(rows);
    }
}

fn as_json(text: &str, row: Result<[Cell; CASES.len()], String>) -> Value {
    let cells = match row {
        Err(why) => return json!({ "qdisc": text, "not_timed": why }),
        Ok(cells) => cells,
    };
    let named: Map<String, Value> = CASES
        .iter()
        .zip(cells)
        .map(|((backlog, flows), cell)| {
            let value = cell.map(|(ns, drops)| json!({ "packet_ns": ns, "drops": drops }));
            (format!("{backlog}/{flows}"), Value::from(value))
        })
        .collect();
    json!({ "qdisc": text, "backlog/flows": named })
}

fn table(rows: impl Iterator<Item = (String, Result<[Cell; CASES.len()], String>)>) {
    print!("{:<44}", "CPU ns per packet; backlog/flows");
    for (backlog, flows) in CASES {
        print!("{:>13}", format!("{backlog}/{flows}"));
    }
    println!();
    let mut above = Vec::new();
    for (text, row) in rows {
        print!("{text:<44}");
        match row {
            Err(why) => print!("not timed: {why}"),
            Ok(cells) => {
                for (case, cell) in CASES.into_iter().zip(cells) {
                    let is_above = case == JUDGED && cell.is_some_and(|(ns, _)| ns > CEILING_NS);
                    let shown = cell.map_or_else(
                        || "-".to_owned(),
                        |(ns, drops)| {
                            let dropping = if drops > 0 { "*" } else { "" };
                            let judgement = if is_above { " (!)" } else { "" };
                            format!("{ns:.0}{dropping}{judgement}")
                        },
                    );
                    print!("{shown:>13}");
                    if is_above {
                        above.push(text.clone());
                    }
                }
            }
        }
        println!();
    }
    println!("- : the discipline does not hold that backlog; * : it dropped packets meanwhile");
    println!(
        "(!): above {CEILING_NS} ns with {} packets of one flow: {}",
        JUDGED.0,
        match &above[..] {
            [] => "none".to_owned(),
            above => above.join(", "),
        }
    );
}

/// Median nanoseconds for one packet in and one out, and how many were dropped; `None` if the queue does not hold `backlog`.
fn measure(text: &str, backlog: u32, flows: u32) -> Cell {
    let mut line = Line::new(text, backlog);
    for _ in 0..backlog {
        line.arrive(flows);
    }
    // Whatever waits for its time is let out once before the clock starts.
    line.exchange(backlog.max(2000), flows);
    if line.qdisc.backlog().packets < backlog - backlog / 10 {
        return None;
    }
    line.drops = 0;
    let mut ns = [0.0; ROUNDS];
    for round in &mut ns {
        let start = cpu_s();
        line.exchange(PACKETS, flows);
        *round = (cpu_s() - start) * 1e9 / f64::from(PACKETS);
    }
    ns.sort_by(f64::total_cmp);
    Some((ns[ROUNDS / 2], line.drops))
}

struct Line {
    qdisc: Box<dyn Qdisc>,
    backlog: u32,
    log: Log,
    drops: usize,
    now: Time,
    id: u32,
}

impl Line {
    fn new(text: &str, backlog: u32) -> Self {
        let env = Env::ethernet(Rng::named(1, "bench"));
        let qdisc = qdiscs::build(text, env).expect("a valid configuration");
        Self { qdisc, backlog, log: Log::default(), drops: 0, now: Time::ZERO, id: 0 }
    }

    fn arrive(&mut self, flows: u32) {
        let flow = self.id % flows;
        // One packet in eight is a pure ACK: what an ACK filter looks at.
        let is_ack = self.id % 8 == 7;
        let pkt = Packet {
            id: self.id,
            flow: FlowId(flow),
            hash: flow.wrapping_mul(0x9E37_79B9),
            len: if is_ack { 66 } else { 1514 },
            tos: 2,
            kind: if is_ack { Kind::TcpAck } else { Kind::TcpData },
            ack: self.id,
            ..Packet::default()
        };
        self.id += 1;
        self.qdisc.enqueue(self.now, pkt, &mut self.log);
    }

    /// `count` times: a packet leaves, if one may, and one arrives for each that left.
    fn exchange(&mut self, count: u32, flows: u32) {
        let mut left = 0;
        let mut idle = 0;
        while left < count && idle < 1000 {
            self.now += STEP;
            if self.qdisc.wake() <= self.now {
                self.qdisc.on_wake(self.now, &mut self.log);
            }
            if self.qdisc.dequeue(self.now, &mut self.log).is_some() {
                self.arrive(flows);
                // A filter may have taken another packet with the one that came.
                if self.qdisc.backlog().packets < self.backlog {
                    self.arrive(flows);
                }
                left += 1;
                idle = 0;
            } else {
                idle += 1;
            }
            let events = self.log.drain();
            self.drops += events.filter(|event| matches!(event, Event::Drop(..))).count();
        }
    }
}
