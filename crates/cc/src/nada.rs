//! NADA, Network-Assisted Dynamic Adaptation for real-time media: RFC 8698.
//!
//! Delay, loss and ECN marks become one signal in milliseconds, x; the rate settles where
//! x = PRIO · XREF · RMAX / rate. The rules of RFC 8698's receiver (4.2) run at the sender as well,
//! on reports of each packet (RFC 8888). Times are milliseconds in floating point, as in the RFC.

use std::collections::VecDeque;

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Feedback, Kernel, Needs, Output, PacketReport, Path};
use super::{State, StateChange, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{Form, decimal, time_in};
use sojourn_core::math;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "nada",
    "NADA for media: delay, loss and ECN marks as one signal in milliseconds.",
    "RFC 8698",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `nada`, with the defaults of RFC 8698 figure 3, and `xmax`.
    #[derive(Copy)]
    struct Params {
        /// Weight of the flow's priority.
        prio: f64 = 1.0 => decimal("NUMBER", 0.01..=100.0);
        /// Least rate of the encoder.
        rmin: Rate = Rate(150_000);
        /// Greatest rate of the encoder.
        rmax: Rate = Rate(1_500_000);
        /// Reference level of congestion.
        xref: Dur = Dur::from_millis(10) => time();
        /// Upper bound of the aggregate signal.
        xmax: Dur = Dur::from_millis(500) => time();
        /// Gain of the gradual update.
        kappa: f64 = 0.5 => decimal("NUMBER", 0.0..=10.0);
        /// Weight of the signal's change in the gradual update.
        eta: f64 = 2.0 => decimal("NUMBER", 0.0..=100.0);
        /// Upper bound of the RTT in the gradual update.
        tau: Dur = Dur::from_millis(500) => time();
        /// Interval of the receiver's reports.
        delta: Dur = Dur::from_millis(100) => time();
        /// Window of the packet statistics.
        logwin: Dur = Dur::from_millis(500) => time();
        /// Queuing delay below which the path counts as underused.
        qeps: Dur = Dur::from_millis(10) => time();
        /// Bound on the delay of the filters.
        dfilt: Dur = Dur::from_millis(120) => time();
        /// Greatest growth in the accelerated ramp-up.
        gamma_max: f64 = 0.5 => decimal("NUMBER", 0.0..=10.0);
        /// Bound on the delay that the ramp-up may cause.
        qbound: Dur = Dur::from_millis(50) => time();
        /// Mean intervals between losses until losses are forgotten.
        multiloss: f64 = 7.0 => decimal("NUMBER", 0.0..=1000.0);
        /// Delay above which it is warped in the presence of losses.
        qth: Dur = Dur::from_millis(50) => time();
        /// Exponent of the warping.
        lambda: f64 = 0.5 => decimal("NUMBER", 0.0..=100.0);
        /// Reference loss ratio.
        plrref: f64 = 0.01 => decimal("NUMBER", 0.0001..=1.0);
        /// Reference marking ratio.
        pmrref: f64 = 0.01 => decimal("NUMBER", 0.0001..=1.0);
        /// Delay that the reference loss ratio stands for.
        dloss: Dur = Dur::from_millis(10) => time();
        /// Delay that the reference marking ratio stands for.
        dmark: Dur = Dur::from_millis(2) => time();
        /// Frames per second by which the sender's queue counts.
        fps: f64 = 30.0 => decimal("NUMBER", 1.0..=1000.0);
        /// Weight of the sender's queue in the sending rate.
        beta_s: f64 = 0.1 => decimal("NUMBER", 0.0..=10.0);
        /// Weight of the sender's queue in the encoder's rate.
        beta_v: f64 = 0.1 => decimal("NUMBER", 0.0..=10.0);
        /// Smoothing of loss and marking ratio.
        alpha: f64 = 0.1 => decimal("NUMBER", 0.001..=1.0);
        /// Send ECT(0) and answer marks.
        ecn: bool = true, name "ecn|noecn";
    }
    settle rates_in_order;
}

fn time() -> impl Form<Dur> {
    time_in(Dur::from_millis(1)..=Dur::from_secs(10))
}

impl Params {
    fn rates_in_order(&self, _: &Given) -> Result<(), String> {
        if ![Rate(5_000), self.rmin, self.rmax, Rate(10_000_000_000)].is_sorted() {
            return Err("expected 5Kbit <= rmin <= rmax <= 10Gbit".to_owned());
        }
        Ok(())
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Nada::new(*self))
    }
}

/// Samples of the minimum filter over queuing delays (5.1.1).
const MIN_FILTER: usize = 15;
/// Share of the rate that the sender's queue may move (eq. 11, 12).
const MAX_SHIFT: f64 = 0.05;
/// Weights of the intervals between losses, newest first (RFC 5348 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// What became of a packet of the last LOGWIN.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// Its arrival; of a missing packet that of the one before.
    at: Time,
    bytes: u32,
    lost: bool,
    ce: bool,
    /// Queuing delay of QEPS or more.
    queued: bool,
}

/// Sums over the packets of the last LOGWIN.
#[derive(Debug, Default)]
struct Log {
    fates: VecDeque<Fate>,
    bytes: u64,
    lost: u32,
    ce: u32,
    queued: u32,
}

impl Log {
    fn add(&mut self, fate: Fate, window: Dur) {
        self.fates.push_back(fate);
        self.bytes += u64::from(fate.bytes);
        self.lost += u32::from(fate.lost);
        self.ce += u32::from(fate.ce);
        self.queued += u32::from(fate.queued);
        while let Some(old) = self.fates.front().copied()
            && fate.at.since(old.at) >= window
        {
            self.fates.pop_front();
            self.bytes -= u64::from(old.bytes);
            self.lost -= u32::from(old.lost);
            self.ce -= u32::from(old.ce);
            self.queued -= u32::from(old.queued);
        }
    }

    fn share(&self, count: u32) -> f64 {
        f64::from(count) / (self.fates.len().max(1)) as f64
    }
}

/// Packets between losses, as RFC 5348 averages them; losses within an RTT are one event.
#[derive(Debug, Default)]
struct LossIntervals {
    closed: VecDeque<f64>,
    /// Packets since the last event began.
    open: f64,
    last: Option<Time>,
}

impl LossIntervals {
    fn packet(&mut self) {
        self.open += 1.0;
    }

    fn loss(&mut self, at: Time, rtt: Dur) {
        if self.last.is_some_and(|last| at.since(last) < rtt) {
            return;
        }
        self.last = Some(at);
        if self.closed.len() == WEIGHTS.len() {
            self.closed.pop_back();
        }
        self.closed.push_front(self.open.max(1.0));
        self.open = 0.0;
    }

    /// loss_int.
    ///
    /// DEVIATION: the open interval stays out. RFC 5348 lets it in where it raises the average; with
    /// its weight of a sixth or more, MULTILOSS = 7 averages would always exceed it, and a loss
    /// would never expire.
    fn mean(&self) -> Option<f64> {
        let weighted = self.closed.iter().zip(WEIGHTS);
        let (sum, weight) = weighted.fold((0.0, 0.0), |(s, w), (n, by)| (s + n * by, w + by));
        (weight > 0.0).then(|| sum / weight)
    }

    /// Whether the last loss is recent enough for warping (loss_exp).
    fn is_recent(&self, multiplier: f64) -> bool {
        self.mean().is_some_and(|mean| self.open <= multiplier * mean)
    }
}

#[derive(Debug, Default)]
struct Nada {
    params: Params,
    newest: Option<u64>,
    /// Arrival of the newest packet.
    arrived: Time,
    /// Least one-way delay, which includes the difference of the clocks, ns.
    base: i64,
    /// The last queuing delays, ms.
    delays: [f64; MIN_FILTER],
    samples: usize,
    log: Log,
    losses: LossIntervals,
    p_loss: f64,
    p_mark: f64,
    /// Filtered queuing delay, and what warping leaves of it, ms.
    d_queue: f64,
    d_tilde: f64,
    x_curr: f64,
    x_prev: f64,
    accelerated: bool,
    /// Received and reference rate, bit/s.
    r_recv: f64,
    r_ref: f64,
    updated: Option<Time>,
}

fn ms(time: Dur) -> f64 {
    time.as_millis_f64()
}

impl Nada {
    fn new(params: Params) -> Self {
        Self {
            base: i64::MAX,
            delays: [0.0; MIN_FILTER],
            accelerated: true,
            r_ref: params.rmin.0 as f64,
            params,
            ..Self::default()
        }
    }

    /// RFC 8698 4.2, a media packet; 5.1.2: one that comes late counts as lost.
    fn take(&mut self, report: &PacketReport, rtt: Dur) {
        let late = self.newest.is_some_and(|newest| report.seq < newest);
        let logwin = self.params.logwin;
        let Some(arrival) = report.received.filter(|_| !late) else {
            if !late {
                let lost =
                    Fate { at: self.arrived, bytes: 0, lost: true, ce: false, queued: false };
                self.log.add(lost, logwin);
                self.losses.packet();
                self.losses.loss(report.sent, rtt);
            }
            return;
        };
        self.newest = Some(report.seq);
        self.arrived = self.arrived.max(arrival);
        let delay = arrival.0.wrapping_sub(report.sent.0) as i64;
        self.base = self.base.min(delay);
        let queuing = (delay - self.base) as f64 / 1e6;
        self.delays[self.samples % MIN_FILTER] = queuing;
        self.samples += 1;
        let known = self.samples.min(MIN_FILTER);
        self.d_queue = self.delays[..known].iter().copied().fold(f64::INFINITY, f64::min);
        let fate = Fate {
            at: self.arrived,
            bytes: report.bytes,
            lost: false,
            ce: report.ecn == Ecn::Ce && self.params.ecn,
            queued: queuing >= ms(self.params.qeps),
        };
        self.log.add(fate, logwin);
        self.losses.packet();
        let alpha = self.params.alpha;
        self.p_loss += alpha * (self.log.share(self.log.lost) - self.p_loss);
        self.p_mark += alpha * (self.log.share(self.log.ce) - self.p_mark);
    }

    /// RFC 8698 4.2, a report: the aggregate signal and the mode.
    fn aggregate(&mut self) {
        let p = &self.params;
        let qth = ms(p.qth);
        let warped = self.d_queue >= qth && self.losses.is_recent(p.multiloss);
        self.d_tilde = if warped {
            qth * math::exp(-p.lambda * (self.d_queue - qth) / qth)
        } else {
            self.d_queue
        };
        let signal = self.d_tilde
            + ms(p.dmark) * math::powi(self.p_mark / p.pmrref, 2)
            + ms(p.dloss) * math::powi(self.p_loss / p.plrref, 2);
        // DEVIATION: RFC 8698 bounds nothing. At 80 % of loss x is 64 s; when it falls again, the
        // change takes the rate from RMIN to RMAX at once, and so on for ever. The authors'
        // simulation model has this bound, with which a change at most doubles the rate.
        self.x_curr = signal.min(ms(p.xmax));
        // DEVIATION: RFC 8698 4.2 asks for no loss and no delay of QEPS within LOGWIN. A queue that
        // marks before that delay would never slow the flow, so x has to be below QEPS too.
        self.accelerated = self.log.lost == 0 && self.log.queued == 0 && self.x_curr < ms(p.qeps);
        self.r_recv = self.log.bytes as f64 * 8000.0 / ms(p.logwin);
    }

    /// RFC 8698 4.3.
    fn update(&mut self, now: Time, rtt: Dur) {
        let p = self.params;
        let since = self.updated.replace(now).map_or(p.delta, |at| now.since(at));
        if self.accelerated {
            let gamma = p.gamma_max.min(ms(p.qbound) / ms(rtt + p.delta + p.dfilt));
            self.r_ref = self.r_ref.max((1.0 + gamma) * self.r_recv);
        } else {
            let (tau, r) = (ms(p.tau), self.r_ref);
            let x_offset = self.x_curr - p.prio * ms(p.xref) * p.rmax.0 as f64 / r;
            let x_diff = self.x_curr - self.x_prev;
            self.r_ref -= p.kappa * (ms(since) / tau) * (x_offset / tau) * r;
            self.r_ref -= p.kappa * p.eta * (x_diff / tau) * r;
        }
        self.r_ref = self.clipped(self.r_ref);
        self.x_prev = self.x_curr;
    }

    fn clipped(&self, rate: f64) -> f64 {
        rate.clamp(self.params.rmin.0 as f64, self.params.rmax.0 as f64)
    }
}

impl Controller for Nada {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: Some(Feedback::Ccfb),
            codepoint: Some(if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct }),
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, _win: &mut Window) {
        for report in ack.reports {
            self.take(report, ack.path.srtt);
        }
        self.aggregate();
        self.update(now, ack.path.srtt);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        win.ssthresh
    }

    /// Silence of the receiver halves the rate.
    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, _win: &mut Window) {
        if change.to == State::Loss {
            self.r_ref = self.clipped(self.r_ref / 2.0);
        }
    }

    fn report_interval(&self) -> Dur {
        self.params.delta
    }

    /// Equations 11 to 14: the sender's queue takes from the encoder and gives to the pacer.
    fn output(&self, path: &Path, _win: &Window) -> Output {
        let p = &self.params;
        let drain = 8.0 * path.queued as f64 * p.fps;
        let most = MAX_SHIFT * self.r_ref;
        let encoder = self.clipped(self.r_ref - (p.beta_v * drain).min(most));
        let sending = self.clipped(self.r_ref + (p.beta_s * drain).min(most));
        Output {
            pacing_rate: Some(Rate(sending as u64)),
            burst: Some(1),
            media_target: Some(Rate(encoder as u64)),
            ..Output::default()
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("r_ref", "Mbit/s", self.r_ref / 1e6);
        out.put("r_recv", "Mbit/s", self.r_recv / 1e6);
        out.put("x_curr", "ms", self.x_curr);
        out.put("d_queue", "ms", self.d_queue);
        out.put("d_tilde", "ms", self.d_tilde);
        out.put("p_loss", "1", self.p_loss);
        out.put("p_mark", "1", self.p_mark);
        out.put("accelerated", "1", f64::from(u8::from(self.accelerated)));
    }
}

#[cfg(test)]
mod tests;
