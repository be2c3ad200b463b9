//! What the sender sends: a session under SCReAM, or packets of a constant rate.

use sojourn_cc::scream::{AckLine, Config, Extremes, Stream, Ticks};
use sojourn_core::wire::ccfb::{self, Counting, Report};
use sojourn_core::wire::rtp::{Header, TOOL_SSRC};
use sojourn_core::{Dur, Rate, Rng, Time};
use sojourn_transport::media::scream_tx::{Encoder, Host, Key, OnOff, Params, Session, Tool};

use super::diagnosis::Moment;
use super::ecn_path::Arrived;
use super::ledger::{Fate, Ledger};
use super::lines::{FinalSummary, SummaryLine, VerboseLine};
use super::push::Push;
use super::tx_options::TxOptions;
use super::{Count, Generation};

/// Queued packets of an adaptive stream are thrown away when they are older, s.
const QUEUE_LIMIT_S: f32 = 0.2;
/// And those of a fixed rate.
const FIXED_QUEUE_LIMIT_S: f32 = 10.0;

/// The source of packets and what is known of their fate.
pub(super) struct Media {
    source: Source,
    counting: Counting,
    ledger: Ledger,
    epoch: Time,
    greatest_kbps: f64,
}

enum Source {
    Session(Box<Session>),
    Push { push: Push, payload: u64 },
}

impl Media {
    /// Begins at `now`; the error is a line for the user.
    pub(super) fn new(o: &TxOptions, now: Time) -> Result<Self, String> {
        let counting = match o.count {
            Count::Auto => Counting::default(),
            Count::Legacy => Counting::fixed(ccfb::Count::LessOne),
            Count::Rfc8888 => Counting::fixed(ccfb::Count::Exact),
        };
        let mtu = o.mtus.last().copied().unwrap_or(1200);
        let source = if let Some(kbps) = o.fixed_kbps.filter(|_| o.push_traffic) {
            let rate = Rate((kbps * 1e3) as u64);
            let push = Push::new(rate, mtu, microburst(o), o.fps, now);
            Source::Push { push, payload: 0 }
        } else {
            let params = params(o, counting);
            params.config.check()?;
            params.streams.iter().try_for_each(|(stream, _)| stream.check())?;
            let mut session = Session::new(params, Rng::named(0, "media"));
            session.start(now);
            Source::Session(Box::new(session))
        };
        let greatest_kbps = o.fixed_kbps.unwrap_or(o.max_kbps);
        let ledger = Ledger::new(o.tx_rx_log.is_some());
        Ok(Self { source, counting, ledger, epoch: now, greatest_kbps })
    }

    pub(super) fn greatest_kbps(&self) -> f64 {
        self.greatest_kbps
    }

    pub(super) fn arrived(&self) -> &Arrived {
        self.ledger.arrived()
    }

    /// When [`Self::poll`] may have a packet.
    pub(super) fn deadline(&self) -> Time {
        match &self.source {
            Source::Session(session) => session.deadline(),
            Source::Push { push, .. } => push.deadline(),
        }
    }

    /// The next packet that leaves now.
    pub(super) fn poll(&mut self, now: Time) -> Option<Header> {
        let header = match &mut self.source {
            Source::Session(session) => session.poll(now)?.header(),
            Source::Push { push, payload } => {
                let header = push.poll(now)?;
                *payload += u64::from(header.payload);
                header
            }
        };
        self.ledger.on_sent(header.seq, Ticks::at(now, self.epoch));
        Some(header)
    }

    /// Makes the frames that are due.
    pub(super) fn on_timer(&mut self, now: Time) {
        if let Source::Session(session) = &mut self.source {
            session.on_timer(now);
        }
    }

    /// A datagram of the receiver.
    pub(super) fn on_feedback(
        &mut self,
        now: Time,
        bytes: &[u8],
        detailed: bool,
        log: &mut dyn FnMut(&AckLine),
        fate: Fate<'_>,
    ) -> Result<(), ccfb::Error> {
        let report = Report::parse(bytes, &mut self.counting)?;
        let ticks = Ticks::at(now, self.epoch);
        for block in report.blocks().filter(|block| block.ssrc == TOOL_SSRC) {
            self.ledger.on_block(ticks, block.begin, block.metrics(), fate);
        }
        match &mut self.source {
            Source::Session(session) => session.on_feedback(now, bytes, detailed, log),
            Source::Push { .. } => Ok(()),
        }
    }

    /// What the 2 s line says; nothing of what is only pushed.
    pub(super) fn summary_line(&self, now: Time) -> Option<SummaryLine> {
        let s = self.session()?.sender().summary();
        Some(SummaryLine {
            time_s: now.as_secs_f64(),
            rate_kbps: s.rate / 1e3,
            loss_pct: [s.loss.recent, s.loss.all],
            ce_pct: [s.ce.recent, s.ce.all],
            ecn_pct: s.ecn,
            rtt_s: s.rtt,
            queue_delay_s: s.queue_delay,
            mtu: s.payload,
        })
    }

    /// What the end says.
    pub(super) fn final_summary(&self) -> Option<FinalSummary> {
        let s = self.session()?.sender().summary();
        // Extremes are those after five seconds; a shorter run has its mean.
        let known = |e: Extremes| if e.max > 0.0 { [e.min, e.max, e.mean] } else { [e.mean; 3] };
        let all = |e: Extremes, scale: f32| known(e).map(|v| v / scale);
        Some(FinalSummary {
            rate_kbps: all(s.rates, 1e3),
            rtt_s: all(s.rtts, 1.0),
            queue_delay_s: [s.queue_delays.max, s.queue_delays.mean],
            loss_pct: s.loss.all,
            ecn_pct: s.ecn,
            is_measured: self.arrived().total() > 0,
        })
    }

    /// What the 200 ms line says; `is_measured`: there is feedback.
    pub(super) fn verbose_line(&mut self, now: Time, is_measured: bool) -> Option<VerboseLine> {
        let Source::Session(session) = &mut self.source else { return None };
        let in_flight = session.sender_mut().take_max_in_flight();
        let s = session.sender().snapshot();
        Some(VerboseLine {
            time_s: now.as_secs_f64(),
            queue_delay_s: s.queue_delay,
            srtt_s: s.srtt,
            cwnd: s.cwnd,
            in_flight,
            rate_kbps: s.rates.sent / 1e3,
            lost_kbps: s.rates.lost / 1e3,
            ce_kbps: s.rates.ce / 1e3,
            is_measured,
        })
    }

    /// What the diagnosis looks at; nothing of what is only pushed.
    pub(super) fn moment(&self) -> Option<Moment> {
        let s = self.session()?.sender().snapshot();
        Some(Moment {
            target_kbps: s.rates.target / 1e3,
            greatest_kbps: self.greatest_kbps as f32,
            queue_delay_s: s.queue_delay,
            lost_kbps: s.rates.lost / 1e3,
            marked: self.arrived().marked(),
        })
    }

    pub(super) fn target_kbps(&self) -> f32 {
        self.session().map_or(0.0, |session| session.sender().snapshot().rates.target / 1e3)
    }

    fn session(&self) -> Option<&Session> {
        match &self.source {
            Source::Session(session) => Some(session),
            Source::Push { .. } => None,
        }
    }

    /// A line on a report, for -detailed.
    pub(super) fn debug_line(&self, now: Time, bytes: &[u8]) -> String {
        let mut counting = self.counting;
        let Ok(report) = Report::parse(bytes, &mut counting) else { return String::new() };
        let mut text = format!(" report of SSRC {}", report.sender);
        for block in report.blocks() {
            let words = block.metrics();
            let (first, reported) = (block.begin, words.len() as u16);
            let received = words.filter(|m| m.received.is_some()).count();
            let end = first.wrapping_add(reported).wrapping_sub(1);
            text.push_str(&format!(
                " beg_seq {first} num_reps {reported} end_seq {end} nRx {received}"
            ));
        }
        if let Some(session) = self.session() {
            let (sender, now) = (session.sender(), Ticks::at(now, self.epoch));
            let stream = sender.stream_snapshot(now, 0).unwrap_or_default();
            let (packets, delay) = (stream.queue_packets, stream.queue_delay);
            let srtt = sender.snapshot().srtt;
            text.push_str(&format!(
                " packetsRtp {packets} rtpQueueDelay {delay:.3} sRtt {srtt:.3}"
            ));
        }
        text
    }

    /// Packets that were thrown away before they left.
    pub(super) fn discarded(&self) -> u64 {
        self.session().map_or(0, |session| session.counts().discarded)
    }

    /// Payload bytes that were pushed since this was last asked.
    pub(super) fn take_pushed(&mut self) -> u64 {
        match &mut self.source {
            Source::Push { payload, .. } => std::mem::take(payload),
            Source::Session(_) => 0,
        }
    }
}

fn microburst(o: &TxOptions) -> Dur {
    Dur((o.microburst_ms * 1e6) as u64)
}

/// The session's parameters, as scream_sender.cpp sets up its sender.
fn params(o: &TxOptions, counting: Counting) -> Params {
    let fixed = o.fixed_kbps;
    let bits = |kbps: f64| (kbps * 1e3) as f32;
    let mtu = o.mtus.last().copied().unwrap_or(1200);
    let mut config = Config::new(o.generation.version());
    config.parity = o.parity;
    config.l4s = o.ect == 1;
    config.loss_beta = o.scale as f32;
    config.ecn_beta = o.scale as f32;
    config.delay_target = o.delay_target_s as f32;
    // 100 ms at the start rate.
    config.initial_cwnd = (o.init_kbps * 100.0 / 8.0) as u32;
    config.pacing = o.is_paced;
    config.pace_headroom = o.pace_headroom as f32;
    config.adaptive_pace_headroom = o.adaptive_pace_headroom as f32;
    // Version 1 has its own in the algorithm.
    if o.generation > Generation::V2020 {
        config.least_cwnd = 2 * (mtu + 12);
        config.inflight_headroom = o.inflight_headroom as f32;
    }
    config.mul_increase = o.mul_increase as f32;
    config.max_window_headroom = o.max_window_headroom as f32;
    config.open_window = o.open_window;
    config.relaxed_pacing = o.relaxed_pacing;
    config.clock_drift = o.clock_drift;
    config.reorder_time = o.reorder_s as f32;
    config.mtus.clone_from(&o.mtus);
    config.least_packets_in_flight = o.least_packets_in_flight;
    config.gain_down = o.gain_down as f32;
    config.ramp_up_speed = bits(o.ramp_kbps_per_s);
    config.ramp_up_scale = o.ramp_scale as f32;
    let mut stream = Stream::new(TOOL_SSRC);
    stream.hysteresis = o.hysteresis as f32;
    stream.max_queue_delay = QUEUE_LIMIT_S;
    [stream.min_rate, stream.init_rate, stream.max_rate] =
        [o.min_kbps, o.init_kbps, o.max_kbps].map(bits);
    if let Some(kbps) = fixed {
        // The original of 2026 leaves the window closed here and gets stuck at a few Mbit/s.
        config = Config {
            parity: o.parity,
            l4s: config.l4s,
            delay_target: config.delay_target,
            pacing: config.pacing && o.generation > Generation::V2020,
            clock_drift: config.clock_drift,
            reorder_time: config.reorder_time,
            ..Config::fixed_rate(o.generation.version(), mtu)
        };
        [stream.min_rate, stream.init_rate, stream.max_rate] = [bits(kbps); 3];
        stream.max_queue_delay = FIXED_QUEUE_LIMIT_S;
    }
    let seconds = |s: f64| Dur((s * 1e9) as u64);
    let tool = Tool {
        fps: o.fps,
        rand: o.rand_pct as f32,
        key: o.key.map(|(every, times)| Key { every: seconds(every), times: times as f32 }),
        burst: o.burst.map(|(on, off)| OnOff { on: seconds(on), off: seconds(off) }),
    };
    Params {
        config,
        streams: vec![(stream, Encoder::Tool(tool))],
        microburst: microburst(o),
        host: Host::default(),
        counting,
    }
}
