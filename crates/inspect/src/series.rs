//! One direction's data over time: what an interval, or a round trip, had of rate, round trips, marks and feedback.

use serde::Serialize;

use crate::events::{Again, Events};

const ECE: u16 = 0x40;
const AE: u16 = 0x100;

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Intervals of this length, ns, from the flow's first packet on.
    Interval(u64),
    /// From an acknowledgement to that of all that was sent before it: a round trip, in captures at the sender.
    RoundTrip,
}

/// Rows of one direction; all columns have one length. Intervals without any packet of the flow have no row, so that
/// there are at most as many as packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Where the row begins, since the first packet of the capture, ns.
    pub t_ns: Vec<u64>,
    /// How long it is, ns.
    pub duration_ns: Vec<u64>,
    /// Payload sent, bytes.
    pub sent: Vec<u64>,
    /// Payload acknowledged, bytes.
    pub acked: Vec<u64>,
    /// Payload acknowledged by packets with ECE, bytes.
    pub ece_acked: Vec<u64>,
    /// Payload acknowledged by packets with AE, bytes: SCE's ESCE where there is no AccECN.
    pub ae_acked: Vec<u64>,
    /// Mean of the round trips that ACKs complete, ms; not a number without any.
    pub rtt_ms: Vec<f64>,
    /// Data packets.
    pub packets: Vec<u32>,
    /// Those with CE.
    pub ce: Vec<u32>,
    /// Those with ECT(1): SCE's marks where the sender sends ECT(0).
    pub ect1: Vec<u32>,
    /// Packets with CE that ACKs report: growth of AccECN's counter.
    pub ce_reported: Vec<u32>,
    /// Data packets sent again.
    pub again: Vec<u32>,
    /// Mean of the payload under way at each packet, bytes; not a number without any.
    pub in_flight: Vec<f64>,
}

/// A row that is not complete.
#[derive(Default)]
struct Row {
    from: u64,
    /// Packets of either direction.
    any: u64,
    sent: u64,
    acked: u64,
    ece_acked: u64,
    ae_acked: u64,
    rtt: (u64, u64),
    packets: u32,
    ce: u32,
    ect1: u32,
    ce_reported: u32,
    again: u32,
    in_flight: (u64, u64),
}

impl Series {
    /// The series of a flow's data in one direction.
    pub fn of(events: &Events, backward: bool, window: Window) -> Self {
        let mut series = Self::default();
        let Some(&first) = events.t_ns.first() else { return series };
        let mut row = Row { from: first, ..Row::default() };
        // Behind what was sent, and what of it is acknowledged; of the round trip its end.
        let (mut next, mut una, mut end) = (0_i64, None::<i64>, 0_i64);
        for (i, &at) in events.t_ns.iter().enumerate() {
            if let Window::Interval(length) = window
                && at >= row.from.saturating_add(length)
            {
                let from = row.from + (at - row.from) / length.max(1) * length;
                series.push(&std::mem::replace(&mut row, Row { from, ..Row::default() }), length);
            }
            row.any += 1;
            // Of an ACK alone it is that of the other direction.
            if (events.backward[i] == backward) == (events.len[i] > 0) {
                row.in_flight.0 += u64::from(events.in_flight[i]);
                row.in_flight.1 += 1;
            }
            if events.backward[i] == backward {
                row.data(events, i);
                next = next.max(events.seq[i] + i64::from(events.len[i]));
            } else if events.ack[i] >= 0 {
                let ack = events.ack[i];
                row.ack(events, i, (ack - una.unwrap_or(ack)).max(0) as u64);
                una = Some(una.map_or(ack, |una| una.max(ack)));
                if window == Window::RoundTrip && ack >= end && row.sent + row.acked > 0 {
                    let length = at.saturating_sub(row.from);
                    series.push(
                        &std::mem::replace(&mut row, Row { from: at, ..Row::default() }),
                        length,
                    );
                    end = next;
                }
            }
        }
        let length = match window {
            Window::Interval(length) => length,
            Window::RoundTrip => events.t_ns.last().map_or(0, |last| last.saturating_sub(row.from)),
        };
        series.push(&row, length);
        series
    }

    fn push(&mut self, row: &Row, length: u64) {
        if row.any == 0 {
            return;
        }
        let mean = |sum: u64, n: u64| if n > 0 { sum as f64 / n as f64 } else { f64::NAN };
        self.t_ns.push(row.from);
        self.duration_ns.push(length);
        self.sent.push(row.sent);
        self.acked.push(row.acked);
        self.ece_acked.push(row.ece_acked);
        self.ae_acked.push(row.ae_acked);
        self.rtt_ms.push(mean(row.rtt.0, row.rtt.1) / 1e6);
        self.packets.push(row.packets);
        self.ce.push(row.ce);
        self.ect1.push(row.ect1);
        self.ce_reported.push(row.ce_reported);
        self.again.push(row.again);
        self.in_flight.push(mean(row.in_flight.0, row.in_flight.1));
    }
}

impl Row {
    fn data(&mut self, events: &Events, i: usize) {
        if events.len[i] == 0 {
            return;
        }
        self.sent += u64::from(events.len[i]);
        self.packets += 1;
        self.ce += u32::from(events.ecn[i] == 3);
        self.ect1 += u32::from(events.ecn[i] == 1);
        let is_new = matches!(events.again[i], Again::New | Again::Late | Again::Probe);
        self.again += u32::from(!is_new);
    }

    fn ack(&mut self, events: &Events, i: usize, acked: u64) {
        let with = |flag: u16| if events.flags[i] & flag != 0 { acked } else { 0 };
        self.acked += acked;
        self.ece_acked += with(ECE);
        self.ae_acked += with(AE);
        self.ce_reported = self.ce_reported.saturating_add(events.ce_reported[i]);
        if events.rtt_ns[i] > 0 {
            self.rtt.0 = self.rtt.0.saturating_add(events.rtt_ns[i]);
            self.rtt.1 += 1;
        }
    }
}

#[cfg(test)]
mod tests;
