//! `wifi`: a radio link that aggregates. With packets waiting and the medium free, it waits for
//! access, then sends what it may gather as one burst (A-MPDU) that arrives as a whole. IEEE Std
//! 802.11-2020 10.23 (EDCA) and 10.12 (A-MPDU), reduced to their timing: no collisions, no loss.

use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Spec, Stats, TXQUEUELEN, accepts,
    entry, spec,
};
use crate::impair::shell::Shell;
use crate::medium::{Medium, Wait};
use sojourn_core::grammar::forms::{custom, decimal, maybe, number, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::math;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "wifi",
    "Radio link that waits for access and sends bursts",
    "IEEE 802.11-2020 EDCA and A-MPDU, timing only",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `wifi`.
    #[derive(Copy)]
    pub(crate) struct Params {
        /// Rate on the air.
        rate: Rate = Rate(0), default "(required)";
        /// Wait for a free medium before each burst, uniform between the two.
        access: Option<(Dur, Dur)> = Some((Dur::from_micros(43), Dur::from_micros(178))) =>
            maybe(custom("MIN [MAX]", read_access, |(min, max)| format!("{min} {max}")));
        /// Exponential wait with this mean, instead of `access`.
        poisson: Option<Dur> = None => maybe(custom("MEAN", read_mean, Dur::to_string));
        /// Most packets in a burst.
        packets: Option<u64> = Some(64) => maybe(number(1..=65_535));
        /// Most packets in a burst drawn anew for each, geometric with this mean, instead of
        /// `packets`.
        geometric: Option<f64> = None => maybe(decimal("MEAN", 1.0..=65_535.0));
        /// Most bytes in a burst, overhead included; a lone packet always goes.
        bytes: Bytes = Bytes(65_535);
        /// Longest burst, preamble included; a lone packet always goes.
        airtime: Dur = Dur::from_micros(5_484);
        /// Airtime of a burst beside its packets: preamble, SIFS and block ACK.
        preamble: Dur = Dur::from_micros(84);
        /// Added to each packet, from 0 to 255: delimiter, padding, MAC header.
        overhead: u32 = 0 => whole("BYTES", 0..=255, "");
        /// Share one medium with the link's other direction, if that is half-duplex too.
        is_half_duplex: bool = false, name "half-duplex|full-duplex";
    }
    derive choose;
    settle combines;
}

fn read_access(args: &mut Args<'_>) -> Result<(Dur, Dur), GrammarError> {
    let min = args.time()?;
    let max = match args.peek().and_then(Dur::parse_tc) {
        Some(_) => args.time()?,
        None => min,
    };
    if max < min {
        return Err(args.invalid("the longest `access` is below the shortest"));
    }
    Ok((min, max))
}

fn read_mean(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time above zero such as `2ms`", |w| Dur::parse_tc(w).filter(|d| *d > Dur::ZERO))
}

impl Params {
    /// Of two laws that exclude each other, the one that a text states.
    fn choose(&mut self, given: &Given) {
        if given.has("poisson") {
            self.access = None;
        } else if given.has("access") {
            self.poisson = None;
        }
        if given.has("geometric") {
            self.packets = None;
        } else if given.has("packets") {
            self.geometric = None;
        }
    }

    fn combines(&self, given: &Given) -> Result<(), String> {
        for (one, other) in [("access", "poisson"), ("packets", "geometric")] {
            if given.has(one) && given.has(other) {
                return Err(format!("`{one}` and `{other}` exclude each other"));
            }
        }
        self.has_rate()
    }

    fn has_rate(&self) -> Result<(), String> {
        if self.rate == Rate(0) {
            return Err("`rate` is required and above zero".to_owned());
        }
        Ok(())
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let medium = if self.is_half_duplex { env.medium } else { Medium::default() };
        Box::new(Wifi {
            params: *self,
            rng: env.rng,
            medium,
            state: State::Idle,
            is_stalled: false,
            burst: Vec::new(),
            spare: None,
            shell: Shell::new(leaf),
            counters: Counters::default(),
        })
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.is_half_duplex == self.is_half_duplex,
            "`half-duplex` and `full-duplex` need a replace",
        )
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        self.rate = rate;
        self.has_rate()
    }

    fn capacity(&self) -> Option<Rate> {
        Some(self.rate)
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
struct Wifi {
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
    #[inline]
    fn has_packets(&self) -> bool {
        self.spare.is_some() || self.shell.is_waiting()
    }

    /// Begins to wait for access if there is something to send and nothing is under way.
    /// IEEE Std 802.11-2020 10.23: AIFS and backoff.
    fn contend(&mut self, now: Time) {
        if !matches!(self.state, State::Idle) || self.is_stalled || !self.has_packets() {
            return;
        }
        let wait = match (self.params.poisson, self.params.access) {
            (Some(mean), _) => {
                let drawn = -math::ln(1.0 - self.rng.unit()) * mean.0 as f64;
                Dur(drawn.round() as u64)
            }
            (None, access) => {
                let (min, max) = access.unwrap_or_default();
                min + Dur((self.rng.unit() * ((max.0 - min.0) as f64 + 1.0)) as u64)
            }
        };
        let wait = self.medium.wait(now, wait);
        self.state = State::Contending(wait, wait.earliest());
    }

    /// Most packets of the next burst. IEEE Std 802.11-2020 10.12.
    fn most_packets(&mut self) -> u64 {
        match self.params.geometric {
            // The number of trials up to a success of probability 1/mean.
            Some(mean) if mean > 1.0 => {
                let trials = math::ln(1.0 - self.rng.unit()) / math::ln(1.0 - 1.0 / mean);
                1 + trials as u64
            }
            Some(_) => 1,
            None => self.params.packets.unwrap_or(1),
        }
    }

    /// Gathers a burst and puts it on the air.
    /// IEEE Std 802.11-2020 10.12: an A-MPDU ends where packets, bytes or airtime do.
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

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
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
