//! Google Congestion Control for real-time media: draft-ietf-rmcat-gcc-02, with libwebrtc's
//! trendline beside the draft's Kalman filter. Facts: `cc.md` 3.10.
//!
//! Both controllers run at the sender, on reports of each packet (RFC 8888). One follows the delay:
//! it grows until the variation of the delay between groups of packets says over-use, and then takes
//! 0.85 of what arrives. The other follows the losses. The encoder gets the smaller of the two rates.
//! Probing with clusters of packets is no part of the draft and not here.

mod delay;

use std::collections::VecDeque;

use delay::{Detector, Estimator, Groups, Kalman, Signal, Trendline, ms_between};

use super::{Ack, Controller, Feedback, Needs, Output, PacketReport, Path};
use super::{State, StateChange, Window};
use crate::legacy::OldEntry;
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

pub(super) const ENTRY: OldEntry = OldEntry {
    name: "gcc",
    summary: "Google Congestion Control for media: trend of the delay, and loss; knows no ECN.",
    reference: "draft-ietf-rmcat-gcc-02; libwebrtc (trendline, pacing)",
    params: PARAMS,
    build: |args| Ok(Box::new(Gcc::new(Params::parse(args)?))),
};

const PARAMS: &[Param] = &[
    Param { name: "init_rate", value: "RATE", default: "300Kbit", doc: "First rate." },
    Param { name: "min_rate", value: "RATE", default: "30Kbit", doc: "Least rate." },
    Param { name: "max_rate", value: "RATE", default: "30Mbit", doc: "Greatest rate." },
    Param {
        name: "estimator",
        value: "trendline|kalman",
        default: "trendline",
        doc: "What estimates the delay variation.",
    },
    Param {
        name: "feedback",
        value: "TIME",
        default: "50ms",
        doc: "Interval of the receiver's reports.",
    },
    Param {
        name: "pacing",
        value: "NUMBER",
        default: "2.5, with kalman 1",
        doc: "Pacing rate over target rate, 1 to 10.",
    },
    Param {
        name: "burst_time",
        value: "TIME",
        default: "5ms",
        doc: "Packets sent within this time are a group; length of a paced burst.",
    },
    Param {
        name: "window",
        value: "TIME",
        default: "500ms",
        doc: "Time over which the incoming rate is measured.",
    },
    Param {
        name: "beta",
        value: "NUMBER",
        default: "0.85",
        doc: "Share of the incoming rate that is left after over-use.",
    },
    Param {
        name: "threshold",
        value: "TIME",
        default: "12.5ms",
        doc: "First threshold of the detector, 6 to 600 ms.",
    },
    Param {
        name: "k_up",
        value: "NUMBER",
        default: "0.01",
        doc: "Share of its distance by which the threshold rises per millisecond.",
    },
    Param {
        name: "k_down",
        value: "NUMBER",
        default: "0.00018",
        doc: "Share of its distance by which the threshold falls per millisecond.",
    },
    Param {
        name: "overuse_time",
        value: "TIME",
        default: "10ms",
        doc: "How long the estimate is above the threshold before it is over-use.",
    },
    Param {
        name: "samples",
        value: "NUMBER",
        default: "20",
        doc: "Groups in the trendline, 2 to 1000.",
    },
    Param {
        name: "smoothing",
        value: "NUMBER",
        default: "0.9",
        doc: "Weight of the past in the trendline's delay.",
    },
    Param { name: "gain", value: "NUMBER", default: "4", doc: "Gain of the trendline." },
    Param {
        name: "chi",
        value: "NUMBER",
        default: "0.01",
        doc: "Filter coefficient of the Kalman filter's noise, 0.001 to 0.1.",
    },
];

#[derive(Clone, Copy, Debug)]
struct Params {
    init_rate: Rate,
    min_rate: Rate,
    max_rate: Rate,
    kalman: bool,
    feedback: Dur,
    /// `None` until all words are read: each estimator comes with the pacing of its source.
    pacing: Option<f64>,
    burst_time: Dur,
    window: Dur,
    beta: f64,
    threshold: Dur,
    k_up: f64,
    k_down: f64,
    overuse_time: Dur,
    samples: u64,
    smoothing: f64,
    gain: f64,
    chi: f64,
}

impl Params {
    const DEFAULT: Self = Self {
        init_rate: Rate(300_000),
        min_rate: Rate(30_000),
        max_rate: Rate(30_000_000),
        kalman: false,
        feedback: Dur::from_millis(50),
        pacing: None,
        burst_time: Dur::from_millis(5),
        window: Dur::from_millis(500),
        beta: 0.85,
        threshold: Dur::from_micros(12_500),
        k_up: 0.01,
        k_down: 0.00018,
        overuse_time: Dur::from_millis(10),
        samples: 20,
        smoothing: 0.9,
        gain: 4.0,
        chi: 0.01,
    };

    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut p = Self::DEFAULT;
        let times = |args: &mut Args<'_>, expected, from: u64, to: u64| {
            args.value(expected, |w| {
                let range = Dur::from_millis(from)..=Dur::from_millis(to);
                Dur::parse_tc(w).filter(|t| range.contains(t))
            })
        };
        while let Some(key) = args.key() {
            match key {
                "init_rate" => p.init_rate = args.rate()?,
                "min_rate" => p.min_rate = args.rate()?,
                "max_rate" => p.max_rate = args.rate()?,
                "estimator" => p.kalman = args.choice(&["trendline", "kalman"])? == 1,
                "feedback" => p.feedback = times(args, "a time from 5ms to 1s", 5, 1000)?,
                "pacing" => p.pacing = Some(args.decimal(1.0..=10.0)?),
                "burst_time" => p.burst_time = times(args, "a time from 1ms to 100ms", 1, 100)?,
                "window" => p.window = times(args, "a time from 100ms to 10s", 100, 10_000)?,
                "beta" => p.beta = args.decimal(0.1..=1.0)?,
                "threshold" => p.threshold = times(args, "a time from 6ms to 600ms", 6, 600)?,
                "k_up" => p.k_up = args.decimal(0.0..=0.1)?,
                "k_down" => p.k_down = args.decimal(0.0..=0.1)?,
                "overuse_time" => p.overuse_time = times(args, "a time up to 1s", 0, 1000)?,
                "samples" => p.samples = args.number(2..=1000)?,
                "smoothing" => p.smoothing = args.decimal(0.0..=0.999)?,
                "gain" => p.gain = args.decimal(0.01..=100.0)?,
                "chi" => p.chi = args.decimal(0.001..=0.1)?,
                _ => return Err(args.unknown()),
            }
        }
        // Draft 4: a burst per burst_time at the target rate. libwebrtc: 2.5 times that.
        p.pacing = p.pacing.or(Some(if p.kalman { 1.0 } else { 2.5 }));
        if p.min_rate < MIN_RATE || p.max_rate > MAX_RATE {
            return Err(args.invalid("rates are from 5Kbit to 10Gbit"));
        }
        if ![p.min_rate, p.init_rate, p.max_rate].is_sorted() {
            return Err(args.invalid("expected min_rate <= init_rate <= max_rate"));
        }
        Ok(p)
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
/// Loss ratios between which the loss-based rate stands still.
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const LOSS_GROWTH: f64 = 1.05;
/// Fewer packets tell no loss ratio (libwebrtc).
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
                Estimator::Trendline(Trendline::new(p.samples as usize, p.smoothing, p.gain))
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

    fn pacing(&self) -> f64 {
        self.params.pacing.unwrap_or(1.0)
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
            rate * FAR_GROWTH.powf((since_ms / 1000.0).min(1.0))
        };
        // The limit ends growth; it takes nothing from a sender that was idle.
        let limit = incoming
            .map_or(f64::INFINITY, |incoming| MAX_OVER_INCOMING * incoming + MAX_OVER_INCOMING_BPS);
        grown.min(limit.max(rate))
    }

    /// Draft 6, for each so many packets in place of each report of unknown length.
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
        let pacing = Rate((self.target().0 as f64 * self.pacing()) as u64);
        let burst = pacing.bytes_in(self.params.burst_time) / u64::from(path.mtu.max(1));
        Output {
            pacing_rate: Some(pacing),
            burst: Some(burst.clamp(1, 1000) as u32),
            media_target: Some(self.target()),
            ..Output::default()
        }
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let estimator = if p.kalman { "kalman" } else { "trendline" };
        format!(
            "gcc init_rate {} min_rate {} max_rate {} estimator {estimator} feedback {} \
             pacing {} burst_time {} window {} beta {} threshold {} k_up {} k_down {} \
             overuse_time {} samples {} smoothing {} gain {} chi {}",
            p.init_rate,
            p.min_rate,
            p.max_rate,
            p.feedback,
            self.pacing(),
            p.burst_time,
            p.window,
            p.beta,
            p.threshold,
            p.k_up,
            p.k_down,
            p.overuse_time,
            p.samples,
            p.smoothing,
            p.gain,
            p.chi,
        )
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
