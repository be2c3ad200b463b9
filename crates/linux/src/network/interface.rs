//! The script that puts a scenario's bottleneck on a real interface: what leaves it, or arrives through an
//! ifb.
//!
//! The layout is that of the script in SCReAM's record of its test activity of 2024-10-28: the bottleneck
//! on the ifb, the whole delay of the path on the interface itself.

use sojourn_core::{Dur, Rate, Time};
use sojourn_queue::impair::netem;
use sojourn_scenario::{Change, Direction, Edit, Scenario};

use super::built::{concerns, named, way};
use super::commands::{Action, Hook};
use super::queues::{
    Device, Policer, Queues, Spot, Way, is_police, police_of, policers, redirect, rewrite,
};
use super::script::{Script, decimal};
use crate::tc::Spelled;

/// The longest name of an interface (Linux 7.2 `IFNAMSIZ` less its NUL).
const LONGEST_NAME: usize = 15;

/// The script for the interface `device`; with an `ingress` ifb the forward direction is what arrives
/// there. The error is one line about an option of `sojourn tc`.
pub fn script_on(
    scenario: &Scenario,
    device: &str,
    ingress: Option<&str>,
) -> Result<Script, String> {
    for (option, name) in [("--on", Some(device)), ("--ingress", ingress)] {
        if let Some(name) = name.filter(|name| !is_device(name)) {
            return Err(format!(
                "{option} {name}: expected the name of an interface, such as eth0"
            ));
        }
    }
    if Some(device) == ingress {
        return Err(format!(
            "--ingress {device}: expected an ifb such as ifb0, not the interface itself"
        ));
    }
    if !scenario.nodes.is_empty() {
        return Err(format!("--on {device}: expected links in a row, not between nodes"));
    }
    // The link with the least rate forward; of several without rate the first.
    let rate = |link: &usize| scenario.links[*link].forward.rate().unwrap_or(Rate(u64::MAX));
    let link = (0..scenario.links.len()).min_by_key(rate).unwrap_or_default();
    let mut placed = Placed {
        script: Script::default(),
        queues: Queues::default(),
        scenario,
        link,
        device: Device::new(None, device),
        ifb: ingress.map(|ifb| Device::new(None, ifb)),
        before: Dur::ZERO,
        delays: scenario
            .links
            .iter()
            .map(|link| [link.forward.delay, link.reverse.delay])
            .collect(),
        ways: [None, None],
        delay: Spot::Nowhere,
    };
    placed.head();
    placed.others();
    placed.build();
    if !scenario.schedule.is_empty() {
        placed.script.end_of_build();
        scenario.schedule.iter().for_each(|change| placed.change(change));
        placed.script.pause_until(Time::ZERO + scenario.duration);
    }
    Ok(placed.script)
}

/// Whether a shell takes it as the name of an interface without quotes.
fn is_device(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:@+-".contains(c);
    (1..=LONGEST_NAME).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && ![".", ".."].contains(&name)
}

/// A scenario's bottleneck on its way to an interface.
struct Placed<'s> {
    script: Script,
    queues: Queues,
    scenario: &'s Scenario,
    /// The bottleneck.
    link: usize,
    device: Device,
    ifb: Option<Device>,
    /// Constant netems before the queues that have no place here.
    before: Dur,
    /// Of each link, forward and reverse.
    delays: Vec<[Dur; 2]>,
    /// Forward and reverse, where they are here.
    ways: [Option<Way>; 2],
    /// The delay of the whole path.
    delay: Spot,
}

impl Placed<'_> {
    fn head(&mut self) {
        let Self { script, scenario, device, ifb, .. } = self;
        let (device, link) = (&device.name, &scenario.links[self.link].name);
        let arriving = match ifb {
            Some(ifb) => format!("what arrives at {device}, on {}", ifb.name),
            None => format!("what leaves {device}"),
        };
        script.title(scenario);
        for text in [
            &*format!(
                "Written by `sojourn tc --on`. Link {link}: forward is {arriving}. Run it as root."
            ),
            &format!(
                "It removes the disciplines of {device} first; a login over {device} passes the bottleneck, too."
            ),
            "`clean` as argument only removes, `build` stops before the schedule.",
            "Cards hand over super-packets, which the queue counts as one. For packets as on the wire:",
            &format!("  ethtool -K {device} gro off gso off tso off"),
        ] {
            script.comment(text);
        }
        script.shell("set -eu");
        for place in ["root", "ingress", "clsact"] {
            script.shell(format!("tc qdisc del dev {device} {place} 2>/dev/null || true"));
        }
        if let Some(ifb) = ifb {
            script.shell(format!("ip link del {} 2>/dev/null || true", ifb.name));
        }
        script.shell("if [ \"${1-}\" = clean ]; then exit; fi");
    }

    /// Says what has no place on one interface.
    fn others(&mut self) {
        for (index, link) in self.scenario.links.iter().enumerate() {
            for forward in [true, false] {
                if index == self.link && (forward || self.ifb.is_some()) {
                    continue;
                }
                let way = way(link, forward);
                let constant: Vec<_> = way.ingress.iter().map(netem::constant_delay).collect();
                self.before = constant.iter().flatten().fold(self.before, |sum, own| sum + *own);
                if !is_bare(way) || constant.contains(&None) {
                    let hint =
                        if index == self.link { "; `--ingress` gives it a place" } else { "" };
                    let what = named(link, forward);
                    self.script.limit(&format!("{what}: only its delay is here{hint}"));
                }
            }
        }
        for tunnel in &self.scenario.tunnels {
            self.script.limit(&format!("tunnel {} is left out", tunnel.name));
        }
    }

    /// Both directions, the interface's own egress with the delay of the path.
    fn build(&mut self) {
        let chain = self.queues.open(self.device.clone());
        self.script.shell("");
        let changes = self.scenario.schedule.iter();
        let is_later =
            changes.map(|change| &change.edit).any(|edit| matches!(edit, Edit::Delay(_)));
        if self.path_delay() > Dur::ZERO || is_later {
            let (time, what) = (self.milliseconds(), "the delay of the whole path, both ways");
            self.delay = self.queues.add_delay(&mut self.script, chain, &time, what);
        }
        self.add_way(chain, self.ifb.is_none());
        let Some(ifb) = self.ifb.clone() else { return };
        self.script.shell("");
        self.script.comment(&format!("What arrives at {} passes {}", self.device.name, ifb.name));
        self.script.run(None, Action::LoadIfb);
        ifb.add_ifb(&mut self.script);
        let chain = self.queues.open(ifb.clone());
        let policers = self.add_way(chain, true);
        let elements = &self.scenario.links[self.link].forward.ingress;
        redirect(&mut self.script, &self.device, &ifb, &policers, elements);
    }

    /// The elements of a direction, then its shaper and queue; gives back the policers before an ifb.
    fn add_way(&mut self, chain: usize, forward: bool) -> Vec<Policer> {
        let link = &self.scenario.links[self.link];
        let (way, what) = (way(link, forward), named(link, forward));
        let (script, police) = (&mut self.script, police_of(&way.ingress));
        // What arrives is policed where it arrives, what leaves together with the queue.
        let arrives = forward && self.ifb.is_some();
        let (count, before) = if arrives { (police.len(), &[][..]) } else { (0, &*police) };
        let at_ingress = policers(script, &self.device, Hook::Ingress, count);
        let above = self.queues.depth(chain);
        let mut ingress =
            self.queues.add_ingress(script, chain, &way.ingress, &at_ingress, above, &what);
        let is_replaced = self.scenario.schedule.iter().any(|change| {
            change.link == self.link
                && concerns(change, forward)
                && matches!(change.edit, Edit::Change(..) | Edit::Replace(_))
        });
        let (mut built, at_egress) = if is_bare(way) && !is_replaced {
            let before: Vec<_> = before.iter().map(Spelled::brief).collect();
            (Way::default(), self.queues.police(script, chain, &before, &what))
        } else {
            self.queues.add_egress(script, chain, way, before, &what)
        };
        if !arrives {
            rewrite(script, &self.device, Hook::Egress, &way.ingress);
        }
        let places = ingress.iter_mut().zip(&way.ingress).filter(|(_, spec)| is_police(spec));
        for ((spot, _), policer) in places.zip(at_egress) {
            *spot = Spot::Police(policer);
        }
        built.ingress = ingress;
        self.ways[usize::from(!forward)] = Some(built);
        at_ingress
    }

    /// The delay of the whole path, both ways.
    fn path_delay(&self) -> Dur {
        self.delays.iter().flatten().fold(self.before, |sum, own| sum + *own)
    }

    fn milliseconds(&self) -> String {
        format!("{}ms", decimal(self.path_delay(), 1_000_000))
    }

    /// A scheduled change, at its time.
    fn change(&mut self, change: &Change) {
        self.script.pause_until(change.at);
        let link = &self.scenario.links[change.link];
        for forward in [true, false].into_iter().filter(|forward| concerns(change, *forward)) {
            let side = usize::from(!forward);
            let what = format!("at {}: {}", change.at, named(link, forward));
            let key = match &change.edit {
                Edit::Delay(delay) => {
                    self.delays[change.link][side] = *delay;
                    continue;
                }
                Edit::Rate(_) => "rate".to_owned(),
                Edit::Change(..) | Edit::Replace(_) => "qdisc".to_owned(),
                Edit::Ingress(number, _) => format!("ingress{number}"),
            };
            match self.ways[side].as_ref().filter(|_| change.link == self.link) {
                Some(way) => self.queues.edit(&mut self.script, way, &change.edit, &what),
                None => self.script.limit(&format!("{what}: {key} has no place here")),
            }
        }
        if matches!(change.edit, Edit::Delay(_)) {
            let what = format!("at {}: the delay of the whole path", change.at);
            let time = self.milliseconds();
            self.queues.set_delay(&mut self.script, &self.delay, &time, &what);
        }
    }
}

/// Whether nothing limits packets in this direction, nor queues them otherwise than any device.
fn is_bare(way: &Direction) -> bool {
    let qdisc = &way.qdisc;
    let is_bound = way.rate().is_some() || way.shaper.is_some() || way.stab.is_some();
    !is_bound && qdisc.name() == "pfifo" && qdisc.brief().is_empty()
}
