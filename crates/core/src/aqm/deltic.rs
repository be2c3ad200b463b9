//! `deltic`, and the delta-sigma controller of "Delay Time Control" for every discipline that uses
//! it. chromi/sce sch_deltic, 2022, and the core shared by polya and boroshne, 2024.

use std::collections::VecDeque;

use super::sce_shell::LIMIT;
use super::{Backlog, Entry, Kernel, Log, Qdisc, Reason, Stats};
use crate::grammar::{Args, GrammarError, Param};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::{Dur, Time};

pub(super) const SCE_RESONANCE: Param = Param {
    name: "sce-resonance",
    value: "HERTZ",
    default: "200",
    doc: "Frequency of the SCE controller; its target is the period.",
};
pub(super) const ECN_RESONANCE: Param = Param {
    name: "ecn-resonance",
    value: "HERTZ",
    default: "40",
    doc: "Frequency of the CE controller; its target is the period.",
};
pub(super) const DROP_RESONANCE: Param = Param {
    name: "drop-resonance",
    value: "HERTZ",
    default: "8",
    doc: "Frequency of the dropping controller; its target is the period.",
};
pub(super) const OFF: Param = Param {
    name: "no-sce|no-ecn|no-drop",
    value: "",
    default: "all on",
    doc: "Controllers that do not act.",
};

pub(super) const ENTRY: Entry = Entry {
    name: "deltic",
    summary: "Delta-sigma control of the delay by SCE, CE and drops at three frequencies",
    reference: "chromi/sce sch_deltic, 2022",
    kernel: Kernel::Tree("chromi/sce"),
    params: &[LIMIT, SCE_RESONANCE, ECN_RESONANCE, DROP_RESONANCE, OFF],
    build: |args, _| Ok(Box::new(Deltic::parse(args)?)),
};

const SECOND: i64 = 1_000_000_000;

/// The kernel's age at the start of the run. More than a second makes no difference.
const BOOT_NS: u64 = 1 << 40;

/// Version of the controller's arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// Whole hertz; the oscillator counts by the square of the frequency.
    V2022,
    /// The accumulator counts by the frequency, and bleeds when the oscillator falls behind.
    V2024,
}

/// `a * b` of fractions of 10^9.
#[inline]
const fn mul(a: i64, b: i64) -> i64 {
    a.wrapping_mul(b) / SECOND
}

/// One controller: marks at a frequency in proportion to the integral of the delay's excess.
#[derive(Clone, Copy, Debug)]
pub(super) struct Controller {
    acc: i64,
    history: i64,
    timestamp: u64,
    osc: u64,
}

impl Controller {
    const NEW: Self = Self { acc: 0, history: 0, timestamp: 0, osc: 0 };

    /// Whether the packet that leaves at `clock` after `sojourn` ns is marked. `hertz` is in units
    /// of 2^-16, not zero.
    #[inline]
    pub(super) fn step(&mut self, law: Law, hertz: u32, clock: u64, sojourn: i64) -> bool {
        let f = i64::from(hertz);
        let target = (SECOND << 16) / f;
        let mut dt = clock.wrapping_sub(self.timestamp) as i64;
        if dt > SECOND {
            if sojourn < target {
                (dt, self.acc) = (0, 0);
            } else {
                dt = SECOND;
            }
        }
        let error = (sojourn - self.history).wrapping_add(mul(sojourn - target, dt));
        self.history = sojourn;
        self.timestamp = clock;
        let growth = match law {
            Law::V2022 => {
                self.acc = self.acc.wrapping_add(error);
                let whole = f >> 16;
                mul(self.acc, dt).wrapping_mul(whole * whole)
            }
            Law::V2024 => {
                self.acc = self.acc.wrapping_add(error.wrapping_mul(f) >> 16);
                mul(self.acc, dt).wrapping_mul(f) >> 16
            }
        };
        if self.acc < 0 {
            (self.acc, self.osc) = (0, 0);
            return false;
        }
        if 2 * sojourn < target {
            return false;
        }
        self.osc = self.osc.wrapping_add(growth as u64);
        let marks = self.osc >= SECOND as u64;
        if marks {
            self.osc -= SECOND as u64;
            if law == Law::V2024 && self.osc > SECOND as u64 {
                self.acc -= self.acc >> 4;
            }
        }
        marks
    }
}

/// Frequencies of the three controllers in units of 2^-16 Hz; zero is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resonances {
    pub(super) sce: u32,
    pub(super) ecn: u32,
    pub(super) drop: u32,
}

impl Resonances {
    pub(super) const fn new() -> Self {
        Self { sce: 200 << 16, ecn: 40 << 16, drop: 8 << 16 }
    }

    /// Reads one of the frequencies' words; false if it is none. `whole` hertz only, or fractions.
    pub(super) fn read(
        &mut self,
        whole: bool,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        let mut hertz = || -> Result<u32, GrammarError> {
            if whole {
                return Ok((args.number(1..=10_000)? as u32) << 16);
            }
            Ok((args.decimal(0.01..=10_000.0)? * 65_536.0).round() as u32)
        };
        match key {
            "sce-resonance" => self.sce = hertz()?,
            "ecn-resonance" => self.ecn = hertz()?,
            "drop-resonance" => self.drop = hertz()?,
            "no-sce" => self.sce = 0,
            "no-ecn" => self.ecn = 0,
            "no-drop" => self.drop = 0,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn describe(&self) -> String {
        let words = [("sce", self.sce), ("ecn", self.ecn), ("drop", self.drop)];
        let words = words.map(|(name, f)| match f {
            0 => format!("no-{name}"),
            f => format!("{name}-resonance {}", f64::from(f) / 65_536.0),
        });
        words.join(" ")
    }
}

/// What the three controllers say of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) sce: bool,
    pub(super) ecn: bool,
    pub(super) drop: bool,
}

/// The three controllers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trio {
    pub(super) sce: Controller,
    pub(super) ecn: Controller,
    pub(super) drop: Controller,
}

impl Trio {
    pub(super) const NEW: Self =
        Self { sce: Controller::NEW, ecn: Controller::NEW, drop: Controller::NEW };

    #[inline]
    pub(super) fn judge(&mut self, law: Law, f: &Resonances, now: Time, sojourn: Dur) -> Verdict {
        let clock = now.0.wrapping_add(BOOT_NS);
        let step = |controller: &mut Controller, hertz| {
            hertz != 0 && controller.step(law, hertz, clock, sojourn.0 as i64)
        };
        Verdict {
            sce: step(&mut self.sce, f.sce),
            ecn: step(&mut self.ecn, f.ecn),
            drop: step(&mut self.drop, f.drop),
        }
    }

    /// The accumulators, for the trace: fractions of the resonance at which each marks.
    pub(super) fn probe(&self, law: Law, f: &Resonances, out: &mut Probe<'_>) {
        let level = |acc: i64, hertz: u32| {
            let scale = if law == Law::V2022 { f64::from(hertz) / 65_536.0 } else { 1.0 };
            acc as f64 * scale / SECOND as f64
        };
        out.put("sce_level", "1", level(self.sce.acc, f.sce));
        out.put("ecn_level", "1", level(self.ecn.acc, f.ecn));
        out.put("drop_level", "1", level(self.drop.acc, f.drop));
    }
}

/// A FIFO that can be limited.
#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    pub(super) limit: Option<u32>,
    pub(super) packets: VecDeque<Packet>,
    pub(super) backlog: Backlog,
}

impl PlainQueue {
    #[inline]
    pub(super) fn push(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.limit.is_some_and(|limit| self.backlog.packets >= limit) {
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.packets.push_back(pkt);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let pkt = self.packets.pop_front()?;
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    pub(super) fn purge(&mut self, log: &mut Log) {
        for pkt in self.packets.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }

    pub(super) fn describe(&self) -> String {
        self.limit.map_or_else(String::new, |limit| format!("limit {limit}p "))
    }
}

/// The words of a FIFO under three controllers: its limit and frequencies.
pub(super) fn read(
    mut limit: Option<u32>,
    mut f: Resonances,
    whole: bool,
    args: &mut Args<'_>,
) -> Result<(Option<u32>, Resonances), GrammarError> {
    while let Some(key) = args.key() {
        if key == "limit" {
            limit = Some(args.number(1..=u64::from(u32::MAX))? as u32);
        } else if !f.read(whole, key, args)? {
            return Err(args.unknown());
        }
    }
    Ok((limit, f))
}

/// A FIFO under three controllers.
#[derive(Debug)]
pub struct Deltic {
    resonances: Resonances,
    queue: PlainQueue,
    trio: Trio,
    delay: Dur,
}

impl Deltic {
    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let (limit, resonances) = read(None, Resonances::new(), true, args)?;
        let queue = PlainQueue { limit, ..PlainQueue::default() };
        Ok(Self { resonances, queue, trio: Trio::NEW, delay: Dur::ZERO })
    }
}

impl Qdisc for Deltic {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let verdict = self.trio.judge(Law::V2022, &self.resonances, now, self.delay);
            if verdict.sce {
                let _ = log.set_sce(&mut pkt, Reason::Sce);
            }
            let unmarkable = verdict.ecn && !log.set_ce(&mut pkt, Reason::Deltic);
            if !unmarkable && !verdict.drop {
                return Some(pkt);
            }
            log.drop(&pkt, Reason::Deltic);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, args: &mut Args<'_>) -> Result<(), GrammarError> {
        (self.queue.limit, self.resonances) = read(self.queue.limit, self.resonances, true, args)?;
        Ok(())
    }

    fn describe(&self) -> String {
        format!("deltic {}{}", self.queue.describe(), self.resonances.describe())
    }

    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        self.trio.probe(Law::V2022, &self.resonances, out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.trio = Trio::NEW;
    }
}

#[cfg(test)]
mod tests;
