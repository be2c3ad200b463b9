//! `police`: a token bucket that drops instead of delaying, in front of one leaf. Linux 6.12
//! `act_police`; syntax and defaults of iproute2 7.3.

use crate::aqm::psched::burst_time;
use crate::aqm::token_bucket::{Bucket, Charge};
use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN,
    entry, spec,
};
use sojourn_core::grammar::forms::{custom, maybe, number};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Rate, Time};
use sojourn_core::{choices, parameters};

/// The line of the registry.
pub const ENTRY: Entry = entry::<Params>(
    "police",
    "Policer: drops what exceeds a token bucket",
    "Linux 6.12 act_police",
    Kernel::Mainline("2.6"),
);

choices! {
    /// tc's names for what happens to a packet.
    pub(crate) enum Action {
        Drop = "drop",
        /// A filter that is asked to classify again meets the same policer, until the kernel gives up
        /// and drops.
        Reclassify = "reclassify",
        Pass = "pass",
        Ok = "ok",
        Pipe = "pipe",
        Continue = "continue",
    }
}

impl Action {
    fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(text, _)| *text == name).map(|(_, action)| *action)
    }
}

/// Bytes of a frame's header that the device has taken off before its ingress filters see the frame
/// (Linux 7.2 `sch_handle_ingress`).
const ETHERNET_HEADER: u32 = 14;

/// The packet size up to which tc's table of transmission times reaches.
const DEFAULT_MTU: u64 = 2040;

parameters! {
    /// Parameters of `police`.
    #[derive(Copy)]
    pub(crate) struct Params {
        /// Rate of the bucket.
        rate: Option<Rate> = None, default "none";
        /// Depth of the bucket, which starts full.
        burst: Option<Bytes> = None, name "burst|buffer|maxburst", default "(required with rate)";
        /// Packets per second, instead of a rate.
        pkts_rate: Option<u64> = None => maybe(number(1..=1_000_000_000)), default "none";
        /// Depth of the packet bucket, which starts empty.
        pkts_burst: Option<u64> = None => maybe(number(1..=u32::MAX.into())),
            default "(required with pkts_rate)";
        /// Largest packet that conforms, and the bucket of the peak rate.
        mtu: Option<Bytes> = None, name "mtu|minburst", default "2040b with rate, else none";
        /// Rate at which the bucket may be emptied.
        peakrate: Option<Rate> = None, default "none";
        /// What happens to packets that exceed the bucket, and to those that conform: drop,
        /// reclassify (which ends in a drop), or pass, ok, pipe, continue.
        actions: (Action, Action) = (Action::Reclassify, Action::Pass) =>
            custom("EXCEED[/CONFORM]", read_actions, write_actions), name "conform-exceed";
    }
    groups { charge: Charge = Charge::default(); }
    also {
        /// The same for packets that exceed.
        "drop|reclassify|pass|ok|pipe|continue", default "reclassify" => |params, key, _| {
            params.actions.0 = Action::of(key).unwrap_or(params.actions.0);
            Ok(())
        };
    }
    derive drop_zeros;
    settle combines;
}

fn read_actions(args: &mut Args<'_>) -> Result<(Action, Action), GrammarError> {
    args.value("such as `drop/pass`", |words| {
        let (exceed, conform) = words.split_once('/').unwrap_or((words, "pass"));
        Action::of(exceed).zip(Action::of(conform))
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a form writes what it is lent")]
fn write_actions((exceed, conform): &(Action, Action)) -> String {
    format!("{}/{}", exceed.text(), conform.text())
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let mut police = Police {
            params: *self,
            unseen: if env.at_ingress { ETHERNET_HEADER } else { 0 },
            mtu: 0,
            bucket: None,
            peak: None,
            charged: env.now,
            overlimits: 0,
            leaf,
        };
        police.configure(env.now, *self);
        Box::new(police)
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        if self.rate.is_none() {
            return Err("there is no rate to change".to_owned());
        }
        self.rate = Some(rate);
        self.combines(&Given::default())
    }

    fn capacity(&self) -> Option<Rate> {
        self.rate
    }
}

impl Params {
    /// A rate or burst of zero is none.
    fn drop_zeros(&mut self, _given: &Given) {
        self.rate = self.rate.filter(|rate| *rate > Rate(0));
        self.burst = self.burst.filter(|burst| *burst > Bytes(0));
    }

    fn combines(&self, _given: &Given) -> Result<(), String> {
        let wrong = if self.rate.is_some() != self.burst.is_some() {
            "`rate` and `burst` need each other"
        } else if self.pkts_rate.is_some() != self.pkts_burst.is_some() {
            "`pkts_rate` and `pkts_burst` need each other"
        } else if self.rate.is_some() && self.pkts_rate.is_some() {
            "`rate` and `pkts_rate` exclude each other"
        } else if self.rate.is_none() && self.pkts_rate.is_none() && self.mtu.is_none() {
            "one of `rate`, `pkts_rate` and `mtu` is required"
        } else if self.rate.is_some_and(|rate| rate < Rate(8)) {
            "`rate` must be at least 8bit"
        } else if self.peakrate.is_some_and(|peak| peak < Rate(8) || self.rate.is_none()) {
            "`peakrate` must be at least 8bit and needs `rate`"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    /// The largest packet that conforms.
    fn mtu(&self) -> u64 {
        let default = if self.rate.is_some() { DEFAULT_MTU } else { u64::MAX };
        self.mtu.map_or(default, |mtu| mtu.0)
    }
}

/// The policer. What conforms goes straight to the leaf.
struct Police {
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
    fn configure(&mut self, now: Time, p: Params) {
        self.params = p;
        self.charged = now;
        self.mtu = p.mtu();
        let bytes = p.rate.zip(p.burst).map(|(rate, burst)| {
            let depth = burst_time(burst, rate).0 as i64;
            Bucket::full(p.charge.config(rate), depth)
        });
        // A packet counts as one byte of a rate in packets.
        let packets = p.pkts_rate.zip(p.pkts_burst).map(|(rate, burst)| {
            let rate = Rate(rate * 8);
            let depth = burst_time(Bytes(burst), rate).0 as i64;
            Bucket { config: Charge::default().config(rate), depth, tokens: 0 }
        });
        self.bucket = bytes.or(packets);
        self.peak = p.peakrate.map(|peak| {
            let config = p.charge.config(peak);
            let depth = config.l2t(u32::try_from(self.mtu).unwrap_or(u32::MAX)) as i64;
            Bucket::full(config, depth)
        });
    }

    /// Whether a packet of `len` bytes conforms; if so, it is charged.
    /// Linux 6.12 `tcf_police_act`: nothing is charged unless both buckets hold enough.
    #[inline]
    fn conforms(&mut self, now: Time, len: u32) -> bool {
        if u64::from(len) > self.mtu {
            return false;
        }
        let Some(bucket) = &mut self.bucket else { return true };
        let elapsed = (now.since(self.charged).0).min(bucket.depth as u64) as i64;
        let units = if self.params.pkts_rate.is_some() { 1 } else { len };
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
    // Linux 6.12 `tcf_police_act`.
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let conforms = self.conforms(now, pkt.len.saturating_sub(self.unseen));
        self.overlimits += u64::from(!conforms);
        let (exceed, conform) = self.params.actions;
        match if conforms { conform } else { exceed } {
            Action::Drop | Action::Reclassify => log.drop(&pkt, Reason::Police),
            _ => self.leaf.enqueue(now, pkt, log),
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

    fn shows_next(&self) -> bool {
        self.leaf.shows_next()
    }

    fn peeked(&mut self, held: Backlog) {
        self.leaf.peeked(held);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.leaf.backlog()
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(to) = to.params() {
            self.configure(now, *to);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
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
