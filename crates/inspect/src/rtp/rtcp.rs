//! RTCP packets of a datagram (RFC 3550 6, RFC 4585 6); congestion control feedback is
//! [`sojourn_core::wire::ccfb`]'s.

use std::ops::RangeInclusive;

/// Second bytes that are RTCP's on a port that it shares with RTP (RFC 5761 4).
pub(super) const RANGE: RangeInclusive<u8> = 192..=223;
/// Types that are in use: SR to XR (RFC 3550 12.1, RFC 4585, RFC 3611).
const TYPES: RangeInclusive<u8> = 200..=207;

const HEADER: usize = 4;
const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const BYE: u8 = 203;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;
/// Bytes of a reception report block (RFC 3550 6.4.1).
const BLOCK: usize = 24;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    SenderReport,
    ReceiverReport,
    Bye,
    /// RFC 4585 6.2.1.
    Nack,
    /// draft-holmer-rmcat-transport-wide-cc-extensions-01 3.1.
    TransportWide,
    /// RFC 8888 3.1, and what SCReAM's tool wrote until the end of 2023.
    CongestionControl,
    /// RFC 4585 6.3.1.
    PictureLoss,
    /// RFC 5104 4.3.1.
    FullIntra,
    /// draft-alvestrand-rmcat-remb-03 2.2.
    MaximumBitrate,
    Other,
}

/// The packets of a datagram whose lengths fill it.
#[derive(Clone, Debug)]
pub(super) struct Packets<'a>(&'a [u8]);

impl<'a> Packets<'a> {
    /// None if a packet is of another version or no known type, or the last one does not end with the datagram
    /// (RFC 3550 A.2).
    pub(super) fn new(datagram: &'a [u8]) -> Option<Self> {
        let mut rest = datagram;
        while !rest.is_empty() {
            let (packet, behind) = split(rest)?;
            if packet[0] >> 6 != 2 || !TYPES.contains(&packet[1]) || packet.len() < 2 * HEADER {
                return None;
            }
            rest = behind;
        }
        (!datagram.is_empty()).then_some(Self(datagram))
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        let (packet, behind) = split(self.0)?;
        self.0 = behind;
        Some(Packet(packet))
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let head = bytes.first_chunk::<HEADER>()?;
    let words = usize::from(u16::from_be_bytes([head[2], head[3]]));
    bytes.split_at_checked(HEADER + 4 * words)
}

/// One packet: header and SSRC are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a>(&'a [u8]);

impl<'a> Packet<'a> {
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn kind(&self) -> Kind {
        let format = self.0[0] & 0x1f;
        match (self.0[1], format) {
            (SENDER_REPORT, _) => Kind::SenderReport,
            (RECEIVER_REPORT, _) => Kind::ReceiverReport,
            (BYE, _) => Kind::Bye,
            (TRANSPORT_FEEDBACK, 1) => Kind::Nack,
            (TRANSPORT_FEEDBACK, 15) => Kind::TransportWide,
            (TRANSPORT_FEEDBACK, 0 | 11) => Kind::CongestionControl,
            (PAYLOAD_FEEDBACK, 1) => Kind::PictureLoss,
            (PAYLOAD_FEEDBACK, 4) => Kind::FullIntra,
            (PAYLOAD_FEEDBACK, 15) if self.0.get(12..16) == Some(b"REMB") => Kind::MaximumBitrate,
            _ => Kind::Other,
        }
    }

    /// The middle 32 bits of a sender report's NTP time.
    pub(super) fn ntp_middle(&self) -> Option<u32> {
        self.0.get(10..14).map(|_| word(self.0, 10))
    }

    /// What a sender or receiver report says of sources that its sender receives.
    pub(super) fn reception_reports(&self) -> impl Iterator<Item = ReceptionReport> + use<'a> {
        let (begin, count) = match self.kind() {
            Kind::SenderReport => (28, usize::from(self.0[0] & 0x1f)),
            Kind::ReceiverReport => (8, usize::from(self.0[0] & 0x1f)),
            _ => (self.0.len(), 0),
        };
        let blocks = self.0.get(begin..).unwrap_or_default().chunks_exact(BLOCK).take(count);
        blocks.map(|block| ReceptionReport {
            ssrc: word(block, 0),
            fraction_lost: block[4],
            jitter: word(block, 12),
            last_sr: word(block, 16),
            delay_since_last_sr: word(block, 20),
        })
    }
}

/// A reception report block (RFC 3550 6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceptionReport {
    pub(super) ssrc: u32,
    /// Of 256.
    pub(super) fraction_lost: u8,
    /// Ticks of the RTP clock.
    pub(super) jitter: u32,
    /// Middle of the NTP time of the last sender report; 0: there was none.
    pub(super) last_sr: u32,
    /// Since then, 1/65536 s.
    pub(super) delay_since_last_sr: u32,
}

/// The four bytes at `at`; the caller knows that they are there.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
