//! State of the control loop of version 2.

use super::super::{Config, Ticks};
use super::payload::Payload;
use super::rules::Rules;
use super::shared_bottleneck::Bottleneck;

/// Slots of the history of bytes in flight.
const FLIGHTS: usize = 20;
/// Windows whose median is the inflection point in 2024.
const INFLECTIONS: usize = 9;
/// Nine hours, ticks.
pub(super) const LONG_AGO: u32 = 1 << 31;

/// What the steps of a report and the update of the window leave for the next.
#[derive(Debug)]
pub(in super::super) struct Control {
    pub(super) rules: Rules,
    pub(super) payload: Payload,
    /// A frame was completed since the window was last updated.
    pub(super) new_frame: bool,
    pub(super) last_halving: Ticks,
    pub(super) halving: bool,
    pub(super) last_low_queue: Ticks,
    pub(super) last_base_refresh: Ticks,
    /// The queue delay counts as congestion.
    pub(super) virtual_event: bool,
    /// Marks were seen lately, so the queue is an L4S queue (2024).
    pub(super) l4s_active: bool,
    /// What a queue delay above the target counts as alpha.
    pub(super) virtual_alpha: f32,
    /// Last share of marks.
    pub(super) fraction_marked: f32,
    pub(super) ce_density: f32,
    /// Share of lost packets.
    pub(super) loss_rate: f32,
    /// Bytes in flight before the last packet was acknowledged.
    pub(super) previous_in_flight: i32,
    pub(super) in_flight_ratio: f32,
    pub(super) max_in_flight: i32,
    pub(super) max_in_flight_previous: i32,
    pub(super) max_in_flight_ring: [i32; FLIGHTS],
    pub(super) ring_at: usize,
    /// Queue delay without the standing part, s.
    pub(super) queue_delay_mean: f32,
    pub(super) queue_delay_min: f32,
    pub(super) queue_delay_min_mean: f32,
    /// Slow minimum: the standing part, s.
    pub(super) queue_delay_slow: f32,
    /// Envelope of the queue delay, s, and its mean width.
    pub(super) delay_high: f32,
    pub(super) delay_low: f32,
    pub(super) jitter: f32,
    /// 1 without jitter, 0 with 10 ms.
    pub(super) jitter_scale: f32,
    /// Grows from 0 at congestion to 1.
    pub(super) post_congestion: f32,
    pub(super) last_delay: Ticks,
    pub(super) last_slow_minimum: Ticks,
    pub(super) last_ce: Option<Ticks>,
    pub(super) last_slow: Ticks,
    /// Window at the last congestion, bytes.
    pub(super) inflection: i32,
    /// It stays until the window has grown.
    pub(super) inflection_blocked: bool,
    pub(super) inflections: Option<[i32; INFLECTIONS]>,
    pub(super) inflection_at: usize,
    pub(super) last_inflection: Ticks,
    /// From 0.1 at the inflection point to 1 far from it.
    pub(super) distance: f32,
    /// Packet over window.
    pub(super) cwnd_ratio: f32,
    pub(super) window_headroom: f32,
    /// Large frames over the mean, all streams.
    pub(super) large_frames: f32,
    /// The window is larger than what is in flight.
    pub(super) app_limited: bool,
    pub(super) had_congestion: bool,
    /// A policer's limit of the window, bytes.
    pub(super) policed: Option<f32>,
    pub(super) policed_now: bool,
    pub(super) bottleneck: Bottleneck,
}

impl Control {
    pub(super) fn new(config: &Config, now: Ticks) -> Self {
        let ago = if config.parity { 1 } else { LONG_AGO };
        Self {
            rules: Rules::of(config.version),
            payload: Payload::new(config, now),
            new_frame: false,
            last_halving: now,
            halving: false,
            last_low_queue: now,
            last_base_refresh: Ticks(now.0.wrapping_sub(ago)),
            virtual_event: false,
            l4s_active: false,
            virtual_alpha: 0.0,
            fraction_marked: 0.0,
            ce_density: 1.0,
            loss_rate: 0.0,
            previous_in_flight: 0,
            in_flight_ratio: 0.0,
            max_in_flight: 0,
            max_in_flight_previous: 0,
            max_in_flight_ring: [0; FLIGHTS],
            ring_at: 0,
            queue_delay_mean: 0.0,
            queue_delay_min: 1000.0,
            queue_delay_min_mean: 0.0,
            queue_delay_slow: 0.0,
            delay_high: 0.0,
            delay_low: 1000.0,
            jitter: 0.0,
            jitter_scale: 1.0,
            post_congestion: 1.0,
            last_delay: now,
            last_slow_minimum: now,
            last_ce: None,
            last_slow: now,
            inflection: 1,
            inflection_blocked: false,
            inflections: None,
            inflection_at: 0,
            last_inflection: now,
            distance: 1.0,
            cwnd_ratio: 0.0,
            window_headroom: config.max_window_headroom,
            large_frames: 1.0,
            app_limited: false,
            had_congestion: false,
            policed: None,
            policed_now: false,
            bottleneck: Bottleneck::new(now),
        }
    }

    /// Notes the window as the last one before congestion, until it has grown again.
    pub(super) fn mark_inflection(&mut self, cwnd: i32) {
        if !self.inflection_blocked {
            self.inflection = cwnd;
            self.inflection_blocked = true;
        }
    }

    /// The median of the last nine windows before congestion.
    pub(super) fn store_inflection(&mut self, now: Ticks, cwnd: i32) {
        self.last_inflection = now;
        let ring = self.inflections.get_or_insert([cwnd; INFLECTIONS]);
        ring[self.inflection_at] = cwnd;
        self.inflection_at = (self.inflection_at + 1) % INFLECTIONS;
        let mut sorted = *ring;
        sorted.sort_unstable();
        self.inflection = sorted[INFLECTIONS / 2];
    }
}
