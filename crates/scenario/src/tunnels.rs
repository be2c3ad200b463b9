//! The `[[tunnel]]` tables: names to indices, and whether flows really pass from end to end.

use std::ops::Range;

use crate::check::{Key, between, name};
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::TunnelTable;
use crate::names::Names;
use crate::paths::Network;
use crate::scenario::{Flow, Hop, Path, Ping, Tunnel};

/// More outer header bytes than any stack of protocols has.
const MAX_OVERHEAD: u64 = 1000;

/// More packets than this are no window.
const MAX_REPLAY_WINDOW: u64 = 1_000_000;

pub(crate) fn tunnels(
    doc: &Doc,
    tables: &[TunnelTable],
    network: &Network<'_>,
    flows: &[Flow],
    pings: &[Ping],
    names: &Names<'_>,
) -> Result<Vec<Tunnel>, ScenarioError> {
    let paths: Vec<(&str, &[Path])> = (flows.iter().map(|f| (f.name.as_str(), &f.paths[..])))
        .chain(pings.iter().map(|p| (p.name.as_str(), &p.paths[..])))
        .collect();
    let mut tunnels = Vec::new();
    // Per flow or ping: the tunnels before this one, as places in its path of a number.
    let mut inside: Vec<Vec<(usize, usize, Range<usize>)>> = vec![vec![]; paths.len()];
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("tunnel", index, &table.name);
        let before = tables[..index].iter().map(|t| t.name.as_str());
        name(doc, &key, &table.name, before.chain(network.names.iter().copied()))?;
        between(doc, &key, "overhead", u64::from(table.overhead), 0, MAX_OVERHEAD)?;
        if let Some(window) = table.replay_window {
            between(doc, &key, "replay_window", u64::from(window), 1, MAX_REPLAY_WINDOW)?;
        }
        let run = network.walk(doc, &key.field("links"), &table.links, None)?;
        let members = members(doc, &key, table, &run, (&paths, names))?;
        for member in &members {
            let (flow, paths) = paths[*member];
            let is_apart =
                |path: &Path| !path.links().any(|link| run.iter().any(|h| h.link == link));
            let message = format!("{flow:?} does not cross these links one after the other");
            doc.check(!paths.iter().all(is_apart), &key.field("links"), &message)?;
            for (number, path) in paths.iter().enumerate().filter(|(_, path)| !is_apart(path)) {
                let own = crossed(path, &run);
                let (own, _) = own.ok_or_else(|| doc.fail(&key.field("links"), &message))?;
                for (other, _, range) in inside[*member].iter().filter(|(_, n, _)| *n == number) {
                    let message = format!(
                        "{flow:?} would leave tunnel {:?} in the middle: expected one tunnel within \
                         the other, or both apart",
                        tables[*other].name
                    );
                    doc.check(nested_or_apart(range, &own), &key.field("links"), &message)?;
                }
                inside[*member].push((index, number, own));
            }
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
    run: &[Hop],
    (paths, names): (&[(&str, &[Path])], &Names<'_>),
) -> Result<Vec<usize>, ScenarioError> {
    let Some(named) = &table.flows else {
        let crosses = |path: &Path| run.iter().all(|hop| path.links().any(|link| link == hop.link));
        let crossing = |n: &usize| paths[*n].1.iter().any(crosses);
        let all: Vec<usize> = (0..paths.len()).filter(crossing).collect();
        let message = "no flow or ping crosses all of these links";
        doc.check(!all.is_empty(), &key.field("links"), message)?;
        return Ok(all);
    };
    names.members(doc, &key.field("flows"), named)
}

/// Where `path` crosses `run`, and whether in its direction.
pub(crate) fn crossed(path: &Path, run: &[Hop]) -> Option<(Range<usize>, bool)> {
    let backward: Vec<Hop> = run.iter().rev().map(|hop| hop.reversed()).collect();
    [(run, true), (&backward, false)].into_iter().find_map(|(run, along)| {
        let start = path.hops.windows(run.len()).position(|hops| hops == run)?;
        Some((start..start + run.len(), along))
    })
}

fn nested_or_apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    let within = |a: &Range<usize>, b: &Range<usize>| a.start >= b.start && a.end <= b.end;
    a.end <= b.start || b.end <= a.start || within(a, b) || within(b, a)
}
