//! Queues with drawn parameters. Each parameter keeps its default in about half of the cases, since that is
//! what most people run.

use crate::Kinds;
use crate::dice::Draw;

/// What Linux 7.2 has.
const LINUX: [&str; 12] = [
    "pfifo",
    "bfifo",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "red",
    "sfq",
    "cake",
    "dualpi2",
    "pfifo_head_drop",
    "fq",
];
/// What no mainline kernel has, with parameters that make them act.
const OURS: [&str; 8] = [
    "cake sce",
    "fq_codel sce_threshold 1ms",
    "cnq_cobalt",
    "lfq_cobalt",
    "deltic",
    "pi2",
    "curvy_red",
    "cnq_codel_af",
];

/// A queue for a bottleneck of this rate, behind which round trips take `rtt_s`.
pub(crate) fn draw(kinds: Kinds, rate_bps: f64, rtt_s: f64, dice: &mut Draw) -> String {
    if kinds == Kinds::All && dice.chance(0.35) {
        return (*dice.of(&OURS)).to_owned();
    }
    let name = *dice.of(&LINUX);
    let bdp = (rate_bps * rtt_s / 8.0).max(1514.0);
    let mut text = Text(name.to_owned());
    match name {
        "pfifo" | "pfifo_head_drop" => text.put("limit", packets(bdp * dice.decades(0.3, 6.0))),
        "bfifo" => text.put("limit", format!("{}b", bytes(bdp * dice.decades(0.3, 6.0)))),
        "codel" | "fq_codel" => codel(name, bdp, dice, &mut text),
        "pie" | "fq_pie" => pie(name, bdp, dice, &mut text),
        "red" => red(bdp, rate_bps, dice, &mut text),
        "sfq" => {
            text.maybe(dice, "depth", |dice| dice.whole(16, 127).to_string());
            text.maybe(dice, "quantum", |dice| format!("{}b", dice.whole(1514, 6000)));
            text.flag(dice, 0.3, "headdrop");
        }
        "fq" => {
            text.maybe(dice, "limit", |dice| packets(bdp * dice.decades(1.0, 8.0)));
            text.maybe(dice, "flow_limit", |dice| packets(bdp * dice.decades(0.5, 4.0)));
            text.flag(dice, 0.2, "nopacing");
        }
        "cake" => cake(dice, &mut text),
        _ => dualpi2(bdp, dice, &mut text),
    }
    text.0
}

/// A discipline that is being written.
struct Text(String);

impl Text {
    fn put(&mut self, name: &str, value: impl AsRef<str>) {
        self.0 += &format!(" {name} {}", value.as_ref());
    }

    fn maybe(&mut self, dice: &mut Draw, name: &str, value: impl FnOnce(&mut Draw) -> String) {
        if dice.chance(0.5) {
            let value = value(dice);
            self.put(name, value);
        }
    }

    fn flag(&mut self, dice: &mut Draw, chance: f64, name: &str) {
        if dice.chance(chance) {
            self.0 += &format!(" {name}");
        }
    }
}

fn codel(name: &str, bdp: f64, dice: &mut Draw, text: &mut Text) {
    text.maybe(dice, "limit", |dice| packets(bdp * dice.decades(1.0, 10.0)));
    text.maybe(dice, "target", |dice| micros(dice.decades(500.0, 50_000.0)));
    text.maybe(dice, "interval", |dice| micros(dice.decades(5_000.0, 300_000.0)));
    if dice.chance(0.2) {
        text.put("ce_threshold", micros(dice.decades(200.0, 20_000.0)));
    }
    if dice.chance(0.5) {
        text.0 += if name == "codel" { " ecn" } else { " noecn" };
    }
    if name == "fq_codel" {
        text.maybe(dice, "flows", |dice| dice.of(&["1", "16", "1024", "4096"]).to_string());
        text.maybe(dice, "quantum", |dice| dice.whole(256, 3028).to_string());
    }
}

fn pie(name: &str, bdp: f64, dice: &mut Draw, text: &mut Text) {
    text.maybe(dice, "limit", |dice| packets(bdp * dice.decades(1.0, 10.0)));
    text.maybe(dice, "target", |dice| micros(dice.decades(2_000.0, 50_000.0)));
    text.maybe(dice, "tupdate", |dice| micros(f64::from(dice.whole(5, 40)) * 1000.0));
    text.maybe(dice, "alpha", |dice| dice.whole(1, 8).to_string());
    text.maybe(dice, "beta", |dice| dice.whole(8, 32).to_string());
    text.flag(dice, 0.5, "ecn");
    text.flag(dice, 0.2, "bytemode");
    if name == "fq_pie" {
        text.maybe(dice, "quantum", |dice| dice.whole(256, 3028).to_string());
    }
}

/// The least threshold has several packets, as tc-red(8) recommends; the greatest fits the kernel's fixed point.
fn red(bdp: f64, rate_bps: f64, dice: &mut Draw, text: &mut Text) {
    let min = bytes((bdp * dice.decades(0.1, 1.0)).max(4.0 * 1514.0)).min(250_000);
    let max = 3 * min;
    text.put("limit", format!("{}b", 4 * max));
    text.put("min", format!("{min}b"));
    text.put("max", format!("{max}b"));
    text.put("avpkt", "1000");
    text.put("burst", ((2 * min + max) / 3000).max(2).to_string());
    text.put("probability", format!("{:.3}", dice.decades(0.01, 0.2)));
    text.put("bandwidth", format!("{}bit", rate_bps as u64));
    text.flag(dice, 0.6, "ecn");
    text.flag(dice, 0.3, "adaptive");
}

fn cake(dice: &mut Draw, text: &mut Text) {
    text.maybe(dice, "rtt", |dice| micros(dice.decades(5_000.0, 300_000.0)));
    text.maybe(dice, "", |dice| dice.of(&["besteffort", "diffserv4", "diffserv3"]).to_string());
    text.maybe(dice, "", |dice| {
        dice.of(&["flowblind", "flows", "hosts", "dual-srchost", "triple-isolate"]).to_string()
    });
    text.flag(dice, 0.2, "ack-filter");
    text.flag(dice, 0.1, "wash");
    text.maybe(dice, "overhead", |dice| dice.whole(0, 44).to_string());
}

fn dualpi2(bdp: f64, dice: &mut Draw, text: &mut Text) {
    text.maybe(dice, "limit", |dice| packets(bdp * dice.decades(2.0, 20.0)));
    text.maybe(dice, "target", |dice| micros(dice.decades(5_000.0, 40_000.0)));
    text.maybe(dice, "step_thresh", |dice| micros(dice.decades(300.0, 8_000.0)));
    text.maybe(dice, "coupling_factor", |dice| dice.whole(1, 4).to_string());
    text.maybe(dice, "classic_protection", |dice| format!("{}%", dice.whole(0, 30)));
    text.flag(dice, 0.2, "any_ect");
    text.flag(dice, 0.2, "drop_enqueue");
}

/// At least four, and no more than a kernel's memory for packets holds.
fn packets(bytes: f64) -> String {
    format!("{}p", ((bytes / 1514.0) as u64).clamp(4, 20_000))
}

fn bytes(bytes: f64) -> u64 {
    (bytes as u64).clamp(4 * 1514, 30_000_000)
}

fn micros(us: f64) -> String {
    format!("{}us", us as u64)
}
