//! Flows: controllers, ECN, applications, starts and stops, buffers.

use crate::dice::{Dice, Draw};
use crate::paths::Path;
use crate::{Kinds, Stratum};

/// What Linux 7.2 has and the simulator models.
const LINUX: [&str; 6] = ["cubic", "cubic", "reno", "dctcp", "bbr version v1", "scalable"];
/// What mainline has not.
const OURS: [&str; 9] = [
    "prague",
    "prague version p2b",
    "bbr version v3",
    "cubic-sce",
    "reno-sce",
    "dctcp-sce",
    "copa",
    "ledbat",
    "vegas",
];

/// `[tcp]`: the kernel's age, and what limits.
pub(crate) fn settings(kinds: Kinds, stratum: Stratum, dice: &Dice) -> String {
    let mut own = dice.named("tcp");
    let era = if kinds == Kinds::Linux {
        "7.x"
    } else {
        *own.of(&["2019", "2020", "5.15", "6.x", "7.x"])
    };
    let mut out = format!("[tcp]\nera = \"{era}\"\n");
    let is_limited = stratum == Stratum::Limited;
    if is_limited && own.chance(0.5) {
        let most = own.decades(16_384.0, 2e6) as u64;
        out += &format!("rmem_default = \"{}b\"\nrmem_max = \"{most}b\"\n", most.min(131_072));
    } else {
        out += "rmem_max = \"32Mb\"\n";
    }
    if is_limited && own.chance(0.5) {
        out += &format!("wmem_max = \"{}b\"\n", own.decades(20_000.0, 2e6) as u64);
    } else {
        out += "wmem_max = \"32Mb\"\n";
    }
    if is_limited && own.chance(0.3) {
        out += &format!("mtu = {}\n", own.whole(600, 1500));
    }
    if is_limited && own.chance(0.2) {
        out += "timestamps = false\n";
    }
    if stratum == Stratum::Offloads {
        let (gso, gro) = *own.of(&[(true, true), (true, false), (true, true)]);
        out += &format!("gso = {gso}\ngro = {gro}\n");
    }
    // Linux sends AccECN's option by default; without it an ACK of many segments is ambiguous.
    if dice.named("accecn").chance(0.75) {
        out += "accecn_option = true\n";
    }
    out + "\n"
}

/// All flows, and a ping in a third of the cases.
pub(crate) fn text(
    kinds: Kinds,
    stratum: Stratum,
    path: &Path,
    duration_s: f64,
    dice: &Dice,
) -> String {
    let mut own = dice.named("flows");
    let count = match stratum {
        Stratum::One
        | Stratum::Limited
        | Stratum::Impaired
        | Stratum::Short
        | Stratum::Unresponsive => 1,
        Stratum::Many => own.count(4, 32),
        Stratum::Two => 2,
        _ => own.whole(1, 2),
    };
    let mut out = String::new();
    let mut cc = controller(kinds, path, &mut own);
    for flow in 0..count {
        // Of many flows most are alike, as of one host's downloads.
        if flow > 0 && (count <= 4 || own.chance(0.2)) {
            cc = controller(kinds, path, &mut own);
        }
        let latest = if flow == 0 { 0.0 } else { 0.4 * duration_s };
        out += &format!("[[flow]]\nname = \"f{flow}\"\ncc = \"{}\"\n", cc.0);
        if let Some(ecn) = cc.1 {
            out += &format!("tcp = {{ ecn = \"{ecn}\" }}\n");
        }
        if flow > 0 {
            out += &format!("start = \"{}ms\"\n", (own.between(0.0, latest) * 1e3) as u64);
        }
        if own.chance(0.1) {
            let share = own.decades(0.01, 0.5);
            let bytes = path.rate_bps / 8.0 * duration_s / f64::from(count) * share;
            out += &format!("bytes = \"{}b\"\n", (bytes as u64).max(3000));
        } else if own.chance(0.15) {
            out +=
                &format!("stop = \"{}ms\"\n", (own.between(0.6, 0.95) * duration_s * 1e3) as u64);
        }
        // Only where the way back has a rate: nothing else would bound it.
        if stratum == Stratum::Asymmetric && own.chance(0.3) {
            out += "direction = \"up\"\n";
        }
        out += "\n";
    }
    match stratum {
        Stratum::Short => out += &short(path, &mut own),
        Stratum::Unresponsive => out += &unresponsive(path, &mut own),
        _ => {}
    }
    if own.chance(0.33) {
        out += &format!("[[ping]]\nname = \"ping\"\ninterval = \"{}ms\"\n\n", own.whole(10, 200));
    }
    out
}

/// A controller, and its ECN if that is not what it needs.
fn controller(kinds: Kinds, path: &Path, dice: &mut Draw) -> (&'static str, Option<&'static str>) {
    if kinds == Kinds::All && dice.chance(0.5) {
        let cc = *dice.of(&OURS);
        let is_l4s = cc.starts_with("prague");
        if !is_l4s || path.has_l4s() {
            return (cc, None);
        }
    }
    match *dice.of(&LINUX) {
        "dctcp" => ("dctcp", None),
        cc => (cc, Some(*dice.of(&["off", "rfc3168", "accecn"]))),
    }
}

/// Connections and requests of a few kilobytes to some megabytes.
fn short(path: &Path, dice: &mut Draw) -> String {
    let mbit = path.rate_bps / 1e6;
    let app = match dice.whole(0, 1) {
        0 => format!(
            "short load {}kbit sizes lognormal median {}b sigma 1",
            (mbit * dice.between(0.1, 0.5) * 1000.0).max(16.0) as u64,
            dice.decades(3e3, 2e5) as u64
        ),
        _ => format!(
            "request query 300b think {}ms sizes {}b",
            dice.whole(20, 500),
            dice.decades(1e3, 5e5) as u64
        ),
    };
    let cc = *dice.of(&["cubic", "reno"]);
    format!(
        "[[flow]]\nname = \"short\"\ncc = \"{cc}\"\napp = \"{app}\"\ntcp = {{ ecn = \"off\" }}\n\n"
    )
}

/// UDP of a tenth to two thirds of the rate.
fn unresponsive(path: &Path, dice: &mut Draw) -> String {
    let bps = ((path.rate_bps * dice.between(0.1, 0.66) / 1000.0) as u64).max(32) * 1000;
    let size = dice.whole(200, 1472);
    let tos = dice.whole(0, 2);
    let app = match dice.whole(0, 1) {
        0 => format!("cbr rate {bps}bit size {size}"),
        _ => format!(
            "onoff rate {bps}bit size {size} on {}ms off {}ms",
            dice.whole(50, 1000),
            dice.whole(50, 1000)
        ),
    };
    format!("[[flow]]\nname = \"udp\"\napp = \"{app}\"\ntos = \"0x0{tos}\"\n\n")
}
