//! Where flows and pings go: over links by name in a chain, between nodes in a graph.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

use crate::check::{Key, between};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::scenario::{Hop, Link, Path, Spread};

/// More paths of a flow than this are a slip.
const MAX_PATHS: u64 = 64;

/// A path with more than this beside one of weight 1 has all but a trace of the packets.
const MAX_WEIGHT: u64 = 1000;

/// The links and the nodes between them.
pub(crate) struct Network<'n> {
    pub(crate) links: &'n [Link],
    /// Of the links.
    pub(crate) names: Vec<&'n str>,
    /// Of the nodes; empty for a chain.
    pub(crate) nodes: Vec<&'n str>,
    places: BTreeMap<&'n str, usize>,
    /// Of each node, the links that touch it, in file order, as they are crossed from there.
    leaving: Vec<Vec<Hop>>,
    /// The shortest paths that were looked for, by their ends.
    shortest: RefCell<BTreeMap<[usize; 2], Vec<Hop>>>,
}

impl<'n> Network<'n> {
    pub(crate) fn new(links: &'n [Link], nodes: &'n [String]) -> Self {
        let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
        let places = names.iter().copied().zip(0..).collect();
        let mut leaving = vec![vec![]; nodes.len()];
        for (link, Link { ends, .. }) in links.iter().enumerate() {
            for (node, forward) in ends.iter().flatten().zip([true, false]) {
                leaving[*node].push(Hop { link, forward });
            }
        }
        let nodes = nodes.iter().map(String::as_str).collect();
        Self { links, names, nodes, places, leaving, shortest: RefCell::default() }
    }

    /// The paths of the flow or ping `key`, and how its packets are spread over them, as its keys `from`
    /// and `to`, `path`, `multipath` and `weights` state it.
    pub(crate) fn paths(
        &self,
        doc: &Doc,
        key: &Key,
        ends: [Option<&str>; 2],
        path: Option<&PathTable>,
        (multipath, weights): (Option<Spread>, Option<&[u32]>),
    ) -> Result<(Vec<Path>, Spread), ScenarioError> {
        let are_several = matches!(path, Some(PathTable::Several(_)));
        for (name, is_stated) in
            [("multipath", multipath.is_some()), ("weights", weights.is_some())]
        {
            let message = "it is for several paths: expected `path = [[\"a\"], [\"b\"]]`";
            doc.check(are_several || !is_stated, &key.field(name), message)?;
        }
        let paths = if self.nodes.is_empty() {
            vec![self.in_chain(doc, key, ends, path)?]
        } else {
            self.in_graph(doc, key, ends, path)?
        };
        between(doc, key, "path", paths.len() as u64, 1, MAX_PATHS)?;
        let weights = read_weights(doc, key, weights, paths.len())?;
        let paths: Vec<Path> =
            paths.into_iter().zip(weights).map(|(hops, weight)| Path { hops, weight }).collect();
        let spread = multipath.unwrap_or_default();
        if let (Spread::ByPacket, Some(hop)) = (spread, mixed(&paths)) {
            let message = format!(
                "paths meet in link {:?} and part again behind it, where a packet's path is not known: \
                 expected paths that keep apart once they have parted, or stay together once they meet",
                self.names[hop.link]
            );
            return Err(doc.fail(&key.field("path"), message));
        }
        Ok((paths, spread))
    }

    fn in_chain(
        &self,
        doc: &Doc,
        key: &Key,
        ends: [Option<&str>; 2],
        path: Option<&PathTable>,
    ) -> Result<Vec<Hop>, ScenarioError> {
        for (name, node) in ["from", "to"].into_iter().zip(ends) {
            let message = "the links are a chain: only links with `from` and `to` have nodes";
            doc.check(node.is_none(), &key.field(name), message)?;
        }
        let key = key.field("path");
        match path {
            None => Ok((0..self.links.len()).map(|link| Hop { link, forward: true }).collect()),
            Some(PathTable::One(names)) => self.walk(doc, &key, names, None),
            Some(PathTable::Several(_)) => {
                let message = "several paths are between nodes: the links need `from` and `to`";
                Err(doc.fail(&key, message))
            }
        }
    }

    fn in_graph(
        &self,
        doc: &Doc,
        key: &Key,
        [from, to]: [Option<&str>; 2],
        path: Option<&PathTable>,
    ) -> Result<Vec<Vec<Hop>>, ScenarioError> {
        let node = |field, name: Option<&str>| {
            name.map(|name| self.node(doc, &key.field(field), name)).transpose()
        };
        let (from, to) = (node("from", from)?, node("to", to)?);
        let lists = match (from, to, path) {
            (_, _, Some(PathTable::One(names))) => std::slice::from_ref(names),
            (_, _, Some(PathTable::Several(lists))) => lists,
            (Some(from), Some(to), None) => return Ok(vec![self.shortest(doc, key, from, to)?]),
            _ => {
                let message = "expected `path`, or `from` and `to`: the links are a graph";
                return Err(doc.fail(key, message));
            }
        };
        self.between(doc, &key.field("path"), lists, from, to)
    }

    fn node(&self, doc: &Doc, key: &Key, name: &str) -> Result<usize, ScenarioError> {
        let place = self.nodes.iter().position(|node| *node == name);
        place.ok_or_else(|| doc.fail(key, unknown("node", name, &self.nodes)))
    }

    /// The links of these names, at least one and each once.
    fn named(&self, doc: &Doc, key: &Key, names: &[String]) -> Result<Vec<usize>, ScenarioError> {
        doc.check(!names.is_empty(), key, "expected at least one link")?;
        let mut indices = Vec::with_capacity(names.len());
        let mut before = BTreeSet::new();
        for name in names {
            let index = self.places.get(name.as_str()).copied();
            let index = index.ok_or_else(|| doc.fail(key, unknown("link", name, &self.names)))?;
            if !before.insert(index) {
                return Err(doc.fail(key, format!("link {name:?} is named twice")));
            }
            indices.push(index);
        }
        Ok(indices)
    }

    /// The links of these names as a path crosses them; in a graph from the node `start`, else from
    /// the end of the first link that the second does not touch.
    pub(crate) fn walk(
        &self,
        doc: &Doc,
        key: &Key,
        names: &[String],
        start: Option<usize>,
    ) -> Result<Vec<Hop>, ScenarioError> {
        let links = self.named(doc, key, names)?;
        let ends = |link: usize| self.links[link].ends;
        let Some(first) = ends(links[0]) else {
            return Ok(links.into_iter().map(|link| Hop { link, forward: true }).collect());
        };
        let next = links.get(1).and_then(|link| ends(*link));
        let is_backward =
            next.is_some_and(|next| next.contains(&first[0]) && !next.contains(&first[1]));
        let mut at = start.unwrap_or_else(|| first[usize::from(is_backward)]);
        let mut visited = BTreeSet::from([at]);
        let mut hops = Vec::new();
        for link in links {
            let place = ends(link).and_then(|ends| ends.iter().position(|end| *end == at));
            let Some(place) = place else {
                let (link, node) = (self.names[link], self.nodes[at]);
                let message =
                    format!("link {link:?} does not touch node {node:?}, where the path is");
                return Err(doc.fail(key, message));
            };
            hops.push(Hop { link, forward: place == 0 });
            at = self.far_end(hops[hops.len() - 1]);
            if !visited.insert(at) {
                let message = format!("it comes to node {:?} twice", self.nodes[at]);
                return Err(doc.fail(key, message));
            }
        }
        Ok(hops)
    }

    /// The node to which a hop leads in a graph.
    fn far_end(&self, hop: Hop) -> usize {
        self.links[hop.link].ends.expect("the links of a graph have nodes")
            [usize::from(hop.forward)]
    }

    /// The paths over these links, all between the same two nodes.
    fn between(
        &self,
        doc: &Doc,
        key: &Key,
        lists: &[Vec<String>],
        mut from: Option<usize>,
        mut to: Option<usize>,
    ) -> Result<Vec<Vec<Hop>>, ScenarioError> {
        let mut paths = Vec::new();
        for names in lists {
            let path = self.walk(doc, key, names, from)?;
            let first = path[0];
            from.get_or_insert_with(|| self.far_end(first.reversed()));
            let end = self.far_end(path[path.len() - 1]);
            let wanted = *to.get_or_insert(end);
            let [end_name, wanted_name] = [end, wanted].map(|node| self.nodes[node]);
            let message = format!("it ends at node {end_name:?}, expected {wanted_name:?}");
            doc.check(end == wanted, key, &message)?;
            doc.check(!paths.contains(&path), key, "a path is there twice")?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// The path with the fewest links; of several the one whose links come first in the file.
    fn shortest(
        &self,
        doc: &Doc,
        key: &Key,
        from: usize,
        to: usize,
    ) -> Result<Vec<Hop>, ScenarioError> {
        let message = "expected another node than `from`";
        doc.check(from != to, &key.field("to"), message)?;
        if let Some(path) = self.shortest.borrow().get(&[from, to]) {
            return Ok(path.clone());
        }
        // Per node: the hop by which it was reached first.
        let mut by = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front().filter(|node| *node != to) {
            for hop in &self.leaving[node] {
                let next = self.far_end(*hop);
                if next != from && by[next].is_none() {
                    by[next] = Some(*hop);
                    queue.push_back(next);
                }
            }
        }
        let before = |hop: &Hop| by[self.far_end(hop.reversed())];
        let mut path: Vec<Hop> = std::iter::successors(by[to], before).collect();
        path.reverse();
        if !path.is_empty() {
            self.shortest.borrow_mut().insert([from, to], path.clone());
            return Ok(path);
        }
        let [from, to] = [from, to].map(|node| self.nodes[node]);
        let message = format!("no links lead from node {from:?} to {to:?}");
        Err(doc.fail(&key.field("to"), message))
    }
}

/// The weight of each path; equal ones if none are stated.
fn read_weights(
    doc: &Doc,
    key: &Key,
    stated: Option<&[u32]>,
    paths: usize,
) -> Result<Vec<u32>, ScenarioError> {
    let Some(weights) = stated else { return Ok(vec![1; paths]) };
    let message = format!("expected {paths} numbers, one for each path, got {}", weights.len());
    doc.check(weights.len() == paths, &key.field("weights"), &message)?;
    for weight in weights {
        between(doc, key, "weights", u64::from(*weight), 1, MAX_WEIGHT)?;
    }
    Ok(weights.to_vec())
}

/// A hop that two paths share although they differ both before and behind it. A port knows the packet,
/// not the path that it has come, so it could not send it on along its own.
fn mixed(paths: &[Path]) -> Option<Hop> {
    let pairs = paths.iter().enumerate().flat_map(|(n, a)| paths[..n].iter().map(move |b| (a, b)));
    pairs.into_iter().find_map(|(Path { hops: a, .. }, Path { hops: b, .. })| {
        a.iter().enumerate().find_map(|(i, hop)| {
            let j = b.iter().position(|other| other == hop)?;
            (a[..i] != b[..j] && a[i..] != b[j..]).then_some(*hop)
        })
    })
}

/// The links of a path, or of each of several paths.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum PathTable {
    One(Vec<String>),
    Several(Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for PathTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = PathTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PathTable, A::Error> {
                let (mut links, mut paths) = (vec![], vec![]);
                while let Some(item) = seq.next_element()? {
                    match item {
                        Item::Link(link) => links.push(link),
                        Item::Path(path) => paths.push(path),
                    }
                }
                match (links.is_empty(), paths.is_empty()) {
                    (_, true) => Ok(PathTable::One(links)),
                    (true, false) => Ok(PathTable::Several(paths)),
                    _ => Err(A::Error::custom("expected links, or arrays of links, not both")),
                }
            }
        }
        deserializer.deserialize_seq(Lists)
    }
}

/// An element of a [`PathTable`].
enum Item {
    Link(String),
    Path(Vec<String>),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, link: &str) -> Result<Item, E> {
                Ok(Item::Link(link.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Item, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Item::Path)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests;
