//! Scheduled changes: their names, their values, and that each is possible when its time comes.

use sojourn_core::{Dur, Quantity as _, Rate, Time};
use sojourn_queue::aqm::{Log, Qdisc};
use sojourn_queue::qdiscs;

use crate::check::{Key, link_rate, words};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::file::ScheduleTable;
use crate::ramp::{self, Planned, Ramp};
use crate::scenario::{Change, Direction, Edit, Link};
use crate::traces::takes_rate;

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
                planned.push(Planned { change, key, ramp });
            }
        }
    }
    let mut changes = ramp::expand(doc, planned, links)?;
    changes.sort_by_key(|(change, _)| change.at);
    rehearse(doc, &changes, links)?;
    Ok(changes.into_iter().map(|(change, _)| change).collect())
}

fn change(
    at: Time,
    replace: bool,
    name: &str,
    value: &str,
    links: &[Link],
) -> Result<Change, String> {
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
    let edit = match (replace, field) {
        (false, "rate") => Edit::Rate(link_rate(Rate::read(value)?)?),
        (false, "delay") => Edit::Delay(Dur::read(value)?),
        (false, "qdisc") => Edit::Change(words(value)),
        (true, "qdisc") => Edit::Replace(words(value)),
        (true, _) if field.starts_with("ingress") => {
            let link = &links[index];
            let count = |on: bool, way: &Direction| if on { way.ingress.len() } else { usize::MAX };
            let count = count(forward, &link.forward).min(count(reverse, &link.reverse));
            let valid: Vec<String> = (0..count).map(|i| format!("ingress{i}")).collect();
            let position = valid.iter().position(|v| v == field);
            let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
            let element = position.ok_or_else(|| unknown("ingress element", field, &valid))?;
            Edit::Ingress(element, words(value))
        }
        (false, _) => return Err(unknown("key", field, &["rate", "delay", "qdisc"])),
        (true, "rate" | "delay") => return Err(format!("`{field}` is changed with `set`")),
        (true, _) => return Err(unknown("key", field, &["qdisc", "ingress0"])),
    };
    Ok(Change { at, link: index, forward, reverse, edit })
}

/// Whether the direction has a rate that can be changed.
fn has_rate(way: &Direction) -> bool {
    match &way.shaper {
        Some(shaper) => takes_rate(shaper),
        None => way.wire.is_some(),
    }
}

/// Applies the queue changes in order to queues built for this purpose.
fn rehearse(doc: &Doc, changes: &[(Change, Key)], links: &[Link]) -> Result<(), ScenarioError> {
    let mut queues: Vec<[Option<Box<dyn Qdisc>>; 2]> = links.iter().map(|_| [None, None]).collect();
    for (change, key) in changes {
        let link = &links[change.link];
        let ways = [
            (change.forward, &link.forward, "forward"),
            (change.reverse, &link.reverse, "reverse"),
        ];
        for (queue, (concerned, way, side)) in queues[change.link].iter_mut().zip(ways) {
            let fail = |message: &str| {
                let hint = if change.forward && change.reverse {
                    format!(
                        " (this is the {side} direction; `link.{}.forward` or `.reverse` names one)",
                        link.name
                    )
                } else {
                    String::new()
                };
                doc.fail(key, format!("{message}{hint}"))
            };
            // What a rehearsal discards is of no interest.
            let mut unheard = Log::default();
            match &change.edit {
                _ if !concerned => {}
                Edit::Change(text) => {
                    let queue = match queue {
                        Some(queue) => queue,
                        None => queue.insert(doc.qdisc(key, &way.qdisc)?),
                    };
                    qdiscs::change(queue.as_mut(), change.at, text, &mut unheard)
                        .map_err(|e| fail(&e.0))?;
                }
                Edit::Replace(text) => *queue = Some(doc.qdisc(key, text)?),
                Edit::Ingress(_, text) => drop(doc.qdisc(key, text)?),
                Edit::Rate(_) if !has_rate(way) => {
                    return Err(fail("there is no rate to change"));
                }
                Edit::Rate(rate) => {
                    if let Some(shaper) = &way.shaper {
                        let mut shaper = doc.shaper(key, shaper, doc.qdisc(key, "pfifo")?)?;
                        qdiscs::change_rate(shaper.as_mut(), change.at, *rate, &mut unheard)
                            .map_err(|e| fail(&e.0))?;
                    }
                }
                Edit::Delay(_) => {}
            }
        }
    }
    Ok(())
}
