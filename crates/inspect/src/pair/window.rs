//! Packets that one point has seen and the other not yet: first in, first out, found by their keys.

use std::collections::{HashMap, VecDeque};

use super::packet::Packet;

/// Packets of one key that are compared: pure acknowledgements may be the same many times.
const MOST_ALIKE: usize = 32;
const NONE: u64 = u64::MAX;

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) packet: Packet,
    /// Of the first capture's first packet, ns.
    pub(super) at: i64,
    pub(super) flow: u32,
    /// The flow's lower end sent it.
    pub(super) from_low: bool,
    /// How many its point had seen before.
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    seen: Seen,
    is_open: bool,
    /// The next one with this key, by its place.
    next: u64,
}

/// First and last place of a key's packets.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u64,
    last: u64,
}

#[derive(Debug, Default)]
pub(super) struct Window {
    entries: VecDeque<Entry>,
    /// Place of `entries[0]`.
    begin: u64,
    chains: HashMap<u64, Chain>,
    open: usize,
}

impl Window {
    /// Packets that wait.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn push(&mut self, seen: Seen) {
        let place = self.begin + self.entries.len() as u64;
        let chain =
            self.chains.entry(seen.packet.key).or_insert(Chain { first: place, last: place });
        if chain.last != place {
            self.entries[(chain.last - self.begin) as usize].next = place;
            chain.last = place;
        }
        self.entries.push_back(Entry { seen, is_open: true, next: NONE });
        self.open += 1;
    }

    /// Takes the packet of this key with the greatest score, of equal ones the oldest; those without a score are not
    /// the same packet.
    pub(super) fn take(&mut self, key: u64, score: impl Fn(&Seen) -> Option<u32>) -> Option<Seen> {
        let mut place = self.chains.get(&key)?.first;
        let mut best: Option<(u32, u64)> = None;
        let mut compared = 0;
        while place != NONE && compared < MOST_ALIKE {
            let entry = &self.entries[(place - self.begin) as usize];
            if entry.is_open {
                compared += 1;
                if let Some(score) = score(&entry.seen)
                    && best.is_none_or(|(most, _)| score > most)
                {
                    best = Some((score, place));
                }
            }
            place = entry.next;
        }
        let entry = &mut self.entries[(best?.1 - self.begin) as usize];
        entry.is_open = false;
        self.open -= 1;
        let seen = entry.seen;
        self.shorten(key);
        Some(seen)
    }

    /// Packets at the beginning of a chain that were taken are not looked at again.
    fn shorten(&mut self, key: u64) {
        let Some(chain) = self.chains.get_mut(&key) else { return };
        while chain.first != NONE && !self.entries[(chain.first - self.begin) as usize].is_open {
            chain.first = self.entries[(chain.first - self.begin) as usize].next;
        }
        if chain.first == NONE {
            self.chains.remove(&key);
        }
    }

    /// Removes the oldest packet, and gives it if there is one and nobody took it.
    pub(super) fn pop(&mut self) -> Option<Seen> {
        let entry = *self.entries.front()?;
        if entry.is_open {
            self.entries[0].is_open = false;
            self.open -= 1;
            self.shorten(entry.seen.packet.key);
        }
        self.entries.pop_front();
        self.begin += 1;
        entry.is_open.then_some(entry.seen)
    }

    /// When the oldest packet was seen.
    pub(super) fn oldest(&self) -> Option<i64> {
        self.entries.front().map(|entry| entry.seen.at)
    }

    /// Removes packets that were taken from the front.
    pub(super) fn trim(&mut self) {
        while self.entries.front().is_some_and(|entry| !entry.is_open) {
            self.pop();
        }
    }
}

#[cfg(test)]
mod tests;
