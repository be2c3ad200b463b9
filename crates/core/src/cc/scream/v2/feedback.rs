//! What a report says of each packet (`scream.md` 4.4, steps 1 to 4).

use super::super::delay::Sample;
use super::super::flight::is_after;
use super::super::report::{Acked, Arrival, Block, MAX_RTT, OLDEST};
use super::super::ticks::seconds;
use super::super::{AckLine, Metric, Ticks};
use super::rules::Law;
use super::{LONG_AGO, V2};
use crate::ecn::Ecn;

/// The original gives up that many packets below the oldest that it looks at.
const GIVEN_UP: u16 = 32;
/// Without a low queue for so long the base delay is not believed any more, ticks.
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

impl V2 {
    pub(in super::super) fn on_block(
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
        if flight.acked.is_some_and(|acked| is_after(acked.wrapping_sub(OLDEST), end)) {
            return;
        }
        let parity = self.config.parity;
        Block { stream, begin, newest }.arrivals(metrics, parity, |arrival| {
            if let Some(line) = self.on_packet(now, arrival, detailed) {
                log(&line);
            }
        });
    }

    fn on_packet(&mut self, now: Ticks, arrival: Arrival, detailed: bool) -> Option<AckLine> {
        let Arrival { stream, seq, last, .. } = arrival;
        let control = &mut self.control;
        control.previous_in_flight = self.in_flight;
        control.max_in_flight = control.max_in_flight.max(self.in_flight);
        let acked = self.acknowledge(now, arrival);
        let told = last || detailed || acked.as_ref().is_some_and(|acked| acked.marker);
        if told {
            self.pass(now, stream, seq);
        }
        let delay = self.queue_delay;
        let control = &mut self.control;
        control.delay_low = control.delay_low.min(delay);
        control.delay_high = control.delay_high.max(delay).min(control.delay_target);
        if last {
            self.react(now);
        }
        let acked = acked.filter(|_| told)?;
        Some(self.line(now, arrival, &acked))
    }

    /// The packet arrived; nothing if that is known or the packet is not.
    fn acknowledge(&mut self, now: Ticks, arrival: Arrival) -> Option<Acked> {
        let Arrival { stream, seq, received, ecn, last } = arrival;
        let media = &mut self.streams[stream];
        let packet = media.flight.get(seq).filter(|packet| !packet.acked)?;
        packet.acked = true;
        let packet = *packet;
        self.stats.acked(ecn);
        self.logged.0 = self.logged.0.saturating_add(packet.bytes);
        let control = &mut self.control;
        control.delivered = control.delivered.saturating_add(1);
        if ecn == Ecn::Ce {
            control.marked = control.marked.saturating_add(1);
            control.newly_acked_ce = control.newly_acked_ce.saturating_add(packet.bytes as i32);
            control.ce_heard = true;
            media.rates.window.ce = media.rates.window.ce.saturating_add(packet.bytes);
            self.logged.1 = self.logged.1.saturating_add(packet.bytes);
        }
        media.flight.saw_timestamp(packet.timestamp);
        media.acked_queue_delay = packet.queue_delay;
        self.measure_delay(now, received.since(packet.at));
        let rtt = now.since(packet.at);
        if rtt < MAX_RTT && last {
            self.smooth_rtt(now, rtt);
        }
        self.acked_sent = packet.at;
        Some(Acked { rtt, sent: packet.at, marker: packet.marker })
    }

    fn measure_delay(&mut self, now: Ticks, one_way: u32) {
        if self.base.slot_ends(now) && now.since(self.last_low_queue) > NO_LOW_QUEUE {
            self.last_base_refresh = now;
            self.last_low_queue = now;
        }
        match self.base.sample(now, one_way) {
            Sample::Delay(delay) => self.queue_delay = seconds(delay),
            Sample::Restarted => {
                self.queue_delay = 0.0;
                self.control.queue_delay_slow = 0.0;
            }
        }
        let l4s = self.rules.law == Law::Y2024 && self.control.l4s_active;
        if self.queue_delay < LOW_QUEUE || l4s {
            self.last_low_queue = now;
            // DEVIATION: the original goes back by three RTTs of now, so that an RTT that grows
            // afterwards looks like a refresh, for which it empties the RTP queue.
            let ago = if self.config.parity { 3 * self.srtt_ticks } else { LONG_AGO };
            self.last_base_refresh = Ticks(now.0.wrapping_sub(ago));
        }
    }

    fn smooth_rtt(&mut self, now: Ticks, rtt: u32) {
        if !self.measured_rtt && !self.config.parity {
            // The original starts from 50 ms and needs seconds to leave it on a short path.
            (self.short_rtt, self.srtt_ticks) = (rtt, rtt);
            self.srtt = seconds(rtt);
        }
        self.measured_rtt = true;
        self.previous_short_rtt = self.short_rtt;
        self.short_rtt = (7 * self.short_rtt + rtt) / 8;
        if now.since(self.last_srtt) > self.short_rtt {
            let slowly = self.rules.slow_rtt_when_limited
                && self.control.app_limited
                && self.short_rtt < self.srtt_ticks;
            let share = if slowly { 1024 } else { 8 };
            self.srtt_ticks = ((share - 1) * self.srtt_ticks + self.short_rtt) / share;
            self.srtt = seconds(self.srtt_ticks);
            self.last_srtt = now;
        }
    }

    /// Packets up to `highest` are not in flight any more, and some of them lost.
    fn pass(&mut self, now: Ticks, stream: usize, highest: u16) {
        let parity = self.config.parity;
        let media = &mut self.streams[stream];
        let from = if parity {
            let from = media.flight.acked.unwrap_or(0).wrapping_sub(OLDEST);
            self.give_up(now, stream, from);
            from
        } else {
            media.flight.oldest()
        };
        let media = &mut self.streams[stream];
        if media.flight.acked.is_none_or(|acked| is_after(highest, acked)) {
            media.flight.acked = Some(highest);
        }
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
                let acked = &mut self.control.newly_acked;
                *acked = acked.saturating_add(packet.bytes as i32);
                self.in_flight = (self.in_flight - packet.bytes as i32).max(0);
                let counted = &mut media.rates.window.acked;
                *counted = counted.saturating_add(packet.bytes);
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
        let delayed = self.control.queue_delay_mean > self.control.delay_target / 4.0;
        let forgiven =
            self.rules.forgives_rare_losses && self.control.loss_rate <= LOSS_THRESHOLD && !delayed;
        if lost && !forgiven {
            self.lose(now, delayed);
        }
    }

    /// The original forgets packets far behind; those of which nothing was heard count as lost.
    fn give_up(&mut self, now: Ticks, stream: usize, before: u16) {
        let media = &mut self.streams[stream];
        let mut lost = false;
        for back in (1..=GIVEN_UP).rev() {
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
        if self.config.loss_beta >= 1.0 || now.since(control.last_event) <= self.srtt_ticks {
            return;
        }
        control.loss_event = true;
        let policed =
            self.config.policer_protection && control.loss_rate > POLICER_LOSS && !delayed;
        if policed && !control.policed_now {
            let middle = f32::midpoint(self.cwnd as f32, control.inflection as f32);
            control.policed = Some(middle * POLICER_BETA);
        }
        control.policed_now = policed;
    }

    fn line(&mut self, now: Ticks, arrival: Arrival, acked: &Acked) -> AckLine {
        let Arrival { stream, seq, received, .. } = arrival;
        let media = &self.streams[stream];
        let rates = &media.rates;
        let (newly, newly_ce) = std::mem::take(&mut self.logged);
        AckLine {
            time: now,
            queue_delay: self.queue_delay,
            rtt: seconds(acked.rtt),
            cwnd: self.cwnd as u32,
            in_flight: self.in_flight as u32,
            fast_increase: false,
            total_rate: self.streams.iter().map(|media| media.rates.sent_mean).sum(),
            stream,
            seq,
            acked: newly,
            acked_ce: newly_ce,
            media_rate: rates.media_mean,
            sent_rate: rates.sent_mean,
            acked_rate: rates.last.acked,
            lost_rate: rates.last.lost,
            ce_rate: rates.last.ce,
            marker: acked.marker,
            target: media.target,
            rtp_queue_delay: media.acked_queue_delay,
            cwnd_i: self.control.inflection as u32,
            sent: acked.sent,
            received: Some(received),
        }
    }
}
