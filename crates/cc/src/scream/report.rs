//! A report, packet by packet: what both versions do alike before their laws differ.

use super::delay::Trip;
use super::flight::{Sent, is_after};
use super::ticks::seconds;
use super::transmitter::Transmitter;
use super::{AckLine, Metric, Ticks};
use sojourn_core::ecn::Ecn;

/// Blocks that end this many packets behind the highest that was acknowledged are dropped.
pub(super) const OLDEST: u16 = 512;
/// Greatest RTT that counts, ticks: 15 s.
const MAX_RTT: u32 = 1_000_000;

/// What the report says of a packet that arrived.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) stream: usize,
    pub(super) seq: u16,
    pub(super) received: Ticks,
    pub(super) ecn: Ecn,
    /// The control loop runs now.
    pub(super) last: bool,
}

/// What a version makes of a report.
pub(super) trait Listener {
    /// How many packets behind the highest that was acknowledged a block may end.
    fn tolerates_behind(&self) -> u16;

    /// A packet arrived; gives its line of the log, if it has one.
    fn on_packet(&mut self, now: Ticks, arrival: Arrival, detailed: bool) -> Option<AckLine>;
}

impl<C, S> Transmitter<C, S>
where
    Self: Listener,
{
    /// Hands over the packets that arrived, if they were sent. The control loop runs at the last of
    /// them; the original's (`parity`) does so only if that is the block's last word, too, and a
    /// receiver may well fill its blocks up.
    pub(super) fn on_block(
        &mut self,
        now: Ticks,
        ssrc: u32,
        begin: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
        detailed: bool,
        log: &mut dyn FnMut(&AckLine),
    ) {
        let Some(stream) = self.streams.iter().position(|media| media.about.ssrc == ssrc) else {
            return;
        };
        let count = metrics.len();
        let end = begin.wrapping_add(count as u16).wrapping_sub(1);
        let flight = &self.streams[stream].flight;
        let Some(newest) = flight.newest else { return };
        let behind = self.tolerates_behind();
        if flight.acked.is_some_and(|acked| is_after(acked.wrapping_sub(behind), end)) {
            return;
        }
        let parity = self.config.parity;
        if flight.acked.is_none() && !parity {
            self.forget_unreported(stream, begin);
        }
        self.heard = Some(now);
        let mut take = |arrival| {
            if let Some(line) = self.on_packet(now, arrival, detailed) {
                log(&line);
            }
        };
        let mut pending = None;
        for (index, Metric { received, ecn }) in metrics.enumerate() {
            let Some(received) = received else { continue };
            let seq = begin.wrapping_add(index as u16);
            if is_after(seq, newest) {
                continue;
            }
            let arrival = Arrival { stream, seq, received, ecn, last: false };
            if parity {
                take(Arrival { last: index + 1 == count, ..arrival });
            } else if let Some(before) = pending.replace(arrival) {
                take(before);
            }
        }
        if let Some(arrival) = pending {
            take(Arrival { last: true, ..arrival });
        }
    }
}

impl<C, S> Transmitter<C, S> {
    /// A receiver does not report what came before its first packet, such as while it was busy with
    /// another sender: that is neither acknowledged nor lost.
    fn forget_unreported(&mut self, stream: usize, begin: u16) {
        let forgotten = self.streams[stream].flight.forget_before(begin);
        self.in_flight = (self.in_flight - forgotten as i32).max(0);
    }

    /// Notes that the packet arrived; nothing if that is known or the packet is not.
    pub(super) fn arrived(&mut self, arrival: Arrival) -> Option<Sent> {
        let Arrival { stream, seq, ecn, .. } = arrival;
        let media = &mut self.streams[stream];
        let packet = media.flight.get(seq).filter(|packet| !packet.acked)?;
        packet.acked = true;
        let packet = *packet;
        self.stats.acked(ecn);
        if !self.config.parity {
            self.logged.0 = self.logged.0.saturating_add(packet.bytes);
        }
        if ecn == Ecn::Ce {
            self.ce_heard = true;
            self.newly_acked_ce = self.newly_acked_ce.saturating_add(packet.bytes as i32);
            self.logged.1 = self.logged.1.saturating_add(packet.bytes);
            media.window.ce = media.window.ce.saturating_add(packet.bytes);
        }
        media.acked_queue_delay = packet.queue_delay;
        self.acked_sent = packet.at;
        Some(packet)
    }

    /// What this clock says of a packet that is acknowledged now; none: the original does not ask.
    pub(super) fn trip(&self, now: Ticks, sent: Ticks) -> Option<Trip> {
        let rtt = now.since(sent);
        let smoothed = if self.measured.is_some() { self.short_rtt } else { rtt };
        (!self.config.parity).then_some(Trip { rtt, smoothed })
    }

    /// Takes the RTT of the last packet of a report, ticks.
    pub(super) fn smooth_rtt(&mut self, now: Ticks, rtt: u32, falls_slowly: bool) {
        if rtt >= MAX_RTT {
            return;
        }
        if self.measured.is_none() && !self.config.parity {
            // The originals start from 0 and from 50 ms, and need seconds to leave that.
            (self.short_rtt, self.srtt_ticks) = (rtt, rtt);
            self.srtt = seconds(rtt);
        }
        let (least, greatest) = self.measured.unwrap_or((rtt, rtt));
        self.measured = Some((least.min(rtt), greatest.max(rtt)));
        self.previous_short_rtt = self.short_rtt;
        self.short_rtt = (7 * self.short_rtt + rtt) / 8;
        if now.since(self.last_srtt) > self.short_rtt {
            let slowly = falls_slowly && self.short_rtt < self.srtt_ticks;
            // RFC 6298's gain of 1/8, on a mean that has it too; c8f84c3 falls slowly while the
            // application limits.
            let share = if slowly { 1024 } else { 8 };
            self.srtt_ticks = ((share - 1) * self.srtt_ticks + self.short_rtt) / share;
            self.srtt = seconds(self.srtt_ticks);
            self.last_srtt = now;
        }
    }

    /// The log's line for a packet that arrived.
    pub(super) fn line(&mut self, now: Ticks, arrival: Arrival, packet: &Sent) -> AckLine {
        let Arrival { stream, seq, received, .. } = arrival;
        let (acked, acked_ce) = std::mem::take(&mut self.logged);
        let media = &self.streams[stream];
        AckLine {
            time: now,
            queue_delay: self.queue_delay,
            rtt: seconds(now.since(packet.at)),
            cwnd: self.cwnd as u32,
            in_flight: self.in_flight as u32,
            fast_increase: false,
            total_rate: self.sum(|media| media.rates.sent),
            stream,
            seq,
            acked,
            acked_ce,
            media_rate: media.rates.media,
            sent_rate: media.rates.sent,
            acked_rate: media.rates.acked,
            lost_rate: media.rates.lost,
            ce_rate: media.rates.ce,
            marker: packet.marker,
            target: media.target,
            rtp_queue_delay: media.acked_queue_delay,
            cwnd_i: 0,
            sent: packet.at,
            received: Some(received),
        }
    }
}
