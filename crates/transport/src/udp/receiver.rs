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
        counts.received += 1;
        counts.ce += u64::from(ecn == Ecn::Ce);
        counts.error |= !matches!(ecn, Ecn::Ect1 | Ecn::Ce);
        // A gap up to this packet is missing; a packet from within the known ones was late.
        let known = counts.received + counts.lost;
        counts.lost = if data.seq >= known {
            counts.lost + (data.seq - known)
        } else {
            counts.lost.saturating_sub(1)
        };
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

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _now: Time) {}

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
mod tests {
    use super::*;

    fn after(arrivals: &[(u64, Ecn)]) -> Report {
        let mut rx = Receiver::new(Config { tos: 0, mtu: 1500, bytes: None });
        for &(seq, ecn) in arrivals {
            let data = Data { seq, sent: Time(seq), len: 1400 };
            rx.on_packet(Time::ZERO, &Body::Counted(Message::Data(data)), ecn);
        }
        rx.counts
    }

    // L4STeam/udp_prague prague_cc.cpp, DataReceivedSequence().
    #[test]
    fn gaps_are_missing_until_the_late_packet_comes() {
        let counts = |seqs: &[u64]| {
            let arrivals: Vec<_> = seqs.iter().map(|seq| (*seq, Ecn::Ect1)).collect();
            let report = after(&arrivals);
            (report.received, report.lost)
        };
        assert_eq!(counts(&[1, 2, 3]), (3, 0));
        assert_eq!(counts(&[1, 2, 5]), (3, 2));
        assert_eq!(counts(&[1, 2, 5, 6]), (4, 2));
        assert_eq!(counts(&[1, 2, 5, 6, 3]), (5, 1));
        assert_eq!(counts(&[1, 2, 5, 6, 3, 4, 7]), (7, 0));
        assert_eq!(counts(&[4]), (1, 3));
    }

    #[test]
    fn any_codepoint_but_ect1_and_ce_is_a_lasting_error() {
        assert!(!after(&[(1, Ecn::Ect1), (2, Ecn::Ce)]).error);
        for wrong in [Ecn::NotEct, Ecn::Ect0] {
            let report = after(&[(1, Ecn::Ect1), (2, wrong), (3, Ecn::Ect1)]);
            assert!(report.error, "{wrong:?}");
        }
        assert_eq!(after(&[(1, Ecn::Ce), (2, Ecn::Ce), (3, Ecn::Ect1)]).ce, 2);
    }
}
