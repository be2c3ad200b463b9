//! The SCReAM tool over a veth between two namespaces: CPU and memory of each end, rate and loss,
//! beside the floor and the goal of the design. Needs root, for namespaces of its own.
//!
//! `cargo bench -p sojourn-scream-tool`, or `make bench`. Other load on the machine is in the numbers: a
//! sender pays for the receiver's half of the veth, too.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

fn main() {
    if !geteuid().is_root() {
        println!("skipped: SCReAM tool (namespaces need root)");
        return;
    }
    let Some(wire) = Wire::build() else {
        println!("skipped: SCReAM tool (`ip` cannot make namespaces or a veth here)");
        return;
    };
    println!("SCReAM tool over a veth, CPU in percent of one core");
    let fixed = wire.run("-fixedrate 80000 -ect 1 -time 10");
    fixed.row("fixed 80 Mbit/s");
    judge("sender's CPU", fixed.tx.cpu, 5.0, "%");
    judge("receiver's CPU", fixed.rx.cpu, 5.0, "%");
    judge("memory", fixed.tx.peak_mb.max(fixed.rx.peak_mb), 20.0, "MB");
    judge("loss", fixed.lost, 0.0, "packets");
    let fast = "-initrate 1000000 -minrate 1000 -maxrate 1100000 -ect 1 -time 30";
    let adaptive = wire.run(fast);
    adaptive.row("adaptive to 1.1 Gbit/s");
    judge("sender's CPU", adaptive.tx.cpu, 100.0, "%");
    judge("receiver's CPU", adaptive.rx.cpu, 100.0, "%");
    println!("    {:>8.2} x the floor of 1 Gbit/s", adaptive.mbps / 1000.0);
}

/// One end's cost.
struct End {
    cpu: f64,
    peak_mb: f64,
    report: Value,
}

struct Measured {
    tx: End,
    rx: End,
    mbps: f64,
    lost: f64,
}

impl Measured {
    fn row(&self, name: &str) {
        let Self { tx, rx, mbps, lost } = self;
        println!(
            "  {name}: {mbps:.1} Mbit/s of payload, {lost} packets lost; sender {:.1} %, {:.1} MB; \
             receiver {:.1} %, {:.1} MB; {} reports",
            tx.cpu, tx.peak_mb, rx.cpu, rx.peak_mb, rx.report["reports"]
        );
    }
}

fn judge(what: &str, value: f64, most: f64, unit: &str) {
    let verdict = if value <= most { "within" } else { "ABOVE" };
    println!("    {what}: {value:.1}, {verdict} {most} {unit}");
}

/// Two namespaces with a veth between them, removed at the end.
struct Wire {
    name: String,
}

impl Wire {
    fn build() -> Option<Self> {
        let name = format!("sojourn{}", std::process::id());
        let wire = Self { name };
        let n = &wire.name;
        let commands = [
            format!("netns add {n}t"),
            format!("netns add {n}r"),
            format!("link add end0 netns {n}t type veth peer name end1 netns {n}r"),
            format!("-n {n}t addr add 10.71.0.1/30 dev end0"),
            format!("-n {n}r addr add 10.71.0.2/30 dev end1"),
            format!("-n {n}t link set end0 up"),
            format!("-n {n}r link set end1 up"),
        ];
        commands.iter().all(|c| ip(c)).then_some(wire)
    }

    fn start(&self, end: char, program: &str, args: &str) -> Child {
        Command::new("ip")
            .args(["netns", "exec", &format!("{}{end}", self.name), program])
            .args(args.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ip")
    }

    fn run(&self, args: &str) -> Measured {
        let mut rx = self.start('r', env!("CARGO_BIN_EXE_scream-bw-test-rx"), "-json 30122");
        sleep(Duration::from_millis(300));
        let args = format!("-json -nosummary {args} 10.71.0.2 30122");
        let mut tx = self.start('t', env!("CARGO_BIN_EXE_scream-bw-test-tx"), &args);
        let mut peaks = [0.0_f64; 2];
        while tx.try_wait().expect("a child").is_none() {
            for (peak, child) in peaks.iter_mut().zip([&tx, &rx]) {
                *peak = peak.max(peak_mb(child.id()));
            }
            sleep(Duration::from_millis(200));
        }
        // `ip netns exec` becomes the program, so that it has the signal.
        kill_process(Pid::from_child(&rx), Signal::INT).expect("it runs");
        rx.wait().expect("a child");
        let [tx, rx] = [(tx, peaks[0]), (rx, peaks[1])].map(|(child, peak_mb)| {
            let out = child.wait_with_output().expect("output").stdout;
            let text = String::from_utf8_lossy(&out).into_owned();
            let report = text.lines().last().and_then(|l| serde_json::from_str(l).ok());
            let report: Value = report.unwrap_or_default();
            let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
            End { cpu: 100.0 * number("cpu_s") / number("time_s"), peak_mb, report }
        });
        let seconds = tx.report["time_s"].as_f64().unwrap_or(f64::NAN);
        // The receiver waits before and after: its share is of the sender's time.
        let rx_cpu = 100.0 * rx.report["cpu_s"].as_f64().unwrap_or(f64::NAN) / seconds;
        Measured {
            mbps: rx.report["rate_kbps"].as_f64().unwrap_or(f64::NAN) / 1e3,
            lost: rx.report["lost_packets"].as_f64().unwrap_or(f64::NAN),
            rx: End { cpu: rx_cpu, ..rx },
            tx,
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for end in ['t', 'r'] {
            ip(&format!("netns del {}{end}", self.name));
        }
    }
}

fn ip(args: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

/// Greatest memory of a process so far.
fn peak_mb(id: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let kb = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1e3
}
