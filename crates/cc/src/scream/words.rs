//! SCReAM in the grammar of controllers: `scream version 2024-10-28 max_rate 50Mbit`. The words are
//! the tool's options (`scream.md` 2.2, 2.3) and say how sender, receiver and the machine behave.

use super::{Config, Stream, Version};
use crate::legacy::OldEntry;
use crate::{Ack, Controller, Feedback, Needs, Output, Path, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Dur, Rate, Time};
use sojourn_core::wire::ccfb::Count;

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "scream",
    summary: "SCReAM for media: a window, frames paced in bursts, L4S or classic marks, delay.",
    reference: "RFC 8298; draft-ietf-ccwg-rfc8298bis-screamv2; EricssonResearch/scream f9deed2, 994f9a4, 76a298a, c8f84c3",
    params: PARAMS,
    build: |args| Ok(Box::new(Words(Box::new(Setup::parse(args)?)))),
};

const fn param(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    doc: &'static str,
) -> Param {
    Param { name, value, default, doc }
}

const PARAMS: &[Param] = &[
    param(
        "version",
        "VERSION",
        "2026-06-30",
        "A tool: 2020-03-20, 2024-10-28, 2024-10-31 or 2026-06-30; `rfc8298` or `draft`.",
    ),
    param("parity", "", "off", "Keeps the tool's quirks, and the timing of its machine."),
    param("ect1|ect0|noecn", "", "ect1", "Codepoint; ect1 also reacts to marks as L4S asks."),
    param("init_rate", "RATE", "1Mbit", "First rate; the first window is 100 ms of it."),
    param("min_rate", "RATE", "1Mbit", "Least rate."),
    param("max_rate", "RATE", "500Mbit, 200Mbit to 2024", "Greatest rate."),
    param("fixed_rate", "RATE", "none", "The encoder's rate whatever happens; losses are no news."),
    param(
        "delay_target",
        "TIME",
        "60ms, 100ms in RFC 8298",
        "Queue delay that is aimed at without marks.",
    ),
    param(
        "scale",
        "NUMBER",
        "0.7, 0.9 in 2020",
        "Share of the window that a loss or a classic mark leaves.",
    ),
    param("nopace", "", "off", "Does not pace."),
    param("pace_headroom", "NUMBER", "1.5", "Pacing rate over the target."),
    param("adaptive_pace_headroom", "NUMBER", "1.5", "Greatest further factor for a large frame."),
    param(
        "inflight_headroom",
        "NUMBER",
        "2",
        "The window grows to so many times what is in flight.",
    ),
    param("window_headroom", "NUMBER", "5", "What is in flight over the window, at most."),
    param("mul_increase", "NUMBER", "0.05", "Growth of the window per RTT, as a share."),
    param(
        "ramp_up",
        "RATE",
        "10Mbit in 2020",
        "Version 1: growth of the target per second, at most.",
    ),
    param("gain_down", "NUMBER", "10 in 2020", "Version 1: reaction to delay above its target."),
    param(
        "drain",
        "TIME",
        "30s in 2020",
        "Once in this time frames are tiny for 100ms, so that queues empty; 0: never.",
    ),
    param("open_window", "", "off", "No window."),
    param("relaxed_pacing", "", "off", "Paces faster near the greatest rate."),
    param("clock_drift", "", "off", "Compensates a faster clock of the receiver."),
    param("shared_bottleneck", "", "off", "Raises the delay target beside flows that fill queues."),
    param("policer", "", "off", "Looks for policers."),
    param("reorder", "TIME", "30ms, 10ms in version 1", "Packets may come so much out of order."),
    param(
        "hysteresis",
        "NUMBER",
        "0",
        "Changes of the target that are not worth telling, 0 to 0.2.",
    ),
    param("queue", "TIME", "200ms", "The RTP queue is emptied when its oldest packet is older."),
    param("mtu", "BYTES", "1200", "RTP payload, or several sizes to choose from: 900,1200,1360."),
    param("packets_in_flight", "NUMBER", "0", "Chooses the size so that so many are in flight."),
    param("microburst", "TIME", "500us, 1ms to 2024", "Length of a burst, 200us to 20ms."),
    param("ackdiff", "NUMBER", "half of reported", "New packets that make a report, 1 to 512."),
    param("reported", "NUMBER", "64", "Packets that a report covers, 1 to 512."),
    param(
        "count",
        "exact|legacy",
        "exact, legacy in parity",
        "Reports count as RFC 8888, or one less.",
    ),
    param("timer_slack", "TIME", "0, 60us in parity", "The sending machine sleeps longer by this."),
    param("packet_cost", "TIME", "0, 5us in parity", "It needs so long to send a packet."),
];

const ECN: [(&str, Ecn); 3] = [("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("noecn", Ecn::NotEct)];
const COUNTS: [(&str, Count); 2] = [("exact", Count::Exact), ("legacy", Count::LessOne)];
/// Shortest interval between two times of tiny frames, s.
const LEAST_DRAIN: f32 = 0.2;
/// RTP header.
const RTP_HEADER: u32 = 12;
const MOST_SIZES: usize = 10;

/// What the words say.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The algorithm.
    pub config: Config,
    /// The stream; whoever has several changes its SSRC.
    pub stream: Stream,
    /// Codepoint of media packets.
    pub ecn: Ecn,
    /// Length of a burst.
    pub microburst: Dur,
    /// Numbers that a report covers.
    pub reported: u16,
    /// New numbers that make a report; none: half of those.
    pub ackdiff: Option<u16>,
    /// What reports write as count.
    pub count: Count,
    /// Sleeps of the sending machine last longer by this.
    pub timer_slack: Dur,
    /// Sending a packet takes so long.
    pub packet_cost: Dur,
    text: String,
}

/// The words as they were read; what is not given depends on the version.
#[derive(Default)]
struct Read {
    version: Option<Version>,
    parity: bool,
    flags: [bool; FLAGS.len()],
    ecn: usize,
    fixed: Option<Rate>,
    count: Option<usize>,
    rates: [Option<Rate>; RATES.len()],
    numbers: [Option<f64>; NUMBERS.len()],
    times: [Option<Dur>; TIMES.len()],
    mtus: Vec<u32>,
    least_packets: u32,
    ackdiff: Option<u16>,
    reported: Option<u16>,
}

/// What a word's value changes.
type Change<T> = fn(&mut Setup, T);

const FLAGS: [(&str, Change<bool>); 6] = [
    ("nopace", |s, on| s.config.pacing = !on),
    ("open_window", |s, on| s.config.open_window = on),
    ("relaxed_pacing", |s, on| s.config.relaxed_pacing = on),
    ("clock_drift", |s, on| s.config.clock_drift = on),
    ("shared_bottleneck", |s, on| s.config.shared_bottleneck = on),
    ("policer", |s, on| s.config.policer_protection = on),
];
const RATES: [&str; 4] = ["init_rate", "min_rate", "max_rate", "ramp_up"];
/// Names, least and greatest value, and what they change.
const NUMBERS: [(&str, f64, f64, Change<f32>); 8] = [
    ("scale", 0.1, 1.0, |s, x| (s.config.loss_beta, s.config.ecn_beta) = (x, x)),
    ("pace_headroom", 1.0, 10.0, |s, x| s.config.pace_headroom = x),
    ("adaptive_pace_headroom", 1.0, 10.0, |s, x| s.config.adaptive_pace_headroom = x),
    ("inflight_headroom", 1.0, 10.0, |s, x| s.config.inflight_headroom = x),
    ("window_headroom", 1.5, 100.0, |s, x| s.config.max_window_headroom = x),
    ("mul_increase", 0.0, 1.0, |s, x| s.config.mul_increase = x),
    ("gain_down", 0.0, 100.0, |s, x| s.config.gain_down = x),
    ("hysteresis", 0.0, 0.2, |s, x| s.stream.hysteresis = x),
];
const TIMES: [(&str, Dur, Dur, Change<Dur>); 7] = [
    ("delay_target", MILLI, Dur::from_secs(1), |s, t| s.config.delay_target = seconds(t)),
    ("reorder", Dur::ZERO, Dur::from_secs(10), |s, t| s.config.reorder_time = seconds(t)),
    ("queue", MILLI, Dur::from_secs(60), |s, t| s.stream.max_queue_delay = seconds(t)),
    ("drain", Dur::ZERO, Dur::from_secs(3600), |s, t| {
        // Its tiny frames last 100 ms.
        s.config.drain_interval = (t > Dur::ZERO).then_some(seconds(t).max(LEAST_DRAIN));
    }),
    ("microburst", Dur::from_micros(200), Dur::from_millis(20), |s, t| s.microburst = t),
    ("timer_slack", Dur::ZERO, Dur::from_millis(100), |s, t| s.timer_slack = t),
    ("packet_cost", Dur::ZERO, Dur::from_millis(100), |s, t| s.packet_cost = t),
];
const MILLI: Dur = Dur::from_millis(1);

fn seconds(time: Dur) -> f32 {
    time.as_secs_f64() as f32
}

impl Read {
    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut read = Self::default();
        while let Some(key) = args.key() {
            read.word(args, key)?;
        }
        Ok(read)
    }

    fn word(&mut self, args: &mut Args<'_>, key: &str) -> Result<(), GrammarError> {
        if let Some(flag) = FLAGS.iter().position(|(name, _)| *name == key) {
            self.flags[flag] = true;
        } else if let Some(index) = ECN.iter().position(|(name, _)| *name == key) {
            self.ecn = index;
        } else if let Some(index) = RATES.iter().position(|name| *name == key) {
            self.rates[index] = Some(rate(args)?);
        } else if let Some(index) = NUMBERS.iter().position(|(name, ..)| *name == key) {
            let (_, least, most, _) = NUMBERS[index];
            self.numbers[index] = Some(args.decimal(least..=most)?);
        } else if let Some(index) = TIMES.iter().position(|(name, ..)| *name == key) {
            let (_, least, most, _) = TIMES[index];
            let expected = format!("a time from {least} to {most}");
            let range = |w: &str| Dur::parse_tc(w).filter(|t| (least..=most).contains(t));
            self.times[index] = Some(args.value(&expected, range)?);
        } else {
            match key {
                "version" => {
                    let index = args.choice(&Version::ALL.map(Version::name))?;
                    self.version = Some(Version::ALL[index]);
                }
                "parity" => self.parity = true,
                "fixed_rate" => self.fixed = Some(rate(args)?),
                "mtu" => self.mtus = args.value(SIZES, sizes)?,
                "packets_in_flight" => self.least_packets = args.number(0..=1000)? as u32,
                "ackdiff" => self.ackdiff = Some(args.number(1..=512)? as u16),
                "reported" => self.reported = Some(args.number(1..=512)? as u16),
                "count" => self.count = Some(args.choice(&COUNTS.map(|(name, _)| name))?),
                _ => return Err(args.unknown()),
            }
        }
        Ok(())
    }

    /// Puts what was given where the version's own values are.
    fn change(&self, setup: &mut Setup) {
        for ((_, set), on) in FLAGS.iter().zip(self.flags) {
            set(setup, on);
        }
        for ((.., set), number) in NUMBERS.iter().zip(self.numbers) {
            if let Some(number) = number {
                set(setup, number as f32);
            }
        }
        for ((.., set), time) in TIMES.iter().zip(self.times) {
            if let Some(time) = time {
                set(setup, time);
            }
        }
        if !self.mtus.is_empty() {
            setup.config.mtus.clone_from(&self.mtus);
        }
        setup.config.least_packets_in_flight = self.least_packets;
        setup.ecn = ECN[self.ecn].1;
        setup.config.l4s = setup.ecn == Ecn::Ect1;
        setup.ackdiff = self.ackdiff;
        setup.reported = self.reported.unwrap_or(setup.reported);
        setup.count = self.count.map_or(setup.count, |count| COUNTS[count].1);
    }
}

fn rate(args: &mut Args<'_>) -> Result<Rate, GrammarError> {
    args.value("a rate from 1kbit to 100Gbit", |w| {
        Rate::parse_tc(w).filter(|rate| (1000..=100_000_000_000).contains(&rate.0))
    })
}

const SIZES: &str = "up to ten sizes from 100 to 9000, rising, with commas between them";

fn sizes(word: &str) -> Option<Vec<u32>> {
    let sizes: Option<Vec<u32>> = word.split(',').map(|size| size.parse().ok()).collect();
    sizes.filter(|sizes| {
        let rise = sizes.is_sorted_by(|a, b| a < b);
        rise && sizes.len() <= MOST_SIZES && sizes.iter().all(|size| (100..=9000).contains(size))
    })
}

impl Setup {
    /// What the version has without further words.
    fn of(version: Version, parity: bool) -> Self {
        let is_2024 = version <= Version::V2024b;
        let host = |time| if parity { Dur::from_micros(time) } else { Dur::ZERO };
        Self {
            config: Config { parity, ..Config::new(version) },
            stream: Stream::new(sojourn_core::wire::rtp::TOOL_SSRC),
            ecn: Ecn::Ect1,
            microburst: Dur::from_micros(if is_2024 { 1000 } else { 500 }),
            reported: 64,
            ackdiff: None,
            count: if parity { Count::LessOne } else { Count::Exact },
            timer_slack: host(60),
            packet_cost: host(5),
            text: String::new(),
        }
    }

    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let read = Read::parse(args)?;
        let version = read.version.unwrap_or(Version::V2026);
        let mut setup = Self::of(version, read.parity);
        read.change(&mut setup);
        let Self { config, stream, .. } = &mut setup;
        let most = Rate(if version <= Version::V2024b { 200_000_000 } else { 500_000_000 });
        let [init, min, max, ramp_up] = read.rates;
        let max = max.unwrap_or(most);
        let min = min.unwrap_or_else(|| max.min(Rate(1_000_000)));
        if min > max {
            return Err(args.invalid(format_args!("min_rate {min} is more than max_rate {max}")));
        }
        // The tool raises a first rate below the least one.
        let init = init.unwrap_or(min).clamp(min, max);
        (stream.min_rate, stream.init_rate, stream.max_rate) =
            (min.0 as f32, init.0 as f32, max.0 as f32);
        config.ramp_up_speed = ramp_up.map_or(config.ramp_up_speed, |rate| rate.0 as f32);
        if version != Version::Rfc8298 {
            config.initial_cwnd = (init.0 / 80).min(u64::from(u32::MAX / 2)) as u32;
        }
        if version.is_v2() {
            let largest = config.mtus.iter().copied().max().unwrap_or_default();
            config.least_cwnd = 2 * (largest + RTP_HEADER);
        }
        if let Some(fixed) = read.fixed {
            // scream.md 2.4
            let rate = fixed.0 as f32;
            (stream.min_rate, stream.init_rate, stream.max_rate) = (rate, rate, rate);
            stream.max_queue_delay = 10.0;
            (config.loss_beta, config.ecn_beta) = (1.0, 1.0);
            config.initial_cwnd = config.least_cwnd;
            config.open_window = true;
            config.pacing &= version != Version::V2020;
        }
        config.check().and_then(|()| stream.check()).map_err(|fault| args.invalid(fault))?;
        setup.text = read.describe(&setup.config, [Some(init), Some(min), Some(max), ramp_up]);
        Ok(setup)
    }
}

impl Read {
    /// Name and words that read the same.
    fn describe(&self, config: &Config, rates: [Option<Rate>; RATES.len()]) -> String {
        use std::fmt::Write as _;

        let mut text = format!("scream version {} {}", config.version.name(), ECN[self.ecn].0);
        let mut add = |name: &str, value: &dyn std::fmt::Display| {
            let _ = write!(text, " {name} {value}"); // into a string: cannot fail
        };
        for (name, rate) in RATES.iter().zip(rates) {
            if let Some(rate) = rate {
                add(name, &rate);
            }
        }
        if let Some(rate) = self.fixed {
            add("fixed_rate", &rate);
        }
        for ((name, ..), value) in NUMBERS.iter().zip(self.numbers) {
            if let Some(value) = value {
                add(name, &value);
            }
        }
        for ((name, ..), value) in TIMES.iter().zip(self.times) {
            if let Some(value) = value {
                add(name, &value);
            }
        }
        let sizes: Vec<String> = config.mtus.iter().map(u32::to_string).collect();
        add("mtu", &sizes.join(","));
        if self.least_packets > 0 {
            add("packets_in_flight", &self.least_packets);
        }
        for (name, value) in [("ackdiff", self.ackdiff), ("reported", self.reported)] {
            if let Some(value) = value {
                add(name, &value);
            }
        }
        if let Some(count) = self.count {
            add("count", &COUNTS[count].0);
        }
        let flags = FLAGS.iter().zip(self.flags).filter(|(_, on)| *on);
        for name in flags.map(|((name, _), _)| *name).chain(self.parity.then_some("parity")) {
            text.push(' ');
            text.push_str(name);
        }
        text
    }
}

/// Stands for SCReAM where controllers are named. It controls nothing: the end points of a media flow
/// run [`Sender`](super::Sender) with what [`Controller::scream`] says.
struct Words(Box<Setup>);

impl Controller for Words {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: Some(Feedback::Ccfb),
            codepoint: Some(self.0.ecn),
            ..Needs::default()
        }
    }

    fn scream(&self) -> Option<&Setup> {
        Some(&self.0)
    }

    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>, _win: &mut Window) {}

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        win.ssthresh
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }

    fn describe(&self) -> String {
        self.0.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as cc;

    fn setup(text: &str) -> Setup {
        cc::build(text).expect("valid").scream().expect("SCReAM").clone()
    }

    fn error(text: &str) -> String {
        cc::build(text).err().expect("refused").0
    }

    // scream.md 2.2, 2.4
    #[test]
    fn words_are_the_tools_options() {
        let plain = setup("scream");
        assert_eq!((plain.config.version, plain.ecn), (Version::V2026, Ecn::Ect1));
        assert_eq!((plain.stream.max_rate, plain.microburst), (500e6, Dur::from_micros(500)));
        assert_eq!((plain.timer_slack, plain.count), (Dur::ZERO, Count::Exact));
        assert_eq!((plain.config.initial_cwnd, plain.config.least_cwnd), (12_500, 2424));
        let old =
            setup("scream version 2024-10-28 parity ect0 mtu 1000,1360 scale 0.8 queue 100ms");
        assert_eq!((old.stream.max_rate, old.microburst), (200e6, Dur::from_millis(1)));
        assert_eq!((old.timer_slack, old.packet_cost), (Dur::from_micros(60), Dur::from_micros(5)));
        assert_eq!((old.count, old.config.l4s, old.config.parity), (Count::LessOne, false, true));
        assert_eq!((old.config.mtus.as_slice(), old.config.least_cwnd), (&[1000, 1360][..], 2744));
        assert_eq!((old.config.ecn_beta, old.stream.max_queue_delay), (0.8, 0.1));
        let fixed = setup("scream fixed_rate 20Mbit");
        assert_eq!((fixed.stream.min_rate, fixed.stream.max_rate), (20e6, 20e6));
        assert_eq!((fixed.config.loss_beta, fixed.stream.max_queue_delay), (1.0, 10.0));
        assert_eq!(setup("scream min_rate 3Mbit").stream.init_rate, 3e6);
        let first = setup("scream version 2020-03-20 ect0 ramp_up 1Mbit");
        assert_eq!((first.config.ecn_beta, first.config.ramp_up_speed), (0.9, 1e6));
        assert_eq!((first.config.drain_interval, first.config.least_cwnd), (Some(30.0), 5000));
        assert_eq!(setup("scream version 2020-03-20 drain 0").config.drain_interval, None);
        assert!(!setup("scream version 2020-03-20 fixed_rate 5Mbit").config.pacing);
        let rfc = setup("scream version rfc8298 ect0").config;
        assert_eq!((rfc.delay_target, rfc.initial_cwnd, rfc.reorder_time), (0.1, 3000, 0.01));
        assert_eq!(setup("scream max_rate 500kbit").stream.min_rate, 500e3);
    }

    #[test]
    fn a_description_reads_the_same() {
        for text in [
            "scream",
            "scream version 2024-10-31 parity noecn max_rate 20Mbit fixed_rate 5Mbit mtu 500,900",
            "scream nopace clock_drift scale 0.5 microburst 2ms ackdiff 1 reported 1 count legacy",
            "scream version 2020-03-20 ramp_up 3Mbit gain_down 2 drain 60s",
            "scream timer_slack 10us packet_cost 0 packets_in_flight 20 hysteresis 0.1 policer",
        ] {
            let again = setup(&setup(text).text);
            assert_eq!(again.text, setup(&again.text).text);
            assert_eq!(
                Setup { text: String::new(), ..again },
                Setup { text: String::new(), ..setup(text) }
            );
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        assert_eq!(
            error("scream version 2025-01-29"),
            "scream: `version 2025-01-29`: expected one of rfc8298, 2020-03-20, 2024-10-28, \
             2024-10-31, draft, 2026-06-30"
        );
        assert_eq!(
            error("scream microburst 50us"),
            "scream: `microburst 50us`: expected a time from 200us to 20ms"
        );
        assert_eq!(
            error("scream mtu 1200,900"),
            format!("scream: `mtu 1200,900`: expected {SIZES}")
        );
        assert_eq!(
            error("scream min_rate 3Mbit max_rate 2Mbit"),
            "scream: min_rate 3Mbit is more than max_rate 2Mbit"
        );
    }
}
