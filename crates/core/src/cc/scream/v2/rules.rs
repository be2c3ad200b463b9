//! What differs between the versions of SCReAM 2, as data.

use super::super::Version;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Y2024,
    Y2026,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) law: Law,
    /// Window of the rates, ticks, and the weight of the past in the mean of the transmitted rate.
    pub(super) rate_window: u32,
    pub(super) rate_memory: (f32, f32),
    /// Packets in an RTP queue and in the table of those sent.
    pub(super) table_sizes: (usize, usize),
    pub(super) frame_percentile: f32,
    /// A frame's excess over the mean is at most that over the frame before.
    pub(super) limits_excess_by_previous: bool,
    /// The target falls when the RTP queue is behind.
    pub(super) adjusts_to_queue: bool,
}

impl Rules {
    pub(super) fn of(version: Version) -> Self {
        let y2026 = Self {
            law: Law::Y2026,
            rate_window: 6553,
            rate_memory: (0.5, 0.5),
            table_sizes: (1024, 4096),
            frame_percentile: 0.8,
            limits_excess_by_previous: true,
            adjusts_to_queue: true,
        };
        let y2024 = Self {
            law: Law::Y2024,
            rate_window: 3277,
            rate_memory: (0.8, 0.2),
            frame_percentile: 0.75,
            limits_excess_by_previous: false,
            adjusts_to_queue: false,
            ..y2026
        };
        match version {
            Version::V2024 | Version::V2024b => y2024,
            _ => y2026,
        }
    }
}
