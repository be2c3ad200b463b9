//! A connection that is analysed: each segment goes through everything that is counted.

use sojourn_wire::tcp::ACK;

use super::Segment;
use crate::events::{Again, Events};
use crate::facts::{Ack, Data, Facts};
use crate::stream::Stream;
use crate::{Budget, report};

/// Both directions.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    sides: [Stream; 2],
}

impl Connection {
    /// Takes the next segment.
    pub(crate) fn segment(&mut self, segment: &Segment, budget: &mut Budget) {
        let stream = &mut self.sides[usize::from(!segment.forward)];
        stream.packet(segment.at, segment.ip_len, segment.data, segment.ecn);
        let facts = Facts {
            at: segment.at,
            forward: segment.forward,
            ecn: segment.ecn,
            flags: segment.flags,
            window: u32::from(segment.window),
            data: (segment.data > 0).then_some(Data {
                seq: i64::from(segment.seq),
                len: segment.data,
                again: Again::New,
                in_flight: 0,
            }),
            ack: segment.has(ACK).then(Ack::default),
        };
        self.observe(&facts, budget);
    }

    /// Gives what a segment meant to those who make series, plots and rounds of it.
    fn observe(&mut self, facts: &Facts, budget: &mut Budget) {
        let _ = (facts, budget.events);
    }

    /// Writes what was found.
    pub(crate) fn report(self, flow: &mut report::Flow) -> Events {
        let [forward, backward] = self.sides;
        flow.forward = forward.report();
        flow.backward = backward.report();
        Events::default()
    }
}
