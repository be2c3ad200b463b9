//! BBRv1, as in mainline Linux since 4.20: model of the path from the largest delivery rate of ten
//! rounds and the least RTT of ten seconds; loss moves no rate. Linux
//! net/ipv4/tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00.

use super::model::{
    Aggregation, Bw, Conservation, Dice, FULL_BW_GROWTH, FULL_BW_ROUNDS, MIN_CWND, MIN_RTT_AGE,
    ProbeRtt, Rounds, RunningMax, SCALE, UNIT, in_flight_at_departure, saved_cwnd, tso_goal,
    tso_segments,
};
use crate::{Ack, Controller, Lost, Needs, Output, Path, RateSample, State, StateChange, Window};
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

/// 2/ln 2: doubles the delivery rate per round.
pub(super) const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
const CWND_GAIN: u32 = 2 * UNIT;
/// Probe, drain what the probe queued, cruise.
pub(super) const CYCLE: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases in which a cycle may begin: all but the draining one.
const RANDOM_PHASES: u32 = 7;
/// Rounds of the bandwidth filter.
const BW_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Below this rate a burst is one segment.
const MIN_TSO_RATE: Rate = Rate(1_200_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The long-term estimate: bandwidth of a token-bucket policer, seen as two intervals of heavy loss
/// with the same throughput.
#[derive(Clone, Copy, Debug, Default)]
struct LongTerm {
    sampling: bool,
    /// Rounds of the running interval, or of the estimate's use.
    rounds: u32,
    bw: Bw,
    used: bool,
    delivered: u64,
    lost: u64,
    since: Time,
}

impl LongTerm {
    /// Least rounds of an interval; four times that is the most.
    const ROUNDS: u32 = 4;
    /// Rounds for which an estimate is believed.
    const USE_ROUNDS: u32 = 48;
    /// Share of lost segments that speaks of a policer, 50/256.
    const LOSS: u64 = 50;
    /// Two intervals agree within 1/8 or 4 kbit/s.
    const RATIO: u64 = UNIT as u64 / 8;
    const DIFFERENCE_BYTES: u64 = 500;

    fn begin(&mut self, now: Time, delivered: u64, lost: u64) {
        // The kernel counts milliseconds here.
        self.since = Time(now.0 / 1_000_000 * 1_000_000);
        (self.delivered, self.lost, self.rounds) = (delivered, lost, 0);
    }

    fn reset(&mut self, now: Time, delivered: u64, lost: u64) {
        (self.bw, self.used, self.sampling) = (Bw(0), false, false);
        self.begin(now, delivered, lost);
    }

    /// An interval ended with throughput `bw`; whether it confirms the previous one.
    /// Linux bbr_lt_bw_interval_done().
    fn conclude(&mut self, bw: Bw, mss: u32) -> bool {
        let old = self.bw.0;
        let difference = Bw(bw.0.abs_diff(old));
        let bytes = ((u128::from(difference.0) * u128::from(mss) * 1_000_000) >> Bw::SCALE) as u64;
        let agrees = old > 0
            && (difference.0 << SCALE <= Self::RATIO * old || bytes <= Self::DIFFERENCE_BYTES);
        if agrees {
            self.bw = Bw((bw.0 + old) >> 1);
            self.used = true;
            self.rounds = 0;
        } else {
            self.bw = bw;
        }
        agrees
    }
}

#[derive(Debug, Default)]
pub(super) struct V1 {
    dice: Dice,
    mode: Mode,
    max_bw: RunningMax,
    min_rtt: Dur,
    min_rtt_stamp: Time,
    rounds: Rounds,
    full_bw: Bw,
    full_bw_count: u32,
    full_pipe: bool,
    pacing_gain: u32,
    cwnd_gain: u32,
    /// Position in [`CYCLE`] and when it was taken.
    phase: usize,
    phase_stamp: Time,
    probe_rtt: ProbeRtt,
    idle_restart: bool,
    conservation: Conservation,
    prior_cwnd: u32,
    aggregation: Aggregation,
    long_term: LongTerm,
    initial_cwnd: u32,
    seen_rtt: bool,
    /// Running totals at the last event.
    delivered: u64,
    lost: u64,
    mss: u32,
    pacing: Rate,
}

impl V1 {
    pub(super) fn new() -> Self {
        Self {
            min_rtt: Dur::MAX,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            initial_cwnd: 10,
            pacing: Rate(u64::MAX),
            ..Self::default()
        }
    }

    fn bw(&self) -> Bw {
        if self.long_term.used { self.long_term.bw } else { self.max_bw.get() }
    }

    /// Linux bbr_bdp(): the initial window before the first RTT sample.
    fn bdp(&self, bw: Bw, gain: u32) -> u32 {
        if self.min_rtt == Dur::MAX { self.initial_cwnd } else { bw.bdp(self.min_rtt, gain) }
    }

    fn min_burst(&self) -> u32 {
        if self.pacing < MIN_TSO_RATE { 1 } else { 2 }
    }

    fn goal(&self) -> u32 {
        tso_goal(tso_segments(self.pacing, 0, self.mss, self.min_burst()))
    }

    /// Room for bursts at both ends, even for delayed ACKs, and for the probe to be seen (Linux
    /// bbr_quantization_budget()).
    fn quantized(&self, cwnd: u32) -> u32 {
        let even = cwnd.saturating_add(3 * self.goal()).saturating_add(1) & !1;
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    pub(super) fn inflight(&self, bw: Bw, gain: u32) -> u32 {
        self.quantized(self.bdp(bw, gain))
    }

    fn in_flight_at_departure(&self, now: Time, path: &Path, in_flight: u32) -> u32 {
        let burst = (self.pacing_gain > UNIT).then(|| self.goal());
        in_flight_at_departure(now, path, in_flight, self.bw(), burst)
    }

    fn save_cwnd(&mut self, win: &Window) {
        let in_probe_rtt = self.mode == Mode::ProbeRtt;
        let previous = self.conservation.previous();
        self.prior_cwnd = saved_cwnd(previous, in_probe_rtt, self.prior_cwnd, win.cwnd);
    }

    // ---- model ------------------------------------------------------------------------------

    /// Linux bbr_update_bw(): an application-limited sample counts only if it raises the maximum.
    fn update_bw(&mut self, now: Time, ack: &Ack<'_>, sample: Option<&RateSample>) {
        self.rounds.update(sample, self.delivered);
        let Some(sample) = sample else { return };
        if self.rounds.started {
            self.conservation.active = false;
        }
        self.sample_long_term(now, ack.lost > 0, sample.app_limited);
        let bw = Bw::of(sample.delivered, sample.interval);
        if !sample.app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(BW_ROUNDS, self.rounds.count, bw);
        }
    }

    /// Linux bbr_lt_bw_sampling(): two intervals of 4 to 16 rounds with 20 % of loss and equal
    /// throughput are a policer's.
    fn sample_long_term(&mut self, now: Time, losses: bool, app_limited: bool) {
        let (delivered, lost) = (self.delivered, self.lost);
        let lt = &mut self.long_term;
        if lt.used {
            if self.mode == Mode::ProbeBw && self.rounds.started {
                lt.rounds += 1;
                if lt.rounds >= LongTerm::USE_ROUNDS {
                    lt.reset(now, delivered, lost);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !lt.sampling {
            if !losses {
                return;
            }
            lt.begin(now, delivered, lost);
            lt.sampling = true;
        }
        if app_limited {
            return lt.reset(now, delivered, lost);
        }
        lt.rounds += u32::from(self.rounds.started);
        if lt.rounds < LongTerm::ROUNDS {
            return;
        }
        if lt.rounds > 4 * LongTerm::ROUNDS {
            return lt.reset(now, delivered, lost);
        }
        // An interval ends with a loss, when the policer's bucket is empty.
        if !losses {
            return;
        }
        let (got, gone) = (delivered - lt.delivered, lost - lt.lost);
        if got == 0 || gone << SCALE < LongTerm::LOSS * got {
            return;
        }
        let time = Dur(now.since(lt.since).0 / 1_000_000 * 1_000_000);
        if time == Dur::ZERO {
            return;
        }
        if lt.conclude(Bw::of(got as u32, time), self.mss) {
            self.pacing_gain = UNIT;
        } else {
            lt.begin(now, delivered, lost);
        }
    }

    /// Linux bbr_is_next_cycle_phase(): up until the probe is in flight, down until it is drained.
    fn update_phase(&mut self, now: Time, ack: &Ack<'_>) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = now.since(self.phase_stamp) > self.min_rtt;
        let in_flight = || self.in_flight_at_departure(now, ack.path, ack.prior_in_flight);
        let bw = self.max_bw.get();
        let next = match self.pacing_gain {
            UNIT => long,
            gain if gain > UNIT => long && (ack.lost > 0 || in_flight() >= self.inflight(bw, gain)),
            _ => long || in_flight() <= self.inflight(bw, UNIT),
        };
        if next {
            self.advance_phase(now);
        }
    }

    fn advance_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_stamp = now;
    }

    /// Linux bbr_reset_probe_bw_mode(): a random phase, so that flows do not probe together.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.dice.0.below(RANDOM_PHASES) as usize;
        self.advance_phase(now);
    }

    /// Linux bbr_check_full_bw_reached().
    fn check_full_pipe(&mut self, sample: Option<&RateSample>) {
        if self.full_pipe || !self.rounds.started || sample.is_some_and(|s| s.app_limited) {
            return;
        }
        let max = self.max_bw.get();
        if max >= self.full_bw.times(FULL_BW_GROWTH) {
            self.full_bw = max;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_pipe = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    /// Linux bbr_check_drain().
    fn check_drain(&mut self, now: Time, path: &Path, win: &mut Window) {
        let full = self.inflight(self.max_bw.get(), UNIT);
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
            win.ssthresh = full;
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(now, path, path.in_flight) <= full
        {
            self.enter_probe_bw(now);
        }
    }

    /// Linux bbr_update_min_rtt(): PROBE_RTT after ten seconds without a lower sample.
    fn update_min_rtt(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let expired = now > self.min_rtt_stamp + MIN_RTT_AGE;
        let delayed = ack.rate.is_some_and(|s| s.ack_delayed);
        if let Some(rtt) = ack.rtt
            && (rtt < self.min_rtt || (expired && !delayed))
        {
            self.min_rtt = rtt;
            self.min_rtt_stamp = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(win);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            let (in_flight, delivered) = (ack.path.in_flight, self.delivered);
            if self.probe_rtt.on_ack(now, in_flight, MIN_CWND, &mut self.rounds, delivered) {
                self.check_probe_rtt_done(now, win);
            }
        }
        if ack.rate.is_some_and(|s| s.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time, win: &mut Window) {
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.min_rtt_stamp = now;
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        if self.full_pipe {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.used => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // ---- decisions --------------------------------------------------------------------------

    fn set_first_pacing_rate(&mut self, path: &Path, win: &Window) {
        self.seen_rtt = path.srtt > Dur::ZERO;
        let rtt = if self.seen_rtt { path.srtt } else { Dur::from_millis(1) };
        self.pacing = Bw::of(win.cwnd, rtt).pacing_rate(path.mss, HIGH_GAIN);
    }

    /// Linux bbr_set_pacing_rate(): until the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, path: &Path, bw: Bw, gain: u32, win: &Window) {
        if !self.seen_rtt && path.srtt > Dur::ZERO {
            self.set_first_pacing_rate(path, win);
        }
        let rate = bw.pacing_rate(path.mss, gain);
        if self.full_pipe || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Linux bbr_set_cwnd().
    fn set_cwnd(&mut self, ack: &Ack<'_>, win: &mut Window) {
        let acked = ack.delivered();
        if acked > 0 && !self.conservation.adjust(ack, self.prior_cwnd, &mut self.rounds, win) {
            let bw = self.bw();
            let extra =
                if self.full_pipe { self.aggregation.allowance(self.max_bw.get()) } else { 0 };
            let target = self.quantized(self.bdp(bw, self.cwnd_gain).saturating_add(extra));
            if self.full_pipe {
                win.cwnd = (win.cwnd + acked).min(target);
            } else if win.cwnd < target || self.delivered < u64::from(self.initial_cwnd) {
                win.cwnd += acked;
            }
            win.cwnd = win.cwnd.max(MIN_CWND);
        }
        win.cwnd = win.cwnd.min(win.clamp);
        if self.mode == Mode::ProbeRtt {
            win.cwnd = win.cwnd.min(MIN_CWND);
        }
    }
}

impl Controller for V1 {
    fn needs(&self) -> Needs {
        Needs { owns_cwnd: true, pacing: true, ..Needs::default() }
    }

    fn seed(&mut self, rng: Rng) {
        self.dice = Dice(rng);
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.initial_cwnd = win.cwnd;
        self.mss = path.mss;
        self.delivered = path.delivered;
        self.min_rtt = if path.min_rtt > Dur::ZERO { path.min_rtt } else { Dur::MAX };
        self.min_rtt_stamp = now;
        self.aggregation.restart(now);
        self.set_first_pacing_rate(path, win);
    }

    fn on_lost(&mut self, _now: Time, _lost: &Lost, _win: &Window) {
        self.lost += 1;
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        let sample = ack.rate.as_ref();
        self.delivered = path.delivered;
        self.mss = path.mss;
        self.update_bw(now, ack, sample);
        let round = (self.rounds.started, Aggregation::ROUNDS);
        self.aggregation.update(now, ack, self.bw(), round, win.cwnd);
        self.update_phase(now, ack);
        self.check_full_pipe(sample);
        self.check_drain(now, path, win);
        self.update_min_rtt(now, ack, win);
        self.update_gains();
        self.set_pacing_rate(path, self.bw(), self.pacing_gain, win);
        self.set_cwnd(ack, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.save_cwnd(win);
        win.ssthresh
    }

    fn on_state(&mut self, now: Time, change: StateChange, _path: &Path, _win: &mut Window) {
        if change.to == State::Loss {
            self.conservation.timeout();
            self.full_bw = Bw(0);
            self.rounds.started = true; // a timeout ends a round
            self.sample_long_term(now, true, false);
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        self.full_bw = Bw(0); // a spurious slow-down may have looked like a full pipe
        self.full_bw_count = 0;
        let (delivered, lost) = (self.delivered, self.lost);
        self.long_term.reset(self.long_term.since, delivered, lost);
        win.cwnd
    }

    fn on_restart(&mut self, now: Time, _idle: Dur, win: &mut Window) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => {
                self.pacing = self.bw().pacing_rate(self.mss, UNIT);
            }
            Mode::ProbeRtt => self.check_probe_rtt_done(now, win),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output {
            pacing_rate: Some(self.pacing),
            least_burst: Some(self.min_burst()),
            app_limited: self.mode == Mode::ProbeRtt,
            ..Output::default()
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("bw", "Mbit/s", self.bw().as_mbps(self.mss));
        if self.min_rtt != Dur::MAX {
            out.put("min_rtt", "ms", self.min_rtt.as_millis_f64());
        }
        out.put("mode", "1", f64::from(self.mode as u8));
        out.put("pacing_gain", "1", f64::from(self.pacing_gain) / f64::from(UNIT));
        out.put("cwnd_gain", "1", f64::from(self.cwnd_gain) / f64::from(UNIT));
        out.put("long_term", "1", f64::from(u8::from(self.long_term.used)));
    }
}

#[cfg(test)]
mod tests;
