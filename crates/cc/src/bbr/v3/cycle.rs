//! The cycle of bandwidth probes: DOWN, CRUISE, REFILL, UP, and what a probe teaches of
//! `inflight_hi`.

use super::{AckPhase, BETA, Mode, NONE, Rules, UP_PACING, V3, share};
use crate::bbr::model::{Bw, UNIT};
use crate::{Ack, State, Window};
use sojourn_core::units::{Dur, Time};

/// Time between probes, plus up to [`PROBE_WAIT_RANDOM_MS`].
const PROBE_WAIT: Dur = Dur::from_secs(2);
const PROBE_WAIT_RANDOM_MS: u32 = 1000;
/// Most rounds between probes, so that Reno flows get what they would among themselves.
const PROBE_ROUNDS: u32 = 63;
const MAX_UP_ROUNDS: u32 = 30;

impl V3 {
    /// bbr_pick_probe_wait() (google/bbr).
    pub(super) fn pick_probe_wait(&mut self) {
        self.rounds_since_probe = self.dice.0.below(2);
        let random = self.dice.0.below(PROBE_WAIT_RANDOM_MS);
        self.probe_wait = PROBE_WAIT + Dur::from_millis(u64::from(random));
    }

    /// bbr_start_bw_probe_down() (google/bbr).
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion();
        self.up_count = NONE;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.begin(self.delivered);
        self.mode = Mode::Down;
    }

    /// bbr_start_bw_probe_cruise() (google/bbr).
    pub(super) fn start_cruise(&mut self) {
        if self.inflight_lo != NONE {
            self.inflight_lo = self.inflight_lo.min(self.inflight_hi);
        }
        self.mode = Mode::Cruise;
    }

    /// bbr_start_bw_probe_refill(): one round at the estimated rate fills the pipe before the probe
    /// (google/bbr).
    pub(super) fn start_refill(&mut self, up_rounds: u32) {
        self.reset_lower_bounds();
        self.up_rounds = up_rounds;
        self.up_acked = 0;
        self.stopped_risky_probe = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.begin(self.delivered);
        self.mode = Mode::Refill;
    }

    /// bbr_start_bw_probe_up() (google/bbr).
    pub(super) fn start_up(&mut self, now: Time, bw: Bw, win: &Window) {
        self.ack_phase = AckPhase::Starting;
        self.rounds.begin(self.delivered);
        self.reset_full_bw();
        self.full_bw = bw;
        self.mode = Mode::Up;
        self.cycle_stamp = now;
        self.raise_slope(win);
    }

    /// `inflight_hi` grows by 1, 2, 4, ... segments per round (google/bbr,
    /// bbr_raise_inflight_hi_slope()).
    pub(super) fn raise_slope(&mut self, win: &Window) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.up_count = (win.cwnd / growth).max(1);
    }

    /// bbr_probe_inflight_hi_upward() (google/bbr).
    pub(super) fn probe_upward(&mut self, ack: &Ack<'_>, win: &Window) {
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

    /// bbr_handle_inflight_too_high(): keeps what was in flight, at least beta of the target
    /// (google/bbr).
    pub(super) fn too_high(
        &mut self,
        now: Time,
        tx_in_flight: u32,
        app_limited: bool,
        win: &Window,
    ) {
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

    /// Learns from the ACKs of a probe; whether that decided the next phase (google/bbr,
    /// bbr_adapt_upper_bounds()).
    pub(super) fn adapt_upper_bounds(&mut self, now: Time, ack: &Ack<'_>, win: &Window) -> bool {
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

    /// bbr_check_time_to_probe_bw() (google/bbr).
    pub(super) fn check_time_to_probe(&mut self, now: Time, state: State, win: &Window) -> bool {
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

    /// bbr_update_cycle_phase() (google/bbr).
    pub(super) fn update_cycle(&mut self, now: Time, ack: &Ack<'_>, bw: Bw, win: &Window) {
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

    pub(super) fn is_up_done(
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
}
