//! What congestion signals did, from the packets of a capture.
//!
//! An [`Analyser`] gets packets in their order and keeps per flow what it needs; [`Analyser::finish`] makes a
//! [`report::Report`] of it, plain data that is printed as tables, JSON or pages elsewhere.

#![warn(missing_docs)]

mod clock;
mod datagrams;
pub mod diagnose;
mod echo;
pub mod events;
pub mod facts;
mod family;
pub mod files;
pub mod filter;
mod flows;
pub mod pair;
pub mod quic;
pub mod report;
pub mod rounds;
pub mod rtp;
pub mod samples;
pub mod scetrace;
pub mod series;
mod stream;
mod tcp;

use std::collections::BTreeMap;

use sojourn_capture::layers::{Layers, Skipped};
use sojourn_core::{Ecn, Time};
use sojourn_wire::ip;

use flows::{Found, Table};
use report::Report;

/// What is kept besides counters, and bounds on it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Every packet's event of each flow, for plots and series.
    pub events: bool,
    /// Flows that are followed; packets of later ones are counted.
    pub max_flows: usize,
    /// TCP connections of more than [`tcp::EARLY`] packets that are analysed beyond these; of later ones the rest is
    /// counted. Each takes about 12 kB, 300 kB where millions of bytes are in flight.
    pub max_long: usize,
    /// Flows in the report: those of most packets, where there are more.
    pub max_listed: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { events: false, max_flows: 1 << 20, max_long: 50_000, max_listed: 100_000 }
    }
}

/// Packets are not later than this behind the first one, ns (36 years), whatever a damaged file says: sums of a few
/// times have room.
const LATEST: u64 = 1 << 60;

/// What is left of the bounds that flows share.
#[derive(Clone, Debug)]
struct Budget {
    long: usize,
    events: usize,
}

/// Packets in, a report out.
#[derive(Clone, Debug)]
pub struct Analyser {
    options: Options,
    budget: Budget,
    table: Table,
    skipped: BTreeMap<Skipped, u64>,
    fragments: u64,
    unlisted: u64,
    packets: u64,
    bytes: u64,
    first: Option<Time>,
    last: Time,
}

impl Default for Analyser {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

/// An IP packet as flows see it.
#[derive(Clone, Copy, Debug)]
struct Packet<'a> {
    /// Since the first packet of the capture, ns; 0 of those before it.
    at: u64,
    /// From the opener.
    forward: bool,
    ecn: Ecn,
    /// As the IP header says.
    ip_len: u32,
    /// IPv4 identification, 0 of IPv6.
    id: u16,
    /// What follows the IP headers, as far as it was kept.
    payload: &'a [u8],
    /// Its length as the IP header says.
    payload_len: u32,
}

impl Analyser {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            budget: Budget {
                long: options.max_long,
                events: if options.events { events::MOST } else { 0 },
            },
            table: Table::new(options.max_flows),
            skipped: BTreeMap::new(),
            fragments: 0,
            unlisted: 0,
            packets: 0,
            bytes: 0,
            first: None,
            last: Time::ZERO,
        }
    }

    /// Counts a record without an IP packet that can be read.
    pub fn skip(&mut self, why: Skipped) {
        *self.skipped.entry(why).or_insert(0) += 1;
    }

    /// Takes the next packet. Times may go back a little, as captures of several processors do.
    pub fn packet(&mut self, time: Time, layers: &Layers<'_>) {
        let ip = &layers.ip;
        let first = *self.first.get_or_insert(time);
        self.last = self.last.max(time);
        self.packets += 1;
        self.bytes += ip.len as u64;
        if ip.is_fragment {
            self.fragments += 1;
            return;
        }
        let at = time.0.saturating_sub(first.0).min(LATEST);
        let mut packet = Packet {
            at,
            forward: true,
            ecn: Ecn::from_tos(ip.tos()),
            ip_len: ip.len as u32,
            id: match ip.bytes() {
                [0x40..0x50, _, _, _, high, low, ..] => u16::from_be_bytes([*high, *low]),
                _ => 0,
            },
            payload: ip.payload(),
            payload_len: ip.payload_len() as u32,
        };
        let mut segment = None;
        if ip.protocol == ip::TCP {
            segment = tcp::Segment::parse(&packet);
            if segment.is_none() {
                return self.skip(Skipped::Short);
            }
        }
        let opening = segment.as_ref().map(|(segment, _)| segment);
        let Found::Flow { flow, forward } = self.table.find(ip, &packet, opening) else {
            self.unlisted += 1;
            return;
        };
        packet.forward = forward;
        if let Some((segment, _)) = &mut segment {
            segment.forward = forward;
        }
        flow.packet(&packet, segment.as_ref(), layers.tunnel, &mut self.budget);
    }

    /// What was seen.
    pub fn finish(self) -> Report {
        let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
        let reasons = self.skipped.into_iter().map(|(why, n)| (why.to_string(), n));
        for (why, n) in
            reasons.chain((self.fragments > 0).then(|| ("fragment".into(), self.fragments)))
        {
            *skipped.entry(why).or_insert(0) += n;
        }
        let mut report = Report {
            format: report::FORMAT,
            packets: self.packets,
            bytes: self.bytes,
            start_ns: self.first.unwrap_or_default().0,
            duration_s: self.last.0.saturating_sub(self.first.unwrap_or_default().0) as f64 / 1e9,
            skipped,
            packets_of_unlisted_flows: self.unlisted,
            ..Report::default()
        };
        self.table.report(&self.options, self.budget, &mut report);
        report
    }
}
