//! Google Congestion Control for real-time media: draft-ietf-rmcat-gcc-02, with libwebrtc's
//! trendline beside the draft's Kalman filter.
//!
//! Both controllers run at the sender, on reports of each packet (RFC 8888). One follows the delay:
//! it grows until the variation of the delay between groups of packets says over-use, and then takes
//! 0.85 of what arrives. The other follows the losses. The encoder gets the smaller of the two rates.
//! Probing with clusters of packets is no part of the draft and not here.

mod delay;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use delay::{Detector, Estimator, Groups, Kalman, Signal, Trendline, ms_between};

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Feedback, Kernel, Needs, Output, PacketReport, Path};
use super::{State, StateChange, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{Form, decimal, number, one_of, time_in};
use sojourn_core::math;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "gcc",
    "Google Congestion Control for media: trend of the delay, and loss; knows no ECN.",
    "draft-ietf-rmcat-gcc-02; libwebrtc (trendline, pacing)",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `gcc`.
    #[derive(Copy)]
    struct Params {
        /// First rate.
        init_rate: Rate = Rate(300_000);
        /// Least rate.
        min_rate: Rate = Rate(30_000);
        /// Greatest rate.
        max_rate: Rate = Rate(30_000_000);
        /// What estimates the delay variation.
        kalman: bool = false =>
            one_of("trendline|kalman", &[("trendline", false), ("kalman", true)]), name "estimator";
        /// Interval of the receiver's reports.
        feedback: Dur = Dur::from_millis(50) => millis(5..=1000);
        /// Pacing rate over target rate, 1 to 10.
        pacing: f64 = 2.5 => decimal("NUMBER", 1.0..=10.0), default "2.5, with kalman 1";
        /// Packets sent within this time are a group; length of a paced burst.
        burst_time: Dur = Dur::from_millis(5) => millis(1..=100);
        /// Time over which the incoming rate is measured.
        window: Dur = Dur::from_millis(500) => millis(100..=10_000);
        /// Share of the incoming rate that is left after over-use.
        beta: f64 = 0.85 => decimal("NUMBER", 0.1..=1.0);
        /// First threshold of the detector, 6 to 600 ms.
        threshold: Dur = Dur::from_micros(12_500) => millis(6..=600);
        /// Share of its distance by which the threshold rises per millisecond.
        k_up: f64 = 0.01 => decimal("NUMBER", 0.0..=0.1);
        /// Share of its distance by which the threshold falls per millisecond.
        k_down: f64 = 0.00018 => decimal("NUMBER", 0.0..=0.1);
        /// How long the estimate is above the threshold before it is over-use.
        overuse_time: Dur = Dur::from_millis(10) => millis(0..=1000);
        /// Groups in the trendline, 2 to 1000.
        samples: usize = 20 => number(2..=1000);
        /// Weight of the past in the trendline's delay.
        smoothing: f64 = 0.9 => decimal("NUMBER", 0.0..=0.999);
        /// Gain of the trendline.
        gain: f64 = 4.0 => decimal("NUMBER", 0.01..=100.0);
        /// Filter coefficient of the Kalman filter's noise, 0.001 to 0.1.
        chi: f64 = 0.01 => decimal("NUMBER", 0.001..=0.1);
    }
    derive pacing_of_the_estimator;
    settle rates_in_order;
}

fn millis(range: RangeInclusive<u64>) -> impl Form<Dur> {
    time_in(Dur::from_millis(*range.start())..=Dur::from_millis(*range.end()))
}

impl Params {
    /// Draft 4: a burst per burst_time at the target rate. libwebrtc: 2.5 times that.
    fn pacing_of_the_estimator(&mut self, given: &Given) {
        if self.kalman && !given.has("pacing") {
            self.pacing = 1.0;
        }
    }

    fn rates_in_order(&self, _: &Given) -> Result<(), String> {
        if self.min_rate < MIN_RATE || self.max_rate > MAX_RATE {
            return Err("rates are from 5Kbit to 10Gbit".to_owned());
        }
        if ![self.min_rate, self.init_rate, self.max_rate].is_sorted() {
            return Err("expected min_rate <= init_rate <= max_rate".to_owned());
        }
        Ok(())
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Gcc::new(*self))
    }
}

const MIN_RATE: Rate = Rate(5_000);
const MAX_RATE: Rate = Rate(10_000_000_000);
/// Growth per second far from convergence.
const FAR_GROWTH: f64 = 1.08;
/// What the response time has beyond the RTT, ms.
const REACTION_MS: f64 = 100.0;
/// The draft's model of a packet: frames per second, and bits of a full packet.
const FRAMES_PER_S: f64 = 30.0;
const FULL_PACKET_BITS: f64 = 1200.0 * 8.0;
/// Least additive growth per update, bit/s.
const MIN_GROWTH: f64 = 1000.0;
/// Growth ends at this much of the incoming rate, and these bit/s.
const MAX_OVER_INCOMING: f64 = 1.5;
const MAX_OVER_INCOMING_BPS: f64 = 10_000.0;
/// Loss ratios between which the loss-based rate does not change.
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const LOSS_GROWTH: f64 = 1.05;
/// Fewer packets give no loss ratio (libwebrtc).
const LOSS_PACKETS: u32 = 20;
/// The loss-based rate falls once in this and an RTT (libwebrtc).
const LOSS_REACTION: Dur = Dur::from_millis(300);

/// Average incoming rate at over-use and its deviation, with the draft's smoothing of 0.95.
#[derive(Debug, Default)]
struct Capacity {
    /// bit/s, once over-use was seen.
    mean: Option<f64>,
    /// Variance over mean, kbit/s, within libwebrtc's bounds.
    dispersion: f64,
}

impl Capacity {
    const SMOOTHING: f64 = 0.95;
    const DISPERSION: (f64, f64) = (0.4, 2.5);

    fn sample(&mut self, rate: f64) {
        if self.position(rate) == Some(std::cmp::Ordering::Less) {
            self.mean = None; // as far below as what the draft resets above
        }
        let (low, high) = Self::DISPERSION;
        let Some(mean) = self.mean else {
            *self = Self { mean: Some(rate), dispersion: low };
            return;
        };
        let mean = Self::SMOOTHING * mean + (1.0 - Self::SMOOTHING) * rate;
        let off = (rate - mean) / 1000.0;
        let dispersion = off * off / (mean / 1000.0).max(1.0);
        self.dispersion = (Self::SMOOTHING * self.dispersion
            + (1.0 - Self::SMOOTHING) * dispersion)
            .clamp(low, high);
        self.mean = Some(mean);
    }

    /// Where the rate is from three deviations around the mean.
    fn position(&self, rate: f64) -> Option<std::cmp::Ordering> {
        let mean = self.mean?;
        let deviation = 1000.0 * (self.dispersion * mean / 1000.0).sqrt();
        Some(if rate > mean + 3.0 * deviation {
            std::cmp::Ordering::Greater
        } else if rate < mean - 3.0 * deviation {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Equal
        })
    }
}

/// Bytes that arrived within the window.
#[derive(Debug)]
struct Incoming {
    window: Dur,
    packets: VecDeque<(Time, u32)>,
    bytes: u64,
    first: Option<Time>,
}

impl Incoming {
    fn add(&mut self, arrival: Time, bytes: u32) {
        self.first.get_or_insert(arrival);
        self.packets.push_back((arrival, bytes));
        self.bytes += u64::from(bytes);
        while let Some((at, bytes)) = self.packets.front().copied()
            && ms_between(arrival, at) >= self.window.as_millis_f64()
        {
            self.packets.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// bit/s, once a quarter of the window is measured.
    fn rate(&self) -> Option<f64> {
        let measured = ms_between(self.packets.back()?.0, self.first?);
        let window = self.window.as_millis_f64();
        (measured >= window / 4.0).then(|| self.bytes as f64 * 8000.0 / measured.min(window))
    }
}

/// Draft 5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Hold,
    Increase,
    Decrease,
}

impl Phase {
    const fn after(self, signal: Signal) -> Self {
        match (self, signal) {
            (_, Signal::OverUse) => Self::Decrease,
            (Self::Hold | Self::Increase, Signal::Normal) => Self::Increase,
            (Self::Decrease, Signal::Normal) | (_, Signal::UnderUse) => Self::Hold,
        }
    }
}

#[derive(Debug)]
struct Gcc {
    params: Params,
    groups: Groups,
    estimator: Estimator,
    detector: Detector,
    phase: Phase,
    capacity: Capacity,
    incoming: Incoming,
    /// What delay allows, bit/s.
    delay_rate: f64,
    /// What losses allow, bit/s.
    loss_rate: f64,
    updated: Option<Time>,
    newest: Option<u64>,
    /// Packets received and lost since the loss-based rate last acted.
    received: u32,
    lost: u32,
    last_loss_cut: Option<Time>,
    loss_ratio: f64,
}

impl Gcc {
    fn new(params: Params) -> Self {
        let p = &params;
        let init = p.init_rate.0 as f64;
        Self {
            groups: Groups::new(p.burst_time),
            estimator: if p.kalman {
                Estimator::Kalman(Kalman::new(p.chi))
            } else {
                Estimator::Trendline(Trendline::new(p.samples, p.smoothing, p.gain))
            },
            detector: Detector::new(
                p.threshold.as_millis_f64(),
                p.k_up,
                p.k_down,
                p.overuse_time.as_millis_f64(),
            ),
            phase: Phase::Increase,
            capacity: Capacity::default(),
            incoming: Incoming {
                window: p.window,
                packets: VecDeque::new(),
                bytes: 0,
                first: None,
            },
            delay_rate: init,
            loss_rate: init,
            updated: None,
            newest: None,
            received: 0,
            lost: 0,
            last_loss_cut: None,
            loss_ratio: 0.0,
            params,
        }
    }

    fn clamped(&self, rate: f64) -> f64 {
        rate.clamp(self.params.min_rate.0 as f64, self.params.max_rate.0 as f64)
    }

    fn target(&self) -> Rate {
        Rate(self.delay_rate.min(self.loss_rate) as u64)
    }

    fn take(&mut self, report: &PacketReport) {
        let Some(arrival) = report.received else {
            self.lost += 1;
            return;
        };
        self.received += 1;
        if self.newest.is_some_and(|newest| report.seq < newest) {
            self.lost = self.lost.saturating_sub(1); // late, not lost
            return;
        }
        self.newest = Some(report.seq);
        self.incoming.add(arrival, report.bytes);
        if let Some(delta) = self.groups.add(report.sent, arrival) {
            let estimate = self.estimator.update(&delta);
            self.detector.update(estimate, delta.sent, delta.at);
        }
    }

    /// Draft 5.5: the state decides on growth, or on beta of what arrives.
    fn control_delay(&mut self, now: Time, rtt: Dur) {
        let since = self.updated.replace(now).map_or(0.0, |at| ms_between(now, at));
        let signal = self.detector.signal;
        self.phase = self.phase.after(signal);
        let incoming = self.incoming.rate();
        let rate = match self.phase {
            Phase::Hold => self.delay_rate,
            Phase::Increase => self.grown(since, rtt.as_millis_f64(), incoming),
            Phase::Decrease => {
                let arriving = incoming.unwrap_or(self.delay_rate);
                self.capacity.sample(arriving);
                // A rate above what arrives says nothing of over-use by this flow.
                (self.params.beta * arriving).min(self.delay_rate)
            }
        };
        self.delay_rate = self.clamped(rate);
    }

    /// Draft 5.5: additive near the average rate of earlier over-use, else 8 % per second, and
    /// never above 1.5 times the incoming rate.
    fn grown(&mut self, since_ms: f64, rtt_ms: f64, incoming: Option<f64>) -> f64 {
        let position = incoming.and_then(|rate| self.capacity.position(rate));
        if position == Some(std::cmp::Ordering::Greater) {
            self.capacity.mean = None;
        }
        let rate = self.delay_rate;
        let grown = if position == Some(std::cmp::Ordering::Equal) {
            let share = 0.5 * (since_ms / (REACTION_MS + rtt_ms)).min(1.0);
            let frame_bits = rate / FRAMES_PER_S;
            let packet_bits = frame_bits / (frame_bits / FULL_PACKET_BITS).ceil().max(1.0);
            rate + (share * packet_bits).max(MIN_GROWTH)
        } else {
            rate * math::pow(FAR_GROWTH, (since_ms / 1000.0).min(1.0))
        };
        // The limit ends growth; it takes nothing from a sender that was idle.
        let limit = incoming
            .map_or(f64::INFINITY, |incoming| MAX_OVER_INCOMING * incoming + MAX_OVER_INCOMING_BPS);
        grown.min(limit.max(rate))
    }

    /// Draft 6, for every [`LOSS_PACKETS`] packets instead of every report, whose length varies.
    fn control_loss(&mut self, now: Time, rtt: Dur) {
        let packets = self.received + self.lost;
        if packets < LOSS_PACKETS {
            return;
        }
        let loss = f64::from(self.lost) / f64::from(packets);
        self.loss_ratio = loss;
        if loss > HIGH_LOSS {
            // The losses of one reaction time have one cause.
            if self.last_loss_cut.is_some_and(|at| now.since(at) < LOSS_REACTION + rtt) {
                return;
            }
            self.last_loss_cut = Some(now);
            self.loss_rate *= 1.0 - 0.5 * loss;
        } else if loss < LOW_LOSS {
            self.loss_rate *= LOSS_GROWTH;
        }
        (self.received, self.lost) = (0, 0);
        // More than delay allows was not tried: losses say nothing of it.
        self.loss_rate = self.clamped(self.loss_rate.min(self.delay_rate));
    }
}

impl Controller for Gcc {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: Some(Feedback::Ccfb),
            codepoint: Some(Ecn::NotEct),
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, _win: &mut Window) {
        for report in ack.reports {
            self.take(report);
        }
        self.control_delay(now, ack.path.srtt);
        self.control_loss(now, ack.path.srtt);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        win.ssthresh
    }

    /// Silence of the receiver, which the draft leaves open, halves the rate.
    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, _win: &mut Window) {
        if change.to == State::Loss {
            self.delay_rate = self.clamped(self.delay_rate / 2.0);
            self.loss_rate = self.loss_rate.min(self.delay_rate);
        }
    }

    fn report_interval(&self) -> Dur {
        self.params.feedback
    }

    fn output(&self, path: &Path, _win: &Window) -> Output {
        let pacing = Rate((self.target().0 as f64 * self.params.pacing) as u64);
        let burst = pacing.bytes_in(self.params.burst_time) / u64::from(path.mtu.max(1));
        Output {
            pacing_rate: Some(pacing),
            burst: Some(burst.clamp(1, 1000) as u32),
            media_target: Some(self.target()),
            ..Output::default()
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay_rate", "Mbit/s", self.delay_rate / 1e6);
        out.put("loss_rate", "Mbit/s", self.loss_rate / 1e6);
        out.put("incoming", "Mbit/s", self.incoming.rate().unwrap_or(0.0) / 1e6);
        out.put("estimate", "ms", self.detector.estimate);
        out.put("threshold", "ms", self.detector.threshold);
        out.put("loss_ratio", "1", self.loss_ratio);
    }
}

#[cfg(test)]
mod tests;
