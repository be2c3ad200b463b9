//! SCReAM's ends of a simulated flow: session and receiver of the tool with packets of metadata
//! between them. Reports travel as the bytes that they are on the wire.

use sojourn_cc::scream::{AckLine, Setup, Stream, Ticks};
use sojourn_core::wire::ccfb::Counting;
use sojourn_core::wire::rtp::{HEADER_BYTES, Header, PAYLOAD_TYPE, TOOL_SSRC};
use sojourn_core::{Ecn, Kind, Probe, Rng, Time};

use super::scream_rx::{self, REPORT_BYTES};
use super::scream_tx::{Encoder, Host, Params, Session};
use super::{Data, HEADERS, L2_HEADER, Message};
use crate::app::MediaFlow;
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;

fn mbps(rate: f32) -> f64 {
    f64::from(rate) / 1e6
}

fn ms(seconds: f32) -> f64 {
    f64::from(seconds) * 1e3
}

/// The stream with no target that its encoder cannot have.
fn within(mut stream: Stream, encoder: Encoder) -> Stream {
    if let Encoder::Video(params) = encoder {
        let [least, most] = [params.least, params.most].map(|rate| (rate.0 as f32).max(1000.0));
        stream.max_rate = stream.max_rate.min(most);
        let can_be_least = stream.min_rate <= stream.max_rate;
        stream.min_rate = if can_be_least { stream.min_rate.max(least) } else { least };
        stream.init_rate = stream.init_rate.clamp(stream.min_rate, stream.max_rate);
    }
    stream
}

/// The sending end.
#[derive(Debug)]
pub struct ScreamSender {
    tos: u8,
    ecn: Ecn,
    session: Session,
    streams: usize,
    began: Time,
    /// The newest acknowledgement.
    last: AckLine,
    acked: u64,
    acked_ce: u64,
    /// Lines of the log repeat the same bytes (version 1 in parity).
    acked_repeats: bool,
}

impl ScreamSender {
    /// The opening end; `rng` makes the frames' sizes.
    pub fn new(setup: &Setup, flow: &MediaFlow, tos: u8, rng: Rng) -> Self {
        let streams: Vec<(Stream, Encoder)> = flow
            .priorities
            .iter()
            .zip(TOOL_SSRC..)
            .map(|(&priority, ssrc)| {
                let stream = Stream { ssrc, priority, ..setup.stream };
                (within(stream, flow.encoder), flow.encoder)
            })
            .collect();
        let params = Params {
            config: setup.config.clone(),
            streams,
            microburst: setup.microburst,
            host: Host { timer_slack: setup.timer_slack, packet_cost: setup.packet_cost },
            counting: Counting::default(),
        };
        Self {
            tos,
            ecn: setup.ecn,
            streams: flow.priorities.len(),
            session: Session::new(params, rng),
            began: Time::ZERO,
            last: AckLine::default(),
            acked: 0,
            acked_ce: 0,
            acked_repeats: setup.config.parity && !setup.config.version.is_v2(),
        }
    }
}

impl Endpoint for ScreamSender {
    fn start(&mut self, now: Time) {
        self.began = now;
        self.session.start(now);
    }

    fn stop(&mut self, _now: Time) {
        self.session.stop();
    }

    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Media(Message::Rtcp(bytes)) = body else { return };
        let Self { session, last, acked, acked_ce, .. } = self;
        let mut log = |line: &AckLine| {
            *last = *line;
            *acked += u64::from(line.acked);
            *acked_ce += u64::from(line.acked_ce);
        };
        // The session counts what is no report: bytes from a network may be anything.
        let _ = session.on_feedback(now, bytes, false, &mut log);
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        let packet = self.session.poll(now)?;
        let bytes = UDP_HEADERS + packet.rtp.bytes;
        let streams = self.streams as u64;
        let data = Data {
            seq: u64::from(packet.rtp.seq),
            number: self.session.counts().packets - 1,
            sent: now,
            bytes,
            frame: packet.frame.number * streams + packet.stream as u64,
            packets: packet.frame.packets,
            captured: packet.frame.captured,
            marker: packet.rtp.marker,
            stream: packet.stream as u8,
        };
        Some(Transmit {
            body: Body::Media(Message::Data(data)),
            len: L2_HEADER + bytes,
            tos: self.ecn.on_tos(self.tos),
            kind: Kind::Udp,
        })
    }

    fn deadline(&self) -> Time {
        self.session.deadline()
    }

    fn on_timer(&mut self, now: Time) {
        self.session.on_timer(now);
    }

    fn is_alive(&self) -> bool {
        self.session.is_alive()
    }

    fn sample(&self, now: Time, probe: &mut Probe<'_>) {
        let sender = self.session.sender();
        let (state, ticks) = (sender.snapshot(), self.session.ticks(now));
        let streams = || (0..self.streams).filter_map(|n| sender.stream_snapshot(ticks, n));
        probe.put("delivery_rate", "Mbit/s", mbps(state.rates.acked));
        if let Some(rtt) = state.measured_rtt {
            probe.put("rtt", "ms", ms(rtt));
        }
        let pacing = if state.pace > 0.0 { 8.0 * state.mss as f32 / state.pace } else { 0.0 };
        probe.put("pacing_rate", "Mbit/s", mbps(pacing));
        probe.put("target_rate", "Mbit/s", mbps(state.rates.target));
        probe.put("sent_rate", "Mbit/s", mbps(state.rates.sent));
        let queued: u32 = streams().map(|stream| stream.queue_bytes).sum();
        probe.put("sender_queue", "bytes", f64::from(queued));
        let delay = streams().map(|stream| stream.queue_delay).fold(0.0, f32::max);
        probe.put("sender_delay", "ms", ms(delay));
        if !self.acked_repeats {
            probe.put("ce_bytes", "bytes", self.acked_ce as f64);
        }
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        let state = self.session.sender().snapshot();
        probe.put("ref_wnd", "bytes", f64::from(state.cwnd));
        probe.put("ref_wnd_i", "bytes", f64::from(state.cwnd_i));
        probe.put("bytes_in_flight", "bytes", f64::from(state.in_flight));
        if state.measured_rtt.is_some() {
            probe.put("queue_delay", "ms", ms(state.queue_delay));
            probe.put("queue_delay_mean", "ms", ms(state.queue_delay_mean));
        }
        probe.put("rtp_queue_delay", "ms", ms(self.last.rtp_queue_delay));
        probe.put("l4s_alpha", "", f64::from(state.alpha));
        probe.put("loss_rate", "", f64::from(state.loss_rate));
        probe.put("media_rate", "Mbit/s", mbps(state.rates.media));
        probe.put("lost_rate", "Mbit/s", mbps(state.rates.lost));
        probe.put("ce_rate", "Mbit/s", mbps(state.rates.ce));
    }

    fn totals(&self) -> FlowProbe {
        let (c, sender) = (self.session.counts(), self.session.sender());
        let streams = (0..self.streams).filter_map(|n| sender.stream_snapshot(Ticks(0), n));
        let lost: u64 = streams.map(|stream| stream.packets_lost).sum();
        let mut totals = vec![
            ("packets_sent", c.packets as f64),
            // IP bytes, as of other media.
            ("sent_bytes", (c.bytes + c.packets * u64::from(UDP_HEADERS)) as f64),
            ("frames_encoded", c.frames as f64),
            ("frames_skipped", c.skipped as f64),
            ("packets_discarded", c.discarded as f64),
            ("lost", lost as f64),
            ("reports_received", c.reports as f64),
        ];
        if !self.acked_repeats {
            totals.push(("acked_bytes", self.acked as f64));
            totals.push(("acked_bytes_ce", self.acked_ce as f64));
        }
        FlowProbe(totals)
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct ScreamReceiver {
    tos: u8,
    receiver: scream_rx::Receiver,
    /// The report that is being written.
    out: Box<[u8]>,
}

impl ScreamReceiver {
    /// The other end of a flow of `streams` streams.
    pub fn new(setup: &Setup, streams: usize, tos: u8) -> Self {
        let mut params = scream_rx::Params::new(setup.config.version, setup.config.parity);
        params.reported = setup.reported;
        params.ackdiff = setup.ackdiff;
        params.count = setup.count;
        if streams > 1 {
            params.media_ssrc = None; // the tool has one stream
        }
        let receiver = scream_rx::Receiver::new(params, Time::ZERO);
        Self { tos, receiver, out: vec![0; REPORT_BYTES].into_boxed_slice() }
    }
}

impl Endpoint for ScreamReceiver {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Media(Message::Data(data)) = body else { return };
        let header = Header {
            marker: data.marker,
            payload_type: PAYLOAD_TYPE,
            seq: data.seq as u16,
            timestamp: 0,
            ssrc: TOOL_SSRC + u32::from(data.stream),
            payload: data.bytes - HEADERS,
        };
        self.receiver.on_rtp(now, &header, header.payload + HEADER_BYTES as u32, ecn);
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        let len = self.receiver.next_report(now, &mut self.out)?;
        Some(Transmit {
            body: Body::Media(Message::Rtcp(self.out[..len].into())),
            len: L2_HEADER + UDP_HEADERS + len as u32,
            tos: Ecn::NotEct.on_tos(self.tos),
            kind: Kind::Udp,
        })
    }

    fn deadline(&self) -> Time {
        self.receiver.deadline()
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        let counts = self.receiver.counts();
        probe.put("goodput_bytes", "bytes", counts.payload as f64);
        probe.put("ce_received", "packets", counts.ecn[Ecn::Ce as usize] as f64);
    }

    fn totals(&self) -> FlowProbe {
        let counts = self.receiver.counts();
        FlowProbe(vec![
            ("delivered_bytes", counts.payload as f64),
            ("packets_received", counts.packets as f64),
            ("ce_received", counts.ecn[Ecn::Ce as usize] as f64),
            ("duplicates_received", counts.duplicates as f64),
            ("reports_sent", counts.reports as f64),
        ])
    }
}
