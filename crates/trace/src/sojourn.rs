//! Time in a queue: of all packets, of each flow, and of the L and the C queue of a dual queue. All
//! histograms are there from the start; a packet costs two increments.

use serde::{Deserialize, Serialize};
use sojourn_core::packet::Side;
use sojourn_core::{Dur, FlowId};

use crate::metrics::{Counted, DelayHistogram, DelayStatistics, bucket, buckets};

/// Low bits that a flow's buckets distinguish: 2^-6 of a delay, 1.6 %.
const FINE_BITS: u32 = 6;
const BUCKETS: usize = buckets(FINE_BITS);

/// Delays of each flow. The buckets of all flows are one block, of which pages become resident as
/// delays fall into them.
#[derive(Clone, Debug)]
struct FlowDelays {
    counts: Vec<u32>,
    sums: Vec<Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    ns: u64,
    max: Dur,
}

impl FlowDelays {
    fn new(flows: usize) -> Self {
        Self { counts: vec![0; flows * BUCKETS], sums: vec![Sum::default(); flows] }
    }

    #[inline]
    fn record(&mut self, flow: usize, delay: Dur) {
        let sum = &mut self.sums[flow];
        sum.packets += 1;
        sum.ns += delay.0;
        sum.max = sum.max.max(delay);
        self.counts[flow * BUCKETS + bucket(FINE_BITS, delay)] += 1;
    }

    /// Flows with packets, and their buckets.
    fn seen(&self) -> impl Iterator<Item = (usize, &Sum, &[u32])> {
        let buckets = self.counts.chunks_exact(BUCKETS);
        self.sums
            .iter()
            .zip(buckets)
            .enumerate()
            .filter(|(_, (sum, _))| sum.packets > 0)
            .map(|(flow, (sum, counts))| (flow, sum, counts))
    }

    fn add(&mut self, other: &Self) {
        for (flow, more, counts) in other.seen() {
            let sum = &mut self.sums[flow];
            sum.packets += more.packets;
            sum.ns += more.ns;
            sum.max = sum.max.max(more.max);
            let own = &mut self.counts[flow * BUCKETS..][..BUCKETS];
            // A run of weeks may fill a bucket.
            own.iter_mut().zip(counts).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
    }

    fn clear(&mut self) {
        for (sum, counts) in self.sums.iter_mut().zip(self.counts.chunks_exact_mut(BUCKETS)) {
            if sum.packets > 0 {
                counts.fill(0);
                *sum = Sum::default();
            }
        }
    }

    fn statistics(&self) -> impl Iterator<Item = (usize, DelayStatistics)> {
        self.seen().filter_map(|(flow, sum, counts)| {
            let (packets, total, max) = (sum.packets, u128::from(sum.ns), sum.max);
            let counted = Counted { fine: FINE_BITS, counts, packets, total, max };
            Some((flow, counted.statistics()?))
        })
    }
}

/// What left a queue during some time.
#[derive(Clone, Debug)]
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
    /// Nothing yet, of this many flows and pings.
    pub fn new(flows: usize) -> Self {
        Self { sides: Default::default(), flows: FlowDelays::new(flows), bytes: 0 }
    }

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
