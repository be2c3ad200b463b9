//! From a connection's [`Segment`] to an IP packet and back.
//!
//! A segment's sequence numbers count from the SYN and never wrap, its window is in bytes, and its
//! timestamps are times. The wire has 32 bits from an initial sequence number, a scaled window, and
//! ticks; a [`Connection`] knows how one becomes the other.

use std::fmt;

use sojourn_core::{Dur, Time};
use sojourn_transport::tcp::{SackBlocks, Segment};

use crate::options::{AccEcn, Blocks, Options};
use crate::{Addresses, Ip, ip, tcp};

/// RFC 7323 2.3: a larger shift count is taken for this one.
const MAX_SHIFT: u8 = 14;
/// RFC 9293 3.7.1: of a peer that says none.
const DEFAULT_MSS: u16 = 536;
/// RFC 9768 3.2.1: what the counters of ECT(0), CE and ECT(1) begin with.
const FIRST_COUNTERS: [u32; 3] = [1, 0, 1];

/// One end of a connection, as it shows on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of what this end sends.
    pub addresses: Addresses,
    /// This end's port.
    pub port: u16,
    /// The peer's port.
    pub peer_port: u16,
    /// Initial sequence number (RFC 9293 3.4.1).
    pub isn: u32,
    /// Largest payload without options that this end takes.
    pub mss: u16,
    /// Shift count of this end's window, if it offers one (RFC 7323 2).
    pub window_scale: Option<u8>,
    /// Whether it offers timestamps (RFC 7323 3).
    pub timestamps: bool,
    /// Whether it takes SACK blocks (RFC 2018 2).
    pub sack: bool,
    /// A tick of its timestamps: 1 ms in Linux; RFC 7323 5.4 recommends 1 ms to 1 s. Times are cut to ticks,
    /// so round-trip times from the peer's echoes are up to a tick too long. Not 0.
    pub tick: Dur,
    /// What its timestamp is at time 0 (RFC 7323 5.4).
    pub first_tick: u32,
    /// Identification of its first IPv4 packet. Linux begins anywhere.
    pub first_id: u16,
}

/// What is known of the peer since its SYN.
#[derive(Clone, Copy, Debug)]
struct Peer {
    isn: u32,
    mss: Option<u16>,
    window_scale: Option<u8>,
    timestamps: bool,
    sack: bool,
    /// Latest acknowledgement of this end, and latest timestamp that it has echoed, without wrap. What
    /// arrives is near them, and only what the state machine has accepted moves them.
    acked: u64,
    ticks: u64,
    /// Its counters as last reported.
    counters: [u32; 3],
}

/// Why a segment cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// It acknowledges a peer whose SYN has not arrived.
    NoPeer,
    /// It belongs to the simulator's control connection.
    Unreal,
    /// The buffer, or the length field, is too small.
    Room,
}

/// Why a packet is no segment of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// A fragment, or not TCP.
    Protocol,
    /// The header is not whole, or contradicts itself.
    Header(tcp::Error),
    /// Of another connection: other addresses, ports, or initial sequence number.
    Stranger,
    /// It comes before the peer's SYN.
    NoPeer,
    /// Its sequence number is before the SYN, or it acknowledges what was not sent.
    Outside,
    /// The peer resets the connection; whether it may follows from its sequence number (RFC 9293 3.10.7.4).
    Reset(u64),
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPeer => "the peer's SYN has not arrived",
            Self::Unreal => "a segment that only the simulator has",
            Self::Room => "the segment is too large for the packet",
        })
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protocol => "a fragment, or not TCP",
            Self::Header(tcp::Error::Short) => "shorter than its TCP header",
            Self::Header(tcp::Error::Options) => "a TCP option runs over the end of the header",
            Self::Stranger => "of another connection",
            Self::NoPeer => "the peer's SYN has not arrived",
            Self::Outside => "outside what was sent and received",
            Self::Reset(_) => "the peer resets the connection",
        })
    }
}

impl std::error::Error for Unwritable {}
impl std::error::Error for Unreadable {}

/// A connection at one of its ends.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Settings,
    peer: Option<Peer>,
    /// First sequence number that was not sent.
    sent: u64,
    /// Latest timestamp that was sent, without offset and wrap.
    ticks: u64,
    /// Counters that were reported last.
    counters: [u32; 3],
    /// Identification of the next IPv4 packet.
    id: u16,
}

impl Connection {
    /// A connection without a segment yet, at the end that opens it or the one that waits.
    pub const fn new(settings: Settings) -> Self {
        let id = settings.first_id;
        Self { settings, peer: None, sent: 0, ticks: 0, counters: FIRST_COUNTERS, id }
    }

    /// Writes a segment as an IP packet. Zeros follow a `payload` that is shorter than the segment's. One
    /// with a `gso_size` becomes one packet, for [`crate::split`] or the kernel to cut.
    pub fn write<'a>(
        &mut self,
        segment: &Segment,
        tos: u8,
        payload: &[u8],
        out: &'a mut [u8],
    ) -> Result<&'a mut [u8], Unwritable> {
        let flags = segment.flags;
        if flags.control {
            return Err(Unwritable::Unreal);
        }
        let ack = match self.peer {
            _ if !flags.ack => 0,
            None => return Err(Unwritable::NoPeer),
            Some(peer) => peer.isn.wrapping_add(segment.ack as u32),
        };
        let bit = |set: bool, bit: u16| if set { bit } else { 0 };
        let header = tcp::Header {
            source: self.settings.port,
            destination: self.settings.peer_port,
            seq: self.settings.isn.wrapping_add(segment.seq as u32),
            ack,
            flags: bit(flags.fin, tcp::FIN)
                | bit(flags.syn, tcp::SYN)
                | bit(flags.psh, tcp::PSH)
                | bit(flags.ack, tcp::ACK)
                | tcp::Header::ace_bits(segment.ace),
            window: self.window(segment),
            options: self.options(segment),
        };
        let (header, header_len) = header.to_bytes();
        let addresses = self.settings.addresses;
        let ip = ip::Header { addresses, protocol: ip::TCP, tos, id: self.id };
        let len = segment.len as usize;
        let packet = ip.write(out, header_len + len).ok_or(Unwritable::Room)?;
        let body = &mut packet[addresses.header_len()..];
        let (head, data) = body.split_at_mut(header_len);
        head.copy_from_slice(&header[..header_len]);
        let (given, zeros) = data.split_at_mut(payload.len().min(len));
        given.copy_from_slice(&payload[..given.len()]);
        zeros.fill(0);
        tcp::set_checksum(body, &addresses);
        self.sent = self.sent.max(segment.end() + u64::from(flags.syn));
        self.ticks = self.ticks.max(self.ticks_of(segment.tsval));
        self.counters = segment.accecn.unwrap_or(self.counters);
        let echoed = self.ticks_of(segment.tsecr);
        if let (true, Some(peer)) = (flags.ack, &mut self.peer) {
            peer.acked = peer.acked.max(segment.ack);
            if segment.tsecr != Time::NEVER {
                peer.ticks = peer.ticks.max(echoed);
            }
        }
        self.id = self.id.wrapping_add(segment.segments() as u16);
        Ok(packet)
    }

    /// Writes a reset, after which the peer's end of the connection is gone (RFC 9293 3.9.1.5).
    pub fn write_reset<'a>(&self, out: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let Settings { addresses, port, peer_port, isn, .. } = self.settings;
        let peer = self.peer?;
        let header = tcp::Header {
            source: port,
            destination: peer_port,
            seq: isn.wrapping_add(self.sent as u32),
            ack: peer.isn.wrapping_add(peer.acked as u32),
            flags: tcp::RST | tcp::ACK,
            ..tcp::Header::default()
        };
        header.write(addresses, out)
    }

    /// Reads a packet of this connection. Its checksum is for the caller to judge
    /// ([`Ip::has_valid_payload`]): offloading hardware may have done so.
    pub fn read(&mut self, ip: &Ip<'_>) -> Result<Segment, Unreadable> {
        if ip.protocol != ip::TCP || ip.is_fragment {
            return Err(Unreadable::Protocol);
        }
        let (header, header_len) = tcp::Header::parse(ip.payload()).map_err(Unreadable::Header)?;
        let Settings { addresses, port, peer_port, isn, .. } = self.settings;
        if (ip.addresses().reversed(), header.destination, header.source)
            != (addresses, port, peer_port)
        {
            return Err(Unreadable::Stranger);
        }
        let has = |flag: u16| header.flags & flag != 0;
        let peer = match self.peer {
            // RFC 9293 3.10.7.3: the peer refuses what it acknowledges, the SYN.
            None if has(tcp::RST)
                && has(tcp::ACK)
                && header.ack == isn.wrapping_add(self.sent as u32) =>
            {
                return Err(Unreadable::Reset(0));
            }
            // An answer acknowledges the SYN, and whoever has sent none gets no answer.
            None if has(tcp::SYN) => {
                let own = isn.wrapping_add(self.sent as u32);
                if has(tcp::ACK) != (self.sent > 0) || (has(tcp::ACK) && header.ack != own) {
                    return Err(Unreadable::Outside);
                }
                Peer::of_syn(&header)
            }
            None => return Err(Unreadable::NoPeer),
            Some(peer) if has(tcp::SYN) && peer.isn != header.seq => {
                return Err(Unreadable::Stranger);
            }
            Some(peer) => peer,
        };
        let seq = unwrapped(header.seq.wrapping_sub(peer.isn), peer.acked);
        let ack = unwrapped(header.ack.wrapping_sub(isn), self.sent).filter(|n| *n <= self.sent);
        let (seq, ack) = match (seq, ack) {
            (Some(seq), _) if !has(tcp::ACK) => (seq, 0),
            (Some(seq), Some(ack)) => (seq, ack),
            _ => return Err(Unreadable::Outside),
        };
        if has(tcp::RST) {
            return Err(Unreadable::Reset(seq));
        }
        let (tsval, tsecr) = self.times(&peer, &header);
        let mut segment = Segment {
            seq,
            ack,
            len: (ip.payload_len() - header_len) as u32,
            window: u32::from(header.window),
            ace: header.ace(),
            sack: self.blocks(&header.options.sack, ack),
            tsval,
            tsecr,
            ..Segment::default()
        };
        segment.flags.syn = has(tcp::SYN);
        segment.flags.fin = has(tcp::FIN);
        segment.flags.ack = has(tcp::ACK);
        segment.flags.psh = has(tcp::PSH);
        segment.gso_size =
            if segment.flags.syn { peer.mss.unwrap_or(DEFAULT_MSS).into() } else { 0 };
        // RFC 7323 2.2: the window of a SYN is never scaled.
        if let (false, Some((_, shift))) = (segment.flags.syn, self.shifts(&peer)) {
            segment.window <<= shift;
        }
        let peer = self.peer.insert(peer);
        segment.accecn = header.options.accecn.and_then(|option| peer.count(option));
        Ok(segment)
    }

    /// Shift counts of this end's and the peer's windows, if both have offered one (RFC 7323 2.2).
    fn shifts(&self, peer: &Peer) -> Option<(u8, u8)> {
        let (own, peer) = (self.settings.window_scale?, peer.window_scale?);
        Some((own.min(MAX_SHIFT), peer.min(MAX_SHIFT)))
    }

    fn window(&self, segment: &Segment) -> u16 {
        let shifts = self.peer.and_then(|peer| self.shifts(&peer));
        let shift = shifts.map_or(0, |(own, _)| if segment.flags.syn { 0 } else { own });
        u16::try_from(segment.window >> shift).unwrap_or(u16::MAX)
    }

    /// A SYN offers, its answer takes what is offered, and afterwards both use what is agreed (RFC 7323 2.2 and
    /// 3.2, RFC 2018 2).
    fn options(&self, segment: &Segment) -> Options {
        let Settings { mss, window_scale, timestamps, sack, .. } = self.settings;
        let offers = |of_peer: fn(&Peer) -> bool| self.peer.as_ref().is_none_or(of_peer);
        let mut options = Options::default();
        if segment.flags.syn {
            options.mss = Some(mss);
            options.window_scale =
                window_scale.filter(|_| offers(|peer| peer.window_scale.is_some()));
            options.sack_permitted = sack && offers(|peer| peer.sack);
        }
        if timestamps && offers(|peer| peer.timestamps) {
            let value = self.ticks_of(segment.tsval) as u32;
            // RFC 7323 3.2: an echo is valid beside an acknowledgement, and otherwise zero. A time of the peer is
            // its ticks.
            let echo = match segment.tsecr {
                Time::NEVER => 0,
                time => self.ticks_of(time) as u32,
            };
            let value = value.wrapping_add(self.settings.first_tick);
            options.timestamps = Some((value, if segment.flags.ack { echo } else { 0 }));
        }
        if let Some(peer) = self.peer.filter(|peer| sack && peer.sack) {
            let wire = |edge: u64| peer.isn.wrapping_add(edge as u32);
            for (left, right) in segment.sack.as_slice() {
                options.sack.push((wire(*left), wire(*right)));
            }
        }
        options.accecn = segment.accecn.map(|counters| {
            // RFC 9768 3.2.3: what has changed comes first, for there may be no room for the last counter.
            let [ect0, _, ect1] = [0, 1, 2].map(|i| counters[i] != self.counters[i]);
            AccEcn::new(counters, ect1 && !ect0)
        });
        options
    }

    fn ticks_of(&self, time: Time) -> u64 {
        time.0 / self.settings.tick.0
    }

    /// The peer's time and what it echoes, both as times: its own clock begins anywhere.
    fn times(&self, peer: &Peer, header: &tcp::Header) -> (Time, Time) {
        let Some((value, echo)) = header.options.timestamps else {
            return (Time::NEVER, Time::NEVER);
        };
        let time = |ticks: u64| Time(ticks.saturating_mul(self.settings.tick.0));
        let ticks = unwrapped(value, peer.ticks).unwrap_or(peer.ticks);
        let echo = echo.wrapping_sub(self.settings.first_tick);
        // RFC 7323 3.2: what was never sent is no echo, nor is anything without an acknowledgement.
        let echo = unwrapped(echo, self.ticks)
            .filter(|ticks| header.flags & tcp::ACK != 0 && *ticks <= self.ticks);
        (time(ticks), echo.map_or(Time::NEVER, time))
    }

    /// The blocks that are of data which was sent; a segment has room for three.
    fn blocks(&self, wire: &Blocks, ack: u64) -> SackBlocks {
        let edge = |edge: u32| unwrapped(edge.wrapping_sub(self.settings.isn), ack);
        let is_sent = |left: u64, right: u64| left < right && right <= self.sent;
        let mut blocks = SackBlocks::default();
        for (index, (left, right)) in wire.as_slice().iter().enumerate() {
            if let (Some(left), Some(right)) = (edge(*left), edge(*right))
                && is_sent(left, right)
            {
                blocks.push((left, right));
                if index == 0 {
                    let wire_ack = self.settings.isn.wrapping_add(ack as u32);
                    blocks.duplicate = wire.reports_duplicate(wire_ack);
                }
            }
        }
        blocks
    }
}

impl Peer {
    fn of_syn(header: &tcp::Header) -> Self {
        let options = &header.options;
        Self {
            isn: header.seq,
            mss: options.mss,
            window_scale: options.window_scale,
            timestamps: options.timestamps.is_some(),
            sack: options.sack_permitted,
            acked: 0,
            // Far enough from 0 that older ones have a place before it.
            ticks: (1 << 32) + u64::from(options.timestamps.map_or(0, |(value, _)| value)),
            counters: FIRST_COUNTERS,
        }
    }

    /// All counters after this option; those that it leaves out are as before (RFC 9768 3.2.3). None of an
    /// option without counters.
    fn count(&mut self, option: AccEcn) -> Option<[u32; 3]> {
        let counters = option.counters();
        for (known, news) in self.counters.iter_mut().zip(counters) {
            *known = news.unwrap_or(*known);
        }
        counters.iter().any(Option::is_some).then_some(self.counters)
    }
}

/// Linux `tcp_select_initial_window`: the least shift with which the largest buffer can be shown.
pub fn window_scale(buffer: u64) -> u8 {
    let bits = u64::BITS - buffer.leading_zeros();
    bits.saturating_sub(u16::BITS).min(MAX_SHIFT.into()) as u8
}

/// Writes the answer to a segment of no connection, a reset (RFC 9293 3.10.7.1). None to what gets no
/// answer: a reset, or what is no segment.
pub fn refuse<'a>(ip: &Ip<'_>, out: &'a mut [u8]) -> Option<&'a mut [u8]> {
    if ip.protocol != ip::TCP || ip.is_fragment {
        return None;
    }
    let (header, header_len) = tcp::Header::parse(ip.payload()).ok()?;
    let has = |flag: u16| header.flags & flag != 0;
    if has(tcp::RST) {
        return None;
    }
    let len = (ip.payload_len() - header_len) as u32
        + u32::from(has(tcp::SYN))
        + u32::from(has(tcp::FIN));
    let (seq, ack, flags) = if has(tcp::ACK) {
        (header.ack, 0, tcp::RST)
    } else {
        (0, header.seq.wrapping_add(len), tcp::RST | tcp::ACK)
    };
    let (source, destination) = (header.destination, header.source);
    let answer = tcp::Header { source, destination, seq, ack, flags, ..tcp::Header::default() };
    answer.write(ip.addresses().reversed(), out)
}

/// The number whose low 32 bits these are and that is nearest to another one; none below 0.
fn unwrapped(low: u32, near: u64) -> Option<u64> {
    near.checked_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests;
