//! `htb`: a hierarchical token bucket with one class, around one leaf. Linux 6.12 `sch_htb`; burst
//! sizes as iproute2 7.3 computes them.

use super::psched::{LinkLayer, RateConfig, TICK_NS, burst_time};
use super::{Backlog, Entry, Env, Fifo, Kernel, Log, Qdisc, Stats};
use crate::grammar::{Args, GrammarError, Param};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::{Bytes, Rate, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "htb",
    summary: "Token-bucket shaper around a leaf",
    reference: "Linux 6.12 sch_htb",
    kernel: Kernel::Mainline("2.4.20"),
    params: &[
        Param { name: "rate", value: "RATE", default: "(required)", doc: "Guaranteed rate." },
        Param { name: "ceil", value: "RATE", default: "rate", doc: "Rate never exceeded." },
        Param {
            name: "burst|buffer|maxburst",
            value: "SIZE",
            default: "mtu",
            doc: "Bucket of the rate; computed as the bytes of one nanosecond plus mtu.",
        },
        Param {
            name: "cburst|cbuffer|cmaxburst",
            value: "SIZE",
            default: "mtu",
            doc: "Bucket of the ceiling.",
        },
        Param { name: "mtu", value: "SIZE", default: "1600b", doc: "Least computed burst." },
        Param { name: "mpu", value: "SIZE", default: "0b", doc: "Least size charged." },
        Param { name: "overhead", value: "BYTES", default: "0", doc: "Added to each packet." },
        Param {
            name: "linklayer",
            value: "ethernet|atm|adsl",
            default: "ethernet",
            doc: "Framing below the packet.",
        },
        Param {
            name: "quantum",
            value: "SIZE",
            default: "rate/r2q",
            doc: "Bytes served before a sibling of equal priority; without effect on one class.",
        },
        Param {
            name: "prio",
            value: "NUMBER",
            default: "0",
            doc: "Priority among siblings, 0 to 7; without effect on one class.",
        },
        Param { name: "r2q", value: "NUMBER", default: "10", doc: "Divisor of computed quanta." },
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(Htb::around(args, &env, leaf)?))
    },
};

/// The longest absence that a bucket remembers, and the deepest debt.
const MBUFFER_NS: i64 = 60_000_000_000;

/// Values as written; what is absent follows from the others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Params {
    rate: Rate,
    ceil: Option<Rate>,
    burst: Option<Bytes>,
    cburst: Option<Bytes>,
    mtu: Option<Bytes>,
    mpu: u32,
    overhead: u16,
    layer: LinkLayer,
    quantum: Option<u32>,
    prio: u8,
    r2q: Option<u32>,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "rate" => self.rate = args.rate()?,
                "ceil" => self.ceil = Some(args.rate()?),
                "burst" | "buffer" | "maxburst" => self.burst = Some(args.size()?),
                "cburst" | "cbuffer" | "cmaxburst" => self.cburst = Some(args.size()?),
                "mtu" => self.mtu = Some(args.size()?),
                "mpu" => self.mpu = read_small(args, 0xffff)?,
                "overhead" => self.overhead = args.number(0..=0xffff)? as u16,
                "linklayer" => {
                    self.layer = LinkLayer::from_index(args.choice(&LinkLayer::WORDS)?);
                }
                "quantum" => self.quantum = Some(read_small(args, u32::MAX)?),
                "prio" => self.prio = args.number(0..=7)? as u8,
                "r2q" => self.r2q = Some(args.number(1..=u64::from(u32::MAX))? as u32),
                _ => return Err(args.unknown()),
            }
        }
        if self.rate < Rate(8) || self.ceil() < Rate(8) {
            return Err(args.invalid("`rate` must be at least 8bit"));
        }
        Ok(self)
    }

    fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// Bucket size for `rate`: tc divides by a timer frequency of 1e9 and adds the MTU.
    fn burst_or_default(&self, given: Option<Bytes>, rate: Rate) -> Bytes {
        let mtu = self.mtu.unwrap_or(Bytes(1600));
        given.unwrap_or_else(|| Bytes(rate.bytes_per_sec() / 1_000_000_000 + mtu.0))
    }

    /// The kernel's quantum of a leaf.
    fn quantum(&self) -> u32 {
        self.quantum.unwrap_or_else(|| {
            let r2q = u64::from(self.r2q.unwrap_or(10));
            (self.rate.bytes_per_sec() / r2q).clamp(1000, 200_000) as u32
        })
    }
}

fn read_small(args: &mut Args<'_>, max: u32) -> Result<u32, GrammarError> {
    args.value("a size such as `1500b`", |w| {
        Bytes::parse_tc(w).and_then(|b| u32::try_from(b.0).ok()).filter(|b| *b <= max)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Above its ceiling.
    CantSend,
    /// Between rate and ceiling: a parent would have to lend.
    MayBorrow,
    CanSend,
}

/// Tokens of one class in nanoseconds of its rate (`tokens`) and ceiling (`ctokens`).
#[derive(Debug)]
struct Class {
    rate: RateConfig,
    ceil: RateConfig,
    buffer: i64,
    cbuffer: i64,
    tokens: i64,
    ctokens: i64,
    /// Instant of the last charge.
    charged: Time,
    mode: Mode,
    /// When `mode` is to be looked at again.
    due: Time,
    lends: u64,
    overlimits: u64,
}

impl Class {
    fn new(params: &Params, now: Time) -> Self {
        let config = RateConfig::new(params.rate, 0, 0, LinkLayer::Ethernet);
        let mut class = Self {
            rate: config,
            ceil: config,
            buffer: 0,
            cbuffer: 0,
            tokens: 0,
            ctokens: 0,
            charged: now,
            mode: Mode::CanSend,
            due: Time::NEVER,
            lends: 0,
            overlimits: 0,
        };
        class.configure(params);
        (class.tokens, class.ctokens) = (class.buffer, class.cbuffer);
        class
    }

    /// New rates and buckets; the tokens stay as they are, debts included.
    fn configure(&mut self, p: &Params) {
        let ceil = p.ceil();
        self.rate = RateConfig::new(p.rate, p.overhead, p.mpu, p.layer);
        self.ceil = RateConfig::new(ceil, p.overhead, p.mpu, p.layer);
        self.buffer = burst_time(p.burst_or_default(p.burst, p.rate), p.rate).0 as i64;
        self.cbuffer = burst_time(p.burst_or_default(p.cburst, ceil), ceil).0 as i64;
    }

    #[inline]
    fn elapsed(&self, now: Time) -> i64 {
        (now.since(self.charged).0 as i64).min(MBUFFER_NS)
    }

    /// Recomputes the mode at `now`, `elapsed` after the last charge.
    #[inline]
    fn update_mode(&mut self, now: Time, elapsed: i64) {
        let (toks, ctoks) = (self.tokens + elapsed, self.ctokens + elapsed);
        let (mode, wait) = if ctoks < 0 {
            (Mode::CantSend, -ctoks)
        } else if toks >= 0 {
            (Mode::CanSend, 0)
        } else {
            (Mode::MayBorrow, -toks)
        };
        if mode == Mode::CantSend && self.mode != Mode::CantSend {
            self.overlimits += 1;
        }
        self.due = if mode == Mode::CanSend { Time::NEVER } else { Time(now.0 + wait as u64) };
        self.mode = mode;
    }

    /// Whether the class may send at `now`; without a parent to borrow from, only at its own rate.
    #[inline]
    fn may_send(&mut self, now: Time) -> bool {
        if now >= self.due {
            self.update_mode(now, self.elapsed(now));
        }
        self.mode == Mode::CanSend
    }

    #[inline]
    fn charge(&mut self, now: Time, len: u32) {
        let elapsed = self.elapsed(now);
        let settle = |tokens: i64, buffer: i64, config: &RateConfig| {
            let tokens = (tokens + elapsed).min(buffer) - config.l2t(len) as i64;
            if tokens <= -MBUFFER_NS { 1 - MBUFFER_NS } else { tokens }
        };
        self.tokens = settle(self.tokens, self.buffer, &self.rate);
        self.ctokens = settle(self.ctokens, self.cbuffer, &self.ceil);
        self.charged = now;
        self.lends += 1;
        self.update_mode(now, 0);
    }
}

/// The shaper. It asks its leaf for a packet only if the leaf has some, as Linux does.
pub struct Htb {
    params: Params,
    class: Class,
    watchdog: Time,
    leaf: Box<dyn Qdisc>,
}

impl Htb {
    /// The shaper that `args` describes (the words after `htb`), around `leaf`.
    pub fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let class = Class::new(&params, env.now);
        Ok(Self { params, class, watchdog: Time::NEVER, leaf })
    }
}

impl Qdisc for Htb {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.leaf.enqueue(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        if self.leaf.backlog().packets == 0 {
            return None;
        }
        if !self.class.may_send(now) {
            self.watchdog = self.class.due;
            return None;
        }
        let pkt = self.leaf.dequeue(now, log)?;
        self.class.charge(now, pkt.len);
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
        self.leaf.backlog()
    }

    fn change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.params = self.params.clone().read(args)?;
        self.class.configure(&self.params);
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let mut text = format!("htb rate {}", p.rate);
        let mut word = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        };
        word("ceil", p.ceil.map(|v| v.to_string()));
        word("burst", p.burst.map(|v| v.to_string()));
        word("cburst", p.cburst.map(|v| v.to_string()));
        word("mtu", p.mtu.map(|v| v.to_string()));
        word("mpu", (p.mpu != 0).then(|| format!("{}b", p.mpu)));
        word("overhead", (p.overhead != 0).then(|| p.overhead.to_string()));
        word("linklayer", (p.layer != LinkLayer::Ethernet).then(|| p.layer.name().to_string()));
        word("quantum", p.quantum.map(|v| format!("{v}b")));
        word("prio", (p.prio != 0).then(|| p.prio.to_string()));
        word("r2q", p.r2q.map(|v| v.to_string()));
        text
    }

    fn stats(&self, out: &mut Stats) {
        let ticks = |ns: i64| ns.div_euclid(TICK_NS as i64) as f64;
        out.put("overlimits", self.class.overlimits as f64);
        out.put("lended", self.class.lends as f64);
        out.put("borrowed", 0);
        out.put("giants", 0);
        out.put("tokens", ticks(self.class.tokens));
        out.put("ctokens", ticks(self.class.ctokens));
        out.put("quantum", self.params.quantum());
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("rate", "Mbit/s", self.params.rate.as_mbps());
        out.put("tokens", "ms", self.class.tokens as f64 / 1e6);
        out.put("ctokens", "ms", self.class.ctokens as f64 / 1e6);
        self.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
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
