//! Scheduled changes: their names, their values, and that each is possible when its time comes.

use sojourn_core::{Dur, Quantity as _, Rate, Time};
use sojourn_queue::aqm::Spec;
use sojourn_queue::qdiscs;

use crate::check::{Key, link_rate, words};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::file::ScheduleTable;
use crate::ramp::{self, Ramp};
use crate::scenario::{Change, Direction, Edit, Link};

pub(crate) fn schedule(
    doc: &Doc,
    tables: &[ScheduleTable],
    links: &[Link],
    end: Time,
) -> Result<Vec<Change>, ScenarioError> {
    let mut planned = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("schedule", index, &index.to_string());
        let at = Time::ZERO + table.at;
        if at > end {
            let message = format!("{at} is after the end of the run at {end}");
            return Err(doc.fail(&key.field("at"), message));
        }
        let ramp = Ramp::read(doc, &key, table, at, end)?;
        if table.set.is_empty() && table.replace.is_empty() {
            return Err(doc.fail(&key, "expected `set` or `replace` with at least one name"));
        }
        for (replace, table) in [(false, &table.set), (true, &table.replace)] {
            let key = key.field(if replace { "replace" } else { "set" });
            for (name, value) in table {
                let key = key.field(name);
                let change = change(at, replace, name, value, links);
                let change = change.map_err(|e| doc.fail(&key, e))?;
                planned.push(Planned { key, ramp, ..change });
            }
        }
    }
    let mut changes = ramp::expand(doc, planned, links)?;
    changes.sort_by_key(|change| change.at);
    rehearse(doc, &changes, links)
}

/// A change as the file has it.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) key: Key,
    pub(crate) at: Time,
    pub(crate) link: usize,
    /// Which directions it concerns: forward, reverse.
    pub(crate) ways: [bool; 2],
    pub(crate) draft: Draft,
    pub(crate) ramp: Option<Ramp>,
}

/// What a change does; a queue's new parameters depend on those that it has then.
#[derive(Clone)]
pub(crate) enum Draft {
    Rate(Rate),
    Delay(Dur),
    Change(String),
    Replace(String),
    Ingress(usize, String),
}

fn change(
    at: Time,
    replace: bool,
    name: &str,
    value: &str,
    links: &[Link],
) -> Result<Planned, String> {
    let parts: Vec<&str> = name.split('.').collect();
    let (link, forward, reverse, field) = match parts[..] {
        ["link", link, "forward", field] => (link, true, false, field),
        ["link", link, "reverse", field] => (link, false, true, field),
        ["link", link, field] => (link, true, true, field),
        _ => return Err("expected a name such as \"link.bneck.rate\"".to_owned()),
    };
    let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
    let index =
        names.iter().position(|n| *n == link).ok_or_else(|| unknown("link", link, &names))?;
    let draft = match (replace, field) {
        (false, "rate") => Draft::Rate(link_rate(Rate::read(value)?)?),
        (false, "delay") => Draft::Delay(Dur::read(value)?),
        (false, "qdisc") => Draft::Change(words(value)),
        (true, "qdisc") => Draft::Replace(words(value)),
        (true, _) if field.starts_with("ingress") => {
            let link = &links[index];
            let count = |on: bool, way: &Direction| if on { way.ingress.len() } else { usize::MAX };
            let count = count(forward, &link.forward).min(count(reverse, &link.reverse));
            let valid: Vec<String> = (0..count).map(|i| format!("ingress{i}")).collect();
            let position = valid.iter().position(|v| v == field);
            let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
            let element = position.ok_or_else(|| unknown("ingress element", field, &valid))?;
            Draft::Ingress(element, words(value))
        }
        (false, _) => return Err(unknown("key", field, &["rate", "delay", "qdisc"])),
        (true, "rate" | "delay") => return Err(format!("`{field}` is changed with `set`")),
        (true, _) => return Err(unknown("key", field, &["qdisc", "ingress0"])),
    };
    let key = Key::top("schedule");
    Ok(Planned { key, at, link: index, ways: [forward, reverse], draft, ramp: None })
}

/// Applies the changes in order to the parameters of the queues, and so finds out what each changes them
/// to.
fn rehearse(doc: &Doc, plan: &[Planned], links: &[Link]) -> Result<Vec<Change>, ScenarioError> {
    let mut changes = Vec::new();
    let mut queues: Vec<[Spec; 2]> =
        links.iter().map(|link| [link.forward.qdisc.clone(), link.reverse.qdisc.clone()]).collect();
    for Planned { key, at, link: index, ways, draft, .. } in plan {
        let link = &links[*index];
        let mut edits = [None, None];
        for (n, way) in [&link.forward, &link.reverse].into_iter().enumerate() {
            if !ways[n] {
                continue;
            }
            let fail = |message: String| {
                let hint = if *ways == [true, true] {
                    let side = ["forward", "reverse"][n];
                    let name = &link.name;
                    format!(
                        " (this is the {side} direction; `link.{name}.forward` or `.reverse` names one)"
                    )
                } else {
                    String::new()
                };
                doc.fail(key, format!("{message}{hint}"))
            };
            let queue = &mut queues[*index][n];
            edits[n] = Some(match draft {
                Draft::Change(text) => {
                    let (to, given) =
                        qdiscs::changed(queue, text, &doc.env()).map_err(|e| fail(e.0))?;
                    if to.held::<sojourn_queue::aqm::legacy::Legacy>().is_none() {
                        *queue = to.clone();
                    }
                    Edit::Change(to, given)
                }
                Draft::Replace(text) => {
                    *queue = doc.qdisc(key, text)?;
                    Edit::Replace(queue.clone())
                }
                Draft::Ingress(place, text) => Edit::Ingress(*place, doc.qdisc(key, text)?),
                Draft::Rate(rate) => {
                    let none = || Err("there is no rate to change".to_owned());
                    let possible = match &way.shaper {
                        Some(shaper) => shaper.clone().set_rate(*rate),
                        None => way.wire.map_or_else(none, |_| Ok(())),
                    };
                    possible.map_err(fail)?;
                    Edit::Rate(*rate)
                }
                Draft::Delay(delay) => Edit::Delay(*delay),
            });
        }
        let change =
            |forward, reverse, edit| Change { at: *at, link: *index, forward, reverse, edit };
        match edits {
            [Some(forward), Some(reverse)] if forward != reverse => {
                changes.push(change(true, false, forward));
                changes.push(change(false, true, reverse));
            }
            [forward, reverse] => {
                changes.extend(forward.or(reverse).map(|edit| change(ways[0], ways[1], edit)));
            }
        }
    }
    Ok(changes)
}
