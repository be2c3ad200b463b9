//! Time in a queue: of all packets, of each flow, and of the L and the C queue of a dual queue. A packet costs
//! two increments.

use serde::{Deserialize, Serialize};
use sojourn_core::packet::Side;
use sojourn_core::{Dur, FlowId};

use crate::metrics::{Counted, DelayHistogram, DelayStatistics, bucket, buckets};

/// Low bits that a flow's buckets distinguish: 2^-6 of a delay, 1.6 %.
const FINE_BITS: u32 = 6;
const BUCKETS: usize = buckets(FINE_BITS);

/// Buckets of a row, whose delays differ by a factor of two at most.
const ROW: usize = 1 << FINE_BITS;
const ROWS: usize = BUCKETS / ROW;
/// A flow that has had no packets.
const UNSEEN: u32 = u32::MAX;

/// Delays of each flow. Most ports see few of the flows, and most flows delays of a few sizes: a flow's place
/// and its rows are made when the first packet falls into them.
#[derive(Clone, Debug)]
struct FlowDelays {
    /// Per flow that was seen, and those of lower numbers: where it is in `flows`.
    places: Vec<u32>,
    flows: Vec<Flow>,
    /// The first stands for those that are not there.
    rows: Vec<[u32; ROW]>,
}

#[derive(Clone, Debug)]
struct Flow {
    packets: u64,
    ns: u64,
    max: Dur,
    /// Where its rows are.
    rows: [u32; ROWS],
}

impl Flow {
    /// One without packets.
    fn of(rows: [u32; ROWS]) -> Self {
        Self { packets: 0, ns: 0, max: Dur::ZERO, rows }
    }
}

impl Default for FlowDelays {
    fn default() -> Self {
        Self { places: Vec::new(), flows: Vec::new(), rows: vec![[0; ROW]] }
    }
}

impl FlowDelays {
    #[inline]
    fn record(&mut self, flow: usize, delay: Dur) {
        let place = match self.places.get(flow) {
            Some(&place) if place != UNSEEN => place as usize,
            _ => self.meet(flow),
        };
        let flow = &mut self.flows[place];
        flow.packets += 1;
        flow.ns += delay.0;
        flow.max = flow.max.max(delay);
        let bucket = bucket(FINE_BITS, delay);
        let row = flow.rows[bucket / ROW] as usize;
        let row = if row > 0 { row } else { self.add_row(place, bucket / ROW) };
        self.rows[row][bucket % ROW] += 1;
    }

    /// The place of a flow that may be new.
    #[cold]
    fn meet(&mut self, flow: usize) -> usize {
        if flow >= self.places.len() {
            self.places.resize(flow + 1, UNSEEN);
        }
        if self.places[flow] == UNSEEN {
            self.places[flow] = self.flows.len() as u32;
            self.flows.push(Flow::of([0; ROWS]));
        }
        self.places[flow] as usize
    }

    #[cold]
    fn add_row(&mut self, place: usize, row: usize) -> usize {
        self.flows[place].rows[row] = self.rows.len() as u32;
        self.rows.push([0; ROW]);
        self.rows.len() - 1
    }

    /// Flows with packets, in the order of their numbers.
    fn seen(&self) -> impl Iterator<Item = (usize, &Flow)> {
        let places = self.places.iter().enumerate().filter(|(_, place)| **place != UNSEEN);
        let flows = places.map(|(number, place)| (number, &self.flows[*place as usize]));
        flows.filter(|(_, flow)| flow.packets > 0)
    }

    fn add(&mut self, other: &Self) {
        for (number, more) in other.seen() {
            let place = self.meet(number);
            for (row, from) in more.rows.iter().enumerate().filter(|(_, from)| **from > 0) {
                let own = match self.flows[place].rows[row] {
                    0 => self.add_row(place, row),
                    own => own as usize,
                };
                // A run of weeks may fill a bucket.
                let pairs = self.rows[own].iter_mut().zip(&other.rows[*from as usize]);
                pairs.for_each(|(sum, n)| *sum = sum.saturating_add(*n));
            }
            let flow = &mut self.flows[place];
            flow.packets += more.packets;
            flow.ns += more.ns;
            flow.max = flow.max.max(more.max);
        }
    }

    fn clear(&mut self) {
        for flow in self.flows.iter_mut().filter(|flow| flow.packets > 0) {
            let rows = flow.rows.iter().filter(|row| **row > 0);
            rows.for_each(|row| self.rows[*row as usize].fill(0));
            *flow = Flow::of(flow.rows);
        }
    }

    fn statistics(&self) -> impl Iterator<Item = (usize, DelayStatistics)> {
        self.seen().filter_map(|(number, flow)| {
            let rows = flow.rows.iter().map(|row| &self.rows[*row as usize]);
            let counts: Vec<u32> = rows.flatten().copied().collect();
            let (packets, total, max) = (flow.packets, u128::from(flow.ns), flow.max);
            let counted = Counted { fine: FINE_BITS, counts: &counts, packets, total, max };
            Some((number, counted.statistics()?))
        })
    }
}

/// What left a queue during some time.
#[derive(Clone, Debug, Default)]
pub struct Sojourn {
    /// By [`Side`].
    sides: [DelayHistogram; 3],
    flows: FlowDelays,
    bytes: u64,
}

/// Time in a queue.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Named {
    /// Flow, or queue of a dual queue: `L` or `C`.
    pub name: String,
    /// From enqueue to dequeue, ms.
    pub sojourn_ms: DelayStatistics,
}

impl Sojourn {
    /// A packet leaves.
    #[inline]
    pub fn record(&mut self, flow: FlowId, side: Side, bytes: u32, delay: Dur) {
        self.sides[side as usize].record(delay);
        self.flows.record((flow.0 >> 1) as usize, delay);
        self.bytes += u64::from(bytes);
    }

    /// Adds what another has seen.
    pub fn add(&mut self, other: &Self) {
        self.sides.iter_mut().zip(&other.sides).for_each(|(own, more)| own.add(more));
        self.flows.add(&other.flows);
        self.bytes += other.bytes;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sides.iter_mut().for_each(DelayHistogram::clear);
        self.flows.clear();
        self.bytes = 0;
    }

    /// Layer-2 bytes that left.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Of all packets.
    pub fn statistics(&self) -> Option<DelayStatistics> {
        let mut all = self.sides[0].clone();
        self.sides[1..].iter().for_each(|side| all.add(side));
        all.statistics()
    }

    /// Of the L and the C queue, if there are two.
    pub fn sides(&self) -> Vec<Named> {
        let named =
            [("L", Side::L4s), ("C", Side::Classic)].into_iter().filter_map(|(name, side)| {
                let sojourn_ms = self.sides[side as usize].statistics()?;
                Some(Named { name: name.into(), sojourn_ms })
            });
        named.collect()
    }

    /// Of every flow and ping that had packets here, under the name that `name` gives its number.
    pub fn flows(&self, name: impl Fn(usize) -> String) -> Vec<Named> {
        let flows = self.flows.statistics();
        flows.map(|(flow, sojourn_ms)| Named { name: name(flow), sojourn_ms }).collect()
    }
}

#[cfg(test)]
mod tests;
