//! `quartz`: SCE marks in proportion to the busy time of the queue. Heist 2023, chromi/sce
//! sch_quartz.

use super::plain_queue::PlainQueue;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

const VERSION: Param = Param {
    name: "version",
    value: "early|later",
    default: "later",
    doc: "Build: early holds 25 packets and aims at 5 ms, later 1000 and 10 ms. Not a word of tc.",
};
const FLOOR: Param = Param {
    name: "floor",
    value: "PACKETS",
    default: "0",
    doc: "Packets with which the queue counts as idle; a constant of the kernel module. Not a word of tc.",
};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "quartz",
    summary: "SCE by busy time for DSCP 3, 7 and 11; CE or drop beyond 50 ms",
    reference: "chromi/sce sch_quartz, 2023",
    kernel: Kernel::Tree("chromi/sce"),
    params: &[VERSION, FLOOR],
    build: |args, env| Ok(Box::new(Quartz::parse(args, env)?)),
};

/// How long busy times are weighed before the slope changes.
const INTERVAL_NS: u64 = 100_000_000;
/// Delay beyond which every packet is marked CE or dropped.
const SOJOURN_LIMIT_NS: u64 = 50_000_000;
/// The steepest slope, and the one beyond: every packet is marked.
const STEEPEST: u8 = 112;
const INFINITE: u8 = 255;
/// Random numbers lose this many bits before they are compared with the level.
const RAMP_SHIFT: u32 = 8;

/// Which build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    Early,
    #[default]
    Later,
}

impl Version {
    /// The words, in the order of the variants.
    const WORDS: [&'static str; 2] = ["early", "later"];

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

#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    version: Version,
    floor: u32,
}

impl Settings {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "version" => {
                    self.version =
                        [Version::Early, Version::Later][args.choice(&Version::WORDS)?];
                }
                "floor" => self.floor = args.number(0..=999)? as u32,
                _ => return Err(args.unknown()),
            }
        }
        Ok(self)
    }
}

/// A FIFO whose marking level grows with busy time and delay, at a slope that seeks a mean busy
/// time.
#[derive(Debug)]
pub struct Quartz {
    settings: Settings,
    queue: PlainQueue,
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
    delay: Dur,
}

impl Quartz {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let settings = Settings::default().read(args)?;
        Ok(Self {
            settings,
            queue: PlainQueue { limit: Some(settings.version.limit()), ..PlainQueue::default() },
            rng: env.rng,
            ramp: 0,
            level: 0,
            busy_start: Time::ZERO,
            busy_prior: Time::ZERO,
            interval_end: None,
            over: 0,
            under: 0,
            delay: Dur::ZERO,
        })
    }

    fn open_interval(&mut self, now: Time) {
        self.interval_end = Some(now + Dur(INTERVAL_NS));
        (self.over, self.under) = (0, 0);
    }

    /// Steeper if the queue was busy for too long, or never idle; flatter if too short.
    fn adapt(&mut self, now: Time) {
        if self.over > self.under.saturating_mul(2) || (self.over, self.under) == (0, 0) {
            self.ramp = if self.ramp >= STEEPEST { INFINITE } else { self.ramp + 1 };
        } else if self.under > self.over.saturating_mul(2) {
            self.ramp = if self.ramp == INFINITE { STEEPEST } else { self.ramp.saturating_sub(1) };
        }
        self.open_interval(now);
    }

    /// What `delta` of busy time counts at the present slope.
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

    #[inline]
    fn wants_sce(&mut self, pkt: &Packet) -> bool {
        matches!(pkt.tos >> 2, 3 | 7 | 11)
            && (self.ramp == INFINITE
                || self.level != 0 && self.rng.u64() >> RAMP_SHIFT < self.level)
    }
}

impl Qdisc for Quartz {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let (before, limit) = (self.queue.backlog.packets, self.settings.version.limit());
        if before == self.settings.floor && before < limit {
            (self.busy_start, self.busy_prior) = (now, now);
            if self.interval_end.is_none() {
                self.open_interval(now);
            }
        }
        self.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let waiting = self.queue.backlog.packets;
            if waiting >= self.settings.floor {
                if self.interval_end.is_some_and(|end| now > end) {
                    self.adapt(now);
                }
                let growth = self.weigh(now.since(self.busy_prior)).wrapping_mul(self.delay.0);
                self.level = self.level.saturating_add(growth);
                self.busy_prior = now;
            }
            if self.wants_sce(&pkt) {
                let _ = log.set_sce(&mut pkt, Reason::Sce);
            }
            if waiting == self.settings.floor {
                let busy = now.since(self.busy_start).0;
                let target = self.settings.version.target_ns();
                self.over += busy.saturating_sub(target);
                self.under += target.saturating_sub(busy);
                self.level = 0;
            }
            let too_late = self.delay.0 > SOJOURN_LIMIT_NS;
            if !too_late || log.set_ce(&mut pkt, Reason::CeThreshold) || waiting == 0 {
                return Some(pkt);
            }
            log.drop(&pkt, Reason::CeThreshold);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let new = self.settings.read(args)?;
        if new.version != self.settings.version {
            return Err(args.invalid("`version` is fixed at creation; use replace"));
        }
        self.settings = new;
        Ok(())
    }

    fn describe(&self) -> String {
        let Settings { version, floor } = self.settings;
        format!("quartz version {} floor {floor}", Version::WORDS[version as usize])
    }

    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("ramp", "1", f64::from(self.ramp));
        out.put("level", "1", self.level as f64 / (1_u64 << (64 - RAMP_SHIFT)) as f64);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        (self.level, self.ramp, self.interval_end) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests;
