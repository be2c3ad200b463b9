//! The delta-sigma controller of "Delay Time Control", for every discipline that uses it.
//! chromi/sce sch_deltic, 2022 to 2024, and net/deltic.h, 2024.

use sojourn_core::grammar::Args;
use sojourn_core::grammar::forms::{Form, OneOf, custom, or_off};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

parameters! {
    /// Frequencies of the three controllers in units of 2^-16 Hz.
    #[derive(Copy, PartialEq, Eq)]
    pub(in super::super) struct Resonances {
        /// Frequency of the SCE controller; its target is the period.
        pub(in super::super) sce: Option<u32> = Some(200 << 16) => or_off(hertz(), "no-sce"),
            name "sce-resonance";
        /// Frequency of the CE controller; its target is the period.
        pub(in super::super) ecn: Option<u32> = Some(40 << 16) => or_off(hertz(), "no-ecn"),
            name "ecn-resonance";
        /// Frequency of the dropping controller; its target is the period.
        pub(in super::super) drop: Option<u32> = Some(8 << 16) => or_off(hertz(), "no-drop"),
            name "drop-resonance";
    }
    also {
        /// Controllers that do not act.
        "no-sce|no-ecn|no-drop" => |resonances, key, _| {
            match key {
                "no-sce" => resonances.sce = None,
                "no-ecn" => resonances.ecn = None,
                _ => resonances.drop = None,
            }
            Ok(())
        };
    }
}

fn hertz() -> impl Form<u32> {
    let read = |args: &mut Args<'_>| Ok((args.decimal(0.01..=10_000.0)? * 65_536.0).round() as u32);
    custom("HERTZ", read, |hertz| (f64::from(*hertz) / 65_536.0).to_string())
}

const SECOND: i64 = 1_000_000_000;

/// The kernel's age at the start of the run. More than a second makes no difference.
const BOOT_NS: u64 = 1 << 40;

choices! {
    /// Version of the controller's arithmetic.
    #[derive(PartialOrd)]
    pub(in super::super) enum Law {
        /// Whole hertz; the oscillator counts by the square of the frequency.
        V2022 = "2022",
        /// The excess, but not the change of the delay, counts by the frequency; the accumulator
        /// bleeds when the oscillator falls behind.
        V2023a = "2023a",
        /// The accumulator as a whole counts by the frequency, and so does the oscillator.
        V2024a = "2024a",
        /// The same in fractions of a hertz.
        V2024 = "2024",
    }
}

impl Law {
    /// Those that take the corrected delay.
    pub(in super::super) fn since_2024() -> OneOf<Self> {
        OneOf { value: "2024a|2024", all: &Self::ALL[2..] }
    }
}

/// `a * b` of fractions of 10^9.
#[inline]
const fn mul(a: i64, b: i64) -> i64 {
    a.wrapping_mul(b) / SECOND
}

/// One controller: marks at a frequency in proportion to the integral of the delay's excess.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Controller {
    acc: i64,
    history: i64,
    timestamp: u64,
    osc: u64,
}

impl Controller {
    const NEW: Self = Self { acc: 0, history: 0, timestamp: 0, osc: 0 };

    /// Whether the packet that leaves at `clock` after `sojourn` ns is marked. `hertz` is in units
    /// of 2^-16, not zero. chromi/sce sch_deltic of 2022 to 2024, net/deltic.h.
    #[inline]
    pub(in super::super) fn step(
        &mut self,
        law: Law,
        hertz: u32,
        clock: u64,
        sojourn: i64,
    ) -> bool {
        let f = i64::from(hertz);
        let target = (SECOND << 16) / f;
        let mut dt = clock.wrapping_sub(self.timestamp) as i64;
        // A step is at most a second; after an idle time without delay nothing is carried over.
        if dt > SECOND {
            if sojourn < target {
                (dt, self.acc) = (0, 0);
            } else {
                dt = SECOND;
            }
        }
        let (delta, sigma) = (sojourn - self.history, mul(sojourn - target, dt));
        self.history = sojourn;
        self.timestamp = clock;
        let whole = f >> 16;
        self.acc = self.acc.wrapping_add(match law {
            Law::V2022 => delta + sigma,
            Law::V2023a => sigma.wrapping_mul(whole).wrapping_add(delta),
            Law::V2024a => (delta + sigma).wrapping_mul(whole),
            Law::V2024 => (delta + sigma).wrapping_mul(f) >> 16,
        });
        let phase = mul(self.acc, dt);
        let growth = match law {
            Law::V2022 | Law::V2023a => phase.wrapping_mul(whole * whole),
            Law::V2024a => phase.wrapping_mul(whole),
            Law::V2024 => phase.wrapping_mul(f) >> 16,
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
            if law >= Law::V2023a && self.osc > SECOND as u64 {
                self.acc -= self.acc >> 4;
            }
        }
        marks
    }
}

impl Resonances {
    /// Refuses frequencies with which the arithmetic of `law` cannot count.
    pub(in super::super) fn check(&self, law: Law) -> Result<(), String> {
        let fractional = [self.sce, self.ecn, self.drop].iter().flatten().any(|f| f & 0xFFFF != 0);
        if fractional && law < Law::V2024 {
            return Err(format!("`version {}` takes whole hertz only", law.text()));
        }
        Ok(())
    }
}

/// The three controllers' decisions on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Verdict {
    pub(in super::super) sce: bool,
    pub(in super::super) ecn: bool,
    pub(in super::super) drop: bool,
}

/// The three controllers.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Trio {
    pub(in super::super) sce: Controller,
    pub(in super::super) ecn: Controller,
    pub(in super::super) drop: Controller,
}

impl Trio {
    pub(in super::super) const NEW: Self =
        Self { sce: Controller::NEW, ecn: Controller::NEW, drop: Controller::NEW };

    #[inline]
    pub(in super::super) fn judge(
        &mut self,
        law: Law,
        f: &Resonances,
        now: Time,
        sojourn: Dur,
    ) -> Verdict {
        let clock = now.0.wrapping_add(BOOT_NS);
        let step = |controller: &mut Controller, hertz: Option<u32>| {
            hertz.is_some_and(|hertz| controller.step(law, hertz, clock, sojourn.0 as i64))
        };
        Verdict {
            sce: step(&mut self.sce, f.sce),
            ecn: step(&mut self.ecn, f.ecn),
            drop: step(&mut self.drop, f.drop),
        }
    }

    /// The accumulators, for the trace: fractions of the resonance at which each marks.
    pub(in super::super) fn probe(&self, law: Law, f: &Resonances, out: &mut Probe<'_>) {
        let level = |acc: i64, hertz: Option<u32>| {
            let hertz = f64::from(hertz.unwrap_or(0)) / 65_536.0;
            let scale = if law < Law::V2024a { hertz } else { 1.0 };
            acc as f64 * scale / SECOND as f64
        };
        out.put("sce_level", "1", level(self.sce.acc, f.sce));
        out.put("ecn_level", "1", level(self.ecn.acc, f.ecn));
        out.put("drop_level", "1", level(self.drop.acc, f.drop));
    }
}

#[cfg(test)]
mod tests;
