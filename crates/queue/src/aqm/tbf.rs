//! `tbf`: a token bucket, optionally with a second one for the peak rate, around one leaf. Linux
//! 6.12 `sch_tbf`; limits as iproute2 7.3 computes them.

use super::token_bucket::{Bucket, Charge, LINKLAYER, MPU, OVERHEAD};
use super::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "tbf",
    summary: "Token bucket with optional peak rate",
    reference: "Linux 6.12 sch_tbf",
    kernel: Kernel::Mainline("2.2"),
    params: &[
        Param { name: "rate", value: "RATE", default: "(required)", doc: "Long-term rate." },
        Param {
            name: "burst|buffer|maxburst",
            value: "SIZE",
            default: "(required)",
            doc: "Bucket of the rate, and the largest packet that may pass.",
        },
        Param {
            name: "limit",
            value: "SIZE",
            default: "(this or latency)",
            doc: "Bytes that may wait in the queue inside.",
        },
        Param {
            name: "latency",
            value: "TIME",
            default: "(this or limit)",
            doc: "Longest wait from which the limit is computed.",
        },
        Param {
            name: "peakrate",
            value: "RATE",
            default: "none",
            doc: "Rate at which the bucket may be emptied.",
        },
        Param {
            name: "mtu|minburst",
            value: "SIZE",
            default: "(required with peakrate)",
            doc: "Bucket of the peak rate.",
        },
        MPU,
        OVERHEAD,
        LINKLAYER,
    ],
    build: |args, env| {
        let params = Params::default().read(args)?;
        let limit = params
            .limit()
            .ok_or_else(|| args.invalid("either `limit` or `latency` is required"))?;
        Ok(Box::new(Tbf::new(params, env.now, Box::new(Fifo::bfifo(limit)))))
    },
};

/// How long the queue inside may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Limit(Bytes),
    Latency(Dur),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Params {
    rate: Rate,
    burst: Bytes,
    room: Option<Room>,
    peak: Option<Rate>,
    mtu: Option<Bytes>,
    charge: Charge,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut rooms = 0;
        while let Some(key) = args.key() {
            match key {
                "rate" => self.rate = args.rate()?,
                "burst" | "buffer" | "maxburst" => self.burst = bucket(args)?,
                "limit" => {
                    self.room = Some(Room::Limit(args.size()?));
                    rooms |= 1;
                }
                "latency" => {
                    self.room = Some(Room::Latency(args.time()?));
                    rooms |= 2;
                }
                "peakrate" => self.peak = Some(args.rate()?),
                "mtu" | "minburst" => self.mtu = Some(bucket(args)?),
                _ if self.charge.read(key, args)? => {}
                _ => return Err(args.unknown()),
            }
        }
        if rooms == 3 {
            return Err(args.invalid("`latency` and `limit` exclude each other"));
        }
        if self.rate < Rate(8) {
            return Err(args.invalid("`rate` must be at least 8bit"));
        }
        if self.burst == Bytes(0) {
            return Err(args.invalid("`burst` is required"));
        }
        match (self.peak, self.mtu) {
            (Some(_), None) => Err(args.invalid("`peakrate` needs `mtu`")),
            (Some(peak), _) if peak.bytes_per_sec() <= self.rate.bytes_per_sec() => {
                Err(args.invalid("`peakrate` must be above `rate`"))
            }
            _ => Ok(self),
        }
    }

    /// Bytes that may wait: what the bucket and the latency hold, at the rate and at the peak.
    fn limit(&self) -> Option<u64> {
        match self.room? {
            Room::Limit(bytes) => Some(bytes.0),
            Room::Latency(latency) => {
                let room = |rate: Rate, bucket: Bytes| {
                    Rate(rate.bytes_per_sec() * 8).bytes_in(latency) + bucket.0
                };
                let limit = room(self.rate, self.burst);
                let peak = self.peak.zip(self.mtu).map(|(peak, mtu)| room(peak, mtu));
                Some(peak.map_or(limit, |peak| limit.min(peak)))
            }
        }
    }

    /// A full bucket of `burst` bytes at `rate`.
    fn bucket(&self, rate: Rate, burst: Bytes) -> Bucket {
        let config = self.charge.config(rate);
        Bucket::full(config, config.l2t(burst.0 as u32) as i64)
    }
}

/// A size, with a cell size behind a slash that only old kernels use.
fn bucket(args: &mut Args<'_>) -> Result<Bytes, GrammarError> {
    args.value("a size such as `5kb`", |word| {
        let (size, cell) = word.split_once('/').unwrap_or((word, "1"));
        let cell: u32 = cell.parse().ok()?;
        let size = Bytes::parse_tc(size).filter(|b| u32::try_from(b.0).is_ok());
        size.filter(|_| cell.is_power_of_two())
    })
}

/// The shaper. A leaf that cannot show the length of its next packet gives it away to be held
/// here until it may leave, as in Linux.
pub struct Tbf {
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
    /// The shaper that `args` describes (the words after `tbf`), around `leaf`.
    pub fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        Ok(Self::new(Params::default().read(args)?, env.now, leaf))
    }

    fn new(params: Params, now: Time, leaf: Box<dyn Qdisc>) -> Self {
        let bucket = params.bucket(params.rate, params.burst);
        let mut tbf = Self {
            params,
            max_size: 0,
            bucket,
            peak: None,
            charged: now,
            head: None,
            watchdog: Time::NEVER,
            overlimits: 0,
            leaf,
        };
        tbf.configure(params);
        tbf
    }

    /// New buckets, which are full.
    fn configure(&mut self, p: Params) {
        self.params = p;
        self.bucket = p.bucket(p.rate, p.burst);
        let peak = p.peak.zip(p.mtu);
        self.peak = peak.map(|(peak, mtu)| p.bucket(peak, mtu));
        self.max_size = peak.map_or(p.burst.0, |(_, mtu)| p.burst.0.min(mtu.0));
    }

    /// The length of the next packet.
    #[inline]
    fn next_len(&mut self, now: Time, log: &mut Log) -> Option<u32> {
        if self.head.is_none() {
            if let Some(len) = self.leaf.next_len() {
                return Some(len);
            }
            self.head = self.leaf.dequeue(now, log);
        }
        self.head.map(|pkt| pkt.len)
    }
}

impl Qdisc for Tbf {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if u64::from(pkt.len) > self.max_size {
            log.drop(&pkt, Reason::TooLarge);
            return;
        }
        self.leaf.enqueue(now, pkt, log);
    }

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
        let pkt = self.head.take().or_else(|| self.leaf.dequeue(now, log))?;
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

    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        if let (Some(limit), "bfifo") =
            (params.limit(), self.leaf.describe().split(' ').next().unwrap_or_default())
        {
            let (to, given) = self.leaf.spec().changed(&format!("limit {limit}"))?;
            self.leaf.change(now, &to, &given, log);
        }
        self.configure(params);
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let mut text = format!("tbf rate {} burst {}", p.rate, p.burst);
        match p.room {
            Some(Room::Limit(limit)) => text += &format!(" limit {limit}"),
            Some(Room::Latency(latency)) => text += &format!(" latency {latency}"),
            None => {}
        }
        let mut word = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        };
        word("peakrate", p.peak.map(|v| v.to_string()));
        word("mtu", p.mtu.map(|v| v.to_string()));
        text + &p.charge.describe()
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
