//! The path: rate, round trip, queue, shaper, what happens on the way, and what changes.

use sojourn_core::Dur;

use crate::dice::{Dice, Draw};
use crate::extras::Extras;
use crate::{Kinds, Size, Stratum, queues, time};

/// A bottleneck and its way back.
pub(crate) struct Path {
    pub(crate) rate_bps: f64,
    pub(crate) rtt: Dur,
    reverse_bps: Option<f64>,
    shaper: String,
    qdisc: String,
    reverse_qdisc: Option<String>,
    impairment: Option<String>,
    kinds: Kinds,
}

impl Path {
    pub(crate) fn draw(
        kinds: Kinds,
        stratum: Stratum,
        size: Size,
        extras: &Extras,
        dice: &Dice,
    ) -> Self {
        let mut own = dice.named("path");
        let rate_bps = (own.decades(size.rate.0, size.rate.1) / 1000.0).round() * 1000.0;
        let rtt = Dur((own.decades(size.rtt.0, size.rtt.1) * 1e6) as u64);
        let rtt_s = rtt.as_secs_f64();
        let is_asymmetric = stratum == Stratum::Asymmetric;
        let reverse_bps = is_asymmetric.then(|| {
            let share = dice.named("reverse").decades(0.02, 0.5);
            (rate_bps * share / 1000.0).round().max(64.0) * 1000.0
        });
        let mut queue = dice.named("queue");
        Self {
            rate_bps,
            rtt,
            shaper: extras
                .shaper
                .clone()
                .unwrap_or_else(|| shaper(rate_bps, &mut dice.named("shaper"))),
            qdisc: queues::draw(kinds, rate_bps, rtt_s, &mut queue),
            reverse_qdisc: reverse_bps
                .map(|bps| queues::draw(kinds, bps, rtt_s, &mut dice.named("reverse-queue"))),
            reverse_bps,
            impairment: (stratum == Stratum::Impaired)
                .then(|| impairment(rtt, &mut dice.named("impairment"))),
            kinds,
        }
    }

    pub(crate) fn text(&self, extras: &Extras) -> String {
        let half = time(Dur(self.rtt.0 / 2));
        let mut out = format!(
            "[[link]]\nname = \"bneck\"\n{}rate = \"{}bit\"\nshaper = \"{}\"\nqdisc = \"{}\"\n",
            extras.nodes(),
            self.rate_bps as u64,
            self.shaper,
            self.qdisc
        );
        match &self.impairment {
            // With the impairment in front, since netem gives its own delay to what it jitters.
            Some(netem) => out += &format!("ingress = [\"{netem}\"]\ndelay = \"{half}\"\n"),
            None => out += &format!("delay = \"{half}\"\n"),
        }
        out += "\n[link.reverse]\n";
        match (&self.reverse_qdisc, self.reverse_bps) {
            (Some(qdisc), Some(bps)) => {
                let burst = burst(bps);
                out += &format!(
                    "rate = \"{}bit\"\nshaper = \"htb burst {burst}b\"\nqdisc = \"{qdisc}\"\n",
                    bps as u64
                );
            }
            _ => out += "rate = \"none\"\nshaper = \"none\"\nqdisc = \"pfifo\"\n",
        }
        match &extras.reverse_element {
            Some(element) => out += &format!("ingress = [\"{element}\"]\n"),
            None if self.impairment.is_some() => out += "ingress = []\n",
            None => {}
        }
        out + &format!("delay = \"{half}\"\n\n")
    }

    /// One to three changes of the rate, the delay or the queue, at even distances.
    pub(crate) fn schedule(&self, stratum: Stratum, duration_s: f64, dice: &Dice) -> String {
        if stratum != Stratum::Steps {
            return String::new();
        }
        let mut dice = dice.named("schedule");
        let steps = dice.whole(1, 3);
        let apart_s = duration_s / f64::from(steps + 1);
        let mut out = String::new();
        for step in 1..=steps {
            let at = apart_s * f64::from(step);
            out += &format!("[[schedule]]\nat = \"{}ms\"\n", (at * 1e3) as u64);
            out += &self.change(apart_s, &mut dice);
            out += "\n\n";
        }
        out
    }

    /// A change of rate, at once or as a ramp; of delay; or a queue in the place of the present one.
    fn change(&self, apart_s: f64, dice: &mut Draw) -> String {
        match dice.whole(0, 9) {
            0..=5 => {
                let rate = (self.rate_bps * dice.decades(0.2, 1.0) / 1000.0).round() * 1000.0;
                // A ramp ends before the next change begins.
                let over = if dice.chance(0.25) {
                    let over_ms = (apart_s * 800.0) as u64;
                    format!("over = \"{over_ms}ms\"\nstep = \"{}ms\"\n", (over_ms / 10).max(1))
                } else {
                    String::new()
                };
                format!("{over}set = {{ \"link.bneck.forward.rate\" = \"{}bit\" }}", rate as u64)
            }
            6..=8 => {
                let delay = Dur((self.rtt.0 as f64 / 2.0 * dice.decades(0.5, 2.0)) as u64);
                format!("set = {{ \"link.bneck.forward.delay\" = \"{}\" }}", time(delay))
            }
            _ => {
                let rtt_s = self.rtt.as_secs_f64();
                let qdisc = queues::draw(self.kinds, self.rate_bps, rtt_s, dice);
                format!("replace = {{ \"link.bneck.forward.qdisc\" = \"{qdisc}\" }}")
            }
        }
    }

    pub(crate) fn has_l4s(&self) -> bool {
        self.qdisc.starts_with("dualpi2") || self.kinds == Kinds::All
    }
}

/// HTB, which most testbeds use, or TBF. Bursts are given, since what a kernel computes depends on its timer.
fn shaper(rate_bps: f64, dice: &mut Draw) -> String {
    let burst = burst(rate_bps) * u64::from(dice.whole(1, 4));
    if dice.chance(0.75) {
        format!("htb burst {burst}b")
    } else {
        format!("tbf burst {burst}b limit 30000000b")
    }
}

/// A full-sized frame, or half a millisecond.
fn burst(rate_bps: f64) -> u64 {
    ((rate_bps / 8.0 * 0.0005) as u64).max(1600)
}

/// One impairment by netem.
fn impairment(rtt: Dur, dice: &mut Draw) -> String {
    let jitter =
        |dice: &mut Draw| ((rtt.as_secs_f64() * 1e6 * dice.decades(0.01, 0.2)) as u64).max(10);
    let what = match dice.whole(0, 5) {
        0 => format!("loss {:.3}%", dice.decades(0.02, 3.0)),
        1 => {
            let (bad, good) = (dice.decades(0.05, 1.0), dice.between(10.0, 60.0));
            format!("loss gemodel {bad:.3}% {good:.1}%")
        }
        2 => {
            let us = jitter(dice);
            format!("delay {}us {us}us distribution normal", 4 * us)
        }
        3 => format!("delay {}us reorder {:.2}%", 2 * jitter(dice), dice.between(90.0, 99.5)),
        4 => format!("duplicate {:.3}%", dice.decades(0.05, 2.0)),
        _ => {
            let us = jitter(dice);
            format!("slot {us}us {}us", 2 * us)
        }
    };
    format!("netem {what} limit 100000")
}
