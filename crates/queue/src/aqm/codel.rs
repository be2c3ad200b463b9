//! `codel`, and CoDel's integer control law for every discipline that uses it. Linux 6.12
//! `codel_impl.h` and `sch_codel`; RFC 8289 describes the algorithm with exact square roots.

use super::control_law::{distance, newton_step};
use super::plain_queue::PlainQueue;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, entry,
    spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::packets;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "codel",
    "Controlled delay: drops or marks when the least sojourn time stays above a target",
    "RFC 8289; Linux 6.12 sch_codel",
    Kernel::Mainline("3.5"),
);

parameters! {
    /// Parameters of `codel`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
    }
    groups { law: LawParams = LawParams::default(); }
}

parameters! {
    /// Parameters of CoDel's control law, in every discipline that uses it.
    #[derive(Copy, PartialEq)]
    pub(super) struct LawParams {
        /// Acceptable standing delay.
        pub(super) target: Dur = Dur::from_millis(5);
        /// How long the delay may stay above the target; a worst-case round-trip time.
        pub(super) interval: Dur = Dur::from_millis(100);
        /// Mark every packet that waited longer.
        pub(super) ce_threshold: Option<Dur> = None;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub(super) ecn: bool = false, name "ecn|noecn";
    }
}

/// Instants are reckoned from a boot this long before the run, so that the zeros of fresh state
/// lie outside the 16 intervals of the control law's memory. A multiple of the 1024 ns unit.
const BOOT_NS: u64 = 1 << 34;

/// The instant in CoDel's wrapping units of 1024 ns.
/// Linux 6.12 `codel_get_time`: a shift instead of a division.
#[inline]
const fn ctime(now: Time) -> u32 {
    (now.0.wrapping_add(BOOT_NS) >> 10) as u32
}

/// A duration in units of 1024 ns, as tc and the kernel round it: whole microseconds first.
const fn units(d: Dur) -> u32 {
    let units = (d.as_micros() * 1000) >> 10;
    if units > 0x7fff_ffff { 0x7fff_ffff } else { units as u32 }
}

/// A threshold as the kernel holds it.
pub(super) const fn rounded(d: Dur) -> Dur {
    Dur((units(d) as u64) << 10)
}

/// `a >= b` on wrapping clocks.
#[inline]
const fn at_or_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// The control law's parameters in its own units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// `(selector, mask)` over the DSCP and ECN byte: who is subject to `ce_threshold`.
    ce_selector: (u8, u8),
    ecn: bool,
    /// No signal while at most this many bytes wait.
    mtu: u32,
    target_units: u32,
    interval_units: u32,
    ce_units: u32,
}

impl Law {
    pub(super) fn new(params: &LawParams, ce_selector: (u8, u8)) -> Self {
        Self {
            ce_selector,
            ecn: params.ecn,
            mtu: PSCHED_MTU,
            target_units: units(params.target),
            interval_units: units(params.interval),
            ce_units: params.ce_threshold.map_or(0x7fff_ffff, units),
        }
    }
}

/// Counters of a discipline, over all its control laws.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) ecn_mark: u64,
    pub(super) ce_mark: u64,
    pub(super) max_packet: u32,
}

/// State of one control law.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    pub(super) count: u32,
    pub(super) last_count: u32,
    pub(super) dropping: bool,
    /// Reciprocal square root of `count`, Q0.16.
    inv_sqrt: u16,
    /// When the delay has been above the target for an interval; 0: it is not.
    first_above: u32,
    drop_next: u32,
    /// Sojourn of the packet seen last.
    ldelay: u32,
}

impl Control {
    /// The next packet to deliver. `pop` takes the oldest packet out of the queue and says how many
    /// bytes then remain.
    /// RFC 8289 5.5; Linux 6.12 `codel_dequeue`. One mark per packet, since a second would say
    /// nothing.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        law: &Law,
        counters: &mut Counters,
        now: Time,
        log: &mut Log,
        mut pop: impl FnMut() -> Option<(Packet, u64)>,
    ) -> Option<Packet> {
        let Some((mut pkt, remaining)) = pop() else {
            (self.first_above, self.dropping) = (0, false);
            return None;
        };
        let now = ctime(now);
        let above = self.is_above(&pkt, remaining, law, counters, now);
        if self.dropping && !above {
            self.dropping = false;
        } else if self.dropping {
            while self.dropping && at_or_after(now, self.drop_next) {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if law.ecn && log.set_ce(&mut pkt, Reason::Codel) {
                    counters.ecn_mark += 1;
                    self.drop_next = self.next_after(self.drop_next, law);
                    break;
                }
                let next = self.replace(&pkt, law, counters, now, log, &mut pop);
                if next.is_some_and(|(_, above)| above) {
                    self.drop_next = self.next_after(self.drop_next, law);
                } else {
                    self.dropping = false;
                }
                pkt = next?.0;
            }
        } else if above {
            let kept = if law.ecn && log.set_ce(&mut pkt, Reason::Codel) {
                counters.ecn_mark += 1;
                Some(pkt)
            } else {
                self.replace(&pkt, law, counters, now, log, &mut pop).map(|(next, _)| next)
            };
            self.enter_dropping(law, now);
            pkt = kept?;
        }
        if self.ldelay.wrapping_sub(law.ce_units) as i32 > 0 {
            let (selector, mask) = law.ce_selector;
            let subject = mask == 0 || pkt.tos & mask == selector;
            if subject && log.set_ce(&mut pkt, Reason::CeThreshold) {
                counters.ce_mark += 1;
            }
        }
        Some(pkt)
    }

    /// Drops `pkt`; gives the packet after it and whether the delay is still too long.
    /// Linux 6.12 `codel_dequeue`.
    fn replace(
        &mut self,
        pkt: &Packet,
        law: &Law,
        counters: &mut Counters,
        now: u32,
        log: &mut Log,
        pop: &mut impl FnMut() -> Option<(Packet, u64)>,
    ) -> Option<(Packet, bool)> {
        log.drop(pkt, Reason::Codel);
        let Some((next, remaining)) = pop() else {
            self.first_above = 0;
            return None;
        };
        let above = self.is_above(&next, remaining, law, counters, now);
        Some((next, above))
    }

    /// Whether the delay has been above the target for more than an interval.
    /// RFC 8289 5.6 (`dodequeue`); Linux 6.12 `codel_should_drop`.
    #[inline]
    fn is_above(
        &mut self,
        pkt: &Packet,
        remaining: u64,
        law: &Law,
        counters: &mut Counters,
        now: u32,
    ) -> bool {
        self.ldelay = now.wrapping_sub(ctime(pkt.stamp));
        counters.max_packet = counters.max_packet.max(pkt.len);
        if (self.ldelay.wrapping_sub(law.target_units) as i32) < 0 || remaining <= law.mtu.into() {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.wrapping_add(law.interval_units);
            return false;
        }
        // DEVIATION: as Linux strictly after; RFC 8289 has `now >= first_above_time`.
        now.wrapping_sub(self.first_above) as i32 > 0
    }

    /// Starts an episode, at the old rate if the last one ended a short time ago.
    /// RFC 8289 5.5; Linux 6.12 `codel_dequeue`: the rate that was found lately is a better start
    /// than 1.
    fn enter_dropping(&mut self, law: &Law, now: u32) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let since = now.wrapping_sub(self.drop_next);
        let recent = (since.wrapping_sub(law.interval_units.wrapping_mul(16)) as i32) < 0;
        if delta > 1 && recent {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.inv_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.next_after(now, law);
    }

    // RFC 8289 5.6 (`control_law`); Linux 6.12 `codel_control_law`.
    #[inline]
    fn next_after(&self, t: u32, law: &Law) -> u32 {
        t.wrapping_add(distance(law.interval_units.into(), u32::from(self.inv_sqrt) << 16) as u32)
    }

    /// One Newton iteration towards `1 / sqrt(count)` in Q0.32, kept in 16 bits.
    /// Linux 6.12 `codel_Newton_step`.
    fn newton_step(&mut self) {
        self.inv_sqrt = (newton_step(u32::from(self.inv_sqrt) << 16, self.count) >> 16) as u16;
    }

    /// Sojourn of the packet seen last.
    pub(super) const fn last_delay(&self) -> Dur {
        Dur((self.ldelay as u64) << 10)
    }

    /// Microseconds from `now` to the next signal, negative if it is overdue; 0 outside episodes.
    pub(super) const fn until_next_us(&self, now: Time) -> i64 {
        if !self.dropping {
            return 0;
        }
        (self.drop_next.wrapping_sub(ctime(now)) as i32 as i64) * 1024 / 1000
    }
}

/// A FIFO under one control law.
#[derive(Debug)]
pub struct Codel {
    params: Params,
    law: Law,
    control: Control,
    counters: Counters,
    queue: PlainQueue,
    drop_overlimit: u64,
    /// The latest instant seen, for statistics.
    clock: Time,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Codel {
            params: *self,
            law: Law::new(&self.law, (0, 0)),
            control: Control::default(),
            counters: Counters::default(),
            queue: PlainQueue::default(),
            drop_overlimit: 0,
            clock: env.now,
        })
    }
}

impl Qdisc for Codel {
    // Linux 6.12 `codel_qdisc_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.queue.waiting().packets >= self.params.limit {
            self.drop_overlimit += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        self.queue.push(now, pkt);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.clock = now;
        let queue = &mut self.queue;
        self.control.dequeue(&self.law, &mut self.counters, now, log, || {
            let pkt = queue.pop()?;
            Some((pkt, queue.backlog.bytes))
        })
    }

    fn peeked(&mut self, held: Backlog) {
        self.queue.peeked = held;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            (self.params, self.law) = (*params, Law::new(&params.law, (0, 0)));
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("count", self.control.count);
        out.put("lastcount", self.control.last_count);
        out.put("ldelay", self.control.last_delay().as_micros() as f64);
        out.put("dropping", u8::from(self.control.dropping));
        out.put("drop_next", self.control.until_next_us(self.clock) as f64);
        out.put("maxpacket", self.counters.max_packet);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
        out.put("drop_overlimit", self.drop_overlimit as f64);
        out.put("ce_mark", self.counters.ce_mark as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("ldelay", "ms", self.control.last_delay().as_millis_f64());
        out.put("count", "1", f64::from(self.control.count));
        out.put("dropping", "1", f64::from(u8::from(self.control.dropping)));
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.control = Control::default();
    }
}

#[cfg(test)]
mod tests;
