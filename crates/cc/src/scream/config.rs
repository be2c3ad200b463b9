//! Versions, parameters of a sender and of its streams, and what is allowed for them.

use std::ops::RangeInclusive;

use sojourn_core::grammar::Args;
use sojourn_core::grammar::forms::{Form, custom, number, rate_in, time_in};
use sojourn_core::units::{Dur, Rate};
use sojourn_core::wire::rtp::TOOL_SSRC;
use sojourn_core::{choices, parameters};

choices! {
    /// Which text or tool is followed.
    #[derive(PartialOrd, Ord)]
    pub enum Version {
        /// RFC 8298.
        Rfc8298 = "rfc8298",
        /// The tool of 2020-03-20 (version 1).
        V2020 = "2020-03-20",
        /// The tool of 2024-10-28 (version 2), with which the test activity was done.
        V2024 = "2024-10-28",
        /// The tool of 2024-10-31: emulates CUBIC with L4S, too.
        V2024b = "2024-10-31",
        /// draft-ietf-ccwg-rfc8298bis-screamv2.
        Draft = "draft",
        /// The tool of 2026-06-30, its defects fixed.
        V2026 = "2026-06-30",
    }
}

parameters! {
    /// Parameters of a sender: times in seconds, rates in bit/s, sizes in bytes. Constants of the
    /// algorithm that no tool makes an option are in its file.
    #[derive(PartialEq)]
    pub struct Config {
        /// Queue delay that is aimed at without marks.
        pub delay_target: f32 = 0.06 => seconds(Dur::from_millis(1)..=Dur::from_secs(1)),
            default "60ms, 100ms in RFC 8298";
        /// Whether packets are paced.
        pub pacing: bool = true, name "pace|nopace";
        /// Pacing rate over the target.
        pub pace_headroom: f32 = 1.5 => ratio(1.0..=10.0);
        /// Greatest further factor for a frame that is larger than the mean.
        pub adaptive_pace_headroom: f32 = 1.5 => ratio(1.0..=10.0);
        /// The window grows to this many times what is in flight.
        pub inflight_headroom: f32 = 2.0 => ratio(1.0..=10.0);
        /// What is in flight over the window, at most.
        pub max_window_headroom: f32 = 5.0 => ratio(1.5..=100.0), name "window_headroom";
        /// Growth of the window per RTT, as a share.
        pub mul_increase: f32 = 0.05 => ratio(0.0..=1.0);
        /// Version 1: growth of the target per second, at most.
        pub ramp_up_speed: f32 = 10e6 => bits_per_s(), name "ramp_up", default "10Mbit in 2020";
        /// Version 1: reaction to delay above its target.
        pub gain_down: f32 = 10.0 => ratio(0.0..=100.0), default "10 in 2020";
        /// Once in this time frames are tiny for 100ms, so that queues empty and the base delay is
        /// seen; 0: never.
        pub drain_interval: Option<f32> = None => drain(), name "drain", default "30s in 2020";
        /// No window.
        pub open_window: bool = false;
        /// Paces faster near the greatest rate.
        pub relaxed_pacing: bool = false;
        /// Compensates a faster clock of the receiver.
        pub clock_drift: bool = false;
        /// Raises the delay target beside flows that fill queues.
        pub shared_bottleneck: bool = false;
        /// Looks for policers.
        pub policer_protection: bool = false, name "policer";
        /// A packet is lost when one sent this much later is acknowledged.
        pub reorder_time: f32 = 0.03 => seconds(Dur::ZERO..=Dur::from_secs(10)), name "reorder",
            default "30ms, 10ms in version 1";
        /// RTP payload, or several sizes to choose from: 900,1200,1360.
        pub mtus: Vec<u32> = vec![1200] => sizes(), name "mtu";
        /// Chooses the size so that this many are in flight; 0: the largest.
        pub least_packets_in_flight: u32 = 0 => number(0..=1000), name "packets_in_flight";
    }
    transient {
        /// Text or tool.
        pub version: Version = Version::V2026;
        /// Keeps the tool's quirks.
        pub parity: bool = false;
        /// Reacts to CE as L4S (ECT(1)), not as classic ECN.
        pub l4s: bool = false;
        /// Share of the window that a loss leaves.
        pub loss_beta: f32 = 0.7;
        /// Share of the window that a classic CE leaves.
        pub ecn_beta: f32 = 0.7;
        /// First window.
        pub initial_cwnd: u32 = 12_500;
        /// Least window.
        pub least_cwnd: u32 = 2424;
        /// Least window from the least rates.
        pub autotune_least_cwnd: bool = false;
        /// Greatest rate of all streams.
        pub max_total_rate: Option<f32> = None;
        /// Version 1: greatest rise of the rate as a share of it, per s.
        pub ramp_up_scale: f32 = 0.5;
    }
}

/// A decimal number.
pub(super) fn ratio(range: RangeInclusive<f64>) -> impl Form<f32> {
    let read = move |args: &mut Args<'_>| Ok(args.decimal(range.clone())? as f32);
    custom("NUMBER", read, f32::to_string)
}

/// A time that is kept in seconds.
fn seconds(range: RangeInclusive<Dur>) -> impl Form<f32> {
    let read = move |args: &mut Args<'_>| {
        time_in(range.clone()).read("", "", args).map(|time| time.as_secs_f64() as f32)
    };
    custom("TIME", read, |s: &f32| time(*s).to_string())
}

/// The time that a person would write for these seconds: 60 ms, and not the float nearest to it.
fn time(s: f32) -> Dur {
    let decimal: f64 = s.to_string().parse().unwrap_or_default();
    Dur((decimal * 1e9).round() as u64)
}

/// At least twice as long as its tiny frames last.
fn drain() -> impl Form<Option<f32>> {
    let read = |args: &mut Args<'_>| {
        let s = seconds(Dur::ZERO..=Dur::from_secs(3600)).read("", "", args)?;
        Ok((s > 0.0).then_some(s.max(LEAST_DRAIN)))
    };
    custom("TIME", read, |s: &Option<f32>| time(s.unwrap_or_default()).to_string())
}

/// The rates that an encoder may have.
pub(super) fn rate() -> impl Form<Rate> {
    rate_in(Rate(1000)..=Rate(100_000_000_000))
}

fn bits_per_s() -> impl Form<f32> {
    let read = |args: &mut Args<'_>| Ok(rate().read("", "", args)?.0 as f32);
    custom("RATE", read, |bits: &f32| Rate(*bits as u64).to_string())
}

fn sizes() -> impl Form<Vec<u32>> {
    let read = |args: &mut Args<'_>| {
        args.value(SIZES, |word| {
            let sizes: Option<Vec<u32>> = word.split(',').map(|size| size.parse().ok()).collect();
            sizes.filter(|sizes| {
                let rise = sizes.is_sorted_by(|a, b| a < b);
                rise && sizes.len() <= MAX_MTUS && sizes.iter().all(|s| (100..=9000).contains(s))
            })
        })
    };
    custom("BYTES", read, |sizes: &Vec<u32>| {
        sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    })
}

/// What a list of sizes must be.
pub(super) const SIZES: &str = "up to ten sizes from 100 to 9000, rising, with commas between them";

/// Shortest interval between two times of tiny frames, s.
const LEAST_DRAIN: f32 = 0.2;

impl Version {
    /// Whether it is SCReAM 2.
    pub const fn is_v2(self) -> bool {
        !matches!(self, Self::Rfc8298 | Self::V2020)
    }
}

/// Greatest rate that is allowed, bit/s.
const MAX_RATE: f32 = 100e9;
/// Largest RTP packet in a UDP datagram, bytes.
const MAX_PACKET: u32 = 65_507;
const RTP_HEADER: u32 = 12;
/// Sizes of the RTP payload in the list, at most.
const MAX_MTUS: usize = 10;

impl Config {
    /// What the tool of this version has without options, or the draft.
    pub fn new(version: Version) -> Self {
        let tool = Self { version, ..Self::default() };
        match version {
            // RFC 8298 4.1.1.1 and 4.1.1.2, tables of constants and state variables.
            Version::Rfc8298 => Self {
                loss_beta: 0.8,
                ecn_beta: 0.9,
                delay_target: 0.1,
                initial_cwnd: 3000,
                least_cwnd: 3000,
                pace_headroom: 1.0,
                inflight_headroom: 1.1,
                reorder_time: 0.01,
                gain_down: 1.0,
                ramp_up_speed: 200e3,
                ..tool
            },
            // EricssonResearch/scream f9deed2, scream_sender.cpp and ScreamTx.h.
            Version::V2020 => Self {
                loss_beta: 0.9,
                ecn_beta: 0.9,
                least_cwnd: 5000,
                inflight_headroom: 1.2,
                reorder_time: 0.01,
                drain_interval: Some(30.0),
                ..tool
            },
            Version::Draft => Self {
                ecn_beta: 0.8,
                adaptive_pace_headroom: 1.0,
                inflight_headroom: 1.5,
                mul_increase: 0.02,
                least_cwnd: 3000,
                ..tool
            },
            _ => tool,
        }
    }

    /// For an encoder with a fixed rate and this payload, as the tools' `-fixedrate`: paced (but not in
    /// 2020), and neither held back by a window nor slowed by losses.
    pub fn fixed_rate(version: Version, payload: u32) -> Self {
        let packets = 2 * (payload + RTP_HEADER);
        Self {
            loss_beta: 1.0,
            ecn_beta: 1.0,
            initial_cwnd: packets,
            least_cwnd: packets,
            open_window: true,
            pacing: version != Version::V2020,
            mtus: vec![payload],
            ..Self::new(version)
        }
    }

    /// What is wrong with the values, if anything; in the field's name.
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: f32, least: f32, most: f32| {
            let expected = format!("{name}: expected a number from {least} to {most}");
            (least..=most).contains(&value).then_some(()).ok_or(expected)
        };
        within("loss_beta", self.loss_beta, 0.0, 1.0)?;
        within("ecn_beta", self.ecn_beta, 0.0, 1.0)?;
        within("delay_target", self.delay_target, 1e-4, 100.0)?;
        within("pace_headroom", self.pace_headroom, 0.1, 1000.0)?;
        within("adaptive_pace_headroom", self.adaptive_pace_headroom, 1.0, 1000.0)?;
        within("inflight_headroom", self.inflight_headroom, 0.1, 1000.0)?;
        within("mul_increase", self.mul_increase, 0.0, 10.0)?;
        within("max_window_headroom", self.max_window_headroom, 0.1, 1000.0)?;
        within("reorder_time", self.reorder_time, 0.0, 1000.0)?;
        within("gain_down", self.gain_down, 0.0, 100.0)?;
        within("ramp_up_speed", self.ramp_up_speed, 1.0, MAX_RATE)?;
        within("ramp_up_scale", self.ramp_up_scale, 0.0, 10.0)?;
        within("drain_interval", self.drain_interval.unwrap_or(1.0), 0.2, 1e6)?;
        within("max_total_rate", self.max_total_rate.unwrap_or(1e6), 1000.0, MAX_RATE)?;
        for (name, bytes) in [("initial_cwnd", self.initial_cwnd), ("least_cwnd", self.least_cwnd)]
        {
            within(name, bytes as f32, 1.0, 1e9)?;
        }
        let sizes = &self.mtus;
        let increasing = sizes.windows(2).all(|pair| pair[0] < pair[1]);
        let sane = sizes.iter().all(|size| (1..=MAX_PACKET - RTP_HEADER).contains(size));
        if sizes.is_empty() || sizes.len() > MAX_MTUS || !increasing || !sane {
            return Err("mtus: expected 1 to 10 increasing sizes from 1 to 65495".into());
        }
        Ok(())
    }
}

parameters! {
    /// One stream, in the units of [`Config`].
    #[derive(Copy, PartialEq)]
    pub struct Stream {
        /// The RTP queue is emptied when its oldest packet is older.
        pub max_queue_delay: f32 = 0.2 => seconds(Dur::from_millis(1)..=Dur::from_secs(60)),
            name "queue";
        /// Changes of the target (up by this share, down by a quarter of it) that the encoder does
        /// not hear of, 0 to 0.2.
        pub hysteresis: f32 = 0.0 => ratio(0.0..=0.2);
    }
    transient {
        /// SSRC of its packets.
        pub ssrc: u32 = TOOL_SSRC;
        /// Share of the whole rate beside the other streams' priorities, above 0 and at most 1.
        pub priority: f32 = 1.0;
        /// Least target.
        pub min_rate: f32 = 1e6;
        /// First target.
        pub init_rate: f32 = 1e6;
        /// Greatest target.
        pub max_rate: f32 = 200e6;
        /// Corrects the target by what the encoder makes of it.
        pub scale_target: bool = false;
    }
}

impl Stream {
    /// What the tool has without options.
    pub fn new(ssrc: u32) -> Self {
        Self { ssrc, ..Self::default() }
    }

    /// What is wrong with the values, if anything; in the field's name.
    pub fn check(&self) -> Result<(), String> {
        let rates = [1000.0, self.min_rate, self.init_rate, self.max_rate, MAX_RATE];
        if !rates.is_sorted() {
            return Err("rates: expected 1 kbit/s <= min <= init <= max <= 100 Gbit/s".into());
        }
        if !(0.001..=1.0).contains(&self.priority) {
            return Err("priority: expected a number from 0.001 to 1".into());
        }
        if !(0.001..=60.0).contains(&self.max_queue_delay) {
            return Err("max_queue_delay: expected 0.001 to 60 s".into());
        }
        if !(0.0..=0.5).contains(&self.hysteresis) {
            return Err("hysteresis: expected a number from 0 to 0.5".into());
        }
        Ok(())
    }
}
