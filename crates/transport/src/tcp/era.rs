//! Kernel eras: which of Linux's generations an endpoint follows, and the rules that it chooses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernels whose TCP is modelled. An era is nothing but defaults of [`Config`](super::Config), each of
/// which can be changed alone.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
pub enum Era {
    /// Linux 5.1 to 5.3, the kernels of the 2019 bakeoff.
    #[serde(rename = "2019")]
    E2019,
    /// Linux 5.4, the kernel of the 2020 testbeds.
    #[default]
    #[serde(rename = "2020")]
    E2020,
    /// Linux 5.15.
    #[serde(rename = "5.15")]
    E5_15,
    /// Linux 6.6 to 6.12.
    #[serde(rename = "6.x")]
    E6,
    /// Linux 7.0 to 7.2.
    #[serde(rename = "7.x")]
    E7,
}

impl Era {
    /// All of them, the oldest first.
    pub const ALL: [Self; 5] = [Self::E2019, Self::E2020, Self::E5_15, Self::E6, Self::E7];
}

/// Proportional rate reduction below ssthresh.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum PrrRule {
    /// Slow-start bound after an ACK of a retransmission that found none lost, else packet
    /// conservation.
    #[default]
    #[serde(rename = "5.x")]
    Linux5,
    /// One more than conservation after an ACK that advances and finds nothing lost.
    #[serde(rename = "6.x")]
    Linux6,
    /// RFC 9937: as in 6.x, and proportional to the flight that recovery began with instead of cwnd.
    #[serde(rename = "rfc9937")]
    Rfc9937,
}

/// How the test whether cwnd limits remembers.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CwndLimited {
    /// The flight's new maximum decides anew, also to "not limited".
    #[default]
    Latest,
    /// Once limited, limited for the rest of the window.
    Sticky,
}

/// What an ACE field without option means that several counts of marks would fit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AceReading {
    /// The greatest count: RFC 9768 appendix A.2.
    #[default]
    Greatest,
    /// The least count if the peer's ACKs cover more than four segments on average, else the
    /// greatest.
    ByAckSize,
    /// The least count (`tcp_ecn_unsafe_cep` of the L4STeam kernels).
    Least,
}
