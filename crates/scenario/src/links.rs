//! The `[[link]]` tables: two directions each, with what they inherit.

use std::collections::{BTreeMap, BTreeSet};

use sojourn_core::grammar::split_name;
use sojourn_core::{Dur, Rate};
use sojourn_queue::aqm::Spec;
use sojourn_queue::qdiscs;

use crate::check::{Key, link_rate, name, word, words};
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::{DirectionTable, LinkTable};
use crate::scenario::{Direction, Link};
use crate::traces::takes_rate;

/// One direction as written, with its defaults filled in.
#[derive(Clone)]
struct Way {
    rate: Option<Rate>,
    shaper: Option<String>,
    stab: Option<String>,
    qdisc: String,
    ingress: Vec<String>,
    delay: Dur,
}

/// The links, and the names of the nodes between them.
pub(crate) fn links(
    doc: &Doc,
    tables: &[LinkTable],
) -> Result<(Vec<Link>, Vec<String>), ScenarioError> {
    let message = "at least one [[link]] is needed";
    doc.check(!tables.is_empty(), &Key::top("link"), message)?;
    let is_graph = tables[0].from.is_some() || tables[0].to.is_some();
    let (mut links, mut nodes) = (Vec::new(), Nodes::default());
    let mut taken = BTreeSet::new();
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("link", index, &table.name);
        name(doc, &key, &table.name, taken.get(table.name.as_str()).into_iter().copied())?;
        taken.insert(table.name.as_str());
        let own = DirectionTable {
            rate: table.rate,
            shaper: table.shaper.clone(),
            stab: table.stab.clone(),
            qdisc: table.qdisc.clone(),
            ingress: table.ingress.clone(),
            delay: table.delay,
        };
        let default = Way {
            rate: None,
            shaper: None,
            stab: None,
            qdisc: "pfifo".to_owned(),
            ingress: vec![],
            delay: Dur::ZERO,
        };
        let way = default.overridden(&own);
        let forward = way.clone().direction(doc, &key)?;
        let reverse = match &table.reverse {
            Some(own) => way.overridden(own).direction(doc, &key.field("reverse"))?,
            None => forward.clone(),
        };
        let ends = ends(doc, &key, table, is_graph, &mut nodes)?;
        links.push(Link { name: table.name.clone(), ends, forward, reverse });
    }
    Ok((links, nodes.names))
}

/// Names of nodes in order of appearance, and the place of each.
#[derive(Default)]
struct Nodes {
    names: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// The nodes of a link, which are added to `nodes` if they are new.
fn ends(
    doc: &Doc,
    key: &Key,
    table: &LinkTable,
    is_graph: bool,
    nodes: &mut Nodes,
) -> Result<Option<[usize; 2]>, ScenarioError> {
    let (from, to) = match (&table.from, &table.to) {
        (None, None) if !is_graph => return Ok(None),
        (Some(from), Some(to)) if is_graph => (from, to),
        _ => return Err(doc.fail(key, "expected `from` and `to`, of all links or of none")),
    };
    doc.check(from != to, &key.field("to"), "expected another node than `from`")?;
    let mut place = |field, node: &String| {
        word(doc, &key.field(field), node)?;
        let new = nodes.names.len();
        Ok(*nodes.places.entry(node.clone()).or_insert_with(|| {
            nodes.names.push(node.clone());
            new
        }))
    };
    Ok(Some([place("from", from)?, place("to", to)?]))
}

impl Way {
    fn overridden(&self, own: &DirectionTable) -> Self {
        let mut way = self.clone();
        if let Some(rate) = own.rate {
            way.rate = rate.0;
            if rate.0.is_none() {
                (way.shaper, way.stab) = (None, None);
            }
        }
        if let Some(shaper) = &own.shaper {
            way.shaper = (shaper.trim() != "none").then(|| words(shaper));
        }
        if let Some(stab) = &own.stab {
            way.stab = (stab.trim() != "none").then(|| words(stab));
        }
        if let Some(qdisc) = &own.qdisc {
            way.qdisc = words(qdisc);
        }
        if let Some(ingress) = &own.ingress {
            way.ingress = ingress.iter().map(|text| words(text)).collect();
        }
        if let Some(delay) = own.delay {
            way.delay = delay;
        }
        way
    }

    fn direction(self, doc: &Doc, key: &Key) -> Result<Direction, ScenarioError> {
        if let Some(rate) = self.rate {
            link_rate(rate).map_err(|e| doc.fail(&key.field("rate"), e))?;
        }
        let mut ingress = Vec::new();
        for (index, text) in self.ingress.iter().enumerate() {
            ingress.push(doc.qdisc(&key.field("ingress").field(&index.to_string()), text)?);
        }
        let qdisc = doc.qdisc(&key.field("qdisc"), &self.qdisc)?;
        let shaper = self.shaper.as_deref();
        let shaper = shaper.map(|text| shaper_with(doc, &key.field("shaper"), text, self.rate));
        let shaper = shaper.transpose()?;
        let stab = self
            .stab
            .as_ref()
            .map(|text| doc.grammar(&key.field("stab"), qdiscs::read_size_table(text, &doc.env())));
        let (stab, delay) = (stab.transpose()?, self.delay);
        let wire = if shaper.is_none() { self.rate } else { None };
        Ok(Direction { ingress, shaper, stab, qdisc, wire, delay })
    }
}

/// The shaper, with the link's rate if it takes one.
fn shaper_with(
    doc: &Doc,
    key: &Key,
    text: &str,
    rate: Option<Rate>,
) -> Result<Spec, ScenarioError> {
    let (name, rest) = split_name(text);
    let text = if takes_rate(text) {
        let twice = rest.split(' ').any(|word| word == "rate");
        doc.check(!twice, key, "the shaper's rate belongs into the link's `rate`")?;
        let missing = "a shaper needs the link's `rate`";
        let rate = rate.ok_or_else(|| doc.fail(key, missing))?;
        words(&format!("{name} rate {rate} {rest}"))
    } else {
        let message =
            format!("`{name}` takes no rate from the link; leave `rate` away or write \"none\"");
        doc.check(rate.is_none(), key, &message)?;
        text.to_owned()
    };
    doc.grammar(key, qdiscs::read_shaper(&text, &doc.env()))
}
