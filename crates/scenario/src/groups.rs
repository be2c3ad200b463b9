//! Groups of flows: copies of one declaration, and the times between their starts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_core::{Dur, Quantity as _, Rng, Time};
use sojourn_transport::app::udp::exponential;

use crate::scenario::Scenario;

/// More flows than these have no series of their own unless the file asks for them.
pub(crate) const MOST_WITH_SERIES: usize = 100;

/// Far behind the end of any run, and far below the end of time.
const LATEST: Time = Time(u64::MAX / 4);

/// Flows that are copies of one declaration. They are called `NAME-1`, `NAME-2` and so on, and follow one
/// another in [`Scenario::flows`].
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name, unique among flows, groups and pings.
    pub name: String,
    /// Index of the first flow.
    pub first: usize,
    /// Number of flows, at least one.
    pub flows: usize,
    /// When the first starts.
    pub start: Time,
    /// Times between the starts; without it all start together.
    pub interarrival: Option<Interarrival>,
}

impl Group {
    /// Indices of its flows.
    pub fn members(&self) -> Range<usize> {
        self.first..self.first + self.flows
    }

    /// The starts of its flows.
    pub(crate) fn starts(&self, seed: u64) -> impl Iterator<Item = Time> {
        let mut rng = Rng::named(seed, &format!("flow.{}.start", self.name));
        let interarrival = self.interarrival;
        let gap = move |_| interarrival.map_or(Dur::ZERO, |times| times.draw(&mut rng));
        let next = |at: &mut Time, gap: Dur| {
            Some(std::mem::replace(at, Time(at.0.saturating_add(gap.0)).min(LATEST)))
        };
        (0..self.flows).map(gap).scan(self.start, next)
    }
}

/// Time between the start of one flow and that of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interarrival {
    /// Always the same.
    Constant(Dur),
    /// Exponentially distributed with this mean: the starts are a Poisson process.
    Exponential(Dur),
    /// Uniform from the first to below the second.
    Uniform(Dur, Dur),
}

impl Interarrival {
    fn draw(self, rng: &mut Rng) -> Dur {
        match self {
            Self::Constant(gap) => gap,
            Self::Exponential(mean) => exponential(mean, rng),
            Self::Uniform(least, most) => {
                least + Dur((rng.unit() * most.saturating_sub(least).0 as f64) as u64)
            }
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["exponential", mean] => Dur::read(mean).map(Self::Exponential),
            ["uniform", least, most] => {
                let (least, most) = (Dur::read(least)?, Dur::read(most)?);
                if least > most {
                    return Err(format!("{least} is more than {most}"));
                }
                Ok(Self::Uniform(least, most))
            }
            [gap] if gap.starts_with(|c: char| c.is_ascii_digit()) => {
                Dur::read(gap).map(Self::Constant)
            }
            _ => Err(format!("expected {EXPECTED}, got {text:?}")),
        }
    }
}

const EXPECTED: &str = "a time such as \"10ms\", \"exponential 10ms\" or \"uniform 5ms 15ms\"";

impl fmt::Display for Interarrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(gap) => write!(f, "{gap}"),
            Self::Exponential(mean) => write!(f, "exponential {mean}"),
            Self::Uniform(least, most) => write!(f, "uniform {least} {most}"),
        }
    }
}

impl<'de> Deserialize<'de> for Interarrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Interarrival;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Interarrival, E> {
                Interarrival::read(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl Serialize for Interarrival {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Interarrival {
    fn schema_name() -> Cow<'static, str> {
        "Interarrival".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time, or the distribution of times: \"exponential MEAN\", \"uniform LEAST MOST\"",
            "type": "string",
            "pattern": "^((exponential +)?[0-9][^ ]*|uniform +[0-9][^ ]* +[0-9][^ ]*)$",
        })
    }
}

/// What is recorded of flows over time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowSeries {
    /// The series of each flow.
    Flows,
    /// Of each group of flows, quantiles and sums of their series; of every other flow its own.
    Groups,
    /// Nothing.
    None,
}

impl FlowSeries {
    /// What is recorded of a scenario with this number of flows unless the file says otherwise.
    pub(crate) fn of(flows: usize) -> Self {
        if flows > MOST_WITH_SERIES { Self::Groups } else { Self::Flows }
    }
}

impl Scenario {
    /// The group to which the flow with this index belongs.
    pub fn group_of(&self, flow: usize) -> Option<&Group> {
        let after = self.groups.partition_point(|group| group.first <= flow);
        self.groups[..after].last().filter(|group| group.members().contains(&flow))
    }

    /// The name under which the file declares the flow with this index: its own, or that of its group.
    pub fn declared(&self, flow: usize) -> &str {
        self.group_of(flow).map_or(&self.flows[flow].name, |group| &group.name)
    }

    /// Names of flows and pings by their numbers, flows first and in ascending order: of a group that is
    /// there as a whole, its own.
    pub(crate) fn names_of(&self, numbers: &[usize]) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = 0;
        while let Some(&flow) = numbers.get(at) {
            let whole = self.group_of(flow).filter(|group| {
                let last = numbers.get(at + group.flows - 1);
                flow == group.first && last == Some(&(flow + group.flows - 1))
            });
            names.push(
                whole.map_or_else(|| self.flow_or_ping(flow), |group| &group.name).to_owned(),
            );
            at += whole.map_or(1, |group| group.flows);
        }
        names
    }
}

#[cfg(test)]
mod tests;
