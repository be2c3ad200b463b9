//! Parameters of both ends of a connection. The table declares each of them: what it is, its type, its
//! default and the eras since which it is another, its bounds, and the setting of a kernel that means it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sojourn_cc::{Feedback, HystartEra};
use sojourn_core::{Bytes, Dur, Rate, RateOrNone};

use super::ecn::SceFeedback;
use super::era::{AceReading, CwndLimited, Era, PrrRule};
use super::reassembly::REMEMBERED;
use super::sysctl::Form;

/// Who chooses the value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Whoever sets up the host.
    Host,
    /// The code of the kernel: an era is a row of these.
    Kernel,
}

/// What is known of a parameter besides its value.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in `[tcp]`.
    pub key: &'static str,
    /// Who chooses its value.
    pub owner: Owner,
    /// Least and greatest value, if it has bounds.
    pub bounds: Option<(u64, u64)>,
    /// The setting of a kernel that means it, and how, if there is one.
    pub sysctl: Option<(&'static str, Form)>,
}

macro_rules! parameters {
    ($($owner:ident {$(
        $(#[doc = $doc:literal])+
        $key:ident: $type:ty = $default:expr $(, $since:ident => $later:expr)*;
        $(in $low:literal..=$high:literal;)?
        $(sysctl $name:ident = $form:expr;)?
    )*})*) => {
        /// Parameters of both ends of a connection.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {
            /// Kernel era, which has chosen the defaults.
            pub era: Era,
            $($($(#[doc = $doc])+ pub $key: $type,)*)*
            /// Of this connection: DSCP in the TOS byte.
            pub tos: u8,
            /// Of this connection: round trips of the application's control connection before it opens.
            pub control_rtts: u32,
            /// Of this connection: bytes to send; `None` is unlimited.
            pub bytes: Option<u64>,
        }

        /// Parameters of both TCP endpoints that are set; the others are the defaults of the era.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "Tcp")]
        pub struct Overlay {
            /// Kernel era of the endpoint; default "2020".
            #[serde(skip_serializing_if = "Option::is_none")]
            pub era: Option<Era>,
            /// Settings under the kernel's names, such as `{ tcp_ecn = 3 }`, which mean keys of this table.
            #[serde(default, skip_serializing)]
            #[schemars(schema_with = "sysctls")]
            pub sysctl: Option<IgnoredAny>,
            $($(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )*)*
        }

        /// All parameters but the era.
        pub const PARAMETERS: &[Parameter] = &[$($(Parameter {
            key: stringify!($key),
            owner: Owner::$owner,
            bounds: [$(($low, $high))?].first().copied(),
            sysctl: [$((stringify!($name), $form))?].first().copied(),
        },)*)*];

        impl Config {
            /// The defaults of an era.
            pub fn of(era: Era) -> Self {
                Self {
                    era,
                    $($($key: {
                        let value: $type = $default;
                        $(let value = if era >= Era::$since { $later } else { value };)*
                        value
                    },)*)*
                    tos: 0,
                    control_rtts: 0,
                    bytes: None,
                }
            }

            /// Refuses the first key whose value is out of its bounds, with what was expected of it.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                $($($(between(stringify!($key), self.$key.into(), $low, $high)?;)?)*)*
                self.check_others()
            }
        }

        impl From<&Overlay> for Config {
            fn from(set: &Overlay) -> Self {
                let mut config = Self::of(set.era.unwrap_or_default());
                $($(config.$key = set.$key.unwrap_or(config.$key);)*)*
                config
            }
        }

        impl From<&Config> for Overlay {
            fn from(config: &Config) -> Self {
                Self { era: Some(config.era), sysctl: None, $($($key: Some(config.$key),)*)* }
            }
        }

        impl Overlay {
            /// What is set here, or else below.
            #[must_use]
            pub fn over(&self, below: &Self) -> Self {
                Self {
                    era: self.era.or(below.era),
                    sysctl: None,
                    $($($key: self.$key.or(below.$key),)*)*
                }
            }

            /// Keys that are set to another value than `config` has.
            pub fn differing(&self, config: &Config) -> Vec<&'static str> {
                let mut keys = vec![];
                $($(if self.$key.is_some_and(|value| value != config.$key) {
                    keys.push(stringify!($key));
                })*)*
                keys
            }
        }
    };
}

parameters! {
    Host {
        /// ECN negotiation and feedback; without it what the controller needs, "rfc3168" of programs (`exec`), or
        /// else "accecn".
        ecn: Feedback = Feedback::AccEcn; sysctl tcp_ecn = Form::Ecn;
        /// Send the AccECN option.
        accecn_option: bool = false; sysctl tcp_ecn_option = Form::Flag(&[2, 3]);
        /// AccECN without option: take the least number of marks that an ACE field can mean, not the
        /// greatest (`tcp_ecn_unsafe_cep`).
        ecn_unsafe_cep: bool = false; sysctl tcp_ecn_unsafe_cep = Form::Flag(&[1]);
        /// With ecn "sce": which ACKs carry ESCE.
        sce_feedback: SceFeedback = SceFeedback::Advanced;
            sysctl tcp_sce_feedback = Form::Choice(&["dithered", "advanced"]);
        /// ECN++: SYN, SYN/ACK and retransmissions are ECN-capable where the feedback allows
        /// (draft-ietf-tcpm-generalized-ecn).
        ecn_plus_plus: bool = false;
        /// MTU of the path in IP bytes.
        mtu: u32 = 1500; in 576..=65535;
        /// TCP timestamps.
        timestamps: bool = true; sysctl tcp_timestamps = Form::Flag(&[1, 2]);
        /// Initial window in segments (RFC 6928: 10).
        initial_cwnd: u32 = 10; in 1..=65535;
        /// Initial receive buffer, `tcp_rmem[1]`; at most `rmem_max`.
        rmem_default: Bytes = Bytes(128 << 10); sysctl tcp_rmem = Form::Buffer(1);
        /// Largest receive buffer, `tcp_rmem[2]`.
        rmem_max: Bytes = Bytes(6 << 20); in 4096..=2_147_483_647; sysctl tcp_rmem = Form::Buffer(2);
        /// Largest send buffer, `tcp_wmem[2]`.
        wmem_max: Bytes = Bytes(4 << 20); in 4096..=2_147_483_647; sysctl tcp_wmem = Form::Buffer(2);
        /// Pacing rate in slow start, percent of cwnd per RTT.
        pacing_ss_ratio: u32 = 200; in 1..=1000; sysctl tcp_pacing_ss_ratio = Form::Number;
        /// Pacing rate in congestion avoidance, percent of cwnd per RTT.
        pacing_ca_ratio: u32 = 120; in 1..=1000; sysctl tcp_pacing_ca_ratio = Form::Number;
        /// Pace every controller, as with fq at the sender.
        pacing: bool = false;
        /// What the application bounds the pacing rate to, SO_MAX_PACING_RATE, or "none". With it the flow is paced.
        max_pacing_rate: RateOrNone = RateOrNone(None);
        /// Segmentation offload: a burst is one packet to queues and receiver until a queue splits it.
        gso: bool = false;
        /// Receive offload: the receiving host merges segments in order.
        gro: bool = false;
        /// How long the host holds a merged packet for more (of a network device), at most 1 s.
        gro_flush_timeout: Dur = Dur::from_micros(20);
        /// TCP small queues: a sender has at most 1 ms, or two bursts, in the first queue of its path.
        tsq: bool = false;
        /// With tsq and without pacing: the most there, `tcp_limit_output_bytes`.
        limit_output_bytes: Bytes = Bytes(1 << 20); in 4096..=2_147_483_647;
            sysctl tcp_limit_output_bytes = Form::Bytes;
        /// With tsq_netem: what a kernel keeps for headers in each packet, `MAX_TCP_HEADER`: 304 with wireless meshes and
        /// tunnels, 272 without meshes, 208 without wireless devices, 160 without tunnels.
        max_tcp_header: u32 = 304; in 64..=1024;
        /// Kernel tick rate (100, 250, 300 or 1000).
        hz: u32 = 1000;
    }
    Kernel {
        /// Clock, thresholds and rounds of CUBIC's HyStart.
        hystart: HystartEra = HystartEra::Until2020,
            E5_15 => HystartEra::Until5_15, E6 => HystartEra::Newer;
        /// Proportional rate reduction below ssthresh.
        prr: PrrRule = PrrRule::Linux5, E6 => PrrRule::Linux6;
        /// How long the sender remembers that cwnd limited it.
        cwnd_limited: CwndLimited = CwndLimited::Latest, E6 => CwndLimited::Sticky;
        /// Payload that a receive buffer holds, in 1/256 of its size: 128 is `tcp_adv_win_scale` 1. 0: measured in
        /// what arrives (6.6), 153 for full segments of 1448 bytes and less for smaller ones.
        window_share: u32 = 128, E6 => 0; in 0..=256; sysctl tcp_adv_win_scale = Form::WindowShare;
        /// `tcp_tso_rtt_log`: bursts grow by 64 KiB, halved per this power of two of minimum RTT in microseconds
        /// (5.18); 0 for none.
        tso_rtt_log: u32 = 0, E6 => 9; in 0..=31; sysctl tcp_tso_rtt_log = Form::Number;
        /// `tcp_comp_sack_rtt_percent`: how long a SACK may be held back.
        comp_sack_rtt_percent: u32 = 5, E7 => 33; in 1..=1000;
            sysctl tcp_comp_sack_rtt_percent = Form::Number;
        /// `tcp_comp_sack_slack_ns`: what the timer of SACKs held back may be late.
        comp_sack_slack: Dur = Dur::ZERO, E5_15 => Dur::from_micros(100), E7 => Dur::from_micros(10);
            sysctl tcp_comp_sack_slack_ns = Form::Nanoseconds;
        /// What an ambiguous ACE field means. `ecn_unsafe_cep` goes before it.
        ace: AceReading = AceReading::Greatest, E7 => AceReading::ByAckSize;
        /// Header prediction keeps the ACE field of the last change of the peer's window, and an ACK that has it again
        /// is read as one that reports no marks (AccECN of the L4S tree of April 2020).
        ace_prediction: bool = false;
        /// The last segment of each burst has PSH (5.4), not only the end of a write.
        push_bursts: bool = false, E2020 => true;
        /// TCP small queues between network namespaces whose netem makes the delay, up to 5.12: an ACK lets two bursts
        /// leave, and what they hold back waits for the next ACK (`skb_orphan_partial`).
        tsq_netem: bool = false;
        /// A full segment with PSH is acknowledged as soon as the application has read it (6.6).
        ack_pushed: bool = false, E6 => true;
        /// An AccECN receiver acknowledges a change of the ECN field at once (6.18).
        accecn_edge_acks: bool = false, E7 => true;
        /// A second segment is acknowledged by the reader, after all that arrived in the same instant.
        reader_acks: bool = false, E7 => true;
        /// A burst waits to grow only if the next ACK is expected within 1 ms, not whenever half an RTT has
        /// passed since the oldest segment outstanding was sent (6.18 `tcp_tso_should_defer`).
        tso_defer_soon: bool = false, E7 => true;
        /// A burst that reaches the end of a buffer in the write queue is completed from the next one and does
        /// not wait (6.10 `tcp_grow_skb`). The send buffer counts the memory of packets, and `stop` leaves what it holds.
        tso_buffers: bool = false, E7 => true;
        /// Receive window tuning takes a smaller RTT sample as it is, its window is not 16 segments above
        /// what was read, and it makes room for what is held beyond a hole (6.16 `tcp_rcv_rtt_update`,
        /// `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`).
        drs_exact: bool = false, E7 => true;
        /// Discard what was sent more than a millisecond before the latest timestamp (PAWS, RFC 7323 5;
        /// `TCP_PAWS_WINDOW`).
        paws: bool = true;
        /// Forward RTO recovery (RFC 5682), `tcp_frto`.
        frto: bool = true; sysctl tcp_frto = Form::Flag(&[1, 2]);
        /// Take back reductions that prove spurious (RFC 4015 by timestamps, RFC 3708 by D-SACK).
        undo: bool = true;
    }
}

impl Config {
    /// Whether the host or the application has every controller paced.
    pub fn is_paced(&self) -> bool {
        self.pacing || self.max_pacing_rate.0.is_some()
    }
}

/// The scenario turns these into keys before anything reads them.
fn sysctls(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": ["integer", "string", "boolean", "array", "object"] },
    })
}

fn between(
    key: &'static str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), (&'static str, String)> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err((key, format!("expected {low} to {high}, got {value}")))
}

impl Default for Config {
    fn default() -> Self {
        Self::of(Era::default())
    }
}

impl Config {
    /// Bounds that are no numbers, or depend on another key.
    fn check_others(&self) -> Result<(), (&'static str, String)> {
        between("rmem_default", self.rmem_default.0, 4096, self.rmem_max.0)?;
        if self.gro_flush_timeout > Dur::from_secs(1) {
            return Err(("gro_flush_timeout", "expected at most 1s".to_owned()));
        }
        if self.max_pacing_rate.0 == Some(Rate(0)) {
            return Err(("max_pacing_rate", "expected more than zero".to_owned()));
        }
        if ![100, 250, 300, 1000].contains(&self.hz) {
            return Err(("hz", format!("expected 100, 250, 300 or 1000, got {}", self.hz)));
        }
        Ok(())
    }

    /// Payload bytes of a full segment: MTU less 40 bytes of headers and 12 of timestamps.
    pub fn mss(&self) -> u32 {
        self.mtu - 40 - if self.timestamps { 12 } else { 0 }
    }

    /// Whether segments are discarded for their timestamps.
    pub(super) fn checks_timestamps(&self) -> bool {
        self.timestamps && self.paws
    }

    /// What an ambiguous ACE field means.
    pub fn ace_reading(&self) -> AceReading {
        if self.ecn_unsafe_cep { AceReading::Least } else { self.ace }
    }

    /// One tail-loss probe at most is under way, be it new data or not (Linux 5.9).
    pub(super) fn probes_once(&self) -> bool {
        self.era >= Era::E5_15
    }

    /// Only the first repeated SYN/ACK has ECN's flags (7.0 `tcp_ecn_make_synack`).
    pub(super) fn answers_without_ecn(&self) -> bool {
        self.era >= Era::E7
    }

    /// Timeouts of SYNs without back-off (6.5, default of `net.ipv4.tcp_syn_linear_timeouts`).
    pub(super) fn linear_syn_timeouts(&self) -> u32 {
        if self.era < Era::E6 { 0 } else { 4 }
    }

    /// An ACK that takes a recovery back may begin the next one (5.14 `tcp_fastretrans_alert`).
    pub(super) fn recovers_again(&self) -> bool {
        self.era >= Era::E5_15
    }

    /// An ACK in a recovery that has sent nothing again shows that packets were late (6.12 `tcp_packet_delayed`).
    pub(super) fn undoes_unsent(&self) -> bool {
        self.era >= Era::E7
    }

    /// D-SACKs of more segments than were sent again are of copies that the network made (5.10 `tcp_dsack_seen`); those
    /// of tail-loss probes, or without reordering, widen no reordering window (5.15).
    pub(super) fn doubts_duplicates(&self) -> bool {
        self.era >= Era::E5_15
    }

    /// With this many counted, the next ACK is not held back (`tcp_comp_sack_nr`). Before 5.8 those sent at once are
    /// among the 44.
    pub(super) fn most_compressed(&self) -> u32 {
        if self.era < Era::E5_15 { 44 } else { 44 + super::receiver::UNCOMPRESSED_SACKS }
    }

    /// A delivery-rate sample is of the segment that was sent last (5.19 `tcp_skb_sent_after`).
    pub(super) fn samples_last_sent(&self) -> bool {
        self.era >= Era::E6
    }

    /// The timer of delayed ACKs sends SACKs that are held back, though no ACK is due (6.10 `tcp_delack_timer_handler`).
    pub(super) fn flushes_sacks(&self) -> bool {
        self.era >= Era::E7
    }

    /// A controller hears of an ACK once all that it delivers is counted, its marks among it, and not before (Linux 6.15,
    /// `tcp_in_ack_event`).
    pub(super) fn counts_first(&self) -> bool {
        self.era >= Era::E7
    }

    /// Replies after which ACKs wait for the next one (`TCP_PINGPONG_THRESH`: 3 from 5.1 on, 1 again since 6.0).
    pub(super) fn interactive_after(&self) -> u8 {
        if self.era < Era::E6 { 3 } else { 1 }
    }

    /// Each segment of a reply counts, and not only its first one (6.0 `tcp_event_data_sent`).
    pub(super) fn counts_all_replies(&self) -> bool {
        self.era >= Era::E6
    }

    /// SACK blocks that an ACK is sure to have room for: a held-back SACK is sent before a new block would push
    /// one out of these (`TCP_SACK_BLOCKS_EXPECTED`, 5.8; before, all that are remembered).
    pub(super) fn certain_sacks(&self) -> usize {
        if self.era < Era::E5_15 { REMEMBERED } else { 2 }
    }
}

#[cfg(test)]
mod tests;
