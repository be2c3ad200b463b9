//! Where the paths of one sender part: its packets take them in turn.

use std::collections::BTreeMap;

use sojourn_scenario::Route;

use crate::link::Hop;

/// Hops that packets take in turn, by weight.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    hops: Vec<Share>,
}

#[derive(Clone, Debug)]
struct Share {
    hop: Hop,
    weight: i64,
    /// What it should have had so far less what it has had, in packets times the sum of the weights.
    credit: i64,
}

impl Split {
    fn new(hops: &[(Hop, u32)]) -> Self {
        let share = |&(hop, weight)| Share { hop, weight: i64::from(weight), credit: 0 };
        Self { hops: hops.iter().map(share).collect() }
    }

    /// Its hops.
    pub(crate) fn hops(&self) -> impl Iterator<Item = Hop> {
        self.hops.iter().map(|share| share.hop)
    }

    /// Puts others in the place of its hops, of which there are as many.
    pub(crate) fn set_hops(&mut self, hops: Vec<Hop>) {
        for (share, hop) in self.hops.iter_mut().zip(hops) {
            share.hop = hop;
        }
    }

    /// Where the next packet goes: to the hop that is furthest behind its share, of equal ones the first.
    pub(crate) fn next(&mut self) -> Hop {
        let mut total = 0;
        for share in &mut self.hops {
            share.credit += share.weight;
            total += share.weight;
        }
        let behind = self.hops.iter_mut().rev().max_by_key(|share| share.credit);
        let chosen = behind.expect("a split has several hops");
        chosen.credit -= total;
        chosen.hop
    }
}

/// Where the packets of end `sender` go from its own end, and from each port on these routes. Where that
/// is to several hops, a split is added.
pub(crate) fn hops(
    routes: &[Route],
    is_forward: bool,
    sender: usize,
    splits: &mut Vec<Split>,
) -> impl Iterator<Item = (Option<usize>, Hop)> {
    let mut places = BTreeMap::<Option<usize>, Vec<(Hop, u32)>>::new();
    for route in routes {
        let mut place = None;
        let ports = route.way(is_forward).iter().map(|port| (Some(*port), Hop::Port(*port as u32)));
        for (next, hop) in ports.chain([(None, Hop::End((sender ^ 1) as u32))]) {
            let choices = places.entry(place).or_default();
            match choices.iter_mut().find(|(known, _)| *known == hop) {
                Some((_, weight)) => *weight += route.weight,
                None => choices.push((hop, route.weight)),
            }
            place = next;
        }
    }
    places.into_iter().map(|(place, choices)| {
        if let [(hop, _)] = choices[..] {
            return (place, hop);
        }
        splits.push(Split::new(&choices));
        (place, Hop::Split(splits.len() as u32 - 1))
    })
}

#[cfg(test)]
mod tests;
