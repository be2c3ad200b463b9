//! Asks the kernel, and the tc beside it, what they have: by trying.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_getres};
use sojourn_core::spec::Kernel;
use sojourn_queue::aqm::{Entry, Spec};
use sojourn_queue::qdiscs;
use sojourn_transport::tcp;

use super::outcome::failed;
use super::shell::{release, shell};
use super::socket::TCP_ECN;
use crate::capabilities::Capabilities;
use crate::tc::Spelled;

const SETTINGS: &str = "/proc/sys/net/ipv4";
/// A device and its peer, on which disciplines are tried.
const DEVICE: &str = "probe0";
const PEER: &str = "probe1";

/// What to try of a discipline instead of its defaults: parameters that it requires, and further ones
/// that tc or the kernel have only since some version.
const TRIED: [(&str, &str, &str); 11] = [
    ("cake", "", "sce-thresh 4"),
    ("dualpi2", "", "memlimit 60kb min_qlen_step 1p"),
    (
        "fq_codel",
        "",
        "ce_threshold 1ms ce_threshold_selector 0x1/0x3 memory_limit 60kb drop_batch 3",
    ),
    ("fq_pie", "", "ecn ecn_prob 20 dq_rate_estimator"),
    ("htb", "rate 1Mbit", ""),
    ("netem", "", "delay 1ms loss 1% duplicate 1% rate 1Mbit slot 1ms seed 1"),
    ("pie", "", "dq_rate_estimator"),
    ("red", "limit 400000 avpkt 1000", "adaptive bandwidth 50Mbit ecn"),
    ("sfq", "limit 30", "min 3000 max 9000 redflowlimit 40000 avpkt 500 ecn"),
    ("stab", "overhead 4 pfifo", ""),
    ("tbf", "rate 10Mbit burst 5kb latency 20ms", "peakrate 50Mbit mtu 1514"),
];

/// Actions of filters, as they are tried.
const ACTIONS: [(&str, &str); 5] = [
    ("police", "police rate 1Mbit burst 10kb conform-exceed drop/pipe"),
    ("mirred", "mirred egress redirect dev probe1"),
    ("pedit", "pedit ex munge ip tos set 1 retain 3"),
    ("csum", "csum ip"),
    ("random", "pass random netrand drop 2"),
];

/// What was found.
pub(super) fn ask() -> Result<Capabilities, String> {
    shell(&format!("ip link add {DEVICE} type veth peer name {PEER}"))?;
    let qdiscs = qdiscs::REGISTRY.iter().filter_map(discipline).collect();
    tc(&format!("qdisc add dev {DEVICE} clsact"));
    let filter = format!("filter add dev {DEVICE} ingress protocol ip matchall action");
    let works = |(_, action): &&(&str, &str)| tc(&format!("{filter} {action}"));
    let names = tcp::PARAMETERS.iter().filter_map(|parameter| Some(parameter.sysctl?.0));
    let is_there = |name: &&str| fs::exists(format!("{SETTINGS}/{name}")).unwrap_or(false);
    Ok(Capabilities {
        release: release()?,
        hz: tick_rate(),
        controllers: controllers()?,
        qdiscs,
        actions: ACTIONS.iter().filter(works).map(|(name, _)| (*name).to_owned()).collect(),
        settings: names.chain(["tcp_sce"]).filter(is_there).map(str::to_owned).collect(),
        // 3 asks for AccECN; kernels without it refuse the number.
        accecn: fs::write(TCP_ECN, "3").is_ok(),
    })
}

/// The clock that ticks has the resolution of a tick.
fn tick_rate() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    (1e9 / (tick.tv_nsec.max(1) as f64)).round() as u32
}

/// The controllers, and what version each module states.
fn controllers() -> Result<BTreeMap<String, String>, String> {
    let path = format!("{SETTINGS}/tcp_available_congestion_control");
    let names = fs::read_to_string(path).map_err(failed("controllers"))?;
    let version = |name: &str| {
        let module = format!("/sys/module/tcp_{}/version", name.replace('-', "_"));
        fs::read_to_string(module).unwrap_or_default().trim().to_owned()
    };
    Ok(names.split_whitespace().map(|name| (name.to_owned(), version(name))).collect())
}

/// A discipline and those of its parameters that are refused, if the kernel has it.
fn discipline(entry: &Entry) -> Option<(String, BTreeSet<String>)> {
    let tried = TRIED.iter().find(|(kind, ..)| *kind == entry.name);
    let (required, more) = tried.map_or(("", ""), |(_, required, more)| (required, more));
    // Policers are actions; no Linux has those of nowhere.
    if entry.kernel == Kernel::Nowhere || entry.name == "police" {
        return None;
    }
    let mut refused = BTreeSet::new();
    // The parameters of htb are those of its classes, which come later.
    let least = if entry.name == "htb" { "" } else { required };
    if !works(entry.name, least) {
        return None;
    }
    if matches!(entry.name, "htb" | "stab") {
        return Some((entry.name.to_owned(), refused));
    }
    let spec = format!("{} {required} {more}", entry.name).parse::<Spec>().ok()?;
    let spelled = Spelled::of(&spec);
    if !works(entry.name, &spelled.parameters()) {
        let mut kept = least.to_owned();
        for part in spelled.parts {
            let longer = format!("{kept} {}", part.text);
            if works(entry.name, &longer) {
                kept = longer;
            } else {
                refused.insert(part.name.to_owned());
            }
        }
    }
    if entry.name == "red" && !refused.contains("adaptive") && !adapts() {
        refused.insert("adaptive".to_owned());
    }
    Some((entry.name.to_owned(), refused))
}

/// Whether Adaptive RED lowers the probability of an empty queue within two of its half seconds. With `TCA_RED_FLAGS`,
/// which iproute2 7.3 sends, Linux 7.2 shows the flag and starts no timer.
fn adapts() -> bool {
    let red =
        "red limit 60000 min 6000 max 18000 avpkt 1000 adaptive probability 0.5 bandwidth 1Mbit";
    if !tc(&format!("qdisc add dev {DEVICE} root handle 1: {red}")) {
        return false;
    }
    thread::sleep(Duration::from_millis(1100));
    let shown = Command::new("tc").args(["-d", "qdisc", "show", "dev", DEVICE]).output();
    tc(&format!("qdisc del dev {DEVICE} root"));
    shown.is_ok_and(|shown| !String::from_utf8_lossy(&shown.stdout).contains("probability 0.5"))
}

fn works(kind: &str, parameters: &str) -> bool {
    let added = tc(&format!("qdisc add dev {DEVICE} root handle 1: {kind} {parameters}"));
    added && tc(&format!("qdisc del dev {DEVICE} root"))
}

fn tc(arguments: &str) -> bool {
    let mut command = Command::new("tc");
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests;
