//! `police`: a token bucket that drops instead of delaying, in front of one leaf. Linux 6.12
//! `act_police`; words and defaults of iproute2 7.3.

use crate::aqm::psched::burst_time;
use crate::aqm::token_bucket::{Bucket, Charge, LINKLAYER, MPU, OVERHEAD};
use crate::aqm::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "police",
    summary: "Policer: drops what exceeds a token bucket",
    reference: "Linux 6.12 act_police",
    kernel: Kernel::Mainline("2.6"),
    params: &[
        Param { name: "rate", value: "RATE", default: "none", doc: "Rate of the bucket." },
        Param {
            name: "burst|buffer|maxburst",
            value: "SIZE",
            default: "(required with rate)",
            doc: "Depth of the bucket, which starts full.",
        },
        Param {
            name: "pkts_rate",
            value: "NUMBER",
            default: "none",
            doc: "Packets per second, instead of a rate.",
        },
        Param {
            name: "pkts_burst",
            value: "NUMBER",
            default: "(required with pkts_rate)",
            doc: "Depth of the packet bucket, which starts empty.",
        },
        Param {
            name: "mtu|minburst",
            value: "SIZE",
            default: "2040b with rate, else none",
            doc: "Largest packet that conforms, and the bucket of the peak rate.",
        },
        Param {
            name: "peakrate",
            value: "RATE",
            default: "none",
            doc: "Rate at which the bucket may be emptied.",
        },
        MPU,
        OVERHEAD,
        LINKLAYER,
        Param {
            name: "conform-exceed",
            value: "EXCEED[/CONFORM]",
            default: "reclassify/pass",
            doc: "What happens to packets that exceed the bucket, and to those that conform: drop, \
                  reclassify (which ends in a drop), or pass, ok, pipe, continue.",
        },
        Param {
            name: "drop|reclassify|pass|ok|pipe|continue",
            value: "",
            default: "reclassify",
            doc: "The same for packets that exceed.",
        },
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(Police::around(args, &env, leaf)?))
    },
};

/// tc's words for what happens to a packet, and whether it survives. A filter that is asked to
/// classify again meets the same policer, until the kernel gives up and drops.
const ACTIONS: [(&str, bool); 6] = [
    ("drop", false),
    ("reclassify", false),
    ("pass", true),
    ("ok", true),
    ("pipe", true),
    ("continue", true),
];

/// Bytes of a frame's header that the device has taken off before its ingress filters see the frame
/// (Linux 7.2 `sch_handle_ingress`).
const ETHERNET_HEADER: u32 = 14;

/// The packet size up to which tc's table of transmission times reaches.
const DEFAULT_MTU: u64 = 2040;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Params {
    rate: Rate,
    burst: Bytes,
    pkts_rate: u64,
    pkts_burst: u64,
    mtu: Option<Bytes>,
    peak: Option<Rate>,
    charge: Charge,
    /// Places in [`ACTIONS`].
    exceed: usize,
    conform: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rate: Rate(0),
            burst: Bytes(0),
            pkts_rate: 0,
            pkts_burst: 0,
            mtu: None,
            peak: None,
            charge: Charge::default(),
            exceed: 1,
            conform: 2,
        }
    }
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let action = |word: &str| ACTIONS.iter().position(|(name, _)| *name == word);
        while let Some(key) = args.key() {
            match key {
                "rate" => self.rate = args.rate()?,
                "burst" | "buffer" | "maxburst" => self.burst = args.size()?,
                "pkts_rate" => self.pkts_rate = args.number(1..=1_000_000_000)?,
                "pkts_burst" => self.pkts_burst = args.number(1..=u64::from(u32::MAX))?,
                "mtu" | "minburst" => self.mtu = Some(args.size()?),
                "peakrate" => self.peak = Some(args.rate()?),
                _ if self.charge.read(key, args)? => {}
                "conform-exceed" => {
                    (self.exceed, self.conform) = args.value("such as `drop/pass`", |words| {
                        let (exceed, conform) = words.split_once('/').unwrap_or((words, "pass"));
                        action(exceed).zip(action(conform))
                    })?;
                }
                word => self.exceed = action(word).ok_or_else(|| args.unknown())?,
            }
        }
        let wrong = if (self.rate == Rate(0)) != (self.burst == Bytes(0)) {
            "`rate` and `burst` need each other"
        } else if (self.pkts_rate == 0) != (self.pkts_burst == 0) {
            "`pkts_rate` and `pkts_burst` need each other"
        } else if self.rate > Rate(0) && self.pkts_rate > 0 {
            "`rate` and `pkts_rate` exclude each other"
        } else if self.rate == Rate(0) && self.pkts_rate == 0 && self.mtu.is_none() {
            "one of `rate`, `pkts_rate` and `mtu` is required"
        } else if self.rate > Rate(0) && self.rate < Rate(8) {
            "`rate` must be at least 8bit"
        } else if self.peak.is_some_and(|peak| peak < Rate(8) || self.rate == Rate(0)) {
            "`peakrate` must be at least 8bit and needs `rate`"
        } else {
            return Ok(self);
        };
        Err(args.invalid(wrong))
    }

    /// The largest packet that conforms.
    fn mtu(&self) -> u64 {
        let default = if self.rate > Rate(0) { DEFAULT_MTU } else { u64::MAX };
        self.mtu.map_or(default, |mtu| mtu.0)
    }
}

/// The policer. What conforms goes straight to the leaf.
pub struct Police {
    params: Params,
    /// Bytes of a frame that it does not see.
    unseen: u32,
    mtu: u64,
    /// Of the rate in bytes, or of the rate in packets.
    bucket: Option<Bucket>,
    peak: Option<Bucket>,
    charged: Time,
    overlimits: u64,
    leaf: Box<dyn Qdisc>,
}

impl Police {
    /// The policer that `args` describes (the words after `police`), in front of `leaf`.
    pub fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let mut police = Self {
            params,
            unseen: if env.at_ingress { ETHERNET_HEADER } else { 0 },
            mtu: 0,
            bucket: None,
            peak: None,
            charged: env.now,
            overlimits: 0,
            leaf,
        };
        police.configure(env.now, params);
        Ok(police)
    }

    fn configure(&mut self, now: Time, p: Params) {
        self.params = p;
        self.charged = now;
        self.mtu = p.mtu();
        self.bucket = if p.rate > Rate(0) {
            let depth = burst_time(p.burst, p.rate).0 as i64;
            Some(Bucket::full(p.charge.config(p.rate), depth))
        } else {
            // A packet counts as one byte of a rate in packets.
            (p.pkts_rate > 0).then(|| {
                let rate = Rate(p.pkts_rate * 8);
                let depth = burst_time(Bytes(p.pkts_burst), rate).0 as i64;
                let config = Charge::default().config(rate);
                Bucket { config, depth, tokens: 0 }
            })
        };
        self.peak = p.peak.map(|peak| {
            let config = p.charge.config(peak);
            let depth = config.l2t(u32::try_from(self.mtu).unwrap_or(u32::MAX)) as i64;
            Bucket::full(config, depth)
        });
    }

    /// Whether a packet of `len` bytes conforms; if so, it is charged.
    #[inline]
    fn conforms(&mut self, now: Time, len: u32) -> bool {
        if u64::from(len) > self.mtu {
            return false;
        }
        let Some(bucket) = &mut self.bucket else { return true };
        let elapsed = (now.since(self.charged).0).min(bucket.depth as u64) as i64;
        let units = if self.params.pkts_rate > 0 { 1 } else { len };
        let tokens = bucket.after(elapsed, units);
        let peak_tokens = self.peak.as_ref().map_or(0, |peak| peak.after(elapsed, len));
        if tokens < 0 || peak_tokens < 0 {
            return false;
        }
        bucket.tokens = tokens;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_tokens;
        }
        self.charged = now;
        true
    }
}

impl Qdisc for Police {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let conforms = self.conforms(now, pkt.len.saturating_sub(self.unseen));
        self.overlimits += u64::from(!conforms);
        let action = if conforms { self.params.conform } else { self.params.exceed };
        if ACTIONS[action].1 {
            self.leaf.enqueue(now, pkt, log);
        } else {
            log.drop(&pkt, Reason::Police);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.leaf.dequeue(now, log)
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.leaf.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        self.leaf.wake()
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.leaf.on_wake(now, log);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.leaf.backlog()
    }

    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        self.configure(now, params);
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let mut text = String::from("police");
        let mut word = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        };
        word("rate", (p.rate > Rate(0)).then(|| p.rate.to_string()));
        word("burst", (p.rate > Rate(0)).then(|| p.burst.to_string()));
        word("pkts_rate", (p.pkts_rate > 0).then(|| p.pkts_rate.to_string()));
        word("pkts_burst", (p.pkts_rate > 0).then(|| p.pkts_burst.to_string()));
        word("mtu", p.mtu.map(|v| v.to_string()));
        word("peakrate", p.peak.map(|v| v.to_string()));
        text += &p.charge.describe();
        let [exceed, conform] = [p.exceed, p.conform].map(|action| ACTIONS[action].0);
        text + &format!(" conform-exceed {exceed}/{conform}")
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        if let Some(bucket) = &self.bucket {
            out.put("tokens", "ms", bucket.tokens as f64 / 1e6);
        }
        self.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.leaf.purge(log);
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
