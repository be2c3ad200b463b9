//! The sending end: encoder, queue of packets, pacer, and the controller behind them.

use sojourn_cc::{
    Ack, Controller, Feedback, Output, PacketReport, Path, Sent, State, StateChange, Window,
};
use sojourn_core::{Dur, Ecn, Kind, Probe, Rate, Rng, Time};

use super::feedback::{History, Report};
use super::rtp_queue::{RtpPacket, RtpQueue};
use super::source::{Params, Source};
use super::{Data, L2_HEADER, Message};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit, put_rtt};

/// Silence with packets in flight after which the path counts as dead, and the least in RTTs.
const TIMEOUT: Dur = Dur::from_secs(1);
const TIMEOUT_RTTS: u64 = 4;
/// Least time over which a rate that is shown is measured.
const SHOWN: Dur = Dur::from_millis(250);

/// A rate for the series: bytes over about a quarter of a second.
#[derive(Debug, Default)]
struct Shown {
    rate: Rate,
    since: Time,
    bytes: u64,
}

impl Shown {
    fn add(&mut self, now: Time, bytes: u64) {
        let passed = now.since(self.since);
        if passed >= SHOWN {
            let bits = u128::from(self.bytes) * 8_000_000_000;
            self.rate = Rate((bits / u128::from(passed.0)) as u64);
            (self.since, self.bytes) = (now, 0);
        }
        self.bytes += bytes;
    }
}

#[derive(Debug, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    frames: u64,
    discarded: u64,
    lost: u64,
    ce: u64,
    reports: u64,
    timeouts: u64,
}

/// The sending end of a media flow.
pub struct Sender {
    tos: u8,
    mtu: u32,
    /// The queue is emptied once its oldest packet is older.
    queue_limit: Dur,
    cc: Box<dyn Controller>,
    win: Window,
    out: Output,
    source: Source,
    queue: RtpQueue,
    history: History,
    /// What a report says, kept to be filled again.
    reports: Vec<PacketReport>,
    open: bool,
    stopped: bool,
    next_seq: u64,
    srtt: Dur,
    min_rtt: Dur,
    delivered: u64,
    delivered_ce: u64,
    /// When the next burst may leave, and packets of the running one.
    next: Time,
    burst_left: u32,
    /// The last report, or the first packet after silence.
    heard: Time,
    counts: Counts,
    sent_rate: Shown,
    delivery_rate: Shown,
}

impl Sender {
    /// A flow under this controller; [`Endpoint::start`] opens it. `rng` makes the frames' sizes.
    pub fn new(params: Params, tos: u8, mtu: u32, cc: Box<dyn Controller>, rng: Rng) -> Self {
        Self {
            tos,
            mtu,
            queue_limit: params.queue,
            cc,
            win: Window::new(1),
            out: Output::default(),
            source: Source::new(params, mtu, rng),
            queue: RtpQueue::default(),
            history: History::default(),
            reports: Vec::with_capacity(super::feedback::REPORTED),
            open: false,
            stopped: false,
            next_seq: 0,
            srtt: Dur::ZERO,
            min_rtt: Dur::ZERO,
            delivered: 0,
            delivered_ce: 0,
            next: Time::ZERO,
            burst_left: 0,
            heard: Time::ZERO,
            counts: Counts::default(),
            sent_rate: Shown::default(),
            delivery_rate: Shown::default(),
        }
    }

    fn path(&self) -> Path {
        Path {
            mss: self.mtu,
            mtu: self.mtu,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            packets_out: self.history.packets(),
            in_flight: self.history.packets(),
            snd_nxt: self.next_seq,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            feedback: Feedback::Ccfb,
            backlogged: !self.queue.is_empty(),
            queued: self.queue.bytes(),
            paced: true,
            ..Path::default()
        }
    }

    fn target(&self) -> Rate {
        self.out.media_target.unwrap_or_default()
    }

    fn update_output(&mut self, now: Time) {
        let path = self.path();
        self.out = self.cc.output(&path, &self.win);
        self.source.set_target(now, self.target());
    }

    /// Puts the frame that is due into the queue.
    fn encode(&mut self, now: Time) {
        if self.queue.delay(now) > self.queue_limit {
            self.counts.discarded += self.queue.clear();
        }
        let frame = self.source.frame();
        self.counts.frames += 1;
        for index in 0..frame.packets {
            self.queue.push(RtpPacket {
                seq: self.next_seq,
                bytes: self.source.packet_size(&frame, index),
                frame: frame.number,
                packets: frame.packets,
                captured: frame.captured,
                marker: index + 1 == frame.packets,
            });
            self.next_seq += 1;
        }
        self.update_output(now);
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        self.reports.clear();
        let news = self.history.read(now, report, &mut self.reports);
        self.heard = now;
        self.counts.reports += 1;
        self.counts.lost = (self.counts.lost + u64::from(news.missing)) - u64::from(news.late);
        self.counts.ce += u64::from(news.ce);
        self.delivered += u64::from(news.received);
        self.delivered_ce += u64::from(news.ce);
        self.delivery_rate.add(now, news.bytes);
        if let Some(rtt) = news.rtt {
            let first = self.srtt == Dur::ZERO;
            self.min_rtt = if first { rtt } else { self.min_rtt.min(rtt) };
            self.srtt = if first { rtt } else { Dur(self.srtt.0 - self.srtt.0 / 8 + rtt.0 / 8) };
        }
        let path = self.path();
        let ack = Ack {
            acked: news.received,
            acked_bytes: news.bytes,
            lost: news.missing,
            ce: news.ce,
            ect1: news.ect1,
            rtt: news.rtt,
            app_limited: self.queue.is_empty(),
            reports: &self.reports,
            ..Ack::new(&path)
        };
        self.cc.on_ack(now, &ack, &mut self.win);
        self.update_output(now);
    }

    fn timeout_at(&self) -> Time {
        if self.history.packets() == 0 {
            return Time::NEVER;
        }
        self.heard + TIMEOUT.max(self.srtt * TIMEOUT_RTTS)
    }

    fn on_timeout(&mut self, now: Time) {
        self.counts.timeouts += 1;
        self.history.forget();
        let path = self.path();
        let change = StateChange { from: State::Open, to: State::Loss };
        self.cc.on_state(now, change, &path, &mut self.win);
        self.update_output(now);
    }

    /// Whether the controller's window has room for the oldest packet.
    fn has_room(&self) -> bool {
        let Some(packet) = self.queue.front() else { return false };
        let flight = self.history.bytes() + u64::from(packet.bytes);
        self.out.cwnd.is_none_or(|cwnd| flight <= cwnd.0)
    }
}

impl Endpoint for Sender {
    fn start(&mut self, now: Time) {
        self.open = true;
        (self.next, self.heard) = (now, now);
        (self.sent_rate.since, self.delivery_rate.since) = (now, now);
        let path = self.path();
        self.cc.on_established(now, &path, &mut self.win);
        self.out = self.cc.output(&path, &self.win);
        self.source.start(now, self.target());
        self.encode(now);
    }

    fn stop(&mut self, _now: Time) {
        self.stopped = true;
    }

    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Media(Message::Feedback(report)) = body {
            self.on_report(now, report);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if !self.has_room() {
            self.burst_left = 0;
            return None;
        }
        if self.burst_left == 0 {
            if now < self.next {
                return None;
            }
            self.next = now;
            self.burst_left = self.out.burst.unwrap_or(1).max(1);
        }
        let packet = self.queue.pop()?;
        self.burst_left -= 1;
        if let Some(rate) = self.out.pacing_rate {
            self.next += rate.time_for(u64::from(packet.bytes));
        }
        let from_idle = self.history.packets() == 0;
        if from_idle {
            self.heard = now;
        }
        self.history.on_send(now, packet.seq, packet.bytes);
        self.counts.packets += 1;
        self.counts.bytes += u64::from(packet.bytes);
        self.sent_rate.add(now, u64::from(packet.bytes));
        let sent = Sent { bytes: packet.bytes, segments: 1, retransmit: false, from_idle };
        self.cc.on_send(now, &sent, &mut self.win);
        let RtpPacket { seq, bytes, frame, packets, captured, marker } = packet;
        Some(Transmit {
            body: Body::Media(Message::Data(Data {
                seq,
                number: self.counts.packets - 1,
                sent: now,
                bytes,
                frame,
                packets,
                captured,
                marker,
                stream: 0,
            })),
            len: L2_HEADER + bytes,
            tos: self.cc.needs().codepoint.unwrap_or_default().on_tos(self.tos),
            kind: Kind::Udp,
        })
    }

    fn deadline(&self) -> Time {
        if !self.open {
            return Time::NEVER;
        }
        let frame = if self.stopped { Time::NEVER } else { self.source.due() };
        let packet = if self.has_room() { self.next } else { Time::NEVER };
        frame.min(packet).min(self.timeout_at()).min(self.cc.wake())
    }

    fn on_timer(&mut self, now: Time) {
        if self.cc.wake() <= now {
            self.cc.on_wake(now, &mut self.win);
            self.update_output(now);
        }
        if self.timeout_at() <= now {
            self.on_timeout(now);
        }
        while !self.stopped && self.source.due() <= now {
            self.encode(now);
        }
    }

    fn is_alive(&self) -> bool {
        let pending = !self.queue.is_empty() || self.history.packets() > 0;
        self.open && (!self.stopped || pending)
    }

    fn sample(&self, now: Time, probe: &mut Probe<'_>) {
        probe.put("delivery_rate", "Mbit/s", self.delivery_rate.rate.as_mbps());
        put_rtt(probe, self.srtt);
        probe.put("in_flight", "packets", f64::from(self.history.packets()));
        let pacing = self.out.pacing_rate.map_or(0.0, Rate::as_mbps);
        probe.put("pacing_rate", "Mbit/s", pacing);
        probe.put("target_rate", "Mbit/s", self.target().as_mbps());
        probe.put("sent_rate", "Mbit/s", self.sent_rate.rate.as_mbps());
        probe.put("sender_queue", "bytes", self.queue.bytes() as f64);
        probe.put("sender_delay", "ms", self.queue.delay(now).as_millis_f64());
        probe.put("ce", "packets", self.counts.ce as f64);
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        self.cc.probe(probe);
    }

    fn totals(&self) -> FlowProbe {
        let c = &self.counts;
        FlowProbe(vec![
            ("packets_sent", c.packets as f64),
            ("sent_bytes", c.bytes as f64),
            ("frames_encoded", c.frames as f64),
            ("packets_discarded", c.discarded as f64),
            ("lost", c.lost as f64),
            ("ce_reported", c.ce as f64),
            ("reports_received", c.reports as f64),
            ("timeouts", c.timeouts as f64),
        ])
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("counts", &self.counts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
