//! What a report says of each packet, and the events that follow from it (`scream.md` 5.2).

use super::super::delay::Sample;
use super::super::flight::is_after;
use super::super::report::{Acked, Arrival, Block, MAX_RTT, OLDEST};
use super::super::ticks::seconds;
use super::super::{AckLine, Metric, Ticks};
use super::{Law, V1};
use crate::ecn::Ecn;

/// The original looks for losses so far behind.
const LOSS_WINDOW: u16 = 256;
/// Weight of a share of marks in alpha; a larger one counts twice.
const ALPHA_GAIN: f32 = 0.125;

impl V1 {
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
        // The original drops all reports that come late.
        let tolerated = if self.config.parity { 0 } else { OLDEST };
        if flight.acked.is_some_and(|acked| is_after(acked.wrapping_sub(tolerated), end)) {
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
        let acked = self.acknowledge(now, arrival);
        let told = acked.filter(|_| arrival.last || detailed);
        if arrival.last {
            self.pass(now, arrival.stream, arrival.seq);
        }
        let newly = (self.newly_acked, self.newly_acked_ce);
        if arrival.last {
            self.react(now);
        }
        Some(self.line(now, arrival, &told?, newly))
    }

    /// The packet arrived; nothing if that is known or the packet is not.
    fn acknowledge(&mut self, now: Ticks, arrival: Arrival) -> Option<Acked> {
        let Arrival { stream, seq, received, ecn, last } = arrival;
        let media = &mut self.streams[stream];
        let packet = media.flight.get(seq).filter(|packet| !packet.acked)?;
        packet.acked = true;
        let packet = *packet;
        let bytes = packet.bytes;
        self.stats.acked(ecn);
        self.newly_acked = self.newly_acked.saturating_add(bytes as i32);
        self.logged.0 = self.logged.0.saturating_add(bytes);
        self.delivered = self.delivered.saturating_add(bytes);
        media.rates.window.acked = media.rates.window.acked.saturating_add(bytes);
        if ecn == Ecn::Ce {
            // The original only saw marks of the packet that was reported last.
            self.ce_heard = true;
            self.marked = self.marked.saturating_add(bytes);
            self.newly_acked_ce = self.newly_acked_ce.saturating_add(bytes as i32);
            self.logged.1 = self.logged.1.saturating_add(bytes);
            media.rates.window.ce = media.rates.window.ce.saturating_add(bytes);
        }
        media.acked_queue_delay = packet.queue_delay;
        match self.base.sample(now, received.since(packet.at)) {
            Sample::Delay(delay) => self.queue_delay = seconds(delay),
            Sample::Restarted => self.queue_delay = 0.0,
        }
        let rtt = now.since(packet.at);
        if rtt < MAX_RTT && last {
            self.smooth_rtt(now, rtt);
        }
        self.acked_sent = packet.at;
        Some(Acked { rtt, sent: packet.at, marker: packet.marker })
    }

    fn smooth_rtt(&mut self, now: Ticks, rtt: u32) {
        if !self.measured_rtt && !self.config.parity {
            // The original starts from 0.
            (self.short_rtt, self.srtt_ticks) = (rtt, rtt);
            self.srtt = seconds(rtt);
        }
        self.measured_rtt = true;
        self.short_rtt = (7 * self.short_rtt + rtt) / 8;
        if now.since(self.last_srtt) > self.short_rtt {
            self.srtt_ticks = (7 * self.srtt_ticks + self.short_rtt) / 8;
            self.srtt = seconds(self.srtt_ticks);
            self.last_srtt = now;
        }
    }

    /// Packets up to `highest` are not in flight any more, and some of them lost.
    fn pass(&mut self, now: Ticks, stream: usize, highest: u16) {
        let media = &mut self.streams[stream];
        let acked = media.flight.acked;
        let from = if self.config.parity {
            acked.unwrap_or(0).wrapping_sub(LOSS_WINDOW)
        } else {
            media.flight.oldest()
        };
        if acked.is_none_or(|acked| is_after(highest, acked)) {
            media.flight.acked = Some(highest);
        }
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
        if now.since(self.last_cwnd) > self.window_interval {
            self.update_window(now);
        }
    }

    fn update_window(&mut self, now: Ticks) {
        self.competing.count(now, self.srtt_ticks, self.loss_event);
        self.flights.see(self.in_flight);
        match self.law {
            Law::Y2020 => self.update_window_2020(now),
            Law::Rfc8298 => self.update_window_rfc8298(now),
        }
        self.last_cwnd = now;
        if let Some(most) = self.config.max_total_rate {
            self.cwnd = self.cwnd.min((most * self.srtt / 8.0) as i32);
        }
        self.bound_window(2);
        let (lost, marked) = (self.loss_event, self.ce_event);
        for media in &mut self.streams {
            media.loss_event |= lost;
            media.ce_event |= marked;
        }
        (self.loss_event, self.ce_event) = (false, false);
        (self.newly_acked, self.newly_acked_ce) = (0, 0);
    }

    /// With `shared_bottleneck` the target follows the queue of others.
    pub(super) fn adjust_delay_target(&mut self) {
        if self.config.shared_bottleneck {
            let (least, target) = (self.config.delay_target, self.delay_target);
            self.delay_target = self.competing.target(self.queue_delay, least, target);
        }
    }

    fn line(&mut self, now: Ticks, arrival: Arrival, acked: &Acked, newly: (i32, i32)) -> AckLine {
        let Arrival { stream, seq, received, .. } = arrival;
        let media = &self.streams[stream];
        let mean = media.rates.mean;
        let logged = std::mem::take(&mut self.logged);
        let (newly, newly_ce) =
            if self.config.parity { (newly.0 as u32, newly.1 as u32) } else { logged };
        AckLine {
            time: now,
            queue_delay: self.queue_delay,
            rtt: seconds(acked.rtt),
            cwnd: self.cwnd as u32,
            in_flight: self.in_flight as u32,
            fast_increase: self.fast_increase,
            total_rate: self.streams.iter().map(|media| media.rates.mean.sent).sum(),
            stream,
            seq,
            acked: newly,
            acked_ce: newly_ce,
            media_rate: mean.media,
            sent_rate: mean.sent,
            acked_rate: mean.acked,
            lost_rate: mean.lost,
            ce_rate: mean.ce,
            marker: acked.marker,
            target: media.target,
            rtp_queue_delay: media.acked_queue_delay,
            cwnd_i: 0,
            sent: acked.sent,
            received: Some(received),
        }
    }
}
