//! Media and reports on them: RTP (RFC 3550) with a payload of zeros, and RTCP (RFC 8888), as SCReAM's tool
//! has them on its port.

use sojourn_core::wire::rtp::{CLOCK_RATE, HEADER_BYTES, Header, PAYLOAD_TYPE, TOOL_SSRC};
use sojourn_transport::media::{Data, HEADERS, Message};

use crate::udp;

const NS_PER_S: u128 = 1_000_000_000;

impl udp::Header {
    /// Writes a media packet or a report. None if there is no room for it.
    pub fn write_media<'a>(&self, message: &Message, out: &'a mut [u8]) -> Option<&'a mut [u8]> {
        match message {
            Message::Data(data) => {
                let rtp = header(data);
                let fill = |body: &mut [u8]| {
                    let (head, payload) = body.split_at_mut(HEADER_BYTES);
                    head.copy_from_slice(&rtp.write());
                    payload.fill(0);
                };
                self.write_with(HEADER_BYTES + rtp.payload as usize, fill, out)
            }
            Message::Feedback(report) => {
                let fill = |body: &mut [u8]| {
                    let is_whole = report.write(body);
                    debug_assert!(is_whole, "it has the bytes that it says");
                };
                self.write_with(report.bytes() as usize, fill, out)
            }
            Message::Rtcp(bytes) => self.write(bytes, out),
        }
    }
}

/// The RTP header of a packet.
fn header(data: &Data) -> Header {
    let ticks = u128::from(data.captured.0) * u128::from(CLOCK_RATE) / NS_PER_S;
    Header {
        marker: data.marker,
        payload_type: PAYLOAD_TYPE,
        seq: data.seq as u16,
        timestamp: ticks as u32,
        ssrc: TOOL_SSRC + u32::from(data.stream),
        payload: data.bytes - HEADERS,
    }
}

#[cfg(test)]
mod tests;
