//! COBALT2: a CoDel that marks CE or drops, a CoDel that marks SCE, and a BLUE for both, in the
//! three laws that its SCE part has had. chromi/sce, trees of 2019, 2020 and 2022.

use super::cobalt::{P_DEC, P_INC};
use super::control_law::{NEWTON, distance, refreshed};
use super::{Log, Reason};
use sojourn_core::grammar::forms::{Form, custom, maybe, spelled};
use sojourn_core::grammar::{Args, Given};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Dur;
use sojourn_core::{choices, parameters};

choices! {
    /// How the SCE controller schedules its next mark when the delay crosses its target.
    pub(super) enum Version {
        /// Entering restarts the schedule, leaving keeps it.
        V2019 = "2019",
        /// Entering and leaving reflect the distance to the next mark about the present.
        V2020 = "2020",
        /// Entering and leaving restart the schedule.
        V2022 = "2022",
    }
}

parameters! {
    /// Parameters of COBALT2.
    #[derive(Copy, PartialEq)]
    pub(super) struct LawParams {
        /// CE interval; BLUE acts above four times as much delay.
        rtt: Dur = Dur::from_millis(100) => whole_micros();
        /// CE target; SCE's is half.
        target: Dur = Dur::from_millis(5) => whole_micros();
        /// Marks SCE with the CE interval divided by this, 1 to 1024, as SCE interval.
        divisor: Option<u16> = Some(0) => maybe(divisor()), name "sce-thresh";
        /// SCE interval itself.
        sce_interval: Option<Dur> = None, name "sce-interval", tc false;
    }
    also {
        /// `sce` is `sce-thresh 1`, `no-sce` marks none.
        "sce|no-sce" => |law, key, _| {
            law.divisor = Some(u16::from(key == "sce"));
            Ok(())
        };
    }
    begin keep_interval;
    derive prefer_divisor;
}

/// Whole microseconds, as tc hands times to the kernel.
fn whole_micros() -> impl Form<Dur> {
    let read = |args: &mut Args<'_>| Ok(Dur::from_micros(args.time()?.as_micros()).max(Dur(1)));
    custom("TIME", read, Dur::to_string)
}

fn divisor() -> impl Form<u16> {
    let read = |args: &mut Args<'_>| Ok(args.number(1..=1024)? as u16);
    spelled("NUMBER", read, |name, divisor| match divisor {
        0 => "no-sce".to_owned(),
        divisor => format!("{name} {divisor}"),
    })
}

impl LawParams {
    /// With this `sce-thresh`.
    pub(super) fn with_divisor(divisor: u16) -> Self {
        Self { divisor: Some(divisor), ..Self::default() }
    }

    fn interval(&self) -> Dur {
        let divisor = u64::from(self.divisor.unwrap_or(0));
        let divided = || self.rtt.0.checked_div(divisor).map_or(0, |ns| ns.max(1));
        self.sce_interval.unwrap_or_else(|| Dur(divided()))
    }

    /// The kernel knows only the interval, which another round-trip time leaves as it is.
    fn keep_interval(&mut self) {
        self.sce_interval = Some(self.interval());
    }

    /// Whatever the order of the parameters, the round-trip time comes first.
    fn prefer_divisor(&mut self, given: &Given) {
        let is_divided = given.has("sce-thresh") || given.has("sce|no-sce");
        if !is_divided || given.has("sce-interval") {
            let interval = self.interval().0;
            let divisor = self.rtt.0.checked_div(interval).unwrap_or(0);
            let is_exact = self.rtt.0.checked_div(divisor).unwrap_or(0) == interval;
            self.divisor = (divisor <= 1024 && is_exact).then_some(divisor as u16);
        }
        if self.divisor.is_some() {
            self.sce_interval = None;
        }
    }
}

/// The parameters as the law uses them, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) version: Version,
    ce_interval: u64,
    ce_target: u64,
    /// 0: no SCE.
    pub(super) sce_interval: u64,
    sce_target: u64,
    blue_thresh: u64,
    /// Time of a full frame, for a guard at low rates. The kernel never sets it.
    mtu_time: u64,
}

impl Law {
    pub(super) fn new(params: &LawParams, version: Version) -> Self {
        Self {
            version,
            ce_interval: params.rtt.0,
            ce_target: params.target.0,
            sce_interval: params.interval().0,
            sce_target: params.target.0.div_ceil(2),
            blue_thresh: params.rtt.0.saturating_mul(4),
            mtu_time: 0,
        }
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

/// `t` plus the distance to the next signal.
#[inline]
const fn control(t: u64, interval: u64, isqrt: u32) -> u64 {
    t.wrapping_add(distance(interval, isqrt))
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
    /// chromi/sce COBALT2: the order is SCE, CE, BLUE.
    pub(super) fn should_drop(
        &mut self,
        law: &Law,
        judged: &Judged,
        pkt: &mut Packet,
        rng: &mut Rng,
        log: &mut Log,
    ) -> Option<Reason> {
        if law.sce_interval != 0 {
            self.sce(law, judged, pkt, log);
        }
        let (mut drop, late) = self.ce(law, judged, pkt, log);
        let now = judged.now;
        if judged.exceeds(law.blue_thresh) {
            self.queue_full(law, now);
        }
        if self.p_drop != 0 && rng.u32() < self.p_drop {
            drop = drop.or(Some(Reason::Blue));
        }
        if self.ce_count == 0 {
            self.ce_next = now.wrapping_add(law.ce_interval);
        } else if late && drop.is_none() {
            self.ce_next = now;
        }
        drop
    }

    // chromi/sce COBALT2, in the trees of 2019, 2020 and 2022.
    #[inline]
    fn sce(&mut self, law: &Law, judged: &Judged, pkt: &mut Packet, log: &mut Log) {
        let (now, interval) = (judged.now, law.sce_interval);
        let over = judged.exceeds(law.sce_target) && judged.sojourn > 2 * law.mtu_time;
        let mut due = self.sce_due(now);
        // Three builds: 2019 restarts the schedule on entry only, 2020 mirrors what is not due,
        // 2022 restarts both ways.
        if over != self.sce_dropping {
            if law.version == Version::V2020 && !due {
                self.sce_next = reflect(now, self.sce_next, interval, self.sce_isqrt);
            } else if law.version != Version::V2019 || over {
                self.sce_next = control(now, interval, self.sce_isqrt);
            }
            self.sce_dropping = over;
            if over && law.version != Version::V2019 {
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
            self.decay_sce(law, now);
        }
    }

    /// Why the packet should be dropped, and whether the next signal's time has passed.
    /// chromi/sce COBALT2; Linux 6.12 `cobalt_should_drop` is its origin.
    #[inline]
    fn ce(
        &mut self,
        law: &Law,
        judged: &Judged,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> (Option<Reason>, bool) {
        let (now, interval) = (judged.now, law.ce_interval);
        let over = judged.exceeds(law.ce_target) && judged.sojourn > 4 * law.mtu_time;
        let mut due = self.ce_due(now);
        // Whether time has passed is judged before a change of state moves the schedule.
        let mut late = elapsed(now, self.ce_next) > 0;
        // 2020 and 2022 restart the schedule both ways, 2019 on entry only.
        if over != self.ce_dropping {
            if law.version != Version::V2019 || over {
                self.ce_next = control(now, interval, self.ce_isqrt);
            }
            self.ce_dropping = over;
            if over && law.version != Version::V2019 {
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
            self.decay_ce(law, now);
            late = elapsed(now, self.ce_next) > 0;
        }
        (drop, late)
    }

    /// The delay is far beyond what CoDel can hold.
    /// BLUE steps at most once per CE target; chromi/sce COBALT2.
    #[cold]
    fn queue_full(&mut self, law: &Law, now: u64) {
        if elapsed(now, self.blue_timer) > law.ce_target as i64 {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.ce_dropping = true;
        self.ce_next = now;
        self.ce_count = self.ce_count.max(1);
        if law.sce_interval != 0 {
            self.sce_dropping = true;
            self.sce_next = now;
            self.sce_count = self.sce_count.max(1);
        }
    }

    /// Nothing waits any more: all controllers relax. chromi/sce COBALT2.
    pub(super) fn queue_empty(&mut self, law: &Law, now: u64) {
        if self.p_drop != 0 && elapsed(now, self.blue_timer) > law.ce_target as i64 {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.decay_ce(law, now);
        if self.ce_dropping {
            if law.version != Version::V2019 {
                self.ce_next = control(now, law.ce_interval, self.ce_isqrt);
            }
            self.ce_dropping = false;
        }
        self.decay_sce(law, now);
        if self.sce_dropping {
            let (interval, isqrt) = (law.sce_interval, self.sce_isqrt);
            match law.version {
                Version::V2019 => {}
                Version::V2020 => self.sce_next = reflect(now, self.sce_next, interval, isqrt),
                Version::V2022 => self.sce_next = control(now, interval, isqrt),
            }
            self.sce_dropping = false;
        }
    }

    /// Control state for the trace.
    pub(super) fn probe(&self, out: &mut Probe<'_>) {
        out.put("ce_count", "1", f64::from(self.ce_count));
        out.put("sce_count", "1", f64::from(self.sce_count));
        out.put("p_blue", "1", f64::from(self.p_drop) / 4_294_967_296.0);
    }

    /// Both roots, so that each controller's signals refine the other's. chromi/sce COBALT2.
    fn refresh(&mut self) {
        self.ce_isqrt = refreshed(&NEWTON, self.ce_isqrt, self.ce_count);
        self.sce_isqrt = refreshed(&NEWTON, self.sce_isqrt, self.sce_count);
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
    fn decay_ce(&mut self, law: &Law, now: u64) {
        while self.ce_due(now) {
            self.ce_count -= 1;
            self.refresh();
            self.ce_next = control(self.ce_next, law.ce_interval, self.ce_isqrt);
        }
    }

    #[inline]
    fn decay_sce(&mut self, law: &Law, now: u64) {
        while self.sce_due(now) {
            self.sce_count -= 1;
            self.refresh();
            self.sce_next = control(self.sce_next, law.sce_interval, self.sce_isqrt);
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
