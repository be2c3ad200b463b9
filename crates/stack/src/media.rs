//! What media flows have sent: the rest of a packet that arrives as RTP.

use sojourn_core::wire::rtp::{Header, TOOL_SSRC};
use sojourn_scenario::Flow;
use sojourn_transport::app::App;
use sojourn_transport::media::feedback::Report;
use sojourn_transport::media::{Data, HEADERS, Message};

/// A media flow between its ends.
pub(crate) struct Media {
    /// The newest packet with each sequence number, by stream.
    sent: Vec<Vec<Option<Data>>>,
    /// Reports are for SCReAM to read.
    is_scream: bool,
}

impl Media {
    /// Of a flow; none of one without media.
    pub(crate) fn of(flow: &Flow) -> Option<Self> {
        let App::Media(media) = flow.app.build() else { return None };
        let is_scream = flow.cc.as_ref().is_some_and(|cc| cc.scream().is_some());
        Some(Self { sent: media.priorities.iter().map(|_| Vec::new()).collect(), is_scream })
    }

    /// A packet leaves.
    pub(crate) fn on_departure(&mut self, message: &Message) {
        let Message::Data(data) = message else { return };
        let (sent, seq) = (&mut self.sent[usize::from(data.stream)], usize::from(data.seq as u16));
        if sent.len() <= seq {
            sent.resize(seq + 1, None);
        }
        sent[seq] = Some(*data);
    }

    /// The packet that arrives, if it was sent.
    pub(crate) fn packet(&self, payload: &[u8]) -> Option<Message> {
        let header = Header::parse(payload).ok()?;
        let stream = header.ssrc.checked_sub(TOOL_SSRC)?;
        let data = (*self.sent.get(stream as usize)?.get(usize::from(header.seq))?)?;
        (header.payload == data.bytes - HEADERS).then_some(Message::Data(data))
    }

    /// The report that arrives.
    pub(crate) fn report(&self, payload: &[u8]) -> Option<Message> {
        if self.is_scream {
            return Some(Message::Rtcp(payload.into()));
        }
        Report::read(payload).map(Message::Feedback)
    }
}
