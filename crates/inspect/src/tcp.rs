//! TCP connections. The first [`EARLY`] segments of one are only kept; the connection that has more, or the end of
//! the capture, analyses them, so that a million short connections fit.

mod accecn;
mod connection;
mod ecn;
mod handshake;
mod loss;
mod numbers;
mod rtt;
mod scoreboard;
mod segment;
mod side;

pub(crate) use segment::Segment;

use crate::events::Events;
use crate::{Budget, report};
use connection::Connection;
use segment::Kept;

/// Segments that a connection has before it is analysed at once.
pub(crate) const EARLY: usize = 12;
/// Silence after which a SYN with another sequence number opens a new connection, although the old one did not
/// close, ns: twice the least time after which RFC 9293 3.4.3 calls segments of an old connection gone.
const FORGOTTEN: u64 = 240_000_000_000;

/// A connection, from its first packet to the next SYN after its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    early: Kept,
    connection: Option<Box<Connection>>,
    /// Segments that were only counted, because too many connections are long.
    uncounted: u64,
    syn: Option<u32>,
    is_closed: bool,
    last: u64,
}

impl Flow {
    /// Whether the segment opens another connection between the same ends: a SYN with another sequence number
    /// after the close, a long silence, or data without a SYN.
    pub(crate) fn is_over(&self, segment: &Segment) -> bool {
        segment.opens()
            && self.syn != Some(segment.seq)
            && (self.is_closed
                || self.syn.is_none()
                || segment.at.saturating_sub(self.last) > FORGOTTEN)
    }

    /// Takes the next segment.
    pub(crate) fn segment(&mut self, segment: &Segment, budget: &mut Budget) {
        if segment.opens() && self.syn.is_none() {
            self.syn = Some(segment.seq);
        }
        self.is_closed |= segment.closes();
        self.last = self.last.max(segment.at);
        if let Some(connection) = &mut self.connection {
            connection.segment(segment, budget);
        } else if self.early.len() < EARLY {
            self.early.push(segment);
        } else if budget.long > 0 {
            budget.long -= 1;
            let connection = self.analyse(budget);
            self.connection.insert(connection).segment(segment, budget);
        } else {
            self.uncounted += 1;
        }
    }

    fn analyse(&mut self, budget: &mut Budget) -> Box<Connection> {
        let mut connection = Box::<Connection>::default();
        for segment in std::mem::take(&mut self.early).iter() {
            connection.segment(&segment, budget);
        }
        connection
    }

    /// Writes what was found.
    pub(crate) fn report(mut self, budget: &mut Budget, flow: &mut report::Flow) -> Events {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.analyse(budget),
        };
        flow.protocol = report::Protocol::Tcp;
        flow.packets_not_analysed = self.uncounted;
        connection.report(flow)
    }
}
