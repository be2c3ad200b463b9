//! Our queues in the middlebox, which forwards between two hosts inside the kernel in virtual time, or in real
//! time on this machine: what enters there at an instant and what leaves is compared with a simulation into
//! which the same packets enter at the same instants.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use sojourn_core::{Dur, Ecn, Time};
use sojourn_queue::qdiscs;
use sojourn_scenario::{Scenario, Status};
use sojourn_sim::Simulation;
use sojourn_transport::{Body, Endpoint, Frame, Pool, Transmit};
use sojourn_wire::packet::read;

use crate::guest;
use crate::report::Row;
use crate::train::{Recipe, Shape};

/// Its name on the command line, in virtual time and in real time.
pub const NAME: &str = "middlebox";
pub const LIVE: &str = "middlebox-live";
/// Programs in real time that run at once: mostly they wait for the next packet.
const AT_ONCE: usize = 16;

/// Beside every discipline of the registry as it is by default: what needs parameters, and what they change.
const CONFIGURED: &[&str] = &[
    "cake bandwidth 1500kbit sce",
    "dualpi2 step_thresh 5p any_ect limit 50",
    "cake bandwidth 1500kbit besteffort flowblind rtt 20ms",
    "codel ecn target 10ms interval 50ms limit 100",
    "fq_codel flows 1 limit 60 quantum 300",
    "fq_pie ecn target 20ms limit 100 ecn_prob 30",
    "netem delay 10ms 3ms loss 3% duplicate 5%",
    "pie ecn target 5ms tupdate 32ms",
    "red limit 150000 min 10000 max 60000 avpkt 1000 probability 0.1 bandwidth 2mbit ecn",
    "tbf rate 1500kbit burst 5000 limit 60000",
    "docsis_pie msr 1500kbit peak_rate 2mbit",
    "drop every 7",
    "grant rate 1500kbit",
    "htb rate 1500kbit",
    "police rate 1500kbit burst 10000",
    "red_classic bandwidth 2mbit",
    "wifi rate 10mbit",
];

/// What needs a file.
const BY_TRACE: &[&str] = &["mahimahi", "rate_trace"];

/// Seconds without a packet after which the receiver has all.
pub const SILENCE_S: u64 = 1;

/// 1.6 times the rate of the link for a second, with every codepoint that a sender may set.
const RECIPE: Recipe = Recipe {
    shape: Shape::Overload,
    rate_bps: 2_500_000,
    duration_ns: 1_000_000_000,
    flows: 4,
    tos: &[0, 1, 2],
    lens: &[1514, 1514, 514],
};

const SCENARIO: &str = r#"
name = "middlebox"
duration = "4s"
measure.from = "0s"

[[link]]
name = "bneck"
rate = "2Mbit"
qdisc = "QDISC"
delay = "5ms"
reverse = { rate = "none", qdisc = "pfifo" }

[[flow]]
name = "hosts"
app = "cbr rate 1Mbit"
"#;

/// The network with this queue.
pub fn scenario(qdisc: &str) -> Result<Arc<Scenario>, String> {
    let text = SCENARIO.replace("QDISC", qdisc);
    let loaded = sojourn_scenario::load(&text, "middlebox.toml", &[]);
    loaded.map(|loaded| Arc::new(loaded.scenario)).map_err(|error| error.to_string())
}

/// Name of the folder of a job.
pub fn job(number: usize) -> String {
    format!("job{number:03}")
}

/// IP and UDP header, and the sequence number.
const HEAD: usize = 32;

/// The line for a packet that enters: its instant and its bytes up to the payload's zeros.
pub fn entered(at: Time, packet: &[u8]) -> String {
    let mut line = format!("{} {} ", at.0, packet.len());
    for byte in &packet[..packet.len().min(HEAD)] {
        let _ = write!(line, "{byte:02x}");
    }
    line.push('\n');
    line
}

/// The line for a packet that leaves: its instant, its TOS byte and its sequence number.
pub fn left(at: Time, tos: u8, packet: &[u8]) -> String {
    format!("{} {tos} {}\n", at.0, sequence(packet))
}

fn sequence(packet: &[u8]) -> u32 {
    packet.get(HEAD - 4..HEAD).map_or(u32::MAX, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

/// An end that sends what is recorded and notes what arrives.
struct Replay {
    packets: VecDeque<(Time, Frame)>,
    left: Arc<Mutex<String>>,
}

impl Endpoint for Replay {
    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Frame(frame) = body else { unreachable!("only frames are sent") };
        self.left.lock().unwrap().push_str(&left(now, frame.tos, frame.bytes()));
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        self.packets.front().filter(|(at, _)| *at <= now)?;
        let (_, frame) = self.packets.pop_front()?;
        let packet = *frame.packet();
        let body = Body::Frame(frame);
        Some(Transmit { body, len: packet.len, tos: packet.tos, kind: packet.kind })
    }

    fn deadline(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |(at, _)| *at)
    }
}

/// What leaves a simulation that gets the packets of `record`.
fn simulate(qdisc: &str, record: &str) -> Result<String, String> {
    let mut pool = Pool::default();
    let packet = |line: &str| {
        let mut words = line.split(' ');
        let (at, len) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let head = words.next()?;
        let byte = |i| u8::from_str_radix(head.get(i..i + 2)?, 16).ok();
        let mut bytes: Vec<u8> = (0..head.len()).step_by(2).map(byte).collect::<Option<_>>()?;
        bytes.resize(len, 0);
        let (packet, _) = read(&bytes, 0).ok()?;
        Some((Time(at), pool.frame(packet, &[], &bytes)))
    };
    let packets: Option<VecDeque<_>> = record.lines().map(packet).collect();
    let packets = packets.ok_or("a record that cannot be read")?;
    let arrived: Arc<Mutex<String>> = Arc::default();
    let mut simulation = Simulation::with_outside(scenario(qdisc)?, |end| {
        let packets = if end == 0 { packets.clone() } else { VecDeque::new() };
        let left = if end == 0 { Arc::default() } else { Arc::clone(&arrived) };
        Some(Box::new(Replay { packets, left }))
    });
    let end = Time::ZERO + Dur::from_secs(60);
    while simulation.advance(end).map_err(|still| still.to_string())? != Status::Ended {}
    drop(simulation);
    let arrived = arrived.lock().unwrap();
    Ok(arrived.clone())
}

fn cases() -> Result<Vec<String>, String> {
    let mut cases: Vec<String> = CONFIGURED.iter().map(ToString::to_string).collect();
    for name in qdiscs::entries().into_iter().map(|entry| entry.name) {
        let is_configured = cases.iter().any(|case| case.split(' ').next() == Some(name));
        match scenario(name) {
            Ok(_) => cases.push(name.to_owned()),
            Err(_) if is_configured || BY_TRACE.contains(&name) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(cases)
}

/// What one run has noted of a job.
struct Noted {
    entered: String,
    left: String,
    got: String,
}

impl Noted {
    fn of(folder: &Path) -> Result<Self, String> {
        let text = |name| fs::read_to_string(folder.join(name)).map_err(|e| format!("{name}: {e}"));
        Ok(Self { entered: text("entered")?, left: text("left")?, got: text("got")? })
    }

    /// What is wrong with it by itself.
    fn faults(&self, qdisc: &str, sent: usize) -> Result<Vec<&'static str>, String> {
        // The receiver's lines: sequence number, instant of its own clock, TOS byte.
        let received = self.got.lines().map(|line| {
            let mut words = line.split(' ');
            let seq = words.next();
            (words.nth(1), seq)
        });
        let left = self.left.lines().map(|line| {
            let mut words = line.split(' ').skip(1);
            (words.next(), words.next())
        });
        let checks = [
            (self.entered.lines().count() == sent, "not all entered"),
            (received.eq(left), "the receiver got others"),
            (self.left == simulate(qdisc, &self.entered)?, "the simulator differs"),
        ];
        Ok(checks.into_iter().filter(|(is_so, _)| !is_so).map(|(_, fault)| fault).collect())
    }
}

/// Runs a kernel, in real time this machine's, and compares what was noted with the simulator.
pub fn judge(
    name: &str,
    out: &Path,
    mut done: impl FnMut(Row) -> Result<(), String>,
) -> Result<(), String> {
    let (cases, train) = (cases()?, RECIPE.draw(1));
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(|e| e.to_string());
    for (number, qdisc) in cases.iter().enumerate() {
        let folder = out.join(job(number));
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        write(&folder.join("qdisc"), qdisc)?;
        write(&folder.join("train"), &train.text())?;
    }
    if name == LIVE {
        live(out)?;
    } else {
        guest::boot("middlebox.sh", out)?;
    }
    let sent = train.packets.len();
    for (number, qdisc) in cases.iter().enumerate() {
        let noted = Noted::of(&out.join(job(number)))?;
        let faults = noted.faults(qdisc, sent)?;
        let left = noted.left.lines().count();
        let marked = noted.left.lines().filter(|line| line.split(' ').nth(1) == Some("3")).count();
        done(Row {
            discipline: name.into(),
            configuration: qdisc.clone(),
            train: RECIPE.shape.name().into(),
            compared: format!("{sent} packets, {left} left, {marked} with CE"),
            equal: faults.is_empty(),
            largest: if faults.is_empty() { "none".into() } else { faults.join("; ") },
            counters: Vec::new(),
        })?;
    }
    Ok(())
}

/// Runs every job of the folder in namespaces of this machine.
fn live(out: &Path) -> Result<(), String> {
    let program = guest::udp_train()?;
    let start = |first: usize| {
        let mut command = Command::new(&program);
        command.arg("forward").arg(out).args([first, AT_ONCE].map(|n| n.to_string()));
        command.stderr(Stdio::piped()).spawn().map_err(|e| format!("udp-train: {e}"))
    };
    let running: Vec<Child> = (0..AT_ONCE).map(start).collect::<Result<_, _>>()?;
    for program in running {
        let done = program.wait_with_output().map_err(|e| format!("udp-train: {e}"))?;
        if !done.status.success() {
            return Err(format!("udp-train: {}", String::from_utf8_lossy(&done.stderr).trim()));
        }
    }
    Ok(())
}
