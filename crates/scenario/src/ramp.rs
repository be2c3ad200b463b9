//! Changes that are spread over a time, as a row of plain changes in equal steps.

use sojourn_core::{Dur, Rate, Time};

use crate::check::Key;
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::ScheduleTable;
use crate::scenario::{Direction, Link};
use crate::schedule::{Draft, Planned};

/// More steps than this are a slip of the unit.
const MAX_STEPS: u64 = 10_000;

const STEP: Dur = Dur::from_millis(100);

/// The time over which a change is spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    over: Dur,
    step: Dur,
}

impl Ramp {
    pub(crate) fn read(
        doc: &Doc,
        key: &Key,
        table: &ScheduleTable,
        at: Time,
        end: Time,
    ) -> Result<Option<Self>, ScenarioError> {
        let Some(over) = table.over else {
            doc.check(table.step.is_none(), &key.field("step"), "`step` needs `over`")?;
            return Ok(None);
        };
        let step = table.step.unwrap_or(STEP);
        for (field, time) in [("over", over), ("step", step)] {
            doc.check(time > Dur::ZERO, &key.field(field), "expected more than zero")?;
        }
        let over_key = key.field("over");
        let late = format!("{} is after the end of the run at {end}", at + over);
        doc.check(at + over <= end, &over_key, &late)?;
        let few = over.0.div_ceil(step.0) <= MAX_STEPS;
        doc.check(few, &over_key, &format!("expected at most {MAX_STEPS} steps"))?;
        let message = "only what `set` changes can be spread over a time";
        doc.check(table.replace.is_empty(), &over_key, message)?;
        Ok(Some(Self { over, step }))
    }

    /// Times of the steps since its begin; the last is its end.
    fn steps(self) -> impl Iterator<Item = Dur> {
        let count = self.over.0.div_ceil(self.step.0);
        (1..=count).map(move |n| (self.step * n).min(self.over))
    }

    /// The value on the way from `from` to `to`, rounded towards `from`.
    fn between(self, from: u64, to: u64, since: Dur) -> u64 {
        let way = i128::from(to) - i128::from(from);
        let passed = way * i128::from(since.0) / i128::from(self.over.0);
        (i128::from(from) + passed) as u64
    }
}

/// What a ramp starts from in one direction, and until when a ramp has it.
#[derive(Clone, Copy)]
struct InForce {
    value: u64,
    until: Time,
}

impl InForce {
    fn new(value: u64) -> Self {
        Self { value, until: Time::ZERO }
    }
}

/// The plain changes in order of time. What a ramp changes, nothing else changes before it ends.
pub(crate) fn expand(
    doc: &Doc,
    mut planned: Vec<Planned>,
    links: &[Link],
) -> Result<Vec<Planned>, ScenarioError> {
    planned.sort_by_key(|planned| planned.at);
    let ways = |link: &Link, value: fn(&Direction) -> u64| {
        [&link.forward, &link.reverse].map(|way| InForce::new(value(way)))
    };
    let mut rates: Vec<_> = links.iter().map(|link| ways(link, rate)).collect();
    let mut delays: Vec<_> = links.iter().map(|link| ways(link, |way| way.delay.0)).collect();
    let mut changes = Vec::new();
    for change in planned {
        let (in_force, to, draft): (_, _, fn(u64) -> Draft) = match change.draft {
            Draft::Rate(rate) => (&mut rates[change.link], rate.0, |v| Draft::Rate(Rate(v))),
            Draft::Delay(delay) => (&mut delays[change.link], delay.0, |v| Draft::Delay(Dur(v))),
            _ if change.ramp.is_some() => {
                let message = "only `rate` and `delay` can be spread over a time";
                return Err(doc.fail(&change.key, message));
            }
            _ => {
                changes.push(change);
                continue;
            }
        };
        let mut starts = Vec::new();
        for (on, own) in change.ways.into_iter().zip(in_force) {
            if !on {
                continue;
            }
            if change.at < own.until {
                let message = format!("is within a change that is spread until {}", own.until);
                return Err(doc.fail(&change.key, message));
            }
            starts.push(own.value);
            own.value = to;
            own.until = change.at + change.ramp.map_or(Dur::ZERO, |ramp| ramp.over);
        }
        // The rehearsal of the changes refuses a rate where there is none.
        let has_none = matches!(change.draft, Draft::Rate(_)) && starts.contains(&0);
        let Some(ramp) = change.ramp.filter(|_| !has_none) else {
            changes.push(change);
            continue;
        };
        // Directions that start from different values take different steps.
        let apart = starts.windows(2).any(|pair| pair[0] != pair[1]);
        for since in ramp.steps() {
            let step = |ways, from| {
                let draft = draft(ramp.between(from, to, since));
                Planned { at: change.at + since, ways, draft, ramp: None, ..change.clone() }
            };
            if apart {
                changes.push(step([true, false], starts[0]));
                changes.push(step([false, true], starts[1]));
            } else {
                changes.push(step(change.ways, starts[0]));
            }
        }
    }
    Ok(changes)
}

/// The rate of a direction's shaper or wire in bit/s, zero if it has none.
fn rate(way: &Direction) -> u64 {
    let of_shaper = way.shaper.as_ref().and_then(|shaper| shaper.capacity());
    of_shaper.or(way.wire).map_or(0, |rate| rate.0)
}
