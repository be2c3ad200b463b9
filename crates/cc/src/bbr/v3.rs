//! BBRv3 (and, by its [`Profile`], v2): the model of v1 with bounds. Probing for bandwidth learns
//! how much flight the path bears before 2 % of it is lost or half of it marked (`inflight_hi`);
//! congestion outside a probe sets short-term bounds (`bw_lo`, `inflight_lo`) until the next one.
//! Sources: google/bbr net/ipv4/tcp_bbr.c of 001a430b (branch v3); draft-ietf-ccwg-bbr.

mod cycle;
mod output;
mod signals;

use self::signals::flight_at_loss;
use super::model::{
    Aggregation, Bw, Conservation, Dice, MIN_CWND, MIN_RTT_AGE, ProbeRtt, Rounds, SCALE, UNIT,
    in_flight_at_departure, saved_cwnd, tso_goal, tso_segments,
};
use crate::{Ack, Controller, Feedback, Lost, Needs, Output, Path, State, StateChange, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

/// Which procedure a version follows where they differ in more than a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    V2,
    V3,
}

/// Constants of a version, gains in 1/256.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
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
    startup_pacing: UNIT * 277 / 100 + 1,
    startup_cwnd: 2 * UNIT,
    down_pacing: UNIT * 91 / 100,
    up_cwnd: 2 * UNIT + UNIT / 4,
    startup_losses: 6,
    ecn_reprobe: UNIT / 2,
    rules: Rules::V3,
};

impl Default for Profile {
    fn default() -> Self {
        PROFILE
    }
}

const DRAIN_PACING: u32 = UNIT * 1000 / 2885;
const UP_PACING: u32 = UNIT * 5 / 4;
const CWND_GAIN: u32 = 2 * UNIT;
/// What a cut takes away, 0.3.
const BETA: u32 = UNIT * 30 / 100;
/// Share of `inflight_hi` left to others, 15 %.
const HEADROOM: u32 = UNIT * 15 / 100;
const PROBE_RTT_GAIN: u32 = UNIT / 2;
const PROBE_RTT_PERIOD: Dur = Dur::from_secs(5);
const MIN_TSO_SEGMENTS: u32 = 2;
const GSO_MAX_SIZE: u64 = 65_536;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Where the ACKs are in a probe: they answer what was sent a round trip ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// Bounds before the last reduction.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    bw_lo: Bw,
    inflight_lo: u32,
    inflight_hi: u32,
}

#[derive(Debug, Default)]
pub(super) struct V3 {
    profile: Profile,
    /// The route is known for shallow ECN marks.
    ecn: bool,
    dice: Dice,
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
    probe_rtt: ProbeRtt,
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
            bw_lo: Bw::MAX,
            inflight_hi: NONE,
            inflight_lo: NONE,
            loss_round_end: 1,
            ecn_alpha: UNIT,
            up_count: NONE,
            min_rtt: Dur::MAX,
            probe_rtt_min: Dur::MAX,
            undo: Undo { bw_lo: Bw::MAX, inflight_lo: NONE, inflight_hi: NONE },
            initial_cwnd: 10,
            pacing_gain: profile.startup_pacing,
            cwnd_gain: profile.startup_cwnd,
            pacing: Rate(u64::MAX),
            ..Self::default()
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

    /// Losses and marks are expected now, since the flow sends more than it knows to fit.
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

    /// `inflight_hi` less what is left to others (google/bbr, bbr_inflight_with_headroom()).
    fn with_headroom(&self) -> u32 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = share(self.inflight_hi, HEADROOM).max(1);
        self.inflight_hi.saturating_sub(headroom).max(MIN_CWND)
    }

    /// bbr_probe_rtt_cwnd() (google/bbr).
    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), PROBE_RTT_GAIN).max(MIN_CWND)
    }

    // ---- minimum RTT ------------------------------------------------------------------------

    /// bbr_update_min_rtt(): PROBE_RTT every five seconds, the filter of ten (google/bbr).
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
            self.probe_rtt = ProbeRtt::default();
            self.ack_phase = AckPhase::Stopping;
            self.rounds.begin(self.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            let target = self.probe_rtt_cwnd();
            let (in_flight, delivered) = (ack.path.in_flight, self.delivered);
            if self.probe_rtt.on_ack(now, in_flight, target, &mut self.rounds, delivered) {
                self.check_probe_rtt_done(now, win);
            }
        }
        if ack.rate.is_some_and(|s| s.delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// bbr_check_probe_rtt_done() (google/bbr).
    fn check_probe_rtt_done(&mut self, now: Time, win: &mut Window) {
        if !self.probe_rtt.is_over(now) {
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
}

/// `part` of `whole` in 1/256, rounded down.
fn share(whole: u32, part: u32) -> u32 {
    ((u64::from(whole) * u64::from(part)) >> SCALE) as u32
}

impl Controller for V3 {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: self.ecn.then_some(Feedback::AccEcn),
            codepoint: self.ecn.then_some(Ecn::Ect1),
            ect_on_control: self.ecn,
            ..Needs::default()
        }
    }

    fn seed(&mut self, rng: Rng) {
        self.dice = Dice(rng);
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
            self.update_ecn_alpha(path);
        }
        self.ecn_in_round |= self.ecn_eligible && (ack.ece || ack.ce > 0);
        let bw = sample.map_or(Bw(0), |s| Bw::of_up(s.delivered, s.interval));
        self.update_latest(ack, bw);
        self.update_congestion(ack, bw, win);
        let window = if self.full_pipe { Aggregation::ROUNDS } else { 1 };
        self.aggregation.update(now, ack, self.bw(), (self.rounds.started, window), win.cwnd);
        self.check_startup_loss(ack);
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

    fn probe(&self, out: &mut Probe<'_>) {
        let bound = |n| if n == NONE { f64::NAN } else { f64::from(n) };
        out.put("bw", "Mbit/s", self.bw().as_mbps(self.mss));
        out.put("max_bw", "Mbit/s", self.max_bw().as_mbps(self.mss));
        if self.min_rtt != Dur::MAX {
            out.put("min_rtt", "ms", self.min_rtt.as_millis_f64());
        }
        out.put("mode", "1", f64::from(self.mode as u8));
        out.put("pacing_gain", "1", f64::from(self.pacing_gain) / f64::from(UNIT));
        out.put("inflight_hi", "segments", bound(self.inflight_hi));
        out.put("inflight_lo", "segments", bound(self.inflight_lo));
        out.put("ecn_alpha", "1", f64::from(self.ecn_alpha) / f64::from(UNIT));
    }
}

#[cfg(test)]
mod tests;
