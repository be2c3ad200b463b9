//! What differs between the versions of SCReAM 2, as data.

use super::super::Version;

/// Whose formulas move the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Y2024,
    Y2026,
    Draft,
}

/// Parameters of a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) law: Law,
    /// 2024-10-31: the distance to the last inflection point counts with L4S, too.
    pub(super) l4s_as_cubic: bool,
    /// Window of the rates, ticks.
    pub(super) rate_window: u32,
    /// Weights of past and present in the mean of the transmitted rate.
    pub(super) rate_weights: (f32, f32),
    /// Share of the frames that is not large.
    pub(super) frame_percentile: f32,
    /// A frame's excess over the mean is at most that over the frame before.
    pub(super) limits_excess_by_previous: bool,
    /// The target falls when the RTP queue is behind.
    pub(super) adjusts_to_queue: bool,
    /// The RTT falls slowly while the window is larger than what is in flight.
    pub(super) slow_rtt_when_limited: bool,
    /// A loss counts only with more losses or delay.
    pub(super) forgives_rare_losses: bool,
    /// Weights of a larger and of a smaller share of marks in alpha.
    pub(super) alpha_gains: (f32, f32),
    /// Time without congestion after which growth is full: s, or RTTs.
    pub(super) recovery: Recovery,
    /// Greatest target of the queue delay beside flows that fill the queue, s.
    pub(super) max_delay_target: f32,
}

/// Time after congestion in which growth is less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Recovery {
    Seconds(f32),
    Rtts(f32),
}

impl Rules {
    pub(super) fn of(version: Version) -> Self {
        let y2026 = Self {
            law: Law::Y2026,
            l4s_as_cubic: true,
            rate_window: 6553,
            rate_weights: (0.5, 0.5),
            frame_percentile: 0.8,
            limits_excess_by_previous: true,
            adjusts_to_queue: true,
            slow_rtt_when_limited: true,
            forgives_rare_losses: true,
            alpha_gains: (1.0 / 8.0, 1.0 / 128.0),
            recovery: Recovery::Rtts(200.0),
            max_delay_target: 0.3,
        };
        let y2024 = Self {
            law: Law::Y2024,
            l4s_as_cubic: false,
            rate_window: 3277,
            rate_weights: (0.8, 0.2),
            frame_percentile: 0.75,
            limits_excess_by_previous: false,
            adjusts_to_queue: false,
            slow_rtt_when_limited: false,
            forgives_rare_losses: false,
            alpha_gains: (1.0 / 32.0, 1.0 / 32.0),
            recovery: Recovery::Seconds(4.0),
            ..y2026
        };
        match version {
            Version::V2024 => y2024,
            Version::V2024b => Self { l4s_as_cubic: true, ..y2024 },
            Version::Draft => Self {
                law: Law::Draft,
                adjusts_to_queue: false,
                slow_rtt_when_limited: false,
                forgives_rare_losses: false,
                recovery: Recovery::Rtts(100.0),
                max_delay_target: 0.4,
                ..y2026
            },
            Version::V2026 | Version::Rfc8298 | Version::V2020 => y2026,
        }
    }
}
