//! TCP connections. The first [`EARLY`] segments of one are only kept; the connection that has more, or the end of
//! the capture, analyses them, so that a million short connections fit. From then on segments wait, too, until there are
//! [`TOGETHER`]: the state of a connection is some hundred cache lines, which other connections have taken from
//! the cache by the time that its next segment comes.

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

use sojourn_wire::options::Options;

use crate::events::Events;
use crate::{Budget, report};
use connection::Connection;
use segment::Kept;

/// Segments that a connection has before it is analysed at once.
pub(crate) const EARLY: usize = 12;
/// Segments of a longer connection that are analysed one after the other; at the end of the capture there may be fewer.
const TOGETHER: usize = 32;
/// Silence after which a SYN with another sequence number opens a new connection, although the old one did not
/// close, ns: twice the least time after which RFC 9293 3.4.3 calls segments of an old connection gone.
const FORGOTTEN: u64 = 240_000_000_000;

/// A connection, from its first packet to the next SYN after its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// Segments that are not yet analysed.
    waiting: Kept,
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
    #[inline]
    pub(crate) fn segment(
        &mut self,
        segment: &Segment,
        options: Option<&Options>,
        budget: &mut Budget,
    ) {
        if segment.opens() && self.syn.is_none() {
            self.syn = Some(segment.seq);
        }
        self.is_closed |= segment.closes();
        self.last = self.last.max(segment.at);
        let room = if self.connection.is_some() { TOGETHER } else { EARLY };
        if self.waiting.len() == room {
            if self.connection.is_none() {
                if budget.long == 0 {
                    self.uncounted += 1;
                    return;
                }
                budget.long -= 1;
                self.waiting.reserve(TOGETHER - EARLY);
            }
            self.analyse(budget);
        }
        self.waiting.push(segment, options);
    }

    /// The connection, with all segments that waited.
    fn analyse(&mut self, budget: &mut Budget) -> &mut Connection {
        let connection = self.connection.get_or_insert_default();
        self.waiting.drain(|segment, options| connection.segment(segment, options, budget));
        connection
    }

    /// Writes what was found.
    pub(crate) fn report(mut self, budget: &mut Budget, flow: &mut report::Flow) -> Events {
        self.analyse(budget);
        flow.protocol = report::Protocol::Tcp;
        flow.packets_not_analysed = self.uncounted;
        self.connection.unwrap_or_default().report(flow)
    }
}
