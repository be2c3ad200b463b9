//! Which DSCP goes to which tin, and what share of the rate each tin gets.

use super::params::Version;
use sojourn_core::choices;

choices! {
    /// How traffic is divided by priority.
    pub(super) enum TinMode {
        Besteffort = "besteffort",
        Precedence = "precedence",
        Diffserv8 = "diffserv8",
        Diffserv4 = "diffserv4",
        Diffserv3 = "diffserv3",
    }
}

/// DSCP 0 to 63 to the tin of `diffserv8`.
#[rustfmt::skip]
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2,
    1, 2, 1, 2, 1, 2, 1, 2,
    5, 2, 4, 2, 4, 2, 4, 2,
    3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 2, 2, 6, 2, 6, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
];

impl TinMode {
    pub(super) const fn count(self) -> usize {
        match self {
            Self::Besteffort => 1,
            Self::Precedence | Self::Diffserv8 => 8,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
        }
    }

    /// The tin of a packet; the lower-effort codepoint had none of its own at first.
    /// Linux 6.12 `cake_select_tin` and the tables of `cake_config_diffserv3` and its siblings.
    #[inline]
    pub(super) fn tin(self, dscp: u8, version: Version) -> usize {
        let lower_effort = dscp == 1 && version == Version::Chromi;
        match self {
            Self::Besteffort => 0,
            Self::Precedence => usize::from(dscp >> 3),
            Self::Diffserv8 if lower_effort => 2,
            Self::Diffserv8 => usize::from(DIFFSERV8[usize::from(dscp)]),
            _ if lower_effort => 0,
            Self::Diffserv3 => match dscp {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
        }
    }

    /// Rate threshold and DRR quantum of tin `index` for the whole's `rate` in bytes per second.
    /// Linux 6.12 `cake_config_diffserv3` and its siblings.
    pub(super) fn share(self, index: usize, rate: u64) -> (u64, i32) {
        match (self, index) {
            (Self::Besteffort, _) => (rate, 65535),
            (Self::Precedence | Self::Diffserv8, _) => {
                let (mut rate, mut quantum) = (rate, 256);
                for _ in 0..index {
                    rate = (rate * 7) >> 3;
                    quantum = (quantum * 7) >> 3;
                }
                (rate, quantum.max(1))
            }
            (_, 0) => (rate, 1024),
            (_, 1) => (rate >> 4, 64),
            (Self::Diffserv4, 2) => (rate >> 1, 512),
            _ => (rate >> 2, 256),
        }
    }

    /// tc's names of the tins in the order in which it prints them, lowest priority first.
    pub(super) const fn display(self) -> &'static [(usize, Name)] {
        use Name::{BestEffort, Bulk, Tin, Video, Voice};
        match self {
            Self::Besteffort => &[(0, Tin(0))],
            Self::Diffserv3 => &[(1, Bulk), (0, BestEffort), (2, Voice)],
            Self::Diffserv4 => &[(1, Bulk), (0, BestEffort), (2, Video), (3, Voice)],
            Self::Precedence | Self::Diffserv8 => &[
                (0, Tin(0)),
                (1, Tin(1)),
                (2, Tin(2)),
                (3, Tin(3)),
                (4, Tin(4)),
                (5, Tin(5)),
                (6, Tin(6)),
                (7, Tin(7)),
            ],
        }
    }
}

/// Name of a tin in statistics.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    Bulk,
    BestEffort,
    Video,
    Voice,
    Tin(u8),
}
