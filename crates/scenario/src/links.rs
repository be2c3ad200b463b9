//! The `[[link]]` tables: two directions each, with what they inherit.

use sojourn_core::grammar::split_name;
use sojourn_core::{Dur, Rate};
use sojourn_queue::qdiscs;

use crate::check::{Key, link_rate, name, words};
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

pub(crate) fn links(doc: &Doc, tables: &[LinkTable]) -> Result<Vec<Link>, ScenarioError> {
    let message = "at least one [[link]] is needed";
    doc.check(!tables.is_empty(), &Key::top("link"), message)?;
    let mut links = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("link", index, &table.name);
        name(doc, &key, &table.name, tables[..index].iter().map(|l| l.name.as_str()))?;
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
        links.push(Link { name: table.name.clone(), forward, reverse });
    }
    Ok(links)
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
        for (index, text) in self.ingress.iter().enumerate() {
            doc.qdisc(&key.field("ingress").field(&index.to_string()), text)?;
        }
        let leaf = doc.qdisc(&key.field("qdisc"), &self.qdisc)?;
        let (shaper, inside) = match &self.shaper {
            Some(text) => {
                let key = key.field("shaper");
                let text = shaper(doc, &key, text, self.rate)?;
                let shaped = doc.shaper(&key, &text, leaf)?;
                (Some(text), shaped)
            }
            None => (None, leaf),
        };
        if let Some(text) = &self.stab {
            doc.grammar(&key.field("stab"), qdiscs::build_sized(text, inside))?;
        }
        let wire = if shaper.is_none() { self.rate } else { None };
        let Self { ingress, stab, qdisc, delay, .. } = self;
        Ok(Direction { ingress, shaper, stab, qdisc, wire, delay })
    }
}

/// The shaper's text with the link's rate in it, if it takes one.
fn shaper(doc: &Doc, key: &Key, text: &str, rate: Option<Rate>) -> Result<String, ScenarioError> {
    let (name, rest) = split_name(text);
    if !takes_rate(text) {
        let message =
            format!("`{name}` takes no rate from the link; leave `rate` away or write \"none\"");
        doc.check(rate.is_none(), key, &message)?;
        return Ok(text.to_owned());
    }
    let twice = rest.split(' ').any(|word| word == "rate");
    doc.check(!twice, key, "the shaper's rate belongs into the link's `rate`")?;
    let missing = "a shaper needs the link's `rate`";
    let rate = rate.ok_or_else(|| doc.fail(key, missing))?;
    Ok(words(&format!("{name} rate {rate} {rest}")))
}
