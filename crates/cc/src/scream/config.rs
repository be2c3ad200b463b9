//! Versions, parameters of a sender and of its streams, and what is allowed for them.

/// Which text or tool is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 8298.
    Rfc8298,
    /// The tool of 2020-03-20 (version 1).
    V2020,
    /// The tool of 2024-10-28 (version 2), with which the test activity was done.
    V2024,
    /// The tool of 2024-10-31: emulates CUBIC with L4S, too.
    V2024b,
    /// draft-ietf-ccwg-rfc8298bis-screamv2.
    Draft,
    /// The tool of 2026-06-30, its defects mended.
    V2026,
}

/// Parameters of a sender. Constants of the algorithm that no tool makes an option are in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Text or tool.
    pub version: Version,
    /// Keeps the original's quirks (`scream.md` 10, second paragraph).
    pub parity: bool,
    /// Reacts to CE as L4S (ECT(1)), not as classic ECN.
    pub l4s: bool,
    /// Share of the window that a loss leaves.
    pub loss_beta: f32,
    /// Share of the window that a classic CE leaves.
    pub ecn_beta: f32,
    /// Queue delay target, s.
    pub delay_target: f32,
    /// First window, bytes.
    pub initial_cwnd: u32,
    /// Least window, bytes.
    pub least_cwnd: u32,
    /// Paces packets.
    pub pacing: bool,
    /// Pacing rate over media rate.
    pub pace_headroom: f32,
    /// Greatest further factor for a frame that is larger than the mean.
    pub adaptive_pace_headroom: f32,
    /// The window may grow to so many times the bytes in flight.
    pub inflight_headroom: f32,
    /// Multiplicative increase per RTT.
    pub mul_increase: f32,
    /// Bytes in flight may exceed the window by this factor, at most.
    pub max_window_headroom: f32,
    /// No window.
    pub open_window: bool,
    /// Paces faster when the target is near the greatest rate.
    pub relaxed_pacing: bool,
    /// Compensates for a receiver's clock that runs faster.
    pub clock_drift: bool,
    /// A packet is lost when one sent so much later is acknowledged, s.
    pub reorder_time: f32,
    /// Raises the delay target beside flows that fill the queue.
    pub shared_bottleneck: bool,
    /// Looks for policers.
    pub policer_protection: bool,
    /// Least window from the least rates.
    pub autotune_least_cwnd: bool,
    /// Greatest rate of all streams, bit/s.
    pub max_total_rate: Option<f32>,
    /// RTP payload sizes to choose from, bytes, increasing.
    pub mtus: Vec<u32>,
    /// Chooses the payload so that so many packets are in flight; 0: the largest.
    pub least_packets_in_flight: u32,
    /// Version 1: reaction to a delay above the target.
    pub gain_down: f32,
    /// Version 1: greatest rise of the rate, bit/s per s.
    pub ramp_up_speed: f32,
    /// Version 1: greatest rise of the rate as a share of it, per s.
    pub ramp_up_scale: f32,
    /// The tool of 2020: its source makes frames of ten bytes for 100 ms at the end of each such
    /// interval, s, so that queues drain and the base delay is seen.
    pub drain_interval: Option<f32>,
}

impl Version {
    /// All, oldest first.
    pub const ALL: [Self; 6] =
        [Self::Rfc8298, Self::V2020, Self::V2024, Self::V2024b, Self::Draft, Self::V2026];

    /// The name in scenarios and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc8298 => "rfc8298",
            Self::V2020 => "2020-03-20",
            Self::V2024 => "2024-10-28",
            Self::V2024b => "2024-10-31",
            Self::Draft => "draft",
            Self::V2026 => "2026-06-30",
        }
    }

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
        let tool = Self {
            version,
            parity: false,
            l4s: false,
            loss_beta: 0.7,
            ecn_beta: 0.7,
            delay_target: 0.06,
            initial_cwnd: 12_500,
            least_cwnd: 2424,
            pacing: true,
            pace_headroom: 1.5,
            adaptive_pace_headroom: 1.5,
            inflight_headroom: 2.0,
            mul_increase: 0.05,
            max_window_headroom: 5.0,
            open_window: false,
            relaxed_pacing: false,
            clock_drift: false,
            reorder_time: 0.03,
            shared_bottleneck: false,
            policer_protection: false,
            autotune_least_cwnd: false,
            max_total_rate: None,
            mtus: vec![1200],
            least_packets_in_flight: 0,
            gain_down: 10.0,
            ramp_up_speed: 10e6,
            ramp_up_scale: 0.5,
            drain_interval: None,
        };
        match version {
            // scream.md 5.1
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
            // scream.md 5.2
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

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// SSRC of its packets.
    pub ssrc: u32,
    /// Share of the whole rate beside the other streams' priorities, above 0 and at most 1.
    pub priority: f32,
    /// Rates, bit/s.
    pub min_rate: f32,
    /// First target.
    pub init_rate: f32,
    /// Greatest target.
    pub max_rate: f32,
    /// The RTP queue is emptied once its oldest packet is older, s.
    pub max_queue_delay: f32,
    /// A target that changes less (up by this share, down by a quarter of it) stays.
    pub hysteresis: f32,
    /// Corrects the target by what the encoder makes of it.
    pub scale_target: bool,
}

impl Stream {
    /// What the tool has without options.
    pub fn new(ssrc: u32) -> Self {
        Self {
            ssrc,
            priority: 1.0,
            min_rate: 1e6,
            init_rate: 1e6,
            max_rate: 200e6,
            max_queue_delay: 0.2,
            hysteresis: 0.0,
            scale_target: false,
        }
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
