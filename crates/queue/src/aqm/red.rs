//! `red`: random early detection over a byte FIFO. Linux 6.12 `sch_red` and `red.h`, with the
//! derivations of iproute2 7.3; Floyd and Jacobson 1993, Adaptive RED 2001, gentle RED 2000;
//! SCE's lower ramp, draft-morton-taht-tsvwg-sce-00.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
use sojourn_core::jiffies::Jiffies;
use sojourn_core::math;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

mod params;

use params::Params;
pub(super) use params::{Curve, default_burst, probability};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "red",
    "Random early detection: signals by the average backlog in bytes",
    "Floyd and Jacobson 1993; Linux 6.12 sch_red",
    Kernel::Mainline("2.2"),
);

/// One percent, Q0.32.
const ONE_PERCENT: u32 = 42_949_673;

/// What the average says about an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Pass,
    Early,
    Forced,
}

/// What a flow of `sfq` has of its own: average, arrivals since the last signal, and the random number that
/// these run against.
#[derive(Clone, Copy, Debug)]
pub(super) struct State(u64, i64, u32);

impl Default for State {
    fn default() -> Self {
        Self(0, -1, 0)
    }
}

/// The averaging and marking law, with its state.
#[derive(Clone, Debug)]
pub(super) struct Law {
    wlog: u32,
    /// Thresholds with `wlog` fraction bits.
    min: u64,
    max: u64,
    delta: u32,
    /// Averages between which Adaptive RED leaves the probability alone, in bytes.
    target: (u64, u64),
    /// Probability at `max`, Q0.32, and per byte above `min`.
    max_p: u32,
    max_p_delta: u32,
    scell_log: u32,
    stab: [u8; 256],
    gentle: bool,
    /// Average backlog with `wlog` fraction bits.
    average: u64,
    /// Arrivals since the last signal; -1 outside the band.
    count: i64,
    /// The random number that `count` runs against.
    threshold: u32,
    idle_since: Option<Time>,
}

impl Law {
    /// For a curve that passes [`Curve::check`].
    pub(super) fn new(curve: &Curve) -> Self {
        let wlog = curve.weight_log();
        let (scell_log, stab) = curve.idle_table(wlog);
        let delta = (curve.max - curve.min).max(1);
        let max_p = (curve.probability * 4_294_967_296.0) as u32;
        let (min, fifth) = (u64::from(curve.min), u64::from(delta / 5));
        Self {
            wlog,
            min: min << wlog,
            max: u64::from(curve.max) << wlog,
            delta,
            target: (min + 2 * fifth, min + 3 * fifth),
            max_p,
            max_p_delta: (max_p / delta).max(1),
            scell_log,
            stab,
            gentle: curve.gentle,
            average: 0,
            count: -1,
            threshold: 0,
            idle_since: None,
        }
    }

    /// The average after the queue has been idle from `since` to `now`.
    /// Linux 6.12 `red_calc_qavg_from_idle_time`; Floyd and Jacobson 1993.
    fn after_idle(&self, since: Time, now: Time) -> u64 {
        let us = now.since(since).as_micros().min(255 << self.scell_log);
        let shift = self.stab[(us >> self.scell_log) as usize & 255];
        if shift > 0 {
            return self.average >> shift;
        }
        let decay = (self.average * us) >> self.scell_log;
        if decay < self.average / 2 { self.average - decay } else { self.average >> 1 }
    }

    /// Takes the sample of an arrival that finds `backlog` bytes. Linux 6.12 `red_calc_qavg`.
    #[inline]
    fn sample(&mut self, now: Time, backlog: u64) {
        match self.idle_since.take() {
            // DEVIATION: as in Linux the arrival that ends an idle period is not sampled.
            Some(since) => self.average = self.after_idle(since, now),
            None => self.average = self.average - (self.average >> self.wlog) + backlog,
        }
    }

    // Linux 6.12 `red_action`.
    #[inline]
    fn action(&mut self, rng: &mut Rng) -> Action {
        if self.average < self.min {
            self.count = -1;
            return Action::Pass;
        }
        let above = self.average >= self.max;
        if above && !(self.gentle && self.average < 2 * self.max) {
            self.count = -1;
            return Action::Forced;
        }
        // Floyd and Jacobson 1993: gaps are spread uniformly, by a random number drawn once per
        // gap.
        self.count += 1;
        if self.count > 0 {
            let hit = if above {
                let rise = u128::from(u32::MAX - self.max_p) * u128::from(self.average - self.max);
                let p = u128::from(self.max_p) + rise / u128::from(self.max);
                let drawn = u64::from(self.threshold) * u64::from(self.max_p_delta);
                p * self.count as u128 >= u128::from(drawn)
            } else {
                ((self.average - self.min) >> self.wlog) * self.count as u64
                    >= u64::from(self.threshold)
            };
            if !hit {
                return Action::Pass;
            }
            self.count = 0;
            self.draw(rng);
            return Action::Early;
        }
        self.draw(rng);
        Action::Pass
    }

    /// Takes the sample of an arrival at a flow that has `bytes`, and has had packets all the time.
    #[inline]
    pub(super) fn sample_flow(&mut self, state: &mut State, bytes: u64) {
        state.0 = state.0 - (state.0 >> self.wlog) + bytes;
    }

    /// What becomes of that arrival.
    #[inline]
    pub(super) fn of_flow(&mut self, state: &mut State, bytes: u64, rng: &mut Rng) -> Action {
        self.sample_flow(state, bytes);
        (self.average, self.count, self.threshold) = (state.0, state.1, state.2);
        let action = self.action(rng);
        *state = State(self.average, self.count, self.threshold);
        action
    }

    /// The average's weight is two to minus this.
    pub(super) const fn weight_log(&self) -> u32 {
        self.wlog
    }

    // Linux 6.12 `red_random`.
    #[inline]
    fn draw(&mut self, rng: &mut Rng) {
        self.threshold = rng.u32() / self.max_p_delta;
    }

    /// Adaptive RED's step, every half second. Linux 6.12 `red_adaptative_algo`; Adaptive RED 2001.
    fn adapt(&mut self, now: Time) {
        let average = self.idle_since.map_or(self.average, |since| self.after_idle(since, now));
        let average = average >> self.wlog;
        // Adaptive RED 2001: slow and additive upwards, multiplicative downwards, between 1 % and
        // 50 %.
        if average > self.target.1 && self.max_p <= 50 * ONE_PERCENT {
            self.max_p += (self.max_p / 4).min(ONE_PERCENT);
        } else if average < self.target.0 && self.max_p >= ONE_PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        let rounded = (u64::from(self.max_p) + u64::from(self.delta / 2)) / u64::from(self.delta);
        self.max_p_delta = (rounded as u32).max(1);
    }
}

/// SCE's ramp over the same average.
#[derive(Clone, Copy, Debug)]
struct SceRamp {
    /// Thresholds with as many fraction bits as the average.
    min: u64,
    max: u64,
    /// Just below `max`, Q0.32 and up to 1.
    max_p: u64,
}

impl SceRamp {
    fn new(params: &Params, wlog: u32) -> Option<Self> {
        let (min, max, probability) = params.sce_ramp()?;
        let max_p = (probability * 4_294_967_296.0) as u64;
        Some(Self { min: u64::from(min) << wlog, max: u64::from(max) << wlog, max_p })
    }

    // DEVIATION: independent draws. RED's uniform gaps would double the rate, which matters where
    // the probability rises to 1.
    // draft-morton-taht-tsvwg-sce-00: a second, lower ramp.
    #[inline]
    fn hits(&self, average: u64, rng: &mut Rng) -> bool {
        average >= self.max
            || average > self.min
                && u64::from(rng.u32()) * (self.max - self.min) < self.max_p * (average - self.min)
    }
}

#[derive(Debug, Default)]
struct Counters {
    prob_drop: u64,
    prob_mark: u64,
    forced_drop: u64,
    forced_mark: u64,
    sce_mark: u64,
    pdrop: u64,
    overlimits: u64,
}

/// The law over a byte FIFO.
#[derive(Debug)]
struct Red {
    law: Law,
    sce: Option<SceRamp>,
    rng: Rng,
    jiffies: Jiffies,
    next_adapt: Time,
    counters: Counters,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Red>::new(*self, env))
    }
}

impl Red {
    /// Idle from `now` on, as after a configuration; Adaptive RED's timer starts anew.
    fn restart(&mut self, params: &Params, now: Time) {
        self.law.idle_since = Some(now);
        self.next_adapt = if params.adaptive {
            self.jiffies.expiry(now, self.jiffies.half_second())
        } else {
            Time::NEVER
        };
    }

    /// Marks `pkt` or says that it is to be dropped. Linux 6.12 `red_enqueue`.
    #[inline]
    fn survives(
        &mut self,
        params: &Params,
        action: Action,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Result<(), Reason> {
        let (reason, may_mark) = match action {
            Action::Pass => return Ok(()),
            Action::Early => (Reason::RedEarly, params.ecn),
            Action::Forced => (Reason::RedForced, params.ecn && !params.harddrop),
        };
        let c = &mut self.counters;
        c.overlimits += 1;
        let (marks, drops) = match action {
            Action::Early => (&mut c.prob_mark, &mut c.prob_drop),
            _ => (&mut c.forced_mark, &mut c.forced_drop),
        };
        if may_mark && log.set_ce(pkt, reason) {
            *marks += 1;
            return Ok(());
        }
        if may_mark && params.nodrop {
            return Ok(());
        }
        *drops += 1;
        Err(reason)
    }
}

impl Judge for Red {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const IS_REPLACED: bool = true;
    // Linux 7.2 `red_peek`: a shaper that looks at each packet first never sees it idle.
    const SHOWS_NEXT: bool = true;

    fn new(params: &Params, env: Env) -> Self {
        let law = Law::new(&params.curve());
        let mut red = Self {
            sce: SceRamp::new(params, law.wlog),
            law,
            rng: env.rng,
            jiffies: Jiffies::new(env.hz),
            next_adapt: Time::NEVER,
            counters: Counters::default(),
        };
        red.restart(params, env.now);
        red
    }

    // Linux 6.12 `red_enqueue`.
    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let (params, waiting) = (&fifo.params, fifo.queue.backlog.bytes);
        self.law.sample(now, waiting);
        let action = self.law.action(&mut self.rng);
        if action != Action::Pass {
            if let Err(reason) = self.survives(params, action, pkt, log) {
                return Some(reason);
            }
        } else if let Some(ramp) = &self.sce
            && ramp.hits(self.law.average, &mut self.rng)
            && log.set_sce(pkt, Reason::Sce)
        {
            self.counters.sce_mark += 1;
        }
        let is_full = waiting + u64::from(pkt.len) > u64::from(params.limit);
        self.counters.pdrop += u64::from(is_full);
        is_full.then_some(Reason::TailLimit)
    }

    #[inline]
    fn idle(&mut self, _params: &Params, now: Time) {
        self.law.idle_since.get_or_insert(now);
    }

    #[inline]
    fn wake(&self) -> Time {
        self.next_adapt
    }

    fn on_wake(&mut self, _fifo: &JudgedQueue<Params>, now: Time) {
        self.law.adapt(now);
        self.next_adapt = self.jiffies.expiry(now, self.jiffies.half_second());
    }

    fn change(&mut self, _from: &Params, to: &Params, now: Time) {
        self.law = Law::new(&to.curve());
        self.sce = SceRamp::new(to, self.law.wlog);
        self.restart(to, now);
    }

    fn stats(&self, params: &Params, out: &mut Stats) {
        let c = &self.counters;
        let (marked, early) = (c.prob_mark + c.forced_mark, c.prob_drop + c.forced_drop);
        out.put("overlimits", c.overlimits as f64);
        out.put("marked", marked as f64);
        out.put("early", early as f64);
        out.put("pdrop", c.pdrop as f64);
        out.put("other", 0);
        out.put("prob_drop", c.prob_drop as f64);
        out.put("prob_mark", c.prob_mark as f64);
        out.put("forced_drop", c.forced_drop as f64);
        out.put("forced_mark", c.forced_mark as f64);
        if let Some((min, max, _)) = params.sce_ramp() {
            out.put("sce_mark", c.sce_mark as f64);
            out.put("sce_min", min);
            out.put("sce_max", max);
        }
        out.put("min", params.min);
        out.put("max", params.max);
        out.put("burst", params.burst);
        out.put("ewma", self.law.wlog);
        out.put("scell_log", self.law.scell_log);
        out.put("probability", f64::from(self.law.max_p) / 4_294_967_296.0);
    }

    fn probe(&self, _fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        out.put("average", "bytes", self.law.average as f64 / math::exp2(f64::from(self.law.wlog)));
        out.put("max_p", "1", f64::from(self.law.max_p) / 4_294_967_296.0);
    }

    fn reset(&mut self) {
        (self.law.average, self.law.count, self.law.idle_since) = (0, -1, None);
    }
}

#[cfg(test)]
mod tests;
