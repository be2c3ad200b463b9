//! The `[[tunnel]]` tables: names to indices, and whether flows really pass from end to end.

use std::ops::Range;

use crate::check::{Key, between, name, path_of};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::file::TunnelTable;
use crate::scenario::{Flow, Link, Ping, Tunnel};

/// More outer header bytes than any stack of protocols has.
const MAX_OVERHEAD: u64 = 1000;

/// More packets than this are no window.
const MAX_REPLAY_WINDOW: u64 = 1_000_000;

pub(crate) fn tunnels(
    doc: &Doc,
    tables: &[TunnelTable],
    links: &[Link],
    flows: &[Flow],
    pings: &[Ping],
) -> Result<Vec<Tunnel>, ScenarioError> {
    let paths: Vec<(&str, &[usize])> = (flows.iter().map(|f| (f.name.as_str(), &f.path[..])))
        .chain(pings.iter().map(|p| (p.name.as_str(), &p.path[..])))
        .collect();
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let mut tunnels = Vec::new();
    // Per flow or ping: the tunnels before this one, as places in its path.
    let mut inside: Vec<Vec<(usize, Range<usize>)>> = vec![vec![]; paths.len()];
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("tunnel", index, &table.name);
        let before = tables[..index].iter().map(|t| t.name.as_str());
        name(doc, &key, &table.name, before.chain(names.iter().copied()))?;
        between(doc, &key, "overhead", u64::from(table.overhead), 0, MAX_OVERHEAD)?;
        if let Some(window) = table.replay_window {
            between(doc, &key, "replay_window", u64::from(window), 1, MAX_REPLAY_WINDOW)?;
        }
        let run = path_of(doc, &key.field("links"), &table.links, &names)?;
        let members = members(doc, &key, table, &run, &paths)?;
        for member in &members {
            let (flow, path) = paths[*member];
            let own = crossed(path, &run).ok_or_else(|| {
                let message = format!("{flow:?} does not cross these links one after the other");
                doc.fail(&key.field("links"), message)
            })?;
            for (other, range) in &inside[*member] {
                let message = format!(
                    "{flow:?} would leave tunnel {:?} in the middle: expected one tunnel within \
                     the other, or both apart",
                    tables[*other].name
                );
                doc.check(nested_or_apart(range, &own), &key.field("links"), &message)?;
            }
            inside[*member].push((index, own));
        }
        let (within, pinging): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|member| *member < flows.len());
        tunnels.push(Tunnel {
            name: table.name.clone(),
            links: run,
            flows: within,
            pings: pinging.into_iter().map(|member| member - flows.len()).collect(),
            overhead: table.overhead,
            ecn: table.ecn,
            dscp: table.dscp,
            entropy: table.entropy,
            replay_window: table.replay_window,
        });
    }
    Ok(tunnels)
}

/// Flows and pings inside a tunnel, by their place in `paths`, in ascending order.
fn members(
    doc: &Doc,
    key: &Key,
    table: &TunnelTable,
    run: &[usize],
    paths: &[(&str, &[usize])],
) -> Result<Vec<usize>, ScenarioError> {
    let Some(named) = &table.flows else {
        let crosses = |path: &[usize]| run.iter().all(|link| path.contains(link));
        let all: Vec<usize> = (0..paths.len()).filter(|n| crosses(paths[*n].1)).collect();
        let message = "no flow or ping crosses all of these links";
        doc.check(!all.is_empty(), &key.field("links"), message)?;
        return Ok(all);
    };
    let key = key.field("flows");
    doc.check(!named.is_empty(), &key, "expected at least one flow or ping")?;
    let names: Vec<&str> = paths.iter().map(|(name, _)| *name).collect();
    let mut members = Vec::new();
    for name in named {
        let place = names.iter().position(|known| known == name);
        let place = place.ok_or_else(|| doc.fail(&key, unknown("flow or ping", name, &names)))?;
        doc.check(!members.contains(&place), &key, &format!("{name:?} is named twice"))?;
        members.push(place);
    }
    members.sort_unstable();
    Ok(members)
}

/// Where `path` crosses `run`.
pub(crate) fn crossed(path: &[usize], run: &[usize]) -> Option<Range<usize>> {
    let start = path.windows(run.len()).position(|links| links == run)?;
    Some(start..start + run.len())
}

fn nested_or_apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    let within = |a: &Range<usize>, b: &Range<usize>| a.start >= b.start && a.end <= b.end;
    a.end <= b.start || b.end <= a.start || within(a, b) || within(b, a)
}
