//! What the model makes of gains and bounds: pacing rate and window.

use super::{CWND_GAIN, DRAIN_PACING, Mode, NONE, Rules, UP_PACING, V3};
use crate::bbr::model::{Bw, MIN_CWND, UNIT};
use crate::{Ack, Path, Window};
use sojourn_core::units::Dur;

impl V3 {
    /// bbr_update_gains() (google/bbr).
    pub(super) fn update_gains(&mut self) {
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

    /// bbr_init_pacing_rate_from_rtt() (google/bbr).
    pub(super) fn set_first_pacing_rate(&mut self, path: &Path, win: &Window) {
        self.seen_rtt = path.srtt > Dur::ZERO;
        let rtt = if self.seen_rtt { path.srtt } else { Dur::from_millis(1) };
        self.pacing = Bw::of(win.cwnd, rtt).pacing_rate(path.mss, self.profile.startup_pacing);
    }

    /// bbr_set_pacing_rate() (google/bbr).
    pub(super) fn set_pacing_rate(&mut self, path: &Path, win: &Window) {
        if !self.seen_rtt && path.srtt > Dur::ZERO {
            self.set_first_pacing_rate(path, win);
        }
        let rate = self.bw().pacing_rate(path.mss, self.pacing_gain);
        if self.full_pipe || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// bbr_set_cwnd() (google/bbr).
    pub(super) fn set_cwnd(&mut self, ack: &Ack<'_>, win: &mut Window) {
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

    /// bbr_bound_cwnd_for_inflight_model() (google/bbr).
    pub(super) fn bound_cwnd(&self, win: &mut Window) {
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
