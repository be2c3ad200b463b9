//! QUIC as far as it is visible: long headers, connection IDs, the spin bit, and what Initial packets say of ECN.

mod header;
mod initial;
mod spin;

use sojourn_core::Ecn;

use crate::report::{Codepoints, EcnValidation, Quic, Spin};
use header::{Id, Kind, Long, Packet, Packets};
use initial::{Acks, Keys};
use spin::Spinning;

/// Connection IDs that are listed of each end, and versions.
const MOST_LISTED: usize = 8;
/// Initial packets that cannot be opened, after which no more are tried: each costs a derivation of keys.
const MOST_UNOPENED: u64 = 32;
/// Initial packets of a direction that are opened: a handshake has a few.
const MOST_OPENED: u64 = 256;

/// A flow of datagrams that may be QUIC.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    report: Quic,
    is_known: bool,
    /// Of the end that is the client, and of its peer.
    keys: Option<Box<[Keys; 2]>>,
    /// The client is the opener.
    client_opened: bool,
    last_ids: [Option<Id>; 2],
    spinning: Spinning,
    ways: [Way; 2],
    first_initial: [Option<u64>; 2],
}

/// Initial packets of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    opened: u64,
    sent: Codepoints,
    acks: Acks,
    /// Acknowledged and counted by the last ACK frame with counts.
    counted: Option<([u64; 3], u64)>,
}

impl Connection {
    /// Whether a datagram may begin a connection: a long header. Nothing else needs to be shown to one that is not
    /// yet recognised.
    pub fn is_candidate(payload: &[u8]) -> bool {
        payload.first().is_some_and(|first| first & 0xc0 == 0xc0) && payload.len() >= 7
    }

    /// Whether it is QUIC for sure: an Initial packet could be opened, or the ends answer each other's connection
    /// IDs.
    pub fn is_recognised(&self) -> bool {
        self.is_known
    }

    /// Takes a datagram of `len` bytes, of which `payload` was kept, at `at` ns; says whether it is QUIC.
    pub fn on_packet(
        &mut self,
        at: u64,
        forward: bool,
        payload: &[u8],
        len: usize,
        ecn: Ecn,
    ) -> bool {
        let way = usize::from(!forward);
        for packet in Packets::new(payload, len) {
            match packet {
                Packet::Short { spin } => {
                    self.report.short_headers[way] += 1;
                    self.spinning.on_packet(at, forward, spin);
                }
                Packet::VersionNegotiation { destination, .. } => {
                    // RFC 8999 6: the client's own connection ID comes back.
                    self.is_known |= self.is_answer(way, &destination);
                    self.report.version_negotiations += 1;
                }
                Packet::Other { version, destination, source } => {
                    self.on_long(way, version, &destination, &source);
                }
                Packet::Long(long) => {
                    self.on_long(way, long.version, &long.destination, &long.source);
                    let kind = long.kind as usize;
                    self.report.long_types[kind] += 1;
                    match long.kind {
                        Kind::Initial => self.on_initial(at, way, &long, ecn),
                        // RFC 9001 5.2: the client's next Initial packets have other keys.
                        Kind::Retry => self.keys = None,
                        Kind::ZeroRtt | Kind::Handshake => {}
                    }
                }
            }
        }
        self.is_known
    }

    /// Whether a connection ID is the one that the other end has chosen.
    fn is_answer(&self, way: usize, destination: &Id) -> bool {
        let chosen = self.last_ids[1 - way];
        !destination.bytes().is_empty() && chosen.is_some_and(|id| id == *destination)
    }

    fn on_long(&mut self, way: usize, version: u32, destination: &Id, source: &Id) {
        let report = &mut self.report;
        if report.versions.is_empty() {
            report.version = version;
        }
        if report.versions.len() < MOST_LISTED && !report.versions.contains(&version) {
            report.versions.push(version);
        }
        report.long_headers[way] += 1;
        let ids = &mut report.connection_ids[way];
        if self.last_ids[way] != Some(*source) && ids.len() < MOST_LISTED {
            let hex = source.hex();
            if !ids.contains(&hex) {
                ids.push(hex);
            }
        }
        self.last_ids[way] = Some(*source);
        self.is_known |= self.is_answer(way, destination);
    }

    fn on_initial(&mut self, at: u64, way: usize, long: &Long<'_>, ecn: Ecn) {
        self.first_initial[way].get_or_insert(at);
        if self.report.initials_unopened >= MOST_UNOPENED || self.ways[way].opened >= MOST_OPENED {
            self.report.initials_unopened += 1;
            return;
        }
        let client_way = usize::from(!self.client_opened);
        let known =
            self.keys.as_ref().and_then(|keys| keys[usize::from(way != client_way)].open(long));
        let opened = known.or_else(|| {
            // The first one of a client, or of one that was told to retry.
            let keys = Keys::new(long.version, &long.destination);
            let opened = keys[0].open(long)?;
            self.client_opened = way == 0;
            self.keys = Some(Box::new(keys));
            self.report.original_connection_id = Some(long.destination.hex());
            Some(opened)
        });
        let Some(opened) = opened else {
            self.report.initials_unopened += 1;
            return;
        };
        self.is_known = true;
        self.report.initials_opened += 1;
        let way = &mut self.ways[way];
        way.opened += 1;
        *way.sent.slot(ecn) += 1;
        let [without, with] = opened.acks.frames;
        way.acks.frames[0] += without;
        way.acks.frames[1] += with;
        if without + with > 0 {
            way.acks.packets = opened.acks.packets;
        }
        if let Some(counts) = opened.acks.ecn {
            way.counted = Some((counts, opened.acks.packets));
        }
    }

    /// What was seen, if it is QUIC.
    pub fn finish(self) -> Option<Quic> {
        let Self { mut report, is_known, spinning, ways, first_initial, .. } = self;
        report.spin = spinning.spin();
        if report.spin == Spin::Spinning {
            report.rtt_spin_ms = spinning.rtt().distribution();
        }
        let answered =
            first_initial[0].zip(first_initial[1]).filter(|(first, second)| first <= second);
        report.handshake_rtt_ms = answered.map(|(first, second)| (second - first) as f64 / 1e6);
        report.initial_ecn = [0, 1].map(|way| ways[way].counted.map(|(counts, _)| counts));
        report.initial_acks = [0, 1].map(|way| ways[way].acks.frames);
        let total = |counts: &[u64; 3]| counts.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
        report.initial_ecn_counts = report.initial_ecn.into_iter().flatten().max_by_key(total);
        report.validation = [validate(&ways[0], &ways[1]), validate(&ways[1], &ways[0])];
        is_known.then_some(report)
    }
}

/// Compares the codepoints of packets in the capture with what their receiver counts (RFC 9000 13.4.2.1). None if
/// nothing was marked, or acknowledged.
fn validate(sender: &Way, receiver: &Way) -> Option<EcnValidation> {
    let sent = sender.sent;
    let acked = receiver.acks.frames.iter().sum::<u64>() > 0;
    if !acked {
        return None;
    }
    let marked = sent.ect0 + sent.ect1 + sent.ce;
    let Some(([ect0, ect1, ce], packets)) = receiver.counted else {
        return (marked > 0).then_some(EcnValidation::Uncounted);
    };
    if ect0 > sent.ect0 || ect1 > sent.ect1 || ect0.saturating_add(ect1).saturating_add(ce) > marked
    {
        return Some(EcnValidation::Remarked);
    }
    if marked == 0 {
        return None;
    }
    // Packets without ECT may be those that were acknowledged.
    let least = packets.saturating_sub(sent.not_ect).min(marked);
    Some(if ect0 + ect1 + ce < least {
        EcnValidation::Uncounted
    } else if ce > sent.ce {
        EcnValidation::Marked
    } else {
        EcnValidation::Confirmed
    })
}

#[cfg(test)]
mod tests;
