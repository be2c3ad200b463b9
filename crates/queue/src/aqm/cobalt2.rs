//! COBALT2: a CoDel that marks CE or drops, a CoDel that marks SCE, and a BLUE for both, in the
//! three laws that its SCE part has had. chromi/sce, trees of 2019, 2020 and 2022.

use super::{Log, Reason};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;
use sojourn_core::units::Dur;

/// How the SCE controller schedules its next mark when the delay crosses its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Law {
    /// Entering restarts the schedule, leaving keeps it.
    V2019,
    /// Entering and leaving reflect the distance to the next mark about the present.
    #[default]
    V2020,
    /// Entering and leaving restart the schedule.
    V2022,
}

impl Law {
    /// The words, in the order of the variants.
    pub(super) const WORDS: [&'static str; 3] = ["2019", "2020", "2022"];

    pub(super) const fn from_index(index: usize) -> Self {
        match index {
            0 => Self::V2019,
            1 => Self::V2020,
            _ => Self::V2022,
        }
    }
}

/// Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) law: Law,
    pub(super) ce_interval: u64,
    pub(super) ce_target: u64,
    /// 0: no SCE.
    pub(super) sce_interval: u64,
    pub(super) sce_target: u64,
    pub(super) blue_thresh: u64,
    /// Time of a full frame, for a guard at low rates. The kernel never sets it.
    pub(super) mtu_time: u64,
}

impl Params {
    pub(super) const fn new(law: Law, sce_interval: Dur) -> Self {
        Self {
            law,
            ce_interval: 100_000_000,
            ce_target: 5_000_000,
            sce_interval: sce_interval.0,
            sce_target: 2_500_000,
            blue_thresh: 400_000_000,
            mtu_time: 0,
        }
    }

    pub(super) fn set_rtt(&mut self, rtt: Dur) {
        self.ce_interval = rtt.0.max(1);
        self.blue_thresh = rtt.0.saturating_mul(4).max(1);
    }

    pub(super) fn set_target(&mut self, target: Dur) {
        self.ce_target = target.0.max(1);
        self.sce_target = target.0.div_ceil(2).max(1);
    }

    /// All times divided by five: the low-latency class. An SCE that is off stays off.
    pub(super) fn fifth(&self) -> Self {
        let fifth = |ns: u64| (ns / 5).max(1);
        Self {
            ce_interval: fifth(self.ce_interval),
            ce_target: fifth(self.ce_target),
            sce_interval: if self.sce_interval == 0 { 0 } else { fifth(self.sce_interval) },
            sce_target: fifth(self.sce_target),
            blue_thresh: fifth(self.blue_thresh),
            ..*self
        }
    }
}

/// Steps of BLUE's probability, in units of 2^-32.
const P_INC: u32 = 1 << 24;
const P_DEC: u32 = 1 << 20;

/// One Newton iteration towards `1 / sqrt(count)` in Q0.32.
const fn newton(count: u32, x: u32) -> u32 {
    let x = x as u64;
    let square = (x * x) >> 32;
    let v = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (v.wrapping_mul(x) >> 31) as u32
}

/// Reciprocal square roots of 0 to 15: four iterations each, begun at the entry before.
const CACHE: [u32; 16] = {
    let mut cache = [u32::MAX; 16];
    let (mut i, mut x) = (1, u32::MAX);
    while i < 16 {
        let mut step = 0;
        while step < 4 {
            x = newton(i as u32, x);
            step += 1;
        }
        cache[i] = x;
        i += 1;
    }
    cache
};

#[inline]
fn refreshed(count: u32, x: u32) -> u32 {
    CACHE.get(count as usize).copied().unwrap_or_else(|| newton(count, x))
}

/// `t` plus the distance to the next signal; the interval counts modulo 2^32 ns.
#[inline]
const fn control(t: u64, interval: u64, isqrt: u32) -> u64 {
    t.wrapping_add(((interval as u32 as u64) * (isqrt as u64)) >> 32)
}

/// As [`control`], from the mirror image of `t` about `now`.
#[inline]
const fn reflect(now: u64, t: u64, interval: u64, isqrt: u32) -> u64 {
    control(now.wrapping_mul(2).wrapping_sub(t), interval, isqrt)
}

/// A packet's delay, and the share of the queue that its flow may fairly hold: the delay counts
/// `sojourn * weight.0` against thresholds times `weight.1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// The kernel's clock, which began long before the run.
    pub(super) now: u64,
    pub(super) sojourn: u64,
    pub(super) weight: (u64, u64),
}

impl Judged {
    /// A delay that counts as it is.
    pub(super) const fn plain(now: u64, sojourn: u64) -> Self {
        Self { now, sojourn, weight: (1, 1) }
    }

    #[inline]
    const fn exceeds(&self, threshold: u64) -> bool {
        self.sojourn.wrapping_mul(self.weight.0) > threshold.wrapping_mul(self.weight.1)
    }
}

/// State of one instance. Fresh state is all zero, reciprocal roots too: the first episode over
/// the CE target does not wait for an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cobalt2 {
    pub(super) ce_count: u32,
    ce_isqrt: u32,
    ce_next: u64,
    pub(super) sce_count: u32,
    sce_isqrt: u32,
    pub(super) sce_next: u64,
    blue_timer: u64,
    pub(super) p_drop: u32,
    pub(super) ce_dropping: bool,
    pub(super) sce_dropping: bool,
}

impl Cobalt2 {
    /// Decides over `pkt`, which is leaving: marks it, or says why it should be dropped.
    pub(super) fn should_drop(
        &mut self,
        params: &Params,
        judged: &Judged,
        pkt: &mut Packet,
        rng: &mut Rng,
        log: &mut Log,
    ) -> Option<Reason> {
        if params.sce_interval != 0 {
            self.sce(params, judged, pkt, log);
        }
        let (mut drop, late) = self.ce(params, judged, pkt, log);
        let now = judged.now;
        if judged.exceeds(params.blue_thresh) {
            self.queue_full(params, now);
        }
        if self.p_drop != 0 && rng.u32() < self.p_drop {
            drop = drop.or(Some(Reason::Blue));
        }
        if self.ce_count == 0 {
            self.ce_next = now.wrapping_add(params.ce_interval);
        } else if late && drop.is_none() {
            self.ce_next = now;
        }
        drop
    }

    #[inline]
    fn sce(&mut self, params: &Params, judged: &Judged, pkt: &mut Packet, log: &mut Log) {
        let (now, interval) = (judged.now, params.sce_interval);
        let over = judged.exceeds(params.sce_target) && judged.sojourn > 2 * params.mtu_time;
        let mut due = self.sce_due(now);
        if over != self.sce_dropping {
            if params.law == Law::V2020 && !due {
                self.sce_next = reflect(now, self.sce_next, interval, self.sce_isqrt);
            } else if params.law != Law::V2019 || over {
                self.sce_next = control(now, interval, self.sce_isqrt);
            }
            self.sce_dropping = over;
            if over && params.law != Law::V2019 {
                due = false;
            }
        }
        if over {
            self.sce_count = self.sce_count.max(1);
        }
        if due && over {
            // A packet that cannot carry the mark leaves it pending for the next that can.
            if log.set_sce(pkt, Reason::Sce) {
                self.sce_count = self.sce_count.saturating_add(1);
                self.refresh();
                self.sce_next = control(self.sce_next, interval, self.sce_isqrt);
            }
        } else if due {
            self.decay_sce(params, now);
        }
    }

    /// Why the packet should be dropped, and whether the next signal's time has passed.
    #[inline]
    fn ce(
        &mut self,
        params: &Params,
        judged: &Judged,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> (Option<Reason>, bool) {
        let (now, interval) = (judged.now, params.ce_interval);
        let over = judged.exceeds(params.ce_target) && judged.sojourn > 4 * params.mtu_time;
        let mut due = self.ce_due(now);
        // Whether time has passed is judged before a change of state moves the schedule.
        let mut late = elapsed(now, self.ce_next) > 0;
        if over != self.ce_dropping {
            if params.law != Law::V2019 || over {
                self.ce_next = control(now, interval, self.ce_isqrt);
            }
            self.ce_dropping = over;
            if over && params.law != Law::V2019 {
                due = false;
            }
        }
        if over {
            self.ce_count = self.ce_count.max(1);
        }
        let mut drop = None;
        if due && over {
            if !log.set_ce(pkt, Reason::Codel) {
                drop = Some(Reason::Codel);
            }
            self.ce_count = self.ce_count.saturating_add(1);
            self.refresh();
            self.ce_next = control(self.ce_next, interval, self.ce_isqrt);
            late = elapsed(now, self.ce_next) > 0;
        } else if due {
            self.decay_ce(params, now);
            late = elapsed(now, self.ce_next) > 0;
        }
        (drop, late)
    }

    /// The delay is far beyond what CoDel can hold.
    #[cold]
    fn queue_full(&mut self, params: &Params, now: u64) {
        if elapsed(now, self.blue_timer) > params.ce_target as i64 {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.ce_dropping = true;
        self.ce_next = now;
        self.ce_count = self.ce_count.max(1);
        if params.sce_interval != 0 {
            self.sce_dropping = true;
            self.sce_next = now;
            self.sce_count = self.sce_count.max(1);
        }
    }

    /// Nothing waits any more: all controllers relax.
    pub(super) fn queue_empty(&mut self, params: &Params, now: u64) {
        if self.p_drop != 0 && elapsed(now, self.blue_timer) > params.ce_target as i64 {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.decay_ce(params, now);
        if self.ce_dropping {
            if params.law != Law::V2019 {
                self.ce_next = control(now, params.ce_interval, self.ce_isqrt);
            }
            self.ce_dropping = false;
        }
        self.decay_sce(params, now);
        if self.sce_dropping {
            let (interval, isqrt) = (params.sce_interval, self.sce_isqrt);
            match params.law {
                Law::V2019 => {}
                Law::V2020 => self.sce_next = reflect(now, self.sce_next, interval, isqrt),
                Law::V2022 => self.sce_next = control(now, interval, isqrt),
            }
            self.sce_dropping = false;
        }
    }

    /// Both roots, so that each controller's signals refine the other's.
    fn refresh(&mut self) {
        self.ce_isqrt = refreshed(self.ce_count, self.ce_isqrt);
        self.sce_isqrt = refreshed(self.sce_count, self.sce_isqrt);
    }

    #[inline]
    const fn ce_due(&self, now: u64) -> bool {
        self.ce_count != 0 && elapsed(now, self.ce_next) >= 0
    }

    #[inline]
    const fn sce_due(&self, now: u64) -> bool {
        self.sce_count != 0 && elapsed(now, self.sce_next) >= 0
    }

    #[inline]
    fn decay_ce(&mut self, params: &Params, now: u64) {
        while self.ce_due(now) {
            self.ce_count -= 1;
            self.refresh();
            self.ce_next = control(self.ce_next, params.ce_interval, self.ce_isqrt);
        }
    }

    #[inline]
    fn decay_sce(&mut self, params: &Params, now: u64) {
        while self.sce_due(now) {
            self.sce_count -= 1;
            self.refresh();
            self.sce_next = control(self.sce_next, params.sce_interval, self.sce_isqrt);
        }
    }
}

/// Nanoseconds from `t` to `now`, negative if it is to come.
#[inline]
const fn elapsed(now: u64, t: u64) -> i64 {
    now.wrapping_sub(t) as i64
}

#[cfg(test)]
mod tests;
