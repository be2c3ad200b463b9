//! A list of commands with comments, and the shell script that it is printed as.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use sojourn_core::{Dur, Time};
use sojourn_scenario::Scenario;

use super::commands::{Action, Command, Tc};
use super::queues::Device;
use crate::tc::Spelled;

/// Commands in order, and what a stock kernel cannot do of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Script {
    lines: Vec<Line>,
    limits: Vec<String>,
    /// When the next command runs.
    at: Time,
    /// Policers of each namespace so far.
    policers: BTreeMap<Option<String>, u32>,
    /// Whether the kernel is known to have every discipline, whoever's it is.
    is_checked: bool,
    /// Devices with clsact, whose place a plain ingress would take.
    clsact: BTreeSet<Device>,
}

/// A line of a script.
#[derive(Clone, Debug)]
enum Line {
    Command(Command),
    /// Shell that is in the printed script only.
    Text(String),
}

impl Script {
    /// For a kernel that has been asked whether it has every discipline.
    pub(super) fn checked() -> Self {
        Self { is_checked: true, ..Self::default() }
    }

    /// Whether no kernel has a discipline.
    pub(super) fn lacks(&self, spelled: &Spelled) -> bool {
        !self.is_checked && !spelled.exists()
    }

    /// Comments on a discipline: which kernel has it, and what is left out.
    pub(super) fn announce(&mut self, spelled: &Spelled, what: &str) {
        let (kind, origin) = (spelled.kind, spelled.origin());
        if self.lacks(spelled) {
            return self.limit(&format!("{what}: `{kind}` is in {origin}; left out"));
        }
        if self.is_checked || spelled.is_mainline() {
            self.comment(&format!("{what}: {kind}, {origin}"));
        } else {
            self.limit(&format!("{what}: `{kind}` is in {origin}"));
        }
        let is_checked = self.is_checked;
        for part in spelled.left_out.iter().filter(|_| !is_checked) {
            self.limit(&format!(
                "{what}: left out `{}`, which is not a parameter of tc",
                part.text
            ));
        }
    }

    /// The commands.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.lines.iter().filter_map(|line| match line {
            Line::Command(command) => Some(command),
            Line::Text(_) => None,
        })
    }

    /// What a stock kernel cannot do, each a line for the user.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Adds a command that runs in `namespace`, if any.
    pub(super) fn run(&mut self, namespace: Option<&str>, action: Action) {
        let namespace = namespace.map(str::to_owned);
        self.lines.push(Line::Command(Command { at_ns: self.at.0, namespace, action }));
    }

    /// Adds a command that runs in the namespace of `device`.
    pub(super) fn tc(&mut self, device: &Device, tc: Tc) {
        self.run(device.namespace.as_deref(), Action::Tc(tc));
    }

    /// Adds a line of shell, or an empty one.
    pub(super) fn shell(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Text(text.into()));
    }

    /// Adds a comment. What cannot be printed is escaped: a line break would begin a command.
    pub(super) fn comment(&mut self, text: &str) {
        let escaped = |c: char| match c {
            '"' | '\'' | '\\' => c.to_string(),
            c => c.escape_debug().to_string(),
        };
        let text: String = text.chars().map(escaped).collect();
        self.shell(format!("# {text}").trim_end());
    }

    /// Adds a comment that the summary of limits repeats, once.
    pub(super) fn limit(&mut self, text: &str) {
        self.comment(text);
        if self.limits.iter().all(|limit| limit != text) {
            self.limits.push(text.to_owned());
        }
    }

    /// The first lines: the interpreter, name and description.
    pub(super) fn title(&mut self, scenario: &Scenario) {
        self.shell("#!/usr/bin/env bash");
        let title = format!("{}: {}", scenario.name, scenario.description);
        self.comment(title.trim_end_matches([':', ' ']));
        self.comment("");
    }

    /// Where `build` as argument stops.
    pub(super) fn end_of_build(&mut self) {
        self.shell("");
        self.shell("if [ \"${1-}\" = build ]; then exit; fi");
    }

    /// After an empty line, sleeps until this time of the run.
    pub(super) fn pause_until(&mut self, at: Time) {
        self.shell("");
        if at > self.at {
            self.shell(format!("sleep {}", seconds(at.since(self.at))));
            self.at = at;
        }
    }

    /// A number for the next policer of a namespace, by which it can be replaced.
    pub(super) fn next_policer(&mut self, namespace: Option<&str>) -> u32 {
        let count = self.policers.entry(namespace.map(str::to_owned)).or_default();
        *count += 1;
        *count
    }

    /// Gives a device the places where policers before its queue are filters.
    pub(super) fn add_clsact(&mut self, device: &Device) {
        if self.clsact.insert(device.clone()) {
            self.tc(device, Tc::AddClsact(device.name.clone()));
        }
    }

    /// Whether a device has these places.
    pub(super) fn has_clsact(&self, device: &Device) -> bool {
        self.clsact.contains(device)
    }

    /// Whether what arrives at a device is filtered at its clsact, and a plain ingress if there is none.
    pub(super) fn add_ingress(&mut self, device: &Device) -> bool {
        let in_clsact = self.has_clsact(device);
        if !in_clsact {
            self.tc(device, Tc::AddIngress(device.name.clone()));
        }
        in_clsact
    }
}

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| match line {
            Line::Command(command) => writeln!(f, "{command}"),
            Line::Text(text) => writeln!(f, "{text}"),
        })
    }
}

/// A duration as a decimal number, with this many nanoseconds as a unit.
pub(super) fn decimal(time: Dur, unit_ns: u64) -> String {
    let (whole, rest) = (time.0 / unit_ns, time.0 % unit_ns);
    let places = unit_ns.ilog10() as usize;
    let text = format!("{whole}.{rest:0places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A duration as a decimal number of seconds.
pub(super) fn seconds(time: Dur) -> String {
    decimal(time, 1_000_000_000)
}
