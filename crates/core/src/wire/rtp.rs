//! RTP headers (RFC 3550 5.1) as SCReAM's tool writes and reads them.
//!
//! On the tool's port travel besides RTP: keep-alives of one byte, and texts for the receiver's
//! screen that look like RTP but for their second byte.

use std::fmt;

/// Bytes of a header without contributing sources and extension.
pub const HEADER_BYTES: usize = 12;
/// Payload type of the tool.
pub const PAYLOAD_TYPE: u8 = 98;
/// Ticks of an RTP timestamp per second, for video.
pub const CLOCK_RATE: u32 = 90_000;
/// SSRC that the tool sends with and that its receiver reports.
pub const TOOL_SSRC: u32 = 100;

const VERSION: u8 = 2;
const PADDING: u8 = 0x20;
const EXTENSION: u8 = 0x10;
const MARKER: u8 = 0x80;
/// First bytes of a text for the receiver's screen.
const STATISTICS: [u8; 2] = [0x80, 0x7f];
/// Second bytes that RFC 5761 4 gives to RTCP on a port that it shares with RTP.
const RTCP: std::ops::RangeInclusive<u8> = 192..=223;

/// What a sender's datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// A single byte that keeps a NAT's binding.
    KeepAlive,
    /// Text for the receiver's screen. Any bytes: whoever prints them makes them harmless.
    Statistics(&'a [u8]),
    /// A media packet.
    Media(Header),
}

impl<'a> Datagram<'a> {
    /// Tells the sorts apart.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() == 1 {
            return Ok(Self::KeepAlive);
        }
        match bytes.strip_prefix(&STATISTICS) {
            Some(text) => Ok(Self::Statistics(text)),
            None => Header::parse(bytes).map(Self::Media),
        }
    }
}

/// Writes a text for the receiver's screen, as much of it as there is room for; gives the
/// datagram's length.
pub fn write_statistics(out: &mut [u8], text: &str) -> usize {
    let all = STATISTICS.iter().chain(text.as_bytes());
    out.iter_mut().zip(all).map(|(to, from)| *to = *from).count()
}

/// Why bytes are no RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Shorter than its headers.
    Short,
    /// Another version than 2.
    Version(u8),
    /// RTCP on the same port.
    Rtcp(u8),
    /// More padding than payload.
    Padding,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "shorter than an RTP header"),
            Self::Version(version) => write!(f, "RTP version {version} instead of 2"),
            Self::Rtcp(kind) => write!(f, "RTCP (packet type {kind}) instead of RTP"),
            Self::Padding => write!(f, "more RTP padding than payload"),
        }
    }
}

impl std::error::Error for Error {}

/// What an RTP header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Last packet of its frame.
    pub marker: bool,
    /// Payload type, 7 bits.
    pub payload_type: u8,
    /// Sequence number.
    pub seq: u16,
    /// Timestamp, 90 kHz for video.
    pub timestamp: u32,
    /// Source.
    pub ssrc: u32,
    /// Payload bytes, without padding.
    pub payload: u32,
}

impl Header {
    /// Reads a whole packet.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let head: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(Error::Short)?;
        let (first, second) = (head[0], head[1]);
        if first >> 6 != VERSION {
            return Err(Error::Version(first >> 6));
        }
        if RTCP.contains(&second) {
            return Err(Error::Rtcp(second));
        }
        let mut rest = &bytes[HEADER_BYTES..];
        rest = rest.get(4 * usize::from(first & 0x0f)..).ok_or(Error::Short)?;
        if first & EXTENSION != 0 {
            let head: &[u8; 4] = rest.first_chunk().ok_or(Error::Short)?;
            let words = usize::from(u16::from_be_bytes([head[2], head[3]]));
            rest = rest.get(4 + 4 * words..).ok_or(Error::Short)?;
        }
        let mut payload = rest.len();
        if first & PADDING != 0 {
            let padding = rest.last().copied().filter(|n| *n > 0).ok_or(Error::Padding)?;
            payload = payload.checked_sub(usize::from(padding)).ok_or(Error::Padding)?;
        }
        Ok(Self {
            marker: second & MARKER != 0,
            payload_type: second & !MARKER,
            seq: u16::from_be_bytes([head[2], head[3]]),
            timestamp: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
            ssrc: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
            payload: payload as u32,
        })
    }

    /// The header's bytes; the payload follows them.
    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[0] = VERSION << 6;
        out[1] = (u8::from(self.marker) << 7) | (self.payload_type & !MARKER);
        out[2..4].copy_from_slice(&self.seq.to_be_bytes());
        out[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        out[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests;
