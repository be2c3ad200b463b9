//! BBRv3 (and, by its [`Profile`], v2): the model of v1 with bounds. Probing for bandwidth learns
//! how much flight the path bears before 2 % of it is lost or half of it marked (`inflight_hi`);
//! congestion outside a probe sets short-term bounds (`bw_lo`, `inflight_lo`) until the next one.
//! Facts: `cc.md` 3.8, 3.13.6 (google/bbr 001a430b), draft-ietf-ccwg-bbr.

use super::model::{
    Aggregation, Bw, Conservation, FULL_BW_GROWTH, FULL_BW_ROUNDS, MIN_CWND, MIN_RTT_AGE,
    PROBE_RTT_TIME, Rounds, SCALE, UNIT, in_flight_at_departure, saved_cwnd, tso_goal,
    tso_segments,
};
use crate::cc::{
    Ack, Controller, Feedback, Lost, Needs, Output, Path, RateSample, State, StateChange, Window,
};
use crate::ecn::Ecn;
use crate::probe::Probe;
use crate::rng::Rng;
use crate::units::{Dur, Rate, Time};

/// Which procedure a version follows where they differ in more than a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    V2,
    V3,
}

/// Constants of a version, gains in 1/256.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) startup_pacing: u32,
    pub(super) startup_cwnd: u32,
    pub(super) down_pacing: u32,
    pub(super) up_cwnd: u32,
    /// ACKs with losses in a round that end STARTUP.
    pub(super) startup_losses: u32,
    /// Share of `inflight_hi` from which marks without losses let a probe restart; 0 never.
    pub(super) ecn_reprobe: u32,
    pub(super) rules: Rules,
}

pub(super) const PROFILE: Profile = Profile {
    name: "v3",
    startup_pacing: UNIT * 277 / 100 + 1,
    startup_cwnd: 2 * UNIT,
    down_pacing: UNIT * 91 / 100,
    up_cwnd: 2 * UNIT + UNIT / 4,
    startup_losses: 6,
    ecn_reprobe: UNIT / 2,
    rules: Rules::V3,
};

const DRAIN_PACING: u32 = UNIT * 1000 / 2885;
const UP_PACING: u32 = UNIT * 5 / 4;
const CWND_GAIN: u32 = 2 * UNIT;
/// What a cut takes away, 0.3.
const BETA: u32 = UNIT * 30 / 100;
/// Share of a flight whose loss is too much, 2 %.
const LOSS_LIMIT: u32 = UNIT * 2 / 100;
/// Share of `inflight_hi` left to others, 15 %.
const HEADROOM: u32 = UNIT * 15 / 100;
/// Marked share that is too much.
const ECN_LIMIT: u32 = UNIT / 2;
/// What a fully marked round takes from `inflight_lo`, a third.
const ECN_FACTOR: u32 = UNIT / 3;
/// Gain of `ecn_alpha`, 1/16.
const ECN_GAIN: u32 = UNIT / 16;
/// Largest minimum RTT at which marks are shallow enough to count.
const ECN_MAX_RTT: Dur = Dur::from_millis(5);
/// Rounds of heavy marking that end STARTUP.
const ECN_STARTUP_ROUNDS: u32 = 2;
const PROBE_RTT_GAIN: u32 = UNIT / 2;
const PROBE_RTT_PERIOD: Dur = Dur::from_secs(5);
/// Time between probes, plus up to [`PROBE_WAIT_RANDOM_MS`].
const PROBE_WAIT: Dur = Dur::from_secs(2);
const PROBE_WAIT_RANDOM_MS: u32 = 1000;
/// Most rounds between probes, so that Reno flows get what they would among themselves.
const PROBE_ROUNDS: u32 = 63;
const MAX_UP_ROUNDS: u32 = 30;
const MIN_TSO_SEGMENTS: u32 = 2;
const GSO_MAX_SIZE: u64 = 65_536;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Where the ACKs stand in a probe: they answer what was sent a round trip ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// Bounds before the last reduction.
#[derive(Clone, Copy, Debug)]
struct Undo {
    bw_lo: Bw,
    inflight_lo: u32,
    inflight_hi: u32,
}

#[derive(Debug)]
pub(super) struct V3 {
    profile: Profile,
    /// The route is known for shallow ECN marks.
    ecn: bool,
    rng: Rng,
    mode: Mode,
    rounds: Rounds,
    /// Largest samples of the previous and the running probe cycle.
    bw_hi: [Bw; 2],
    bw_lo: Bw,
    inflight_hi: u32,
    inflight_lo: u32,
    bw_latest: Bw,
    inflight_latest: u32,
    full_bw: Bw,
    full_bw_count: u32,
    full_bw_now: bool,
    full_pipe: bool,
    /// Delivered count that ends the running round of loss signals.
    loss_round_end: u64,
    loss_round_started: bool,
    loss_in_round: bool,
    loss_events: u32,
    ecn_in_round: bool,
    loss_in_cycle: bool,
    ecn_in_cycle: bool,
    ecn_usable: bool,
    ecn_eligible: bool,
    ecn_alpha: u32,
    ecn_startup_rounds: u32,
    /// Running totals when the round of `ecn_alpha` began.
    alpha_delivered: u64,
    alpha_ce: u64,
    /// Samples of a probe are still arriving.
    probe_samples: bool,
    probe_too_high: bool,
    stopped_risky_probe: bool,
    up_rounds: u32,
    /// ACKed segments per segment that `inflight_hi` grows.
    up_count: u32,
    up_acked: u32,
    rounds_since_probe: u32,
    probe_wait: Dur,
    cycle_stamp: Time,
    ack_phase: AckPhase,
    min_rtt: Dur,
    min_rtt_stamp: Time,
    probe_rtt_min: Dur,
    probe_rtt_min_stamp: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    previous_state: State,
    conservation: Conservation,
    prior_cwnd: u32,
    undo: Undo,
    aggregation: Aggregation,
    initial_cwnd: u32,
    seen_rtt: bool,
    delivered: u64,
    mss: u32,
    pacing_gain: u32,
    cwnd_gain: u32,
    pacing: Rate,
}

impl V3 {
    pub(super) fn new(profile: Profile, ecn: bool) -> Self {
        Self {
            profile,
            ecn,
            rng: Rng::named(0, "bbr"),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bw_hi: [Bw(0); 2],
            bw_lo: Bw::MAX,
            inflight_hi: NONE,
            inflight_lo: NONE,
            bw_latest: Bw(0),
            inflight_latest: 0,
            full_bw: Bw(0),
            full_bw_count: 0,
            full_bw_now: false,
            full_pipe: false,
            loss_round_end: 1,
            loss_round_started: false,
            loss_in_round: false,
            loss_events: 0,
            ecn_in_round: false,
            loss_in_cycle: false,
            ecn_in_cycle: false,
            ecn_usable: false,
            ecn_eligible: false,
            ecn_alpha: UNIT,
            ecn_startup_rounds: 0,
            alpha_delivered: 0,
            alpha_ce: 0,
            probe_samples: false,
            probe_too_high: false,
            stopped_risky_probe: false,
            up_rounds: 0,
            up_count: NONE,
            up_acked: 0,
            rounds_since_probe: 0,
            probe_wait: Dur::ZERO,
            cycle_stamp: Time::ZERO,
            ack_phase: AckPhase::Init,
            min_rtt: Dur::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min: Dur::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            previous_state: State::Open,
            conservation: Conservation::default(),
            prior_cwnd: 0,
            undo: Undo { bw_lo: Bw::MAX, inflight_lo: NONE, inflight_hi: NONE },
            aggregation: Aggregation::default(),
            initial_cwnd: 10,
            seen_rtt: false,
            delivered: 0,
            mss: 0,
            pacing_gain: profile.startup_pacing,
            cwnd_gain: profile.startup_cwnd,
            pacing: Rate(u64::MAX),
        }
    }

    // ---- quantities -------------------------------------------------------------------------

    fn max_bw(&self) -> Bw {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    fn bw(&self) -> Bw {
        self.max_bw().min(self.bw_lo)
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// What is lost or marked now is the price of the question.
    fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    fn bdp(&self, bw: Bw, gain: u32) -> u32 {
        if self.min_rtt == Dur::MAX { self.initial_cwnd } else { bw.bdp(self.min_rtt, gain) }
    }

    /// Segments of a burst: a millisecond, and more on a short path.
    fn burst(&self) -> u32 {
        let shift = self.min_rtt.as_micros() >> 9;
        let extra = if shift < 32 { GSO_MAX_SIZE >> shift } else { 0 };
        tso_segments(self.pacing, extra, self.mss, MIN_TSO_SEGMENTS)
    }

    /// Room for bursts at both ends, and for the probe to be seen.
    fn quantized(&self, cwnd: u32) -> u32 {
        cwnd.max(3 * tso_goal(self.burst())).max(MIN_CWND)
            + if self.mode == Mode::Up { 2 } else { 0 }
    }

    fn inflight(&self, bw: Bw, gain: u32) -> u32 {
        self.quantized(self.bdp(bw, gain))
    }

    fn in_flight_at_departure(&self, now: Time, path: &Path, in_flight: u32) -> u32 {
        let burst = (self.pacing_gain > UNIT).then(|| tso_goal(self.burst()));
        in_flight_at_departure(now, path, in_flight, self.bw(), burst)
    }

    fn target_inflight(&self, win: &Window) -> u32 {
        self.inflight(self.bw(), UNIT).min(win.cwnd)
    }

    /// `inflight_hi` less what is left to others.
    fn with_headroom(&self) -> u32 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = share(self.inflight_hi, HEADROOM).max(1);
        self.inflight_hi.saturating_sub(headroom).max(MIN_CWND)
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), PROBE_RTT_GAIN).max(MIN_CWND)
    }

    // ---- signals ----------------------------------------------------------------------------

    fn update_ecn_alpha(&mut self, path: &Path, win: &mut Window) {
        if !self.ecn_eligible && self.ecn_usable && self.min_rtt <= ECN_MAX_RTT {
            self.ecn_eligible = true;
        }
        if !self.ecn_eligible {
            return;
        }
        let delivered = path.delivered - self.alpha_delivered;
        let ce = path.delivered_ce - self.alpha_ce;
        if delivered == 0 {
            return;
        }
        let ratio = ((ce << SCALE) / delivered) as u32;
        self.ecn_alpha = next_alpha(self.ecn_alpha, ratio);
        self.alpha_delivered = path.delivered;
        self.alpha_ce = path.delivered_ce;
        if self.full_pipe {
            return;
        }
        self.ecn_startup_rounds = if ratio >= ECN_LIMIT { self.ecn_startup_rounds + 1 } else { 0 };
        if self.ecn_startup_rounds >= ECN_STARTUP_ROUNDS {
            self.queue_too_high_in_startup(win);
        }
    }

    fn update_latest(&mut self, ack: &Ack<'_>, bw: Bw) {
        self.loss_round_started = false;
        let Some(sample) = ack.rate.filter(|_| ack.delivered() > 0) else { return };
        self.bw_latest = self.bw_latest.max(bw);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_started = true;
        }
    }

    fn advance_latest(&mut self, sample: Option<&RateSample>, bw: Bw) {
        if let Some(sample) = sample.filter(|_| self.loss_round_started) {
            self.bw_latest = bw;
            self.inflight_latest = sample.delivered;
        }
    }

    fn update_congestion(&mut self, ack: &Ack<'_>, bw: Bw, win: &Window) {
        let Some(sample) = ack.rate.filter(|_| ack.delivered() > 0) else { return };
        if !sample.app_limited || bw >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(bw);
        }
        self.loss_in_round |= ack.lost > 0;
        if !self.loss_round_started {
            return;
        }
        self.adapt_lower_bounds(win);
        self.loss_in_round = false;
        self.ecn_in_round = false;
    }

    fn adapt_lower_bounds(&mut self, win: &Window) {
        if self.is_probing() {
            return;
        }
        let started = if self.inflight_lo == NONE { win.cwnd } else { self.inflight_lo };
        let mut inflight_lo = NONE;
        if self.ecn_in_round {
            inflight_lo = after_ecn(started, self.ecn_alpha);
        }
        if self.loss_in_round {
            let bw_lo = if self.bw_lo == Bw::MAX { self.max_bw() } else { self.bw_lo };
            self.bw_lo = self.bw_latest.max(bw_lo.times(UNIT - BETA));
            let cut = self.inflight_latest.max(share(started, UNIT - BETA));
            inflight_lo = inflight_lo.min(cut);
        }
        if inflight_lo != NONE {
            self.inflight_lo = inflight_lo.max(1);
        }
    }

    fn reset_lower_bounds(&mut self) {
        self.bw_lo = Bw::MAX;
        self.inflight_lo = NONE;
    }

    fn reset_congestion(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bw_latest = Bw(0);
        self.inflight_latest = 0;
    }

    /// Whether the flight of a sample suffered too much.
    fn is_too_high(&self, tx_in_flight: u32, lost: u32, ecn: Option<&RateSample>) -> bool {
        if lost > 0 && tx_in_flight > 0 && lost > share(tx_in_flight, LOSS_LIMIT) {
            return true;
        }
        ecn.filter(|s| self.ecn_eligible && s.delivered_ce > 0 && s.delivered > 0)
            .is_some_and(|s| s.delivered_ce > share(s.delivered, ECN_LIMIT))
    }

    // ---- the end of STARTUP -----------------------------------------------------------------

    fn check_startup_loss(&mut self, ack: &Ack<'_>, win: &mut Window) {
        if self.full_pipe {
            return;
        }
        if ack.lost > 0 && self.loss_events < 0xf {
            self.loss_events += 1;
        }
        let too_high = |s: &RateSample| self.is_too_high(s.tx_in_flight, s.lost, Some(s));
        if self.loss_round_started
            && ack.path.state == State::Recovery
            && self.loss_events >= self.profile.startup_losses
            && ack.rate.as_ref().is_some_and(too_high)
        {
            self.queue_too_high_in_startup(win);
        } else if self.loss_round_started {
            self.loss_events = 0;
        }
    }

    fn queue_too_high_in_startup(&mut self, _win: &mut Window) {
        self.full_pipe = true;
        let bdp = self.inflight(self.max_bw(), UNIT);
        self.inflight_hi = match self.profile.rules {
            Rules::V2 => bdp,
            Rules::V3 => bdp.max(self.inflight_latest),
        };
    }

    fn reset_full_bw(&mut self) {
        self.full_bw = Bw(0);
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw(&mut self, sample: Option<&RateSample>, bw: Bw) {
        if sample.is_none_or(|s| s.app_limited) {
            return;
        }
        let bw = match self.profile.rules {
            // v2 looks once per round and only until the pipe was full.
            Rules::V2 if self.full_pipe || !self.rounds.started => return,
            Rules::V2 => self.max_bw(),
            Rules::V3 => bw,
        };
        if bw >= self.full_bw.times(FULL_BW_GROWTH) {
            self.reset_full_bw();
            self.full_bw = bw;
            return;
        }
        if self.rounds.started {
            self.full_bw_count += 1;
            self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
            self.full_pipe |= self.full_bw_now;
        }
    }

    fn check_drain(&mut self, now: Time, path: &Path, win: &mut Window) {
        let full = self.inflight(self.max_bw(), UNIT);
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
            win.ssthresh = full;
            self.reset_congestion();
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(now, path, path.in_flight) <= full
        {
            self.start_down(now);
        }
    }

    // ---- the cycle of probes ----------------------------------------------------------------

    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe = self.rng.below(2);
        let random = self.rng.below(PROBE_WAIT_RANDOM_MS);
        self.probe_wait = PROBE_WAIT + Dur::from_millis(u64::from(random));
    }

    fn start_down(&mut self, now: Time) {
        self.reset_congestion();
        self.up_count = NONE;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.begin(self.delivered);
        self.mode = Mode::Down;
    }

    fn start_cruise(&mut self) {
        if self.inflight_lo != NONE {
            self.inflight_lo = self.inflight_lo.min(self.inflight_hi);
        }
        self.mode = Mode::Cruise;
    }

    fn start_refill(&mut self, up_rounds: u32) {
        self.reset_lower_bounds();
        self.up_rounds = up_rounds;
        self.up_acked = 0;
        self.stopped_risky_probe = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.begin(self.delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, now: Time, bw: Bw, win: &Window) {
        self.ack_phase = AckPhase::Starting;
        self.rounds.begin(self.delivered);
        self.reset_full_bw();
        self.full_bw = bw;
        self.mode = Mode::Up;
        self.cycle_stamp = now;
        self.raise_slope(win);
    }

    /// `inflight_hi` grows by 1, 2, 4, ... segments per round.
    fn raise_slope(&mut self, win: &Window) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.up_count = (win.cwnd / growth).max(1);
    }

    fn probe_upward(&mut self, ack: &Ack<'_>, win: &Window) {
        if !ack.path.cwnd_limited || win.cwnd < self.inflight_hi {
            self.up_acked = 0; // the bound does not bind
            return;
        }
        self.up_acked += ack.delivered();
        if self.up_acked >= self.up_count {
            let delta = self.up_acked / self.up_count;
            self.up_acked -= delta * self.up_count;
            self.inflight_hi = self.inflight_hi.saturating_add(delta);
        }
        if self.rounds.started {
            self.raise_slope(win);
        }
    }

    fn too_high(&mut self, now: Time, tx_in_flight: u32, app_limited: bool, win: &Window) {
        self.probe_too_high = true;
        self.probe_samples = false; // one reaction per probe
        if !app_limited {
            let kept = share(self.target_inflight(win), UNIT - BETA);
            self.inflight_hi = tx_in_flight.max(kept);
        }
        if self.mode == Mode::Up {
            self.start_down(now);
        }
    }

    /// Learns from the ACKs of a probe; whether that decided the next phase.
    fn adapt_upper_bounds(&mut self, now: Time, ack: &Ack<'_>, win: &Window) -> bool {
        let app_limited = ack.rate.is_some_and(|s| s.app_limited);
        if self.ack_phase == AckPhase::Starting && self.rounds.started {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.rounds.started {
            self.probe_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.in_probe_bw() && !app_limited && self.bw_hi[1] > Bw(0) {
                self.bw_hi = [self.bw_hi[1], Bw(0)];
            }
            if self.in_probe_bw() && self.stopped_risky_probe && !self.probe_too_high {
                self.start_refill(0); // it was stopped for nothing
                return true;
            }
        }
        let Some(sample) = ack.rate.as_ref() else { return false };
        if self.is_too_high(sample.tx_in_flight, sample.lost, Some(sample)) {
            if self.probe_samples {
                self.too_high(now, sample.tx_in_flight, sample.app_limited, win);
            }
        } else if self.inflight_hi != NONE {
            self.inflight_hi = self.inflight_hi.max(sample.tx_in_flight);
            if self.mode == Mode::Up {
                self.probe_upward(ack, win);
            }
        }
        false
    }

    fn check_time_to_probe(&mut self, now: Time, state: State, win: &Window) -> bool {
        let marks_only = self.ecn_in_cycle && !self.loss_in_cycle && state == State::Open;
        if self.profile.ecn_reprobe > 0 && self.ecn_eligible && marks_only {
            let from = share(self.inflight_hi, self.profile.ecn_reprobe).max(1);
            self.start_refill(from.ilog2());
            return true;
        }
        let rounds = PROBE_ROUNDS.min(self.target_inflight(win));
        if now.since(self.cycle_stamp) > self.probe_wait || self.rounds_since_probe >= rounds {
            self.start_refill(0);
            return true;
        }
        false
    }

    fn update_cycle(&mut self, now: Time, ack: &Ack<'_>, bw: Bw, win: &Window) {
        if !self.full_pipe || self.adapt_upper_bounds(now, ack, win) {
            return;
        }
        let in_flight = self.in_flight_at_departure(now, ack.path, ack.prior_in_flight);
        match self.mode {
            Mode::Cruise => {
                self.check_time_to_probe(now, ack.path.state, win);
            }
            Mode::Refill => {
                if self.rounds.started {
                    self.probe_samples = true;
                    self.start_up(now, bw, win);
                }
            }
            Mode::Up => {
                let risky = self.probe_too_high && in_flight >= self.inflight_hi;
                self.stopped_risky_probe |= risky;
                if risky || self.is_up_done(now, ack, bw, in_flight, win) {
                    self.probe_too_high = false;
                    self.start_down(now);
                }
            }
            Mode::Down => {
                if !self.check_time_to_probe(now, ack.path.state, win)
                    && in_flight <= self.with_headroom()
                    && in_flight <= self.inflight(self.max_bw(), UNIT)
                {
                    self.start_cruise();
                }
            }
            Mode::Startup | Mode::Drain | Mode::ProbeRtt => {}
        }
    }

    fn is_up_done(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        bw: Bw,
        in_flight: u32,
        win: &Window,
    ) -> bool {
        match self.profile.rules {
            Rules::V2 => {
                now.since(self.cycle_stamp) > self.min_rtt
                    && in_flight >= self.inflight(self.max_bw(), UP_PACING)
            }
            Rules::V3 if ack.path.cwnd_limited && win.cwnd >= self.inflight_hi => {
                // The bound limits the flow: whether the pipe is full shows later.
                self.reset_full_bw();
                self.full_bw = bw;
                false
            }
            Rules::V3 => self.full_bw_now,
        }
    }

    // ---- minimum RTT ------------------------------------------------------------------------

    fn update_min_rtt(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let due = now > self.probe_rtt_min_stamp + PROBE_RTT_PERIOD;
        let delayed = ack.rate.is_some_and(|s| s.ack_delayed);
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_rtt_min || (due && !delayed))
        {
            self.probe_rtt_min = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_AGE;
        if self.probe_rtt_min <= self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
        if due && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(win);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::Stopping;
            self.rounds.begin(self.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_rtt_done.is_none() {
                if ack.path.in_flight <= self.probe_rtt_cwnd() {
                    self.probe_rtt_done = Some(now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.rounds.begin(self.delivered);
                }
            } else {
                self.probe_rtt_round_done |= self.rounds.started;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(now, win);
                }
            }
        }
        if ack.rate.is_some_and(|s| s.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time, win: &mut Window) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        self.reset_lower_bounds();
        if self.full_pipe {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_cwnd(&mut self, win: &Window) {
        let in_probe_rtt = self.mode == Mode::ProbeRtt;
        self.prior_cwnd = saved_cwnd(self.previous_state, in_probe_rtt, self.prior_cwnd, win.cwnd);
    }

    // ---- decisions --------------------------------------------------------------------------

    fn update_gains(&mut self) {
        let p = &self.profile;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (p.startup_pacing, p.startup_cwnd),
            Mode::Drain => (DRAIN_PACING, p.startup_cwnd),
            Mode::Down => (p.down_pacing, CWND_GAIN),
            Mode::Cruise | Mode::Refill => (UNIT, CWND_GAIN),
            Mode::Up => (UP_PACING, p.up_cwnd),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn set_first_pacing_rate(&mut self, path: &Path, win: &Window) {
        self.seen_rtt = path.srtt > Dur::ZERO;
        let rtt = if self.seen_rtt { path.srtt } else { Dur::from_millis(1) };
        self.pacing = Bw::of(win.cwnd, rtt).pacing_rate(path.mss, self.profile.startup_pacing);
    }

    fn set_pacing_rate(&mut self, path: &Path, win: &Window) {
        if !self.seen_rtt && path.srtt > Dur::ZERO {
            self.set_first_pacing_rate(path, win);
        }
        let rate = self.bw().pacing_rate(path.mss, self.pacing_gain);
        if self.full_pipe || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let acked = ack.delivered();
        let settled = self.profile.rules == Rules::V2
            && acked > 0
            && self.conservation.adjust(ack, self.prior_cwnd, &mut self.rounds, win);
        if acked > 0 && !settled {
            let extra = self.aggregation.allowance(self.max_bw());
            let target = self.bdp(self.bw(), self.cwnd_gain).saturating_add(extra);
            let target = self.quantized(target);
            let small = match self.profile.rules {
                Rules::V2 => self.delivered < u64::from(self.initial_cwnd),
                Rules::V3 => win.cwnd < 2 * self.initial_cwnd,
            };
            if self.full_pipe {
                win.cwnd = (win.cwnd + acked).min(target);
            } else if win.cwnd < target || small {
                win.cwnd += acked;
            }
            win.cwnd = win.cwnd.max(MIN_CWND);
        }
        self.bound_cwnd(win);
    }

    fn bound_cwnd(&self, win: &mut Window) {
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_hi,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => NONE,
        };
        win.cwnd = win.cwnd.min(cap.min(self.inflight_lo).max(MIN_CWND)).min(win.clamp);
        if self.mode == Mode::ProbeRtt {
            win.cwnd = win.cwnd.min(self.probe_rtt_cwnd());
        }
    }
}

/// `part` of `whole` in 1/256, rounded down.
fn share(whole: u32, part: u32) -> u32 {
    ((u64::from(whole) * u64::from(part)) >> SCALE) as u32
}

fn next_alpha(alpha: u32, ratio: u32) -> u32 {
    (share(UNIT - ECN_GAIN, alpha) + share(ECN_GAIN, ratio)).min(UNIT)
}

/// `inflight_lo` after a marked round.
fn after_ecn(inflight_lo: u32, alpha: u32) -> u32 {
    share(inflight_lo, UNIT - share(alpha, ECN_FACTOR))
}

/// The flight at which the loss limit was crossed: of a segment sent with `tx_in_flight` (itself
/// included) and `lost` since, how much was in flight when losses made up 2 %.
fn flight_at_loss(tx_in_flight: u32, lost: u32) -> u32 {
    let (flight, lost) = (tx_in_flight.saturating_sub(1), lost.saturating_sub(1));
    let budget = (u64::from(flight) * u64::from(LOSS_LIMIT)).div_ceil(u64::from(UNIT));
    let left = budget.saturating_sub(u64::from(lost));
    flight + ((left << SCALE) / u64::from(UNIT - LOSS_LIMIT)) as u32
}

impl Controller for V3 {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: self.ecn.then_some(Feedback::AccEcn),
            codepoint: self.ecn.then_some(Ecn::Ect1),
            ect_on_control: self.ecn,
        }
    }

    fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.initial_cwnd = win.cwnd;
        self.mss = path.mss;
        self.delivered = path.delivered;
        if path.min_rtt > Dur::ZERO {
            self.min_rtt = path.min_rtt;
            self.probe_rtt_min = path.min_rtt;
        }
        self.min_rtt_stamp = now;
        self.probe_rtt_min_stamp = now;
        self.cycle_stamp = now;
        self.loss_round_end = path.delivered + 1;
        self.alpha_delivered = path.delivered;
        self.alpha_ce = path.delivered_ce;
        self.ecn_usable = self.ecn && path.feedback == Feedback::AccEcn;
        self.aggregation.restart(now);
        self.set_first_pacing_rate(path, win);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost, win: &Window) {
        self.delivered = lost.delivered;
        if !self.loss_in_round {
            self.loss_round_end = lost.delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
        if self.probe_samples && self.is_too_high(lost.tx_in_flight, lost.lost, None) {
            let flight = flight_at_loss(lost.tx_in_flight, lost.lost);
            self.too_high(now, flight, lost.app_limited, win);
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        let sample = ack.rate.as_ref();
        self.delivered = path.delivered;
        self.mss = path.mss;
        self.rounds.update(sample, path.delivered);
        if self.rounds.started {
            self.conservation.active = false;
            self.rounds_since_probe = (self.rounds_since_probe + 1).min(0xff);
            self.update_ecn_alpha(path, win);
        }
        self.ecn_in_round |= self.ecn_eligible && (ack.ece || ack.ce > 0);
        let bw = sample.map_or(Bw(0), |s| Bw::of_up(s.delivered, s.interval));
        self.update_latest(ack, bw);
        self.update_congestion(ack, bw, win);
        let window = if self.full_pipe { Aggregation::ROUNDS } else { 1 };
        self.aggregation.update(now, ack, self.bw(), (self.rounds.started, window), win.cwnd);
        self.check_startup_loss(ack, win);
        self.check_full_bw(sample, bw);
        self.check_drain(now, path, win);
        self.update_cycle(now, ack, bw, win);
        self.update_min_rtt(now, ack, win);
        self.advance_latest(sample, bw);
        self.update_gains();
        self.set_pacing_rate(path, win);
        self.set_cwnd(ack, win);
        self.previous_state = path.state;
        self.loss_in_cycle |= ack.lost > 0;
        self.ecn_in_cycle |= self.ecn_eligible && ack.ce > 0;
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.save_cwnd(win);
        self.undo = Undo {
            bw_lo: self.bw_lo,
            inflight_lo: self.inflight_lo,
            inflight_hi: self.inflight_hi,
        };
        win.ssthresh
    }

    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, win: &mut Window) {
        if change.to == State::Loss {
            self.previous_state = State::Loss;
            self.conservation.timeout();
            // The framework has cut cwnd; the bound starts from the one before.
            if !self.is_probing() && self.inflight_lo == NONE {
                self.inflight_lo = self.prior_cwnd;
            }
        } else if change.from == State::Loss {
            win.cwnd = win.cwnd.max(self.prior_cwnd);
        }
    }

    fn undo_cwnd(&mut self, _win: &Window) -> u32 {
        self.reset_full_bw(); // a spurious slow-down may have looked like a full pipe
        self.loss_in_round = false;
        self.bw_lo = self.bw_lo.max(self.undo.bw_lo);
        self.inflight_lo = self.inflight_lo.max(self.undo.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(self.undo.inflight_hi);
        self.prior_cwnd
    }

    fn on_restart(&mut self, now: Time, _idle: Dur, win: &mut Window) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.in_probe_bw() {
            self.pacing = self.bw().pacing_rate(self.mss, UNIT);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(now, win);
        }
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output {
            pacing_rate: Some(self.pacing),
            burst: Some(self.burst()),
            app_limited: self.mode == Mode::ProbeRtt,
            ..Output::default()
        }
    }

    fn describe(&self) -> String {
        format!("bbr version {} {}", self.profile.name, if self.ecn { "ecn" } else { "noecn" })
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let bound = |n| if n == NONE { f64::NAN } else { f64::from(n) };
        let min_rtt = if self.min_rtt == Dur::MAX { 0.0 } else { self.min_rtt.as_millis_f64() };
        out.put("bw", "Mbit/s", self.bw().as_mbps(self.mss));
        out.put("max_bw", "Mbit/s", self.max_bw().as_mbps(self.mss));
        out.put("min_rtt", "ms", min_rtt);
        out.put("mode", "1", f64::from(self.mode as u8));
        out.put("pacing_gain", "1", f64::from(self.pacing_gain) / f64::from(UNIT));
        out.put("inflight_hi", "segments", bound(self.inflight_hi));
        out.put("inflight_lo", "segments", bound(self.inflight_lo));
        out.put("ecn_alpha", "1", f64::from(self.ecn_alpha) / f64::from(UNIT));
    }
}

#[cfg(test)]
#[path = "v3_tests.rs"]
mod tests;
