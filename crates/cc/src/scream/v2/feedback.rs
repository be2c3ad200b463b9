//! What a report says of each packet: delays, losses and marks (EricssonResearch/scream c8f84c3,
//! ScreamV2Tx.cpp).

use super::super::delay::Sample;
use super::super::flight::{Sent, is_after};
use super::super::report::{Arrival, Listener, OLDEST};
use super::super::ticks::seconds;
use super::super::{AckLine, Ticks};
use super::V2;
use super::control::LONG_AGO;
use super::rules::Law;
use sojourn_core::ecn::Ecn;

/// The original gives up at most that many packets below the oldest that it looks at.
const GIVEN_UP: u16 = 32;
/// Time without a low queue after which the base delay is not trusted any more, ticks.
const NO_LOW_QUEUE: u32 = 49 * 655_360;
/// s.
const LOW_QUEUE: f32 = 0.001;
/// Weight of a packet in the loss rate: in packets of a window, and at most.
const LOSS_GAIN: f32 = 0.5;
const MAX_LOSS_GAIN: f32 = 0.0025;
const LOSS_THRESHOLD: f32 = 0.01;
/// Loss rate of a policer.
const POLICER_LOSS: f32 = 0.1;
const POLICER_BETA: f32 = 0.8;

impl Listener for V2 {
    fn tolerates_behind(&self) -> u16 {
        OLDEST
    }

    fn on_packet(&mut self, now: Ticks, arrival: Arrival, detailed: bool) -> Option<AckLine> {
        let Arrival { stream, seq, last, .. } = arrival;
        let control = &mut self.control;
        control.previous_in_flight = self.in_flight;
        control.max_in_flight = control.max_in_flight.max(self.in_flight);
        let packet = self.acknowledge(now, arrival);
        let counts = last || detailed || packet.as_ref().is_some_and(|packet| packet.marker);
        if counts {
            self.pass(now, stream, seq);
        }
        let delay = self.queue_delay;
        let control = &mut self.control;
        control.delay_low = control.delay_low.min(delay);
        control.delay_high = control.delay_high.max(delay).min(self.delay_target);
        if last {
            self.react(now);
        }
        let packet = packet.as_ref().filter(|_| counts)?;
        let cwnd_i = self.control.inflection as u32;
        Some(AckLine { cwnd_i, ..self.line(now, arrival, packet) })
    }
}

impl V2 {
    fn acknowledge(&mut self, now: Ticks, arrival: Arrival) -> Option<Sent> {
        let packet = self.arrived(arrival)?;
        self.delivered = self.delivered.saturating_add(1);
        if arrival.ecn == Ecn::Ce {
            self.marked = self.marked.saturating_add(1);
        }
        self.streams[arrival.stream].flight.saw_timestamp(packet.timestamp);
        self.measure_delay(now, arrival.received, packet.at);
        if arrival.last {
            let control = &self.control;
            let slowly = control.rules.slow_rtt_when_limited && control.app_limited;
            self.smooth_rtt(now, now.since(packet.at), slowly);
        }
        Some(packet)
    }

    fn measure_delay(&mut self, now: Ticks, received: Ticks, sent: Ticks) {
        if self.base.slot_ends(now) && now.since(self.control.last_low_queue) > NO_LOW_QUEUE {
            self.control.last_base_refresh = now;
            self.control.last_low_queue = now;
        }
        match self.base.sample(now, received.since(sent), self.trip(now, sent)) {
            Sample::Delay(delay) => self.queue_delay = seconds(delay),
            Sample::Restarted => {
                self.queue_delay = 0.0;
                self.control.queue_delay_slow = 0.0;
            }
        }
        let l4s = self.control.rules.law == Law::Y2024 && self.control.l4s_active;
        if self.queue_delay < LOW_QUEUE || l4s {
            self.control.last_low_queue = now;
            // DEVIATION: the original goes back by three RTTs of now, so that an RTT that grows
            // afterwards looks like a refresh, for which it empties the RTP queue.
            let ago = if self.config.parity { 3 * self.srtt_ticks } else { LONG_AGO };
            self.control.last_base_refresh = Ticks(now.0.wrapping_sub(ago));
        }
    }

    /// Packets up to `highest` are not in flight any more, and some of them lost.
    fn pass(&mut self, now: Ticks, stream: usize, highest: u16) {
        let parity = self.config.parity;
        let media = &mut self.streams[stream];
        let from = if parity {
            let acked = media.flight.acked.unwrap_or(0);
            let from = acked.wrapping_sub(OLDEST);
            self.give_up(now, stream, from, highest.wrapping_sub(acked).min(GIVEN_UP));
            from
        } else {
            media.flight.oldest()
        };
        let media = &mut self.streams[stream];
        media.flight.saw_acked(highest);
        if is_after(from, highest) {
            return;
        }
        let mut lost = false;
        for offset in 0..=highest.wrapping_sub(from) {
            let seq = from.wrapping_add(offset);
            let media = &mut self.streams[stream];
            let Some(packet) = media.flight.get(seq) else { continue };
            let first = !std::mem::replace(&mut packet.passed, true);
            let packet = *packet;
            if first {
                // The original's log counts lost packets, too, once later ones have arrived.
                let logged = if parity { packet.bytes } else { 0 };
                self.logged.0 = self.logged.0.saturating_add(logged);
                self.newly_acked = self.newly_acked.saturating_add(packet.bytes as i32);
                self.in_flight = (self.in_flight - packet.bytes as i32).max(0);
                media.window.acked = media.window.acked.saturating_add(packet.bytes);
            }
            if packet.acked {
                media.flight.free(seq);
                self.sample_loss(0.0);
                continue;
            }
            // The original also waits as long as the encoder was earlier, which is about as long as
            // the packet itself was: it never finds a loss before it gives the packet up.
            let earlier = if parity { media.flight.made_before(packet.timestamp) } else { 0 };
            let tolerated = (self.config.reorder_time * 65_536.0) as u32;
            let since = self.acked_sent.0.wrapping_sub(packet.at.0) as i32;
            if since > tolerated.saturating_add(earlier) as i32 {
                media.flight.free(seq);
                media.lost(packet.bytes);
                lost = true;
                self.sample_loss(1.0);
            }
        }
        let delayed = self.control.queue_delay_mean > self.delay_target / 4.0;
        let forgiven = self.control.rules.forgives_rare_losses
            && self.control.loss_rate <= LOSS_THRESHOLD
            && !delayed;
        if lost && !forgiven {
            self.lose(now, delayed);
        }
    }

    /// The original forgets packets far behind, as many as the highest acknowledged number has just
    /// advanced by; those of which nothing was heard count as lost.
    fn give_up(&mut self, now: Ticks, stream: usize, before: u16, packets: u16) {
        let media = &mut self.streams[stream];
        let mut lost = false;
        for back in (1..=packets).rev() {
            let seq = before.wrapping_sub(back);
            let Some(packet) = media.flight.get(seq).copied().filter(|packet| !packet.acked) else {
                continue;
            };
            media.flight.free(seq);
            if !packet.passed {
                self.in_flight = (self.in_flight - packet.bytes as i32).max(0);
            }
            media.lost(packet.bytes);
            lost = true;
        }
        if lost {
            self.lose(now, false);
        }
    }

    fn sample_loss(&mut self, lost: f32) {
        let gain = (LOSS_GAIN * self.mss as f32 / self.cwnd as f32).min(MAX_LOSS_GAIN);
        self.control.loss_rate = (1.0 - gain) * self.control.loss_rate + gain * lost;
    }

    /// Something was lost: once per RTT that is congestion.
    fn lose(&mut self, now: Ticks, delayed: bool) {
        let control = &mut self.control;
        if self.config.loss_beta >= 1.0 || now.since(self.last_event) <= self.srtt_ticks {
            return;
        }
        self.loss_event = true;
        let policed =
            self.config.policer_protection && control.loss_rate > POLICER_LOSS && !delayed;
        if policed && !control.policed_now {
            let middle = f32::midpoint(self.cwnd as f32, control.inflection as f32);
            control.policed = Some(middle * POLICER_BETA);
        }
        control.policed_now = policed;
    }
}
