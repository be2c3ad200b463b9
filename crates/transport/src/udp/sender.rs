//! The sending end: bursts at the controller's pace, up to its window of packets.

use sojourn_cc::{Ack, Controller, Feedback, Output, Path, Sent, State, StateChange, Window};
use sojourn_core::{Dur, Ecn, Kind, Probe, Rate, Time};

use super::{Config, Data, HEADERS, IP_HEADERS, Message, Report};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit, put_rtt};

/// Silence with a full window after which the path counts as dead, and the least in RTTs.
const TIMEOUT: Dur = Dur::from_secs(1);
const TIMEOUT_RTTS: u64 = 4;

/// The sending end of a UDP flow.
pub struct Sender {
    config: Config,
    cc: Box<dyn Controller>,
    win: Window,
    out: Output,
    open: bool,
    stopped: bool,
    /// Payload bytes still to be sent.
    left: u64,
    sent: u64,
    sent_bytes: u64,
    /// The newest totals of the receiver.
    seen: Report,
    /// Packets up to here were given up by a timeout.
    given_up: u64,
    srtt: Dur,
    min_rtt: Dur,
    /// When the next burst may leave, and packets of the running one.
    next: Time,
    burst_left: u32,
    /// When silence becomes a timeout; it runs while the window is full.
    timeout_at: Time,
    timeouts: u64,
    /// Bytes reported since a time, for the delivery rate that is shown.
    shown: Rate,
    shown_since: Time,
    shown_received: u64,
}

impl Sender {
    /// A flow under this controller; [`Endpoint::start`] opens it.
    pub fn new(config: Config, cc: Box<dyn Controller>) -> Self {
        Self {
            win: Window::new(1),
            out: Output::default(),
            open: false,
            stopped: false,
            left: config.bytes.unwrap_or(u64::MAX),
            sent: 0,
            sent_bytes: 0,
            seen: Report::default(),
            given_up: 0,
            srtt: Dur::ZERO,
            min_rtt: Dur::ZERO,
            next: Time::ZERO,
            burst_left: 0,
            timeout_at: Time::NEVER,
            timeouts: 0,
            shown: Rate(0),
            shown_since: Time::ZERO,
            shown_received: 0,
            config,
            cc,
        }
    }

    fn largest(&self) -> u32 {
        self.config.mtu - IP_HEADERS
    }

    fn packet_size(&self) -> u32 {
        self.out.mss.unwrap_or(u32::MAX).min(self.largest())
    }

    /// Packets neither received nor missing nor given up.
    fn in_flight(&self) -> u64 {
        self.sent - (self.seen.received + self.seen.lost).max(self.given_up).min(self.sent)
    }

    fn is_done(&self) -> bool {
        self.stopped || self.left == 0
    }

    /// Counts are packets, so sequence numbers are too.
    fn path(&self) -> Path {
        Path {
            mss: self.largest(),
            mtu: self.config.mtu,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            packets_out: self.in_flight() as u32,
            in_flight: self.in_flight() as u32,
            snd_nxt: self.sent,
            snd_una: self.seen.received + self.seen.lost,
            delivered: self.seen.received,
            delivered_ce: self.seen.ce,
            feedback: Feedback::Counters,
            backlogged: !self.is_done(),
            paced: true,
            ..Path::default()
        }
    }

    fn update_output(&mut self) {
        let path = self.path();
        self.out = self.cc.output(&path, &self.win);
    }

    /// Totals of packets that have left: others are forged, and are dropped as an ACK of what was not sent is
    /// (RFC 9293 3.10.7.4).
    fn is_possible(&self, report: &Report) -> bool {
        let Report { seq, received, ce, lost, .. } = *report;
        let counted = received.checked_add(lost);
        seq <= self.sent && ce <= received && counted.is_some_and(|packets| packets <= self.sent)
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let old = self.seen;
        if report.received < old.received || report.ce < old.ce {
            return; // overtaken (udp_prague, ACKReceived())
        }
        self.seen = Report { error: old.error | report.error, ..*report };
        let rtt = now.since(report.echo);
        self.min_rtt = if self.min_rtt == Dur::ZERO { rtt } else { self.min_rtt.min(rtt) };
        self.srtt = if self.srtt == Dur::ZERO {
            rtt
        } else {
            Dur(self.srtt.0 - self.srtt.0 / 8 + rtt.0 / 8)
        };
        let path = self.path();
        let newly = (report.received - old.received) as u32;
        let ack = Ack {
            acked: newly,
            acked_bytes: u64::from(newly) * u64::from(self.packet_size()),
            lost: report.lost.saturating_sub(old.lost) as u32,
            ce: (report.ce - old.ce) as u32,
            rtt: Some(rtt),
            app_limited: self.is_done(),
            ..Ack::new(&path)
        };
        self.cc.on_ack(now, &ack, &mut self.win);
        self.update_output();
        self.timeout_at = Time::NEVER;
        if now.since(self.shown_since) >= self.srtt {
            let bytes = (report.received - self.shown_received) * u64::from(self.packet_size());
            let ns = now.since(self.shown_since).0.max(1);
            self.shown = Rate((u128::from(bytes) * 8_000_000_000 / u128::from(ns)) as u64);
            self.shown_since = now;
            self.shown_received = report.received;
        }
    }

    /// The path counts as dead: the controller starts again (udp_prague, ResetCCInfo()).
    fn on_timeout(&mut self, now: Time) {
        self.timeouts += 1;
        self.timeout_at = Time::NEVER;
        self.given_up = self.sent;
        let path = self.path();
        let change = StateChange { from: State::Open, to: State::Loss };
        self.cc.on_state(now, change, &path, &mut self.win);
        self.update_output();
    }

    /// Starts a burst if pace and window allow.
    fn begin_burst(&mut self, now: Time) -> bool {
        let room = u64::from(self.win.cwnd).saturating_sub(self.in_flight());
        if room == 0 {
            if self.timeout_at == Time::NEVER {
                self.timeout_at = now + TIMEOUT.max(self.srtt * TIMEOUT_RTTS);
            }
            return false;
        }
        if self.next > now {
            return false;
        }
        self.burst_left = room.min(u64::from(self.out.burst.unwrap_or(1))) as u32;
        let bytes = u64::from(self.burst_left) * u64::from(self.packet_size());
        let length = self.out.pacing_rate.map_or(Dur::ZERO, |rate| rate.time_for(bytes));
        // A burst that leaves late earns its delay back, at most its own length.
        self.next = (self.next + length).max(now);
        true
    }
}

impl Endpoint for Sender {
    fn start(&mut self, now: Time) {
        self.open = true;
        self.next = now;
        self.shown_since = now;
        let path = self.path();
        self.cc.on_established(now, &path, &mut self.win);
        self.update_output();
    }

    fn stop(&mut self, _now: Time) {
        self.stopped = true;
        self.burst_left = 0;
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        if let Body::Counted(Message::Report(report)) = body
            && self.is_possible(report)
        {
            self.seen.error |= !matches!(ecn, Ecn::Ect1 | Ecn::Ce);
            self.on_report(now, report);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if !self.open || self.is_done() || (self.burst_left == 0 && !self.begin_burst(now)) {
            return None;
        }
        self.burst_left -= 1;
        self.sent += 1;
        let len = u64::from(self.packet_size()).min(self.left) as u32;
        self.left -= if self.config.bytes.is_some() { u64::from(len) } else { 0 };
        self.sent_bytes += u64::from(len);
        let from_idle = self.in_flight() == 1;
        let sent = Sent { bytes: len, segments: 1, retransmit: false, from_idle };
        self.cc.on_send(now, &sent, &mut self.win);
        // A path that spoils the codepoint gets none for the rest of the flow.
        let ecn = if self.seen.error {
            Ecn::NotEct
        } else {
            self.cc.needs().codepoint.unwrap_or(Ecn::Ect1)
        };
        Some(Transmit {
            body: Body::Counted(Message::Data(Data { seq: self.sent, sent: now, len })),
            len: HEADERS + len,
            tos: ecn.on_tos(self.config.tos),
            kind: Kind::Udp,
        })
    }

    fn deadline(&self) -> Time {
        if !self.open || self.is_done() {
            return Time::NEVER;
        }
        let full = self.in_flight() >= u64::from(self.win.cwnd);
        let next = if full { self.timeout_at } else { self.next };
        next.min(self.cc.wake())
    }

    fn on_timer(&mut self, now: Time) {
        if self.cc.wake() <= now {
            self.cc.on_wake(now, &mut self.win);
            self.update_output();
        }
        if self.timeout_at <= now {
            self.on_timeout(now);
        }
    }

    fn is_alive(&self) -> bool {
        self.open && !(self.is_done() && self.in_flight() == 0)
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("delivery_rate", "Mbit/s", self.shown.as_mbps());
        put_rtt(probe, self.srtt);
        probe.put("cwnd", "packets", f64::from(self.win.cwnd));
        probe.put("in_flight", "packets", self.in_flight() as f64);
        let pacing = self.out.pacing_rate.map_or(0.0, Rate::as_mbps);
        probe.put("pacing_rate", "Mbit/s", pacing);
        probe.put("ce", "packets", self.seen.ce as f64);
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        self.cc.probe(probe);
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![
            ("packets_sent", self.sent as f64),
            ("sent_bytes", self.sent_bytes as f64),
            ("lost", self.seen.lost as f64),
            ("timeouts", self.timeouts as f64),
            ("ce_reported", self.seen.ce as f64),
        ])
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("sent", &self.sent)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
