//! One end of a connection: what it sent, and what is known of its data.

use super::accecn::Counters;
use super::ecn::{Episodes, Esce, Fractions};
use super::loss::Losses;
use super::rtt::Stamps;
use super::scoreboard::Scoreboard;
use crate::report::{Direction, TcpDirection};
use crate::samples::Samples;
use crate::stream::{Rate, Stream};

/// Acknowledgements of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    /// Payload acknowledged.
    pub(crate) bytes: u64,
    /// Time and bytes of the first that acknowledges data.
    pub(crate) first: Option<(u64, u64)>,
    /// Time of the last.
    pub(crate) last: u64,
}

impl Acks {
    #[inline]
    pub(crate) fn add(&mut self, at: u64, bytes: u64) {
        self.bytes += bytes;
        self.first.get_or_insert((at, bytes));
        self.last = self.last.max(at);
    }

    /// Mbit/s of what is acknowledged behind the first.
    pub(crate) fn goodput_mbps(&self) -> Option<f64> {
        let (from, bytes) = self.first?;
        let ns = self.last.saturating_sub(from);
        (ns > 0).then(|| (self.bytes - bytes) as f64 * 8e3 / ns as f64)
    }
}

/// Smoothed time between this side's packets and their answers, ns (RFC 6298 2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Smoothed(Option<u64>);

impl Smoothed {
    #[inline]
    pub(crate) fn record(&mut self, rtt: u64) {
        self.0 = Some(self.0.map_or(rtt, |old| old - old / 8 + rtt / 8));
    }

    #[inline]
    pub(crate) const fn get(self) -> Option<u64> {
        self.0
    }
}

/// The whole round trip, of which each end's captured data show a half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) halves: [Smoothed; 2],
    pub(crate) handshake: Option<u64>,
}

impl RoundTrip {
    /// Both halves, ns, seen from where the capture was made; else that of the handshake.
    #[inline]
    pub(crate) fn get(&self) -> Option<u64> {
        let [there, back] = self.halves;
        match (there.get(), back.get()) {
            (Some(there), Some(back)) => Some(there.saturating_add(back)),
            (Some(half), None) | (None, Some(half)) => Some(half.max(self.handshake.unwrap_or(0))),
            (None, None) => self.handshake,
        }
    }
}

/// An end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) stream: Stream,
    pub(crate) ack_packets: u64,
    pub(crate) pure_acks: u64,
    pub(crate) duplicate_acks: u64,
    pub(crate) overtaken: u64,
    pub(crate) sacked_bytes: u64,
    /// Time of the first packet with ACK.
    pub(crate) first_ack: Option<u64>,
    pub(crate) ece: u64,
    /// Packets that its ACKs with ECE were the first to acknowledge or SACK.
    pub(crate) ece_acked: u64,
    pub(crate) cwr: u64,
    pub(crate) ae: u64,
    pub(crate) zero_windows: u64,
    pub(crate) super_packets: u64,
    pub(crate) reordered: u64,
    pub(crate) probes: u64,
    pub(crate) captured_twice: u64,
    /// CE of its SYN packets, which no counter counts.
    pub(crate) syn_ce: u64,
    /// Its last window is zero.
    pub(crate) has_zero_window: bool,
    pub(crate) last_window: u16,
    pub(crate) window: Samples,
    pub(crate) depth: Samples,
    pub(crate) in_flight: Samples,
    pub(crate) rtt_ms: Samples,
    /// From the oldest segment that an ACK acknowledges.
    pub(crate) delayed_ms: Samples,
    pub(crate) smoothed: Smoothed,
    /// The largest segment of its data that was seen, of those that a wire carries.
    pub(crate) largest: u32,
    pub(crate) board: Scoreboard,
    pub(crate) losses: Losses,
    pub(crate) stamps: Stamps,
    pub(crate) delivered: Rate,
    pub(crate) fractions: Fractions,
    /// Of its own ACKs.
    pub(crate) acks: Acks,
    pub(crate) episodes: Episodes,
    pub(crate) esce: Esce,
    pub(crate) counters: Counters,
}

impl Side {
    /// What it sent; its peer's view of it is added elsewhere. `hears_esce` says that the peer sends ESCE.
    pub(crate) fn report(mut self, is_accecn: bool, hears_esce: bool) -> Direction {
        // RFC 9331 4.2 asks a sender of ECT(1) for AccECN: without it ECT(1) beside ECT(0), or answered by ESCE, is a
        // mark of SCE.
        let is_sce = !is_accecn
            && self.stream.data_ecn.ect1 > 0
            && (self.stream.data_ecn.ect0 > 0 || hears_esce);
        let sce_gap_ms = self.stream.sce_gap_ms().filter(|_| is_sce);
        let sce = is_sce.then(|| self.stream.take_sce());
        let mut direction = self.stream.report_at(self.delivered.samples.distribution());
        if let Some((percent, runs, gaps)) = sce {
            (direction.sce_percent, direction.sce_runs, direction.sce_gaps) = (percent, runs, gaps);
            direction.sce_per_rtt = self.fractions.ect1();
        }
        direction.sce_gap_ms = sce_gap_ms;
        direction.ce_per_rtt = self.fractions.ce();
        direction.super_packets = self.super_packets;
        let has_esce = !is_accecn && self.ae > 0;
        direction.tcp = Some(TcpDirection {
            acks: self.ack_packets,
            pure_acks: self.pure_acks,
            duplicate_acks: self.duplicate_acks,
            overtaken: self.overtaken,
            ece: self.ece,
            ece_acked_packets: self.ece_acked,
            cwr: self.cwr,
            ae: self.ae,
            esce_acked_percent: self.esce.percent().filter(|_| has_esce),
            esce_acked_bytes: if has_esce { self.esce.marked() } else { 0 },
            esce_per_rtt: self.esce.per_rtt().filter(|_| has_esce),
            acked_bytes: self.acks.bytes,
            sacked_bytes: self.sacked_bytes,
            first_ack_s: self.first_ack.map(|at| at as f64 / 1e9),
            last_ack_s: self.acks.first.map(|_| self.acks.last as f64 / 1e9),
            goodput_mbps: None,
            ece_episode_ms: self.episodes.report(),
            accecn: None,
            retransmissions: self.losses.counts,
            retransmitted_bytes: self.losses.bytes,
            duplicates_reported: self.losses.duplicates_reported,
            probes: self.probes,
            captured_twice: self.captured_twice,
            reordered: self.reordered,
            reordering_depth: self.depth.distribution(),
            holes: self.board.jumps.0,
            hole_bytes: self.board.jumps.1,
            missing_bytes: if direction.data_packets > 0 { self.board.missing() } else { 0 },
            rtt_seq_ms: self.rtt_ms.distribution(),
            rtt_delayed_ms: self.delayed_ms.distribution(),
            round_ms: None,
            round_at_signals_ms: None,
            rtt_ts_ms: self.stamps.rtt_ms.distribution(),
            ts_tick_ms: self.stamps.tick_ms(),
            in_flight_bytes: self.in_flight.distribution(),
            window_bytes: self.window.distribution(),
            zero_windows: self.zero_windows,
            acks_per_data_packet: None,
        });
        direction
    }
}
