//! From what a user states to a scenario, by the scenario's own loader.

use std::path::PathBuf;

use serde::Deserialize;
use sojourn_core::grammar::split_name;
use sojourn_core::{Dur, Quantity as _, Time};
use sojourn_scenario::{
    Capture, Hop, Measure, Path, Place, Point, Scenario, ScenarioError, load, to_toml,
};

use super::Error;

/// What a user states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Device towards the clients: an interface, or `tun:NAME`.
    pub left: String,
    /// Device towards the servers.
    pub right: String,
    /// What comes from the right.
    #[serde(default)]
    pub down: Way,
    /// What comes from the left.
    #[serde(default)]
    pub up: Way,
    /// Propagation delay of each direction.
    #[serde(default)]
    pub delay: Option<String>,
    /// Name and text of a scenario file whose links are taken instead.
    #[serde(default)]
    pub scenario: Option<(String, String)>,
    /// Seed of all random streams.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Length; until it is ended if there is none.
    #[serde(default)]
    pub duration: Option<String>,
    /// Time between readings.
    pub interval: String,
    /// Lateness at the 99th percentile above which the verdict is `late`.
    pub max_lateness: String,
    /// Name of the capture file of what its queues get, send and drop.
    #[serde(default)]
    pub capture: Option<PathBuf>,
    /// Bytes that it keeps of a packet.
    #[serde(default)]
    pub snaplen: Option<u32>,
    /// Whether hosts may send several packets as one, up to 64 kB, which queues count as one.
    #[serde(default)]
    pub super_packets: bool,
    /// Whether idle CPUs poll while it runs.
    #[serde(default)]
    pub keep_awake: bool,
    /// Name of the socket for control.
    #[serde(default)]
    pub control: Option<PathBuf>,
}

/// One direction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// `QDISC` or `SHAPER; QDISC`; a shaper `rate RATE` is a wire.
    #[serde(default)]
    pub queue: Option<String>,
    /// Elements before the queue.
    #[serde(default)]
    pub ingress: Vec<String>,
}

/// The only link, where no scenario is given.
pub(super) const LINK: &str = "box";

/// No end in sight, and still a time that the loader takes: 95 years, in steps that it allows.
const BASE: &str = r#"name = "middlebox"
duration = "3000000000s"
step = "1000s"
[[link]]
name = "box"
[[flow]]
name = "hosts"
app = "cbr rate 1Mbit"
"#;
/// How often the network samples; an order or the end waits for it at most.
const STEP: Dur = Dur::from_millis(100);
/// Bytes that a capture keeps of a packet.
const SNAPLEN: u32 = 128;
const SNAPLENS: std::ops::RangeInclusive<u32> = 60..=262_144;

impl Settings {
    /// The network as a scenario without an end, and what of it may not be meant, a line each.
    pub(super) fn plan(&self) -> Result<(Scenario, Vec<String>), Error> {
        self.interval()?;
        self.max_lateness()?;
        self.duration()?;
        if let Some(snaplen) = self.snaplen.filter(|snaplen| !SNAPLENS.contains(snaplen)) {
            let (least, most) = (SNAPLENS.start(), SNAPLENS.end());
            let message = format!("--snaplen {snaplen}: expected {least} to {most}");
            return Err(Error::Setting(message));
        }
        let mut overrides = vec![];
        if let Some(seed) = self.seed {
            overrides.push(("seed".to_owned(), seed.to_string()));
        }
        let Some((file, text)) = &self.scenario else {
            for (way, key, option) in [(&self.down, "", "--down"), (&self.up, ".reverse", "--up")] {
                overrides.extend(way.overrides(&format!("link.{LINK}{key}"), option)?);
            }
            if let Some(delay) = &self.delay {
                overrides.push((format!("link.{LINK}.delay"), delay.clone()));
                overrides.push((format!("link.{LINK}.reverse.delay"), delay.clone()));
            }
            let loaded = load(BASE, "middlebox", &overrides)
                .map_err(|error| Error::Setting(by_option(&error.key, &error.message)))?;
            let shown = |line: &String| {
                let (key, message) = line.strip_prefix("-s ")?.split_once(": ")?;
                Some(by_option(key, message))
            };
            return Ok((loaded.scenario, loaded.warnings.iter().filter_map(shown).collect()));
        };
        let is_given = |way: &Way| way.queue.is_some() || !way.ingress.is_empty();
        if is_given(&self.down) || is_given(&self.up) || self.delay.is_some() {
            let message = format!(
                "--scenario {file}: has the links; expected no --down, --up or --delay beside it"
            );
            return Err(Error::Setting(message));
        }
        let fail = |error: ScenarioError| Error::Setting(error.to_string());
        let loaded = load(text, file, &overrides).map_err(fail)?;
        let given = loaded.scenario;
        let base = load(BASE, "middlebox", &[]).map_err(fail)?.scenario;
        let mut hosts = base.flows;
        let first = given.flows.first().map(|flow| (flow.paths.clone(), flow.spread));
        let first =
            first.or_else(|| given.pings.first().map(|ping| (ping.paths.clone(), ping.spread)));
        let all = || Path {
            hops: (0..given.links.len()).map(|link| Hop { link, forward: true }).collect(),
            weight: 1,
        };
        for flow in &mut hosts {
            match &first {
                Some((paths, spread)) => (flow.paths, flow.spread) = (paths.clone(), *spread),
                None => flow.paths = vec![all()].into(),
            }
        }
        let network = Scenario {
            flows: hosts,
            pings: vec![],
            tunnels: vec![],
            windows: vec![],
            captures: vec![],
            ..given
        };
        let (duration, step, measure) = (base.duration, base.step, base.measure);
        Ok((Scenario { duration, step, measure, ..network }, loaded.warnings))
    }

    /// What the capture file shows of that scenario: every queue, in both directions.
    fn captures(&self, scenario: &Scenario) -> Vec<Capture> {
        let places = [Place::In, Place::Out, Place::Drop];
        let point = |link, forward| {
            places.into_iter().map(move |place| Point::Link { link, forward, place })
        };
        let of_link = |link| point(link, true).chain(point(link, false));
        let capture = self.capture.iter().map(|_| Capture {
            name: "middlebox".to_owned(),
            points: (0..scenario.links.len()).flat_map(of_link).collect(),
            flows: (0..scenario.flows.len()).collect(),
            snaplen: self.snaplen.unwrap_or(SNAPLEN),
            start: Time::ZERO,
            stop: None,
            comments: true,
        });
        capture.collect()
    }

    /// That scenario for a run: sampled often, and with its end.
    pub(super) fn timed(&self, scenario: Scenario) -> Scenario {
        let duration = self.duration().ok().flatten().unwrap_or(scenario.duration);
        let measure = Measure { from: Time::ZERO, to: Time::ZERO + duration };
        let captures = self.captures(&scenario);
        Scenario { duration, measure, step: STEP, captures, ..scenario }
    }

    fn duration(&self) -> Result<Option<Dur>, Error> {
        self.duration.as_deref().map(|text| time("--duration", text)).transpose()
    }

    pub(super) fn interval(&self) -> Result<Dur, Error> {
        let interval = time("--interval", &self.interval)?;
        if interval < STEP {
            return Err(Error::Setting(format!(
                "--interval {}: expected at least {STEP}",
                self.interval
            )));
        }
        Ok(interval)
    }

    pub(super) fn max_lateness(&self) -> Result<Dur, Error> {
        time("--max-lateness", &self.max_lateness)
    }
}

fn time(option: &str, text: &str) -> Result<Dur, Error> {
    let time = Dur::read(text).map_err(|error| Error::Setting(format!("{option}: {error}")))?;
    if time == Dur::ZERO {
        return Err(Error::Setting(format!("{option} {text}: expected more than zero")));
    }
    Ok(time)
}

impl Way {
    /// The values of a direction of a link, by dotted name.
    fn overrides(&self, link: &str, option: &str) -> Result<Vec<(String, String)>, Error> {
        let text = self.queue.as_deref().unwrap_or("pfifo");
        let (shaper, queue) = text.split_once(';').unwrap_or(("", text));
        if queue.contains(';') || queue.trim().is_empty() {
            let message = format!("{option} {text:?}: expected \"QDISC\" or \"SHAPER; QDISC\"");
            return Err(Error::Setting(message));
        }
        let mut words: Vec<&str> = shaper.split_whitespace().collect();
        let (name, _) = split_name(shaper.trim());
        let rate = words.iter().position(|word| *word == "rate").filter(|at| at + 1 < words.len());
        let rate = rate.map_or("none", |at| words.drain(at..at + 2).nth(1).unwrap_or("none"));
        let shaper =
            if name.is_empty() || name == "rate" { "none".to_owned() } else { words.join(" ") };
        if name == "rate" && !words.is_empty() {
            let message =
                format!("{option} {text:?}: expected nothing after `rate {rate}` of a wire");
            return Err(Error::Setting(message));
        }
        let ingress = serde_json::to_string(&self.ingress).expect("texts are JSON");
        let values =
            [("rate", rate), ("shaper", &shaper), ("qdisc", queue.trim()), ("ingress", &ingress)];
        Ok(values.map(|(key, value)| (format!("{link}.{key}"), value.to_owned())).into())
    }
}

/// What the loader says about a value of the only link, with the option that states the value.
fn by_option(key: &str, message: &str) -> String {
    let key = key.strip_prefix(&format!("link.{LINK}.")).unwrap_or(key);
    let (way, key) = key.strip_prefix("reverse.").map_or(("down", key), |key| ("up", key));
    match key.split('.').next() {
        Some("delay") => format!("--delay: {message}"),
        Some("ingress") => format!("--{way}-ingress: {message}"),
        Some("seed") => format!("--seed: {message}"),
        _ => format!("--{way}: {message}"),
    }
}

/// A scenario as text to which changes can be added.
pub(super) fn text(scenario: &Scenario) -> String {
    to_toml(scenario)
}

#[cfg(test)]
mod tests;
