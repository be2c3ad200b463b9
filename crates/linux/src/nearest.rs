//! The scenario nearest to a given one that a kernel can do.
//!
//! What has the same name in the kernel stands for another version of it. Nothing stands for an
//! algorithm that the kernel does not have: a different controller would be a different question.

use serde::Serialize;
use sojourn_cc::{self as cc, Feedback};
use sojourn_core::grammar::{Given, text};
use sojourn_queue::aqm;
use sojourn_scenario::{Direction, Edit, Scenario};
use sojourn_transport::tcp::{Config, Overlay};

use crate::capabilities::Capabilities;
use crate::check::{VERSIONS, key_of, own_flags, unlike};
use crate::network::watched::hides;
use crate::tc::Spelled;

/// What a kernel does otherwise than the scenario says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The key of the scenario, such as `link.bneck.qdisc`.
    pub key: String,
    /// What the scenario says.
    pub wanted: String,
    /// What runs instead.
    pub used: String,
    /// Why.
    pub why: String,
}

/// A scenario and what differs in it; what has no near substitute is as it was, for
/// [`check`](crate::check) to refuse.
pub fn nearest(scenario: &Scenario, kernel: &Capabilities) -> (Scenario, Vec<Difference>) {
    let mut near = Near { kernel, differences: Vec::new() };
    let mut used = scenario.clone();
    for link in &mut used.links {
        near.direction(&format!("link.{}", link.name), &mut link.forward);
        near.direction(&format!("link.{}.reverse", link.name), &mut link.reverse);
    }
    if let Some(noise) = used.noise.take() {
        let why = "its hosts have their own, or in virtual time none";
        near.note("hosts.noise", noise.to_string(), "none".to_owned(), why);
    }
    for (n, flow) in used.flows.iter_mut().enumerate() {
        if let Some(spec) = &mut flow.cc {
            near.controller(&format!("flow.{}.cc", scenario.declared(n)), spec);
            near.tcp(&format!("flow.{}.tcp", scenario.declared(n)), &mut flow.tcp);
        }
    }
    if let Some((first, others)) = used.flows.split_first_mut() {
        for (n, flow) in (1..).zip(others) {
            let keys: Vec<_> = unlike(&flow.tcp, &first.tcp).collect();
            let why = "the kernel has one value for all flows";
            near.adopt(
                &format!("flow.{}.tcp", scenario.declared(n)),
                &mut flow.tcp,
                &keys,
                &first.tcp,
                why,
            );
        }
    }
    for capture in &mut used.captures {
        let key = format!("capture.{}.points", capture.name);
        let (shown, hidden): (Vec<_>, Vec<_>) =
            capture.points.iter().partition(|point| hides(scenario, **point).is_none());
        for point in hidden {
            let why = hides(scenario, point).unwrap_or_default();
            near.note(&key, point.name(scenario), "none".to_owned(), why);
        }
        capture.points = shown;
    }
    used.captures.retain(|capture| !capture.points.is_empty());
    for change in &mut used.schedule {
        let key = key_of(change, scenario);
        match &mut change.edit {
            Edit::Replace(to) | Edit::Ingress(_, to) => near.queue(&key, to),
            Edit::Change(to, given) => {
                near.queue(&key, to);
                // A parameter that is not there any more cannot be changed.
                let mut left = Given::default();
                let written = to.written();
                let names = written.iter().map(|part| part.name).filter(|name| given.has(name));
                names.for_each(|name| left.add(name));
                *given = left;
            }
            Edit::Rate(_) | Edit::Delay(_) => {}
        }
    }
    (used, near.differences)
}

struct Near<'k> {
    kernel: &'k Capabilities,
    differences: Vec<Difference>,
}

impl Near<'_> {
    fn note(&mut self, key: &str, wanted: String, used: String, why: &str) {
        let (key, why) = (key.to_owned(), why.to_owned());
        let difference = Difference { key, wanted, used, why };
        // The flows of a group differ alike.
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    fn direction(&mut self, key: &str, way: &mut Direction) {
        for (name, spec) in [("shaper", &mut way.shaper), ("stab", &mut way.stab)] {
            if let Some(spec) = spec {
                self.queue(&format!("{key}.{name}"), spec);
            }
        }
        self.queue(&format!("{key}.qdisc"), &mut way.qdisc);
        for (number, spec) in way.ingress.iter_mut().enumerate() {
            self.queue(&format!("{key}.ingress{number}"), spec);
        }
    }

    /// The kernel's own version of a discipline, without what it or tc has no parameter for.
    fn queue(&mut self, key: &str, spec: &mut aqm::Spec) {
        let (kernel, kind) = (self.kernel, spec.name());
        if !kernel.qdiscs.contains_key(kind) {
            return;
        }
        let left_out = Spelled::of(spec).left_out;
        let (parts, mut stays) = (spec.written(), spec.brief());
        let version = parts.iter().find(|part| VERSIONS.contains(&part.name));
        let other = version.filter(|part| {
            !kernel.has_version(kind, part.text.split(' ').next_back().unwrap_or_default())
        });
        // What follows from a version goes with it.
        let usual =
            other.and_then(|part| format!("{kind} {}", part.text).parse::<aqm::Spec>().ok());
        let usual = usual.map(|spec| spec.written()).unwrap_or_default();
        stays.retain(|part| !usual.contains(part));
        stays.retain(|part| match part.name {
            name if VERSIONS.contains(&name) => true,
            // Not a nuance: a measured series of delays, and marks of another kind.
            name if name.starts_with("delay") || name.contains("sce") => true,
            name => !kernel.refuses(kind, name) && !left_out.contains(part),
        });
        let own = kernel.own_version(kind).filter(|_| other.is_some());
        let own = own.map(|version| format!(" version {version}")).unwrap_or_default();
        let Ok(used) = format!("{kind}{own} {}", text(&stays)).trim_end().parse::<aqm::Spec>()
        else {
            return;
        };
        if used != *spec {
            let why = format!("what Linux {} has of `{kind}`", kernel.release);
            self.note(key, spec.short(), used.short(), &why);
            *spec = used;
        }
    }

    /// The kernel's own version of a controller.
    fn controller(&mut self, key: &str, spec: &mut cc::Spec) {
        let name = spec.name();
        if !self.kernel.controllers.contains_key(name) {
            return;
        }
        let text = match name {
            "bbr" => format!("bbr version {}", self.kernel.bbr()),
            _ => name.to_owned(),
        };
        let short = spec.short();
        // Which version of it a tree has, its builder knows.
        let is_version = short.strip_prefix(name).is_some_and(|rest| rest.starts_with(" version "));
        if name != "bbr" && is_version && short.split(' ').count() == 3 {
            return;
        }
        if let Ok(used) = text.parse::<cc::Spec>()
            && used != *spec
        {
            let why = format!("what Linux {} has of `{name}`", self.kernel.release);
            self.note(key, short, used.short(), &why);
            *spec = used;
        }
    }

    fn tcp(&mut self, key: &str, tcp: &mut Config) {
        let kernel = self.kernel;
        let era = Config::of(tcp.era);
        let flags: Vec<_> = own_flags(tcp).collect();
        self.adopt(key, tcp, &flags, &era, "the kernel does what its version does");
        let has = |setting: &str| kernel.settings.contains(setting);
        let ecn = match tcp.ecn {
            Feedback::AccEcn if !kernel.accecn => Feedback::Rfc3168,
            other => other,
        };
        let own = Config {
            hz: kernel.hz,
            gso: false,
            gro: false,
            ecn_plus_plus: false,
            ecn_unsafe_cep: tcp.ecn_unsafe_cep && has("tcp_ecn_unsafe_cep"),
            ecn,
            ..tcp.clone()
        };
        let keys = Overlay::from(&*tcp).differing(&own);
        self.adopt(key, tcp, &keys, &own, "as the kernel is built");
    }

    /// Takes the values of some keys from another configuration.
    fn adopt(&mut self, key: &str, tcp: &mut Config, keys: &[&str], from: &Config, why: &str) {
        let table = |config: &Config| serde_json::to_value(Overlay::from(config));
        let (Ok(mut own), Ok(theirs)) = (table(tcp), table(from)) else { return };
        for name in keys {
            let used = theirs[name].clone();
            self.note(&format!("{key}.{name}"), shown(&own[name]), shown(&used), why);
            own[name] = used;
        }
        if let Ok(overlay) = serde_json::from_value::<Overlay>(own) {
            let Config { tos, control_rtts, bytes, .. } = *tcp;
            *tcp = Config { tos, control_rtts, bytes, ..Config::from(&overlay) };
        }
    }
}

/// A value as a scenario has it, without quotes.
fn shown(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
