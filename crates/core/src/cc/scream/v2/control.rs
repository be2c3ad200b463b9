//! State of the control loop of version 2.

use super::super::{Config, Ticks};
use super::shared_bottleneck::Bottleneck;

/// Slots of the history of bytes in flight.
const FLIGHTS: usize = 20;
/// Windows whose median is the inflection point in 2024.
const INFLECTIONS: usize = 9;
/// What the clock shows at the start of a tool: times that never were are zero there.
const START: u32 = 65;

/// What the steps of a report and the update of the window leave for the next.
#[derive(Debug)]
pub(super) struct Control {
    /// s; above the option's beside flows that fill the queue.
    pub(super) delay_target: f32,
    /// Packets since alpha was last updated.
    pub(super) delivered: u32,
    pub(super) marked: u32,
    /// Bytes since the window was last updated.
    pub(super) newly_acked: i32,
    pub(super) newly_acked_ce: i32,
    /// A mark since the control loop last ran.
    pub(super) ce_heard: bool,
    pub(super) loss_event: bool,
    pub(super) ce_event: bool,
    pub(super) virtual_event: bool,
    /// Marks were seen lately, so the queue is an L4S queue (2024).
    pub(super) l4s_active: bool,
    pub(super) alpha: f32,
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
    /// Queue delay without what always stands, s.
    pub(super) queue_delay_mean: f32,
    pub(super) queue_delay_min: f32,
    pub(super) queue_delay_min_mean: f32,
    /// Slow minimum: what always stands, s.
    pub(super) queue_delay_slow: f32,
    /// Envelope of the queue delay, s, and its mean width.
    pub(super) delay_high: f32,
    pub(super) delay_low: f32,
    pub(super) jitter: f32,
    /// 1 without jitter, 0 with 10 ms.
    pub(super) jitter_scale: f32,
    /// Grows from 0 at congestion to 1.
    pub(super) post_congestion: f32,
    pub(super) last_alpha: Ticks,
    pub(super) last_delay: Ticks,
    pub(super) last_slow_minimum: Ticks,
    pub(super) last_event: Ticks,
    pub(super) last_ce: Option<Ticks>,
    pub(super) last_congestion: Ticks,
    pub(super) last_cwnd: Ticks,
    pub(super) last_slow: Ticks,
    pub(super) started: Ticks,
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
        let never = Ticks(now.0.wrapping_sub(START));
        Self {
            delay_target: config.delay_target,
            delivered: 0,
            marked: 0,
            newly_acked: 0,
            newly_acked_ce: 0,
            ce_heard: false,
            loss_event: false,
            ce_event: false,
            virtual_event: false,
            l4s_active: false,
            alpha: 0.1,
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
            last_alpha: now,
            last_delay: now,
            last_slow_minimum: now,
            last_event: now,
            last_ce: None,
            last_congestion: never,
            last_cwnd: never,
            last_slow: now,
            started: now,
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

    /// Something says congestion.
    pub(super) fn is_congested(&self) -> bool {
        self.loss_event || self.ce_event || self.virtual_event
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
