//! What a report changes, in order (`scream.md` 4.4).

use super::super::delay::Sample;
use super::super::ticks::seconds;
use super::super::{AckLine, Metric, Ticks};
use super::V2;
use super::rules::Law;
use crate::ecn::Ecn;

/// Reports whose newest packet is so far behind the highest that was acknowledged are dropped.
const OLDEST: u16 = 512;
const TOO_OLD: u16 = 32;
/// 15 s.
const MAX_RTT: u32 = 1_000_000;
/// The history of the base delay without a low queue.
const NO_LOW_QUEUE: u32 = 49 * 655_360;
const LOW_QUEUE: f32 = 0.001;
const MIN_BACKOFF: u32 = 1966;
const LOSS_THRESHOLD: f32 = 0.01;

/// Counters of the log.
#[derive(Debug, Default)]
pub(in super::super) struct Log {
    acked: u32,
    acked_ce: u32,
    /// Packets by codepoint.
    pub(in super::super) ecn: [u64; 4],
}

struct Acked {
    rtt: u32,
    sent: Ticks,
    marker: bool,
}

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
        if count == 0 {
            return;
        }
        let end = begin.wrapping_add(count as u16).wrapping_sub(1);
        let flight = &self.streams[stream].flight;
        let behind = flight.acked.wrapping_sub(end);
        if flight.any_acked && (behind as i16) > 0 && behind > OLDEST {
            return;
        }
        for (index, metric) in metrics.enumerate() {
            let Some(received) = metric.received else { continue };
            let seq = begin.wrapping_add(index as u16);
            let last = index + 1 == count;
            let control = &mut self.control;
            control.previous_in_flight = self.in_flight;
            control.max_in_flight = control.max_in_flight.max(self.in_flight);
            let acked = self.acknowledge(now, stream, seq, received, metric.ecn, last);
            let marker = acked.as_ref().is_some_and(|acked| acked.marker);
            if last || marker || detailed {
                self.detect_losses(now, stream, seq, acked.as_ref());
            }
            self.track_extremes();
            if last {
                self.react(now);
            }
            if let Some(acked) = acked
                && (last || marker || detailed)
            {
                let line = self.line(now, stream, seq, &acked, received);
                log(&line);
            }
        }
    }

    /// The packet arrived; nothing if that is known or the packet is not.
    fn acknowledge(
        &mut self,
        now: Ticks,
        stream: usize,
        seq: u16,
        received: Ticks,
        ecn: Ecn,
        last: bool,
    ) -> Option<Acked> {
        let media = &mut self.streams[stream];
        let packet = media.flight.get(seq).filter(|packet| !packet.acked)?;
        packet.acked = true;
        let packet = *packet;
        self.log.acked = self.log.acked.saturating_add(packet.bytes);
        self.log.ecn[ecn as usize] += 1;
        let control = &mut self.control;
        control.delivered = control.delivered.saturating_add(1);
        if ecn == Ecn::Ce {
            control.marked = control.marked.saturating_add(1);
            control.newly_acked_ce = control.newly_acked_ce.saturating_add(packet.bytes as i32);
            control.ce_heard = true;
            media.rates.window.ce = media.rates.window.ce.saturating_add(packet.bytes);
            self.log.acked_ce = self.log.acked_ce.saturating_add(packet.bytes);
        }
        media.flight.saw_timestamp(packet.timestamp);
        media.acked_queue_delay = packet.queue_delay;
        self.measure_delay(now, received.since(packet.at));
        let rtt = now.since(packet.at);
        if rtt < MAX_RTT && last {
            self.smooth_rtt(now, rtt);
        }
        self.last_acked_sent = packet.at;
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
        if self.queue_delay < LOW_QUEUE || (self.rules.law == Law::Y2024 && self.control.l4s_active)
        {
            self.last_low_queue = now;
            self.last_base_refresh = Ticks(now.0.wrapping_sub(3 * self.srtt_ticks));
        }
    }

    fn smooth_rtt(&mut self, now: Ticks, rtt: u32) {
        self.previous_short_rtt = self.short_rtt;
        self.short_rtt = (7 * self.short_rtt + rtt) / 8;
        if now.since(self.last_srtt) > self.short_rtt {
            let slowly = self.rules.law == Law::Y2026
                && self.control.app_limited
                && self.short_rtt < self.srtt_ticks;
            let share = if slowly { 1024 } else { 8 };
            self.srtt_ticks = ((share - 1) * self.srtt_ticks + self.short_rtt) / share;
            self.srtt = seconds(self.srtt_ticks);
            self.last_srtt = now;
        }
    }

    fn detect_losses(&mut self, now: Ticks, stream: usize, highest: u16, _acked: Option<&Acked>) {
        let media = &mut self.streams[stream];
        let from = media.flight.acked.wrapping_sub(OLDEST);
        let mut lost_any = false;
        for back in (1..=TOO_OLD).rev() {
            let seq = from.wrapping_sub(back);
            if let Some(packet) = media.flight.get(seq).copied()
                && !packet.acked
            {
                media.flight.free(seq);
                media.lost(packet.bytes);
                lost_any = true;
            }
        }
        media.flight.acked = highest;
        media.flight.any_acked = true;
        let reorder = (self.config.reorder_time * 65536.0) as u32;
        let span = highest.wrapping_sub(from);
        for offset in 0..=span {
            let seq = from.wrapping_add(offset);
            let media = &mut self.streams[stream];
            let Some(packet) = media.flight.get(seq) else { continue };
            if !packet.passed {
                packet.passed = true;
                let bytes = packet.bytes;
                self.control.newly_acked = self.control.newly_acked.saturating_add(bytes as i32);
                self.in_flight = (self.in_flight - bytes as i32).max(0);
                media.rates.window.acked = media.rates.window.acked.saturating_add(bytes);
            }
            let Some(packet) = media.flight.get(seq).copied() else { continue };
            let newest = self.last_acked_sent;
            if packet.acked {
                media.flight.free(seq);
                self.sample_loss(false);
                continue;
            }
            let tolerated = reorder + media.flight.made_before(packet.timestamp);
            if newest.0.wrapping_sub(packet.at.0) as i32 > tolerated as i32 {
                media.flight.free(seq);
                media.lost(packet.bytes);
                lost_any = true;
                self.sample_loss(true);
            }
        }
        if lost_any {
            self.loss_event(now);
        }
    }

    fn sample_loss(&mut self, lost: bool) {
        let weight = (0.5 * self.mss as f32 / self.cwnd as f32).min(0.0025);
        let sample = if lost { 1.0 } else { 0.0 };
        self.control.loss_rate = (1.0 - weight) * self.control.loss_rate + weight * sample;
    }

    fn loss_event(&mut self, now: Ticks) {
        let control = &mut self.control;
        if self.config.loss_beta >= 1.0 || now.since(control.last_event) <= self.srtt_ticks {
            return;
        }
        control.loss_event |= match self.rules.law {
            Law::Y2024 => true,
            Law::Y2026 => {
                control.loss_rate > LOSS_THRESHOLD
                    || control.queue_delay_mean > control.delay_target / 4.0
            }
        };
    }

    fn track_extremes(&mut self) {
        let delay = self.queue_delay;
        let control = &mut self.control;
        control.delay_low = control.delay_low.min(delay);
        control.delay_high = control.delay_high.max(delay).min(control.delay_target);
    }

    /// The last packet of the report was looked at: steps 5 to 12.
    fn react(&mut self, now: Ticks) {
        let interval = MIN_BACKOFF.min(self.srtt_ticks);
        let density = !self.config.pacing;
        let l4s = self.config.l4s;
        let srtt_ticks = self.srtt_ticks;
        self.control.l4s_active = self.saw_l4s_lately(now);
        let c = &mut self.control;
        if now.since(c.last_event) > interval && c.ce_heard {
            c.ce_event = true;
            c.last_event = now;
            c.last_ce = now;
        }
        if density {
            if c.ce_heard {
                c.ce_density += 1.0 / 16.0;
            }
            c.ce_density = (c.ce_density * (15.0 / 16.0)).max(0.25);
        }
        c.ce_heard = false;
        if !l4s {
            c.alpha = 0.0;
        } else if now.since(c.last_alpha) > srtt_ticks.min(655) {
            c.last_alpha = now;
            let mut fraction = 0.0;
            if c.delivered > 0 {
                fraction = c.marked as f32 / c.delivered as f32;
                if fraction == 1.0 {
                    c.ce_density = 1.0;
                }
                fraction *= c.ce_density;
            }
            c.alpha = match self.rules.law {
                Law::Y2024 => fraction / 32.0 + (31.0 / 32.0) * c.alpha,
                Law::Y2026 if fraction >= c.alpha => {
                    (fraction / 8.0 + 7.0 / 8.0 * c.alpha).min(1.0)
                }
                Law::Y2026 => c.alpha * (1.0 - 1.0 / 128.0),
            };
            (c.delivered, c.marked) = (0, 0);
            c.fraction_marked = fraction;
        }
        if now.since(c.last_delay) > interval {
            self.average_delay(now);
        }
        self.delay_event(now, interval);
        let c = &mut self.control;
        if self.short_rtt < self.previous_short_rtt && c.fraction_marked == 1.0 {
            c.ce_event = false;
        }
        if c.loss_event || c.ce_event || c.virtual_event {
            c.last_event = now;
        }
        if now.since(c.last_cwnd) > interval
            || c.loss_event
            || c.ce_event
            || c.virtual_event
            || self.new_frame
        {
            c.last_cwnd = now;
            c.in_flight_ratio = (c.previous_in_flight as f32 / self.cwnd as f32).min(1.0);
            self.update_window(now);
            let rules = self.rules;
            for media in self.streams.iter_mut().filter(|media| media.active) {
                media.update_target(now, &rules);
            }
            let c = &mut self.control;
            (c.loss_event, c.ce_event, c.virtual_event) = (false, false, false);
            self.new_frame = false;
        }
    }

    fn average_delay(&mut self, now: Ticks) {
        let c = &mut self.control;
        c.last_delay = now;
        if self.rules.law == Law::Y2024 {
            let delay = self.queue_delay;
            c.queue_delay_mean = if delay < c.queue_delay_mean {
                delay
            } else {
                0.75 * c.queue_delay_mean + 0.25 * delay
            };
            return;
        }
        if now.since(c.last_slow_minimum) > 100 * self.srtt_ticks {
            c.queue_delay_slow = if c.queue_delay_min < c.queue_delay_slow {
                c.queue_delay_min
            } else {
                c.queue_delay_min / 8.0 + 7.0 / 8.0 * c.queue_delay_slow
            };
            c.queue_delay_min = 1000.0;
            c.last_slow_minimum = now;
        }
        let delay = self.queue_delay - c.queue_delay_slow;
        c.queue_delay_mean = if delay < c.queue_delay_mean {
            delay
        } else {
            0.75 * c.queue_delay_mean + 0.25 * delay
        };
        let spread = (c.delay_high - c.delay_low).clamp(0.0, 0.02);
        c.jitter = 31.0 / 32.0 * c.jitter + spread / 32.0;
        c.jitter_scale = (1.0 - c.jitter / 0.01).clamp(0.0, 1.0);
        c.delay_high *= 15.0 / 16.0;
        c.delay_low = 15.0 / 16.0 * c.delay_low + c.delay_high / 16.0;
    }

    /// A delay that grows counts as a mark.
    fn delay_event(&mut self, now: Ticks, interval: u32) {
        let l4s_active = self.control.l4s_active;
        let target: f32 = self.sum_target();
        let mss = self.mss_eff() as f32;
        let c = &mut self.control;
        match self.rules.law {
            Law::Y2024 => {
                let limit = 2.0 * 8.0 * mss / (target * self.srtt);
                let quarter = c.delay_target / 4.0;
                if (c.alpha < 0.1 * limit || !l4s_active)
                    && c.queue_delay_mean > quarter
                    && now.since(c.last_event) > interval
                {
                    c.virtual_event = true;
                    let over = (c.queue_delay_mean - quarter) / (3.0 * quarter);
                    c.virtual_alpha = (limit + over.max(0.0)).min(1.0);
                }
            }
            Law::Y2026 => {
                let half = c.delay_target / 2.0;
                if c.queue_delay_mean > half && now.since(c.last_event) > interval {
                    c.virtual_event = true;
                    let over = ((c.queue_delay_mean - half) / half).clamp(0.0, 1.0);
                    c.virtual_alpha = over / (self.srtt / 0.03).max(1.0);
                }
            }
        }
    }

    pub(super) fn sum_target(&self) -> f32 {
        self.streams.iter().map(|media| media.target).sum()
    }

    fn line(
        &mut self,
        now: Ticks,
        stream: usize,
        seq: u16,
        acked: &Acked,
        received: Ticks,
    ) -> AckLine {
        let media = &self.streams[stream];
        let rates = &media.rates;
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
            acked: std::mem::take(&mut self.log.acked),
            acked_ce: std::mem::take(&mut self.log.acked_ce),
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
