//! What an end point reports to its controller: the path, the shared window, and what an acknowledgement
//! or a loss says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hystart::Era as HystartEra;
use sojourn_core::ecn::Ecn;
use sojourn_core::units::{Dur, Rate, Time};

/// Feedback that a controller works with; those of TCP are negotiated.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// Accurate ECN (RFC 9768), falling back as it says.
    AccEcn,
    /// Classic ECN of RFC 3168: ECE until CWR.
    Rfc3168,
    /// RFC 3168 negotiation with DCTCP's exact report of marks (RFC 8257).
    Dctcp,
    /// RFC 3168 with ESCE, the echo of SCE marks (draft-grimes-tcpm-tcpsce).
    Sce,
    /// No ECN.
    #[default]
    #[serde(rename = "off")]
    None,
    /// Per-packet reports (RFC 8888).
    #[serde(skip)]
    Ccfb,
    /// Running totals of packets received, marked and missing, over UDP (UDP Prague).
    #[serde(skip)]
    Counters,
}

/// Congestion state of the endpoint (Linux `tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing suspicious.
    #[default]
    Open,
    /// SACKs or duplicate ACKs seen, nothing marked lost.
    Disorder,
    /// A reduction after an ECN signal or a tail-loss probe is running.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What a reduction answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// A lost segment, repaired or not.
    #[default]
    Loss,
    /// A CE mark, and no loss found by the same acknowledgement.
    Mark,
}

/// A transition of [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Before.
    pub from: State,
    /// After.
    pub to: State,
}

/// The window that endpoint and controller share (Linux `snd_cwnd` and companions), in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Growth carry of Reno-like controllers.
    pub cwnd_cnt: u32,
    /// Slow-start threshold; [`Window::INFINITE`] before the first reduction.
    pub ssthresh: u32,
    /// cwnd when the running reduction began.
    pub prior_cwnd: u32,
    /// ssthresh when the running reduction began.
    pub prior_ssthresh: u32,
    /// Upper limit of cwnd.
    pub clamp: u32,
}

impl Window {
    /// Linux `TCP_INFINITE_SSTHRESH`.
    pub const INFINITE: u32 = 0x7fff_ffff;

    /// A fresh connection with initial window `cwnd`.
    pub const fn new(cwnd: u32) -> Self {
        Self {
            cwnd,
            cwnd_cnt: 0,
            ssthresh: Self::INFINITE,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            clamp: u32::MAX,
        }
    }

    /// Whether the next growth is slow start.
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Linux `tcp_slow_start`: grows up to ssthresh and returns the segments left over.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let target = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (target - self.cwnd);
        self.cwnd = target.min(self.clamp);
        left
    }

    /// Linux `tcp_cong_avoid_ai`: one segment per `w` acknowledged, with carry.
    #[inline]
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= w {
            let delta = self.cwnd_cnt / w;
            self.cwnd_cnt -= delta * w;
            self.cwnd += delta;
        }
        self.cwnd = self.cwnd.min(self.clamp);
    }
}

/// What the endpoint knows of the path, current at each call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// IP bytes of a full segment.
    pub mtu: u32,
    /// Smoothed RTT (RFC 6298, Linux gains); zero before the first sample.
    pub srtt: Dur,
    /// Mean deviation.
    pub mdev: Dur,
    /// Windowed minimum RTT; zero before the first sample.
    pub min_rtt: Dur,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Segments in the network by the endpoint's reckoning.
    pub in_flight: u32,
    /// Sequence number of the next new byte.
    pub snd_nxt: u64,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Segments delivered since the start, SACKed ones included.
    pub delivered: u64,
    /// Of those, reported CE.
    pub delivered_ce: u64,
    /// State of the endpoint.
    pub state: State,
    /// Negotiated feedback.
    pub feedback: Feedback,
    /// In [`Controller::ssthresh`](super::Controller::ssthresh): what the reduction answers.
    pub signal: Signal,
    /// The last transmission stopped because cwnd was full (Linux `tcp_is_cwnd_limited`). The
    /// receive window and the send buffer are other limits.
    pub cwnd_limited: bool,
    /// Most segments outstanding in the present window of data (`max_packets_out`).
    pub max_packets_out: u32,
    /// Data is waiting in the write queue.
    pub backlogged: bool,
    /// Bytes that the media source has made and that have not left yet.
    pub queued: u64,
    /// The endpoint paces (by itself or through a qdisc).
    pub paced: bool,
    /// Earliest departure of the next burst by the pacer; in the past if nothing holds it back.
    pub departure: Time,
    /// Pacing ratio in slow start, percent (`tcp_pacing_ss_ratio`).
    pub pacing_ss_ratio: u32,
    /// Pacing ratio in congestion avoidance, percent (`tcp_pacing_ca_ratio`).
    pub pacing_ca_ratio: u32,
    /// The application's bound of the pacing rate (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Option<Rate>,
    /// Kernel tick rate, for algorithms that count in jiffies.
    pub hz: u32,
    /// HyStart of the endpoint's kernel.
    pub hystart: HystartEra,
}

impl Path {
    /// Linux `tcp_update_pacing_rate`: `mss * max(cwnd, packets_out) / srtt` times the ratio of
    /// the phase (slow start below ssthresh/2), at most `sk_max_pacing_rate`. Zero srtt gives an unlimited rate.
    pub fn linux_pacing_rate(&self, win: &Window) -> Rate {
        let ratio =
            if win.cwnd < win.ssthresh / 2 { self.pacing_ss_ratio } else { self.pacing_ca_ratio };
        let rate = self.window_rate(win.cwnd.max(self.packets_out), self.mss, u64::from(ratio));
        self.bounded(rate)
    }

    /// A pacing rate, at most what the application allows (`sk_max_pacing_rate`).
    pub fn bounded(&self, rate: Rate) -> Rate {
        self.max_pacing_rate.map_or(rate, |most| rate.min(most))
    }

    /// `segments * bytes` per srtt, times `percent`.
    pub fn window_rate(&self, segments: u32, bytes: u32, percent: u64) -> Rate {
        let bits = u64::from(segments) * u64::from(bytes) * 8;
        if let Some(scaled) = bits.checked_mul(percent * 10_000_000) {
            return scaled.checked_div(self.srtt.0).map_or(Rate(u64::MAX), Rate);
        }
        (u128::from(bits) * u128::from(percent) * 10_000_000)
            .checked_div(u128::from(self.srtt.0))
            .map_or(Rate(u64::MAX), |r| Rate(r.min(u128::from(u64::MAX)) as u64))
    }
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Payload bytes.
    pub bytes: u32,
    /// Segments.
    pub segments: u32,
    /// Whether it repeats data.
    pub retransmit: bool,
    /// Nothing was in flight before.
    pub from_idle: bool,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Segments delivered over the interval.
    pub delivered: u32,
    /// Of those, CE.
    pub delivered_ce: u32,
    /// max(send, ACK) time of the sample.
    pub interval: Dur,
    /// `delivered` when the sampled segment was sent.
    pub prior_delivered: u64,
    /// In flight when the sampled segment was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments marked lost since it was sent.
    pub lost: u32,
    /// Sent while the application had nothing to send.
    pub app_limited: bool,
    /// The ACK of a lone segment that was probably delayed.
    pub ack_delayed: bool,
}

/// A transmission that was given up for lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// In flight when the segment was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments marked lost since it was sent, itself included.
    pub lost: u32,
    /// Sent while the application had nothing to send.
    pub app_limited: bool,
    /// Segments delivered since the start, as in [`Path::delivered`].
    pub delivered: u64,
}

/// Fate of one packet, where feedback reports each (RFC 8888).
#[derive(Clone, Copy, Debug)]
pub struct PacketReport {
    /// Transport sequence number, unwrapped.
    pub seq: u64,
    /// IP bytes.
    pub bytes: u32,
    /// When it was sent.
    pub sent: Time,
    /// When the peer received it, in the peer's clock; `None` if it is missing. A packet that was
    /// missing and comes late is reported once more.
    pub received: Option<Time>,
    /// ECN codepoint at the receiver.
    pub ecn: Ecn,
}

/// What an acknowledgement says before it is processed, for
/// [`Controller::on_ack_event`](super::Controller::on_ack_event).
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// The path; `snd_una` is the new one, `delivered` and `in_flight` count SACKs only.
    pub path: &'a Path,
    /// Bytes by which `snd_una` advanced.
    pub acked_bytes: u64,
    /// The send window moved (Linux `CA_ACK_WIN_UPDATE`): false for a duplicate.
    pub window_update: bool,
    /// ECE flag (RFC 3168, DCTCP, SCE).
    pub ece: bool,
    /// ESCE flag (SCE).
    pub esce: bool,
}

impl<'a> AckEvent<'a> {
    /// An event that reports nothing: the base for struct update syntax.
    pub const fn new(path: &'a Path) -> Self {
        Self { path, acked_bytes: 0, window_update: false, ece: false, esce: false }
    }
}

/// Facts of one acknowledgement. Counts are of this acknowledgement; running totals are in
/// [`Path`].
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// The path after this acknowledgement.
    pub path: &'a Path,
    /// Segments newly acknowledged cumulatively that no SACK had covered before.
    pub acked: u32,
    /// Segments newly SACKed.
    pub sacked: u32,
    /// Bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments newly marked lost.
    pub lost: u32,
    /// CE-marked segments newly reported (AccECN, DCTCP, RFC 8888).
    pub ce: u32,
    /// ECT(1) segments newly reported.
    pub ect1: u32,
    /// ECE flag (RFC 3168).
    pub ece: bool,
    /// ESCE flag (SCE).
    pub esce: bool,
    /// RTT sample, if this acknowledgement gives one.
    pub rtt: Option<Dur>,
    /// Rate sample, if valid.
    pub rate: Option<RateSample>,
    /// In flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// The framework lets cwnd grow now (Linux `tcp_may_raise_cwnd` outside CWR and Recovery).
    pub may_raise: bool,
    /// The sender had nothing more to send.
    pub app_limited: bool,
    /// Per-packet feedback, empty for TCP.
    pub reports: &'a [PacketReport],
}

impl<'a> Ack<'a> {
    /// An acknowledgement that reports nothing: the base for struct update syntax.
    pub const fn new(path: &'a Path) -> Self {
        Self {
            path,
            acked: 0,
            sacked: 0,
            acked_bytes: 0,
            lost: 0,
            ce: 0,
            ect1: 0,
            ece: false,
            esce: false,
            rtt: None,
            rate: None,
            prior_in_flight: 0,
            may_raise: false,
            app_limited: false,
            reports: &[],
        }
    }

    /// Segments newly delivered, cumulatively or by SACK (Linux `acked_sacked`): what growth
    /// counts.
    #[inline]
    pub const fn delivered(&self) -> u32 {
        self.acked + self.sacked
    }
}
