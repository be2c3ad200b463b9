//! What v2 and v3 take from an acknowledgement: marks, losses and bandwidth per round, the
//! short-term bounds that they set, and the end of STARTUP.

use super::{BETA, Mode, NONE, Rules, V3, share};
use crate::bbr::model::{Bw, FULL_BW_GROWTH, FULL_BW_ROUNDS, SCALE, UNIT};
use crate::{Ack, Path, RateSample, State, Window};
use sojourn_core::units::{Dur, Time};

/// What a fully marked round takes from `inflight_lo`, a third.
pub(super) const ECN_FACTOR: u32 = UNIT / 3;
/// Gain of `ecn_alpha`, 1/16.
pub(super) const ECN_GAIN: u32 = UNIT / 16;
/// Share of a flight whose loss is too much, 2 %.
pub(super) const LOSS_LIMIT: u32 = UNIT * 2 / 100;
/// Marked share that is too much.
pub(super) const ECN_LIMIT: u32 = UNIT / 2;
/// Largest minimum RTT at which marks are shallow enough to count.
pub(super) const ECN_MAX_RTT: Dur = Dur::from_millis(5);
/// Rounds of heavy marking that end STARTUP.
pub(super) const ECN_STARTUP_ROUNDS: u32 = 2;

impl V3 {
    /// bbr_update_ecn_alpha() and bbr_check_ecn_too_high_in_startup() (google/bbr).
    pub(super) fn update_ecn_alpha(&mut self, path: &Path) {
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
            self.queue_too_high_in_startup();
        }
    }

    /// bbr_update_latest_delivery_signals() (google/bbr).
    pub(super) fn update_latest(&mut self, ack: &Ack<'_>, bw: Bw) {
        self.loss_round_started = false;
        let Some(sample) = ack.rate.filter(|_| ack.delivered() > 0) else { return };
        self.bw_latest = self.bw_latest.max(bw);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_started = true;
        }
    }

    /// bbr_advance_latest_delivery_signals() (google/bbr).
    pub(super) fn advance_latest(&mut self, sample: Option<&RateSample>, bw: Bw) {
        if let Some(sample) = sample.filter(|_| self.loss_round_started) {
            self.bw_latest = bw;
            self.inflight_latest = sample.delivered;
        }
    }

    /// bbr_update_congestion_signals() (google/bbr).
    pub(super) fn update_congestion(&mut self, ack: &Ack<'_>, bw: Bw, win: &Window) {
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

    /// bbr_adapt_lower_bounds(): a probe expects losses and marks, so they set no bound (google/bbr).
    pub(super) fn adapt_lower_bounds(&mut self, win: &Window) {
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

    pub(super) fn reset_lower_bounds(&mut self) {
        self.bw_lo = Bw::MAX;
        self.inflight_lo = NONE;
    }

    pub(super) fn reset_congestion(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bw_latest = Bw(0);
        self.inflight_latest = 0;
    }

    /// Whether the flight of a sample suffered too much (google/bbr, bbr_is_inflight_too_high()).
    pub(super) fn is_too_high(
        &self,
        tx_in_flight: u32,
        lost: u32,
        ecn: Option<&RateSample>,
    ) -> bool {
        if lost > 0 && tx_in_flight > 0 && lost > share(tx_in_flight, LOSS_LIMIT) {
            return true;
        }
        ecn.filter(|s| self.ecn_eligible && s.delivered_ce > 0 && s.delivered > 0)
            .is_some_and(|s| s.delivered_ce > share(s.delivered, ECN_LIMIT))
    }

    // ---- the end of STARTUP -----------------------------------------------------------------

    /// bbr_check_loss_too_high_in_startup() (google/bbr).
    pub(super) fn check_startup_loss(&mut self, ack: &Ack<'_>) {
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
            self.queue_too_high_in_startup();
        } else if self.loss_round_started {
            self.loss_events = 0;
        }
    }

    /// bbr_handle_queue_too_high_in_startup() (google/bbr).
    pub(super) fn queue_too_high_in_startup(&mut self) {
        self.full_pipe = true;
        let bdp = self.inflight(self.max_bw(), UNIT);
        self.inflight_hi = match self.profile.rules {
            Rules::V2 => bdp,
            Rules::V3 => bdp.max(self.inflight_latest),
        };
    }

    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = Bw(0);
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// bbr_check_full_bw_reached() (google/bbr).
    pub(super) fn check_full_bw(&mut self, sample: Option<&RateSample>, bw: Bw) {
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

    /// bbr_check_drain() (google/bbr).
    pub(super) fn check_drain(&mut self, now: Time, path: &Path, win: &mut Window) {
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
}

pub(super) fn next_alpha(alpha: u32, ratio: u32) -> u32 {
    (share(UNIT - ECN_GAIN, alpha) + share(ECN_GAIN, ratio)).min(UNIT)
}

/// `inflight_lo` after a marked round.
pub(super) fn after_ecn(inflight_lo: u32, alpha: u32) -> u32 {
    share(inflight_lo, UNIT - share(alpha, ECN_FACTOR))
}

/// The flight at which the loss limit was crossed: of a segment sent with `tx_in_flight` (itself
/// included) and `lost` since, how much was in flight when losses made up 2 % (google/bbr,
/// bbr_inflight_hi_from_lost_skb()).
pub(super) fn flight_at_loss(tx_in_flight: u32, lost: u32) -> u32 {
    let (flight, lost) = (tx_in_flight.saturating_sub(1), lost.saturating_sub(1));
    let budget = (u64::from(flight) * u64::from(LOSS_LIMIT)).div_ceil(u64::from(UNIT));
    let left = budget.saturating_sub(u64::from(lost));
    flight + ((left << SCALE) / u64::from(UNIT - LOSS_LIMIT)) as u32
}
