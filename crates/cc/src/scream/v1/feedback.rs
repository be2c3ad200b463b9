//! What a report says of each packet, and the events that follow from it (EricssonResearch/scream
//! f9deed2, ScreamTx.cpp).

use super::super::delay::Sample;
use super::super::flight::{Sent, is_after};
use super::super::report::{Arrival, Listener, OLDEST};
use super::super::ticks::seconds;
use super::super::{AckLine, Ticks};
use super::{Law, V1};
use sojourn_core::ecn::Ecn;

/// The original looks for losses so far behind.
const LOSS_WINDOW: u16 = 256;
/// Weight of a share of marks in alpha; a larger one counts twice.
const ALPHA_GAIN: f32 = 0.125;

impl Listener for V1 {
    fn tolerates_behind(&self) -> u16 {
        // The original drops all reports that come late.
        if self.config.parity { 0 } else { OLDEST }
    }

    fn on_packet(&mut self, now: Ticks, arrival: Arrival, detailed: bool) -> Option<AckLine> {
        let packet = self.acknowledge(now, arrival);
        if arrival.last {
            self.pass(now, arrival.stream, arrival.seq);
        }
        let (acked, acked_ce) = (self.newly_acked as u32, self.newly_acked_ce as u32);
        if arrival.last {
            self.react(now);
        }
        let packet = packet.as_ref().filter(|_| arrival.last || detailed)?;
        let fast_increase = self.control.fast_increase;
        let line = AckLine { fast_increase, ..self.line(now, arrival, packet) };
        Some(if self.config.parity { AckLine { acked, acked_ce, ..line } } else { line })
    }
}

impl V1 {
    fn acknowledge(&mut self, now: Ticks, arrival: Arrival) -> Option<Sent> {
        let packet = self.arrived(arrival)?;
        let bytes = packet.bytes;
        self.newly_acked = self.newly_acked.saturating_add(bytes as i32);
        self.delivered = self.delivered.saturating_add(bytes);
        if arrival.ecn == Ecn::Ce {
            self.marked = self.marked.saturating_add(bytes);
        }
        let window = &mut self.streams[arrival.stream].window;
        window.acked = window.acked.saturating_add(bytes);
        let trip = self.trip(now, packet.at);
        match self.base.sample(now, arrival.received.since(packet.at), trip) {
            Sample::Delay(delay) => self.queue_delay = seconds(delay),
            Sample::Restarted => self.queue_delay = 0.0,
        }
        if arrival.last {
            self.smooth_rtt(now, now.since(packet.at), false);
        }
        Some(packet)
    }

    /// Packets up to `highest` are not in flight any more, and some of them lost.
    fn pass(&mut self, now: Ticks, stream: usize, highest: u16) {
        let media = &mut self.streams[stream];
        let from = if self.config.parity {
            media.flight.acked.unwrap_or(0).wrapping_sub(LOSS_WINDOW)
        } else {
            media.flight.oldest()
        };
        media.flight.saw_acked(highest);
        if is_after(from, highest) {
            return;
        }
        let mut lost = false;
        for offset in 0..=highest.wrapping_sub(from) {
            let seq = from.wrapping_add(offset);
            let Some(packet) = media.flight.get(seq) else { continue };
            let first = !std::mem::replace(&mut packet.passed, true);
            let packet = *packet;
            if first {
                self.in_flight = (self.in_flight - packet.bytes as i32).max(0);
            }
            let since = self.acked_sent.0.wrapping_sub(packet.at.0) as i32;
            if packet.acked {
                media.flight.free(seq);
            } else if since > (self.config.reorder_time * 65_536.0) as i32 {
                media.flight.free(seq);
                media.lost(packet.bytes);
                lost = true;
            }
        }
        if lost && self.config.loss_beta < 1.0 && now.since(self.last_event) > self.srtt_ticks {
            self.loss_event = true;
            self.last_event = now;
        }
    }

    /// What follows from a report as a whole.
    fn react(&mut self, now: Ticks) {
        // The original only saw marks of the packet that was reported last.
        let heard = std::mem::take(&mut self.ce_heard);
        if heard && now.since(self.last_event) > self.srtt_ticks {
            self.ce_event = true;
            self.last_event = now;
        }
        if self.config.l4s && now.since(self.last_alpha) > self.srtt_ticks && self.delivered > 0 {
            self.last_alpha = now;
            let share = self.marked as f32 / self.delivered as f32;
            let gain = if share > self.alpha { 2.0 * ALPHA_GAIN } else { ALPHA_GAIN };
            self.alpha = gain * share + (1.0 - gain) * self.alpha;
            (self.delivered, self.marked) = (0, 0);
        }
        if now.since(self.last_cwnd) > self.control.window_interval {
            self.update_window(now);
        }
    }

    fn update_window(&mut self, now: Ticks) {
        self.control.competing.count(now, self.srtt_ticks, self.loss_event);
        self.control.flights.see(self.in_flight);
        match self.control.law {
            Law::Y2020 => self.update_window_2020(now),
            Law::Rfc8298 => self.update_window_rfc8298(now),
        }
        self.last_cwnd = now;
        if let Some(most) = self.config.max_total_rate {
            self.cwnd = self.cwnd.min((most * self.srtt / 8.0) as i32);
        }
        self.raise_floor(2);
        let (lost, marked) = (self.loss_event, self.ce_event);
        for media in &mut self.streams {
            media.own.loss_event |= lost;
            media.own.ce_event |= marked;
        }
        (self.loss_event, self.ce_event) = (false, false);
        (self.newly_acked, self.newly_acked_ce) = (0, 0);
    }

    /// With `shared_bottleneck` the target follows the queue of others.
    pub(super) fn adjust_delay_target(&mut self) {
        if self.config.shared_bottleneck {
            let (least, target) = (self.config.delay_target, self.delay_target);
            self.delay_target = self.control.competing.target(self.queue_delay, least, target);
        }
    }
}
