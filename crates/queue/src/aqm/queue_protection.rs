//! Queue protection of DOCSIS: which packets of a low-latency queue are to leave it because their
//! flow has caused more than its part of a standing delay. RFC 9957.

use super::Stats;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::number;
use sojourn_core::packet::{FlowId, Packet};
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

parameters! {
    /// Parameters of queue protection.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Params {
        /// Whether flows that build a queue are sanctioned.
        pub(super) enabled: bool = true, name "qprotect|noqprotect";
        /// A sanctioned packet moves to the Classic queue, or is dropped.
        pub(super) sanction: Sanction = Sanction::Reclassify;
        /// Bits of the index of a bucket: 2^bi_size buckets and the default one, 0 to 16.
        bi_size: u32 = 5 => number(0..=16);
        /// Buckets that a flow tries, 1 to 8; bi_size times attempts is at most 32.
        attempts: u32 = 2 => number(1..=8);
        /// A score drains at 2^lg_aging bytes per 2^30 ns, 0 to 30.
        lg_aging: u32 = 19 => number(0..=30);
        /// Delay of the queue up to which nobody is sanctioned.
        critical_ql: Option<Dur> = None, default "end of the ramp";
        /// Score that is sanctioned at critical_ql; the longer the delay, the lower.
        critical_ql_score: Dur = Dur::from_millis(4);
        /// Largest score, which bounds the time to be forgiven.
        max_score: Dur = Dur::from_secs(5);
    }
    settle refuse;
}

choices! {
    /// What becomes of a packet that is sanctioned.
    pub(super) enum Sanction {
        Reclassify = "reclassify",
        Drop = "drop",
    }
}

impl Params {
    /// Whether the hash has bits for all attempts.
    fn refuse(&self, _given: &Given) -> Result<(), String> {
        if self.bi_size * self.attempts > 32 {
            return Err("`bi_size` times `attempts` exceeds the 32 bits of the hash".to_owned());
        }
        Ok(())
    }
}

/// The score of one flow, kept as the instant at which it will have drained.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    flow: (FlowId, u32),
    expires: Time,
}

/// The buckets.
#[derive(Debug, Default)]
pub(super) struct QueueProtection {
    params: Params,
    /// `critical_ql`, and its product with `critical_ql_score` in ns^2.
    critical_ql: Dur,
    product: u128,
    /// 2^bi_size buckets, and the default one that flows without a bucket share.
    buckets: Vec<Bucket>,
    sanctioned: u64,
    defaulted: u64,
    max_score: Dur,
}

impl QueueProtection {
    /// Buckets for a queue whose own law reaches certainty at a delay of `max_th`.
    pub(super) fn new(params: Params, max_th: Dur) -> Self {
        let mut protection = Self { params, ..Self::default() };
        protection.change(params, max_th);
        protection
    }

    /// New parameters; another number of buckets empties them.
    pub(super) fn change(&mut self, params: Params, max_th: Dur) {
        self.params = params;
        self.critical_ql = params.critical_ql.unwrap_or(max_th);
        self.product = u128::from(self.critical_ql.0) * u128::from(params.critical_ql_score.0);
        let buckets = (1 << params.bi_size) + 1;
        if self.buckets.len() != buckets {
            self.buckets = vec![Bucket::default(); buckets];
        }
    }

    /// Forgets all scores.
    pub(super) fn purge(&mut self) {
        self.buckets.fill(Bucket::default());
    }

    /// Charges `pkt`, which arrives at a queue with delay `delay` and marking probability `native`
    /// of that queue's own law (0 to 1), to its flow; true if it is to be sanctioned. RFC 9957.
    #[inline]
    pub(super) fn sanctions(&mut self, now: Time, pkt: &Packet, native: f64, delay: Dur) -> bool {
        let bucket = self.pick(now, pkt);
        let score = self.fill(bucket, now, pkt.len, native);
        let sanctioned =
            delay > self.critical_ql && u128::from(delay.0) * u128::from(score.0) > self.product;
        self.sanctioned += u64::from(sanctioned);
        sanctioned
    }

    /// The flow's own bucket while it holds a score, else the first that has drained, else the
    /// default one. RFC 9957 (`pick_bucket`).
    #[inline]
    fn pick(&mut self, now: Time, pkt: &Packet) -> usize {
        let default = self.buckets.len() - 1;
        let (mut hash, mut free) = (u64::from(pkt.hash), None);
        for _ in 0..self.params.attempts {
            let index = hash as usize & (default - 1);
            let bucket = &self.buckets[index];
            if bucket.expires <= now {
                free = free.or(Some(index));
            } else if bucket.flow == pkt.connection() {
                return index;
            }
            hash >>= self.params.bi_size;
        }
        self.defaulted += u64::from(free.is_none());
        let index = free.unwrap_or(default);
        self.buckets[index].flow = pkt.connection();
        index
    }

    /// Adds the congestion-weighted bytes to a bucket; gives its score. RFC 9957 (`fill_bucket`).
    #[inline]
    fn fill(&mut self, bucket: usize, now: Time, len: u32, native: f64) -> Dur {
        // The RFC takes 10^9 ns for 2^30, so that the drain rate is a shift.
        let per_byte = (1_u64 << (30 - self.params.lg_aging)) as f64;
        let fill = Dur((native * f64::from(len) * per_byte) as u64);
        let expires = &mut self.buckets[bucket].expires;
        *expires = ((*expires).max(now) + fill).min(now + self.params.max_score);
        let score = expires.since(now);
        self.max_score = self.max_score.max(score);
        score
    }

    /// The counters, with scores in microseconds.
    pub(super) fn stats(&self, out: &mut Stats) {
        out.put("sanctioned", self.sanctioned as f64);
        out.put("default_bucket", self.defaulted as f64);
        out.put("max_score", self.max_score.as_micros() as f64);
    }

    /// Buckets, the default one included, that hold a score at `now`.
    pub(super) fn occupied(&self, now: Time) -> usize {
        self.buckets.iter().filter(|bucket| bucket.expires > now).count()
    }
}

#[cfg(test)]
mod tests;
