//! Flows and pings by name.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::check::Key;
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::groups::Group;
use crate::scenario::{Flow, Ping};

/// The numbers, flows first, of what a name means: a flow, a ping, or all flows of a group.
pub(crate) struct Names<'s> {
    numbers: BTreeMap<&'s str, Range<usize>>,
    /// What the file declares, for messages.
    declared: Vec<&'s str>,
}

impl<'s> Names<'s> {
    pub(crate) fn new(flows: &'s [Flow], groups: &'s [Group], pings: &'s [Ping]) -> Self {
        let single = |n: usize| n..n + 1;
        let numbered = flows.iter().map(|flow| flow.name.as_str()).zip((0..).map(single));
        let pings = pings.iter().map(|ping| ping.name.as_str());
        let pings = pings.zip((flows.len()..).map(single));
        let groups = groups.iter().map(|group| (group.name.as_str(), group.members()));
        let mut numbers = BTreeMap::new();
        let mut declared: Vec<_> = groups.clone().chain(pings.clone()).collect();
        let mut ahead = groups.clone().peekable();
        for (name, number) in numbered.clone() {
            ahead.next_if(|(_, members)| members.end <= number.start);
            if ahead.peek().is_none_or(|(_, members)| !members.contains(&number.start)) {
                declared.push((name, number));
            }
        }
        declared.sort_by_key(|(_, number)| number.start);
        numbers.extend(numbered.chain(pings).chain(groups));
        Self { numbers, declared: declared.into_iter().map(|(name, _)| name).collect() }
    }

    /// What these names mean, at least one and nothing twice, in ascending order.
    pub(crate) fn members(
        &self,
        doc: &Doc,
        key: &Key,
        named: &[String],
    ) -> Result<Vec<usize>, ScenarioError> {
        doc.check(!named.is_empty(), key, "expected at least one flow or ping")?;
        let mut members = Vec::new();
        for name in named {
            members.extend(self.find(doc, key, name)?.map(|number| (number, name)));
        }
        members.sort_unstable();
        let twice = members.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some(&[_, (_, name)]) = twice {
            return Err(doc.fail(key, format!("{name:?} is named twice")));
        }
        Ok(members.into_iter().map(|(number, _)| number).collect())
    }

    /// The number of a single flow or ping.
    pub(crate) fn one(&self, doc: &Doc, key: &Key, name: &str) -> Result<usize, ScenarioError> {
        let range = self.find(doc, key, name)?;
        let message =
            format!("{name:?} is a group: expected one of its flows, such as \"{name}-1\"");
        doc.check(range.len() == 1, key, &message)?;
        Ok(range.start)
    }

    fn find(&self, doc: &Doc, key: &Key, name: &str) -> Result<Range<usize>, ScenarioError> {
        let found = self.numbers.get(name).cloned();
        found.ok_or_else(|| doc.fail(key, unknown("flow or ping", name, &self.declared)))
    }
}
