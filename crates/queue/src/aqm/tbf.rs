//! `tbf`: a token bucket, optionally with a second one for the peak rate, around one leaf. Linux
//! 6.12 `sch_tbf`; limits as iproute2 7.3 computes them.

use super::token_bucket::{Bucket, Charge};
use super::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::forms::{custom, maybe};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "tbf",
    "Token bucket with optional peak rate",
    "Linux 6.12 sch_tbf",
    Kernel::Mainline("2.2"),
);

parameters! {
    /// Parameters of `tbf`.
    #[derive(Copy)]
    pub(crate) struct Params {
        /// Long-term rate.
        rate: Rate = Rate(0), default "(required)";
        /// Bucket of the rate, and the largest packet that may pass.
        burst: Bytes = Bytes(0) => custom("SIZE", read_bucket, Bytes::to_string),
            name "burst|buffer|maxburst", default "(required)";
        /// Bytes that may wait in the queue inside.
        limit: Option<Bytes> = None, default "(this or latency)";
        /// Longest wait from which the limit is computed.
        latency: Option<Dur> = None, default "(this or limit)";
        /// Rate at which the bucket may be emptied.
        peakrate: Option<Rate> = None, default "none";
        /// Bucket of the peak rate.
        mtu: Option<Bytes> = None => maybe(custom("SIZE", read_bucket, Bytes::to_string)),
            name "mtu|minburst", default "(required with peakrate)";
    }
    groups { charge: Charge = Charge::default(); }
    derive choose;
    settle combines;
}

impl Discipline for Params {
    fn suits(&self, around: bool) -> Result<(), String> {
        if !around && self.limit().is_none() {
            return Err("either `limit` or `latency` is required".to_owned());
        }
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::bfifo(self.limit().unwrap_or_default())))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let mut tbf = Tbf {
            params: *self,
            max_size: 0,
            bucket: self.bucket(self.rate, self.burst),
            peak: None,
            charged: env.now,
            head: None,
            watchdog: Time::NEVER,
            overlimits: 0,
            leaf,
        };
        tbf.configure(*self);
        Box::new(tbf)
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        self.rate = rate;
        self.combines(&Given::default())
    }

    fn capacity(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

impl Params {
    /// Of limit and latency, the one that a text states.
    fn choose(&mut self, given: &Given) {
        if given.has("latency") {
            self.limit = self.limit.filter(|_| given.has("limit"));
        } else if given.has("limit") {
            self.latency = None;
        }
    }

    fn combines(&self, _given: &Given) -> Result<(), String> {
        let wrong = if self.limit.is_some() && self.latency.is_some() {
            "`latency` and `limit` exclude each other"
        } else if self.rate < Rate(8) {
            "`rate` must be at least 8bit"
        } else if self.burst == Bytes(0) {
            "`burst` is required"
        } else if self.peakrate.is_some() && self.mtu.is_none() {
            "`peakrate` needs `mtu`"
        } else if self.peakrate.is_some_and(|p| p.bytes_per_sec() <= self.rate.bytes_per_sec()) {
            "`peakrate` must be above `rate`"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    /// Bytes that may wait: what the bucket and the latency hold, at the rate and at the peak.
    fn limit(&self) -> Option<u64> {
        let room = |rate: Rate, bucket: Bytes, latency| {
            Rate(rate.bytes_per_sec() * 8).bytes_in(latency) + bucket.0
        };
        let of_latency = self.latency.map(|latency| {
            let limit = room(self.rate, self.burst, latency);
            let peak = self.peakrate.zip(self.mtu).map(|(peak, mtu)| room(peak, mtu, latency));
            peak.map_or(limit, |peak| limit.min(peak))
        });
        self.limit.map(|limit| limit.0).or(of_latency)
    }

    /// A full bucket of `burst` bytes at `rate`.
    fn bucket(&self, rate: Rate, burst: Bytes) -> Bucket {
        let config = self.charge.config(rate);
        Bucket::full(config, config.l2t(burst.0 as u32) as i64)
    }
}

/// A size, with a cell size behind a slash that only old kernels use.
fn read_bucket(args: &mut Args<'_>) -> Result<Bytes, GrammarError> {
    args.value("a size such as `5kb`", |word| {
        let (size, cell) = word.split_once('/').unwrap_or((word, "1"));
        let cell: u32 = cell.parse().ok()?;
        let size = Bytes::parse_tc(size).filter(|b| u32::try_from(b.0).is_ok());
        size.filter(|_| cell.is_power_of_two())
    })
}

/// The shaper. A leaf that cannot show the length of its next packet gives it away to be held
/// here until it may leave, as in Linux.
struct Tbf {
    params: Params,
    /// Largest packet.
    max_size: u64,
    bucket: Bucket,
    peak: Option<Bucket>,
    charged: Time,
    head: Option<Packet>,
    watchdog: Time,
    overlimits: u64,
    leaf: Box<dyn Qdisc>,
}

impl Tbf {
    /// New buckets, which are full.
    fn configure(&mut self, p: Params) {
        self.params = p;
        self.bucket = p.bucket(p.rate, p.burst);
        let peak = p.peakrate.zip(p.mtu);
        self.peak = peak.map(|(peak, mtu)| p.bucket(peak, mtu));
        self.max_size = peak.map_or(p.burst.0, |(_, mtu)| p.burst.0.min(mtu.0));
    }

    /// The packet held here is still one of the leaf's. Linux 7.2 `qdisc_peek_dequeued`.
    #[inline]
    fn notify_leaf(&mut self) {
        let mut held = Backlog::default();
        if let Some(head) = &self.head {
            held.add(head);
        }
        self.leaf.peeked(held);
    }

    /// The length of the next packet.
    #[inline]
    fn next_len(&mut self, now: Time, log: &mut Log) -> Option<u32> {
        if self.head.is_none() {
            let len = self.leaf.next_len();
            if len.is_some() || self.leaf.shows_next() {
                return len;
            }
            self.head = self.leaf.dequeue(now, log);
            self.notify_leaf();
        }
        self.head.map(|pkt| pkt.len)
    }
}

impl Qdisc for Tbf {
    // Linux 6.12 `tbf_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if u64::from(pkt.len) > self.max_size {
            log.drop(&pkt, Reason::TooLarge);
            return;
        }
        self.leaf.enqueue(now, pkt, log);
    }

    // Linux 6.12 `tbf_dequeue`: nothing is charged unless both buckets hold enough.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        let len = self.next_len(now, log)?;
        let elapsed = (now.since(self.charged).0).min(self.bucket.depth as u64) as i64;
        let tokens = self.bucket.after(elapsed, len);
        let peak_tokens = self.peak.as_ref().map_or(0, |peak| peak.after(elapsed, len));
        let least = tokens.min(peak_tokens);
        if least < 0 {
            self.overlimits += 1;
            self.watchdog = now + Dur(least.unsigned_abs());
            return None;
        }
        let pkt = match self.head.take() {
            Some(head) => {
                self.notify_leaf();
                head
            }
            None => self.leaf.dequeue(now, log)?,
        };
        self.charged = now;
        self.bucket.tokens = tokens;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_tokens;
        }
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.watchdog.min(self.leaf.wake())
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.leaf.wake() <= now {
            self.leaf.on_wake(now, log);
        }
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let mut backlog = self.leaf.backlog();
        if let Some(head) = &self.head {
            backlog.add(head);
        }
        backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        let Some(to) = to.params::<Params>() else { return };
        let leaf = self.leaf.spec();
        // `fifo_set_limit`: of every queue whose name goes on with "fifo" after its first letter, in its own unit.
        let is_fifo = leaf.name().get(1..).is_some_and(|name| name.starts_with("fifo"));
        if let Some(limit) = to.limit().filter(|_| is_fifo)
            && let Ok((to, given)) = leaf.changed(&format!("limit {limit}"))
        {
            self.leaf.change(now, &to, &given, log);
        }
        self.configure(*to);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("rate", "Mbit/s", self.params.rate.as_mbps());
        out.put("tokens", "ms", self.bucket.tokens as f64 / 1e6);
        if let Some(peak) = &self.peak {
            out.put("ptokens", "ms", peak.tokens as f64 / 1e6);
        }
        self.leaf.probe(out);
    }

    /// A packet that the buckets could never let pass is split rather than dropped.
    fn splits(&self, pkt: &Packet) -> bool {
        u64::from(pkt.len) > self.max_size || self.leaf.splits(pkt)
    }

    fn purge(&mut self, log: &mut Log) {
        if let Some(head) = self.head.take() {
            log.drop(&head, Reason::Purge);
            self.notify_leaf();
        }
        self.leaf.purge(log);
        self.watchdog = Time::NEVER;
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.leaf)
    }
}

#[cfg(test)]
mod tests;
