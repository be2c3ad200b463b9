//! `quartz`: SCE marks in proportion to the busy time of the queue. Heist 2023, chromi/sce
//! sch_quartz.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, accepts, entry};
use sojourn_core::grammar::forms::whole;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "quartz",
    "SCE by busy time for DSCP 3, 7 and 11; CE or drop beyond 50 ms",
    "chromi/sce sch_quartz, 2023",
    Kernel::Tree("chromi/sce"),
);

choices! {
    /// Which build.
    enum Version {
        Early = "early",
        Later = "later",
    }
}

parameters! {
    /// Parameters of `quartz`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Build: early holds 25 packets and aims at 5 ms, later 1000 and 10 ms.
        version: Version = Version::Later, tc false;
        /// Packets with which the queue counts as idle; a constant of the kernel module.
        floor: u32 = 0 => whole("PACKETS", 0..=999, ""), tc false;
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Quartz>::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.version == self.version,
            "`version` is fixed at creation; use replace",
        )
    }
}

/// How long busy times are weighed before the slope changes.
const INTERVAL_NS: u64 = 100_000_000;
/// Delay beyond which every packet is marked CE or dropped.
const SOJOURN_LIMIT_NS: u64 = 50_000_000;
/// The steepest slope, and the one beyond: every packet is marked.
const STEEPEST: u8 = 112;
const INFINITE: u8 = 255;
/// Random numbers lose this many bits before they are compared with the level.
const RAMP_SHIFT: u32 = 8;

impl Version {
    const fn limit(self) -> u32 {
        match self {
            Self::Early => 25,
            Self::Later => 1000,
        }
    }

    /// Busy time that is neither too long nor too short, in nanoseconds.
    const fn target_ns(self) -> u64 {
        match self {
            Self::Early => 5_000_000,
            Self::Later => 10_000_000,
        }
    }
}

/// A marking level that grows with busy time and delay, at a slope that seeks a mean busy time.
#[derive(Debug)]
struct Quartz {
    rng: Rng,
    /// The slope in half octaves.
    ramp: u8,
    level: u64,
    busy_start: Time,
    /// When the level was last raised.
    busy_prior: Time,
    /// Absent before the first packet.
    interval_end: Option<Time>,
    /// Busy time beyond the target, and short of it, in this interval.
    over: u64,
    under: u64,
}

impl Quartz {
    fn open_interval(&mut self, now: Time) {
        self.interval_end = Some(now + Dur(INTERVAL_NS));
        (self.over, self.under) = (0, 0);
    }

    /// Steeper if the queue was busy for too long, or never idle; flatter if too short.
    /// chromi/sce sch_quartz.
    fn adapt(&mut self, now: Time) {
        if self.over > self.under.saturating_mul(2) || (self.over, self.under) == (0, 0) {
            self.ramp = if self.ramp >= STEEPEST { INFINITE } else { self.ramp + 1 };
        } else if self.under > self.over.saturating_mul(2) {
            self.ramp = if self.ramp == INFINITE { STEEPEST } else { self.ramp.saturating_sub(1) };
        }
        self.open_interval(now);
    }

    /// What `delta` of busy time counts at the present slope.
    /// chromi/sce sch_quartz: half octaves by adding half of the lower octave.
    #[inline]
    const fn weigh(&self, delta: Dur) -> u64 {
        if delta.0 == 0 {
            return 0;
        }
        if self.ramp == INFINITE {
            return u64::MAX;
        }
        let octaves = delta.0.wrapping_shl(self.ramp as u32 >> 1);
        if self.ramp & 1 == 0 { octaves.wrapping_sub(delta.0 >> 1) } else { octaves }
    }

    // chromi/sce sch_quartz.
    #[inline]
    fn wants_sce(&mut self, pkt: &Packet) -> bool {
        matches!(pkt.tos >> 2, 3 | 7 | 11)
            && (self.ramp == INFINITE
                || self.level != 0 && self.rng.u64() >> RAMP_SHIFT < self.level)
    }
}

impl Judge for Quartz {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(_params: &Params, env: Env) -> Self {
        Self {
            rng: env.rng,
            ramp: 0,
            level: 0,
            busy_start: Time::ZERO,
            busy_prior: Time::ZERO,
            interval_end: None,
            over: 0,
            under: 0,
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        let (before, limit) = (fifo.queue.backlog.packets, fifo.params.version.limit());
        if before == fifo.params.floor && before < limit {
            (self.busy_start, self.busy_prior) = (now, now);
            if self.interval_end.is_none() {
                self.open_interval(now);
            }
        }
        fifo.overflow(Some(limit))
    }

    // chromi/sce sch_quartz.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let Params { version, floor } = fifo.params;
        let waiting = fifo.queue.backlog.packets;
        if waiting >= floor {
            if self.interval_end.is_some_and(|end| now > end) {
                self.adapt(now);
            }
            let growth = self.weigh(now.since(self.busy_prior)).wrapping_mul(fifo.delay.0);
            self.level = self.level.saturating_add(growth);
            self.busy_prior = now;
        }
        if self.wants_sce(pkt) {
            let _ = log.set_sce(pkt, Reason::Sce);
        }
        if waiting == floor {
            let (busy, target) = (now.since(self.busy_start).0, version.target_ns());
            self.over += busy.saturating_sub(target);
            self.under += target.saturating_sub(busy);
            self.level = 0;
        }
        let too_late = fifo.delay.0 > SOJOURN_LIMIT_NS;
        let drop = too_late && !log.set_ce(pkt, Reason::CeThreshold) && waiting > 0;
        drop.then_some(Reason::CeThreshold)
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        out.put("ramp", "1", f64::from(self.ramp));
        out.put("level", "1", self.level as f64 / (1_u64 << (64 - RAMP_SHIFT)) as f64);
    }

    fn reset(&mut self) {
        (self.level, self.ramp, self.interval_end) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests;
