//! Flags of a TCP endpoint's kernel, each of which its era sets and a file may set alone
//! (`docs/algorithms/tcp.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_core::Dur;

/// What a file sets beside the era; `None` follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelFlags {
    /// HyStart of CUBIC.
    pub hystart: Option<HystartFlag>,
    /// Proportional rate reduction.
    pub prr: Option<PrrFlag>,
    /// Memory of the cwnd-limited test.
    pub cwnd_limited: Option<CwndLimitedFlag>,
    /// Payload share of a receive buffer, 1/256.
    pub window_share: Option<u32>,
    /// `tcp_tso_rtt_log`.
    pub tso_rtt_log: Option<u32>,
    /// `tcp_comp_sack_rtt_percent`.
    pub comp_sack_rtt_percent: Option<u32>,
    /// `tcp_comp_sack_slack_ns`.
    pub comp_sack_slack: Option<Dur>,
    /// Reading of ambiguous ACE fields.
    pub ace: Option<AceFlag>,
    /// The last segment of a burst has PSH.
    pub push_bursts: Option<bool>,
    /// Segments with PSH are acknowledged at once.
    pub ack_pushed: Option<bool>,
    /// AccECN receivers acknowledge a change of the ECN field at once.
    pub accecn_edge_acks: Option<bool>,
    /// The reader acknowledges a second segment.
    pub reader_acks: Option<bool>,
    /// Bursts wait for an ACK that is expected within 1 ms only.
    pub tso_defer_soon: Option<bool>,
    /// Bursts do not wait at the end of a buffer in the write queue.
    pub tso_buffers: Option<bool>,
    /// Receive window tuning with the least RTT and without slack.
    pub drs_exact: Option<bool>,
    /// PAWS.
    pub paws: Option<bool>,
    /// `tcp_frto`.
    pub frto: Option<bool>,
    /// Undo of spurious reductions.
    pub undo: Option<bool>,
}

/// Generation of HyStart.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub enum HystartFlag {
    /// Up to 5.5.
    #[serde(rename = "2020")]
    Until2020,
    /// 5.8 to 5.15.
    #[serde(rename = "5.15")]
    Until5_15,
    /// From 5.16.
    #[serde(rename = "newer")]
    Newer,
}

/// Proportional rate reduction below ssthresh.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub enum PrrFlag {
    /// Slow-start bound after an acknowledged retransmission.
    #[serde(rename = "5.x")]
    Linux5,
    /// Slow-start bound, and one more after an ACK that advances without loss.
    #[serde(rename = "6.x")]
    Linux6,
    /// As 6.x, in proportion to the flight.
    #[serde(rename = "rfc9937")]
    Rfc9937,
}

/// Memory of the cwnd-limited test.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CwndLimitedFlag {
    /// The largest flight so far decides.
    Latest,
    /// Limited once is limited for the window.
    Sticky,
}

/// Reading of an ACE field that several counts of marks would fit.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AceFlag {
    /// The greatest count.
    Greatest,
    /// The least count if ACKs are large on average.
    ByAckSize,
    /// The least count.
    Least,
}
