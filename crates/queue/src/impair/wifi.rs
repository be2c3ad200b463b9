//! `wifi`: a radio link that aggregates. With packets waiting and the medium free, it waits for
//! access, then sends what it may gather as one burst (A-MPDU) that arrives as a whole. IEEE Std
//! 802.11-2020 10.23 (EDCA) and 10.12 (A-MPDU), reduced to their timing: no collisions, no loss.

use crate::aqm::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Stats};
use crate::impair::medium::{Medium, Wait};
use crate::impair::shell::Shell;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "wifi",
    summary: "Radio link that waits for access and sends bursts",
    reference: "IEEE 802.11-2020 EDCA and A-MPDU, timing only",
    kernel: Kernel::Nowhere,
    params: &[
        Param { name: "rate", value: "RATE", default: "(required)", doc: "Rate on the air." },
        Param {
            name: "access",
            value: "MIN [MAX]",
            default: "43us 178us",
            doc: "Wait for a free medium before each burst, uniform between the two.",
        },
        Param {
            name: "poisson",
            value: "MEAN",
            default: "off",
            doc: "Exponential wait with this mean, instead of `access`.",
        },
        Param { name: "packets", value: "NUMBER", default: "64", doc: "Most packets in a burst." },
        Param {
            name: "geometric",
            value: "MEAN",
            default: "off",
            doc: "Most packets in a burst drawn anew for each, geometric with this mean, instead of \
                  `packets`.",
        },
        Param {
            name: "bytes",
            value: "SIZE",
            default: "65535b",
            doc: "Most bytes in a burst, overhead included; a lone packet always goes.",
        },
        Param {
            name: "airtime",
            value: "TIME",
            default: "5484us",
            doc: "Longest burst, preamble included; a lone packet always goes.",
        },
        Param {
            name: "preamble",
            value: "TIME",
            default: "84us",
            doc: "Airtime of a burst beside its packets: preamble, SIFS and block ACK.",
        },
        Param {
            name: "overhead",
            value: "BYTES",
            default: "0",
            doc: "Added to each packet, from 0 to 255: delimiter, padding, MAC header.",
        },
        Param {
            name: "half-duplex|full-duplex",
            value: "",
            default: "full-duplex",
            doc: "Share one medium with the link's other direction, if that is half-duplex too.",
        },
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(Wifi::around(args, &env, leaf)?))
    },
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Access {
    Uniform(Dur, Dur),
    Poisson(Dur),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Most {
    Packets(u64),
    Geometric(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Params {
    rate: Rate,
    access: Access,
    most: Most,
    bytes: Bytes,
    airtime: Dur,
    preamble: Dur,
    overhead: u32,
    half_duplex: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rate: Rate(0),
            access: Access::Uniform(Dur::from_micros(43), Dur::from_micros(178)),
            most: Most::Packets(64),
            bytes: Bytes(65_535),
            airtime: Dur::from_micros(5_484),
            preamble: Dur::from_micros(84),
            overhead: 0,
            half_duplex: false,
        }
    }
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let positive = |w| Dur::parse_tc(w).filter(|d| *d > Dur::ZERO);
        while let Some(key) = args.key() {
            match key {
                "rate" => self.rate = args.rate()?,
                "access" => {
                    let min = args.time()?;
                    let max = match args.peek().and_then(Dur::parse_tc) {
                        Some(_) => args.time()?,
                        None => min,
                    };
                    if max < min {
                        return Err(args.invalid("the longest `access` is below the shortest"));
                    }
                    self.access = Access::Uniform(min, max);
                }
                "poisson" => {
                    let mean = args.value("a time above zero such as `2ms`", positive)?;
                    self.access = Access::Poisson(mean);
                }
                "packets" => self.most = Most::Packets(args.number(1..=65_535)?),
                "geometric" => self.most = Most::Geometric(args.decimal(1.0..=65_535.0)?),
                "bytes" => self.bytes = args.size()?,
                "airtime" => self.airtime = args.time()?,
                "preamble" => self.preamble = args.time()?,
                "overhead" => self.overhead = args.number(0..=255)? as u32,
                "half-duplex" => self.half_duplex = true,
                "full-duplex" => self.half_duplex = false,
                _ => return Err(args.unknown()),
            }
        }
        if self.rate == Rate(0) {
            return Err(args.invalid("`rate` is required and above zero"));
        }
        Ok(self)
    }
}

/// What the link is doing.
#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    /// Waiting for access, which may come at this time if nobody else sends until then.
    Contending(Wait, Time),
    /// The burst is through at this time.
    Sending(Time),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    bursts: u64,
    packets: u64,
    bytes: u64,
    airtime: Dur,
    deferred: u64,
}

/// The link, in front of its queue.
pub struct Wifi {
    params: Params,
    rng: Rng,
    medium: Medium,
    state: State,
    /// The queue had packets but gave none: it waits for its own timer.
    is_stalled: bool,
    /// The burst on the air.
    burst: Vec<Packet>,
    /// Taken from the queue for the last burst, but did not fit.
    spare: Option<Packet>,
    shell: Shell,
    counters: Counters,
}

impl Wifi {
    /// The link that `args` describes (the words after `wifi`), in front of `leaf`.
    pub(crate) fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let medium = if params.half_duplex { env.medium.clone() } else { Medium::default() };
        Ok(Self {
            params,
            rng: env.rng.clone(),
            medium,
            state: State::Idle,
            is_stalled: false,
            burst: Vec::new(),
            spare: None,
            shell: Shell::new(leaf),
            counters: Counters::default(),
        })
    }

    #[inline]
    fn has_packets(&self) -> bool {
        self.spare.is_some() || self.shell.is_waiting()
    }

    /// Begins to wait for access if there is something to send and nothing is under way.
    fn contend(&mut self, now: Time) {
        if !matches!(self.state, State::Idle) || self.is_stalled || !self.has_packets() {
            return;
        }
        let wait = match self.params.access {
            Access::Uniform(min, max) => {
                min + Dur((self.rng.unit() * ((max.0 - min.0) as f64 + 1.0)) as u64)
            }
            Access::Poisson(mean) => {
                let drawn = -(1.0 - self.rng.unit()).ln() * mean.0 as f64;
                Dur(drawn.round() as u64)
            }
        };
        let wait = self.medium.wait(now, wait);
        self.state = State::Contending(wait, wait.earliest());
    }

    /// Most packets of the next burst.
    fn most_packets(&mut self) -> u64 {
        match self.params.most {
            Most::Packets(n) => n,
            // The number of trials up to a success of probability 1/mean.
            Most::Geometric(mean) if mean > 1.0 => {
                let trials = (1.0 - self.rng.unit()).ln() / (1.0 - 1.0 / mean).ln();
                1 + trials as u64
            }
            Most::Geometric(_) => 1,
        }
    }

    /// Gathers a burst and puts it on the air.
    fn send(&mut self, now: Time, log: &mut Log) {
        let p = self.params;
        let most = self.most_packets();
        let budget = p.rate.bytes_in(p.airtime.saturating_sub(p.preamble)).min(p.bytes.0);
        let mut bytes = 0;
        while (self.burst.len() as u64) < most {
            let Some(pkt) = self.spare.take().or_else(|| self.shell.take(now, log)) else { break };
            let size = u64::from(pkt.len) + u64::from(p.overhead);
            if !self.burst.is_empty() && bytes + size > budget {
                self.spare = Some(pkt);
                break;
            }
            bytes += size;
            self.burst.push(pkt);
        }
        self.state = State::Idle;
        if self.burst.is_empty() {
            self.is_stalled = self.shell.is_waiting();
            return;
        }
        let airtime = p.preamble + p.rate.time_for(bytes);
        self.medium.occupy(now, airtime);
        self.state = State::Sending(now + airtime);
        self.counters.bursts += 1;
        self.counters.packets += self.burst.len() as u64;
        self.counters.bytes += bytes;
        self.counters.airtime += airtime;
    }
}

impl Qdisc for Wifi {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.shell.leaf.enqueue(now, pkt, log);
        self.is_stalled = false;
        self.contend(now);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        self.contend(now);
        self.shell.fetch()
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.shell.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        let own = match self.state {
            State::Idle => Time::NEVER,
            State::Contending(_, at) | State::Sending(at) => at,
        };
        own.min(self.shell.leaf.wake())
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.shell.wake_leaf(now, log) {
            self.is_stalled = false;
        }
        loop {
            match self.state {
                State::Contending(wait, at) if at <= now => {
                    match self.medium.remaining(wait, now) {
                        Dur::ZERO => self.send(now, log),
                        rest => {
                            self.counters.deferred += 1;
                            self.state = State::Contending(wait, now + rest);
                        }
                    }
                }
                State::Sending(at) if at <= now => {
                    self.burst.drain(..).for_each(|pkt| self.shell.put(pkt));
                    self.state = State::Idle;
                    self.contend(now);
                }
                _ => return,
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog(self.burst.iter().chain(&self.spare))
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        if params.half_duplex != self.params.half_duplex {
            return Err(args.invalid("`half-duplex` and `full-duplex` need a replace"));
        }
        self.params = params;
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let access = match p.access {
            Access::Uniform(min, max) => format!("access {min} {max}"),
            Access::Poisson(mean) => format!("poisson {mean}"),
        };
        let most = match p.most {
            Most::Packets(n) => format!("packets {n}"),
            Most::Geometric(mean) => format!("geometric {mean}"),
        };
        let duplex = if p.half_duplex { "half-duplex" } else { "full-duplex" };
        format!(
            "wifi rate {} {access} {most} bytes {} airtime {} preamble {} overhead {} {duplex}",
            p.rate, p.bytes, p.airtime, p.preamble, p.overhead
        )
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        out.put("bursts", c.bursts as f64);
        out.put("burst_packets", c.packets as f64);
        out.put("burst_bytes", c.bytes as f64);
        out.put("airtime_ms", c.airtime.as_millis_f64());
        out.put("deferred", c.deferred as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("bursts", "packets", self.counters.bursts as f64);
        out.put("airtime", "ms", self.counters.airtime.as_millis_f64());
        self.shell.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.shell.purge(self.burst.drain(..).chain(self.spare.take()), log);
        self.state = State::Idle;
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.shell.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.shell.leaf)
    }
}

#[cfg(test)]
mod tests;
