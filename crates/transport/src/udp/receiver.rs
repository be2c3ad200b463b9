//! The receiving end: counts, and answers each packet at once.

use sojourn_core::{Ecn, Kind, Probe, Time};

use super::{Config, Data, HEADERS, Message, REPORT_BYTES, Report};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// The receiving end of a UDP flow.
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    counts: Report,
    bytes: u64,
    pending: Option<Report>,
}

impl Receiver {
    /// Waits for the first packet.
    pub fn new(config: Config) -> Self {
        Self { config, counts: Report::default(), bytes: 0, pending: None }
    }

    fn on_data(&mut self, data: &Data, ecn: Ecn) {
        let counts = &mut self.counts;
        // Nothing up to here is missing: a copy. Received and missing are together the highest number, for
        // else the totals would be of more packets than were sent.
        if counts.lost == 0 && data.seq <= counts.received {
            return;
        }
        counts.received += 1;
        counts.ce += u64::from(ecn == Ecn::Ce);
        // Any other codepoint says that the path spoils ECN: L4S is over for the flow.
        counts.error |= !matches!(ecn, Ecn::Ect1 | Ecn::Ce);
        // udp_prague, DataReceivedSequence(): a gap up to this packet is missing; a packet from within
        // the known ones was late.
        let known = counts.received + counts.lost;
        counts.lost =
            if data.seq >= known { counts.lost + (data.seq - known) } else { counts.lost - 1 };
        counts.seq = data.seq;
        counts.echo = data.sent;
        self.bytes += u64::from(data.len);
        self.pending = Some(self.counts);
    }
}

impl Endpoint for Receiver {
    fn on_packet(&mut self, _now: Time, body: &Body, ecn: Ecn) {
        if let Body::Counted(Message::Data(data)) = body {
            self.on_data(data, ecn);
        }
    }

    fn poll(&mut self, _now: Time) -> Option<Transmit> {
        let report = self.pending.take()?;
        let ecn = if report.error { Ecn::NotEct } else { Ecn::Ect1 };
        Some(Transmit {
            body: Body::Counted(Message::Report(report)),
            len: HEADERS + REPORT_BYTES,
            tos: ecn.on_tos(self.config.tos),
            kind: Kind::Udp,
        })
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("goodput_bytes", "bytes", self.bytes as f64);
        probe.put("ce_received", "packets", self.counts.ce as f64);
        probe.put("lost", "packets", self.counts.lost as f64);
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![
            ("delivered_bytes", self.bytes as f64),
            ("packets_received", self.counts.received as f64),
            ("ce_received", self.counts.ce as f64),
            ("packets_missing", self.counts.lost as f64),
            ("acks_sent", self.counts.received as f64),
        ])
    }
}

#[cfg(test)]
mod tests;
