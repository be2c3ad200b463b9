//! SCReAM in the grammar of controllers: `scream version 2024-10-28 max_rate 50Mbit`. The parameters
//! are the tool's options (EricssonResearch/scream, scream_sender.cpp and scream_receiver.cpp) and
//! say how sender, receiver and the machine behave.

use super::config::{Config, Stream, Version, rate, ratio};
use crate::algorithm::{Algorithm, Entry, entry};
use crate::{Ack, Controller, Feedback, Kernel, Needs, Path, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::forms::{Keywords, maybe, number, one_of, time_in};
use sojourn_core::grammar::{Given, stated_over};
use sojourn_core::parameters;
use sojourn_core::units::{Dur, Rate, Time};
use sojourn_core::wire::ccfb::Count;

pub(crate) const ENTRY: Entry = entry::<Setup>(
    "scream",
    "SCReAM for media: a window, frames paced in bursts, L4S or classic marks, delay.",
    "RFC 8298; draft-ietf-ccwg-rfc8298bis-screamv2; EricssonResearch/scream f9deed2, 994f9a4, 76a298a, \
     c8f84c3",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of both ends.
    #[derive(PartialEq)]
    pub struct Setup {
        /// A tool: 2020-03-20, 2024-10-28, 2024-10-31 or 2026-06-30; `rfc8298` or `draft`.
        version: Version = Version::V2026;
        /// Keeps the tool's quirks, and the timing of its machine.
        parity: bool = false;
        /// Codepoint of media packets; ect1 also reacts to marks as L4S asks.
        pub ecn: Ecn = Ecn::Ect1 => Keywords(one_of("ect1|ect0|noecn", CODEPOINTS));
        /// First rate; the first window is 100 ms of it.
        init_rate: Option<Rate> = None => maybe(rate()), default "1Mbit";
        /// Least rate.
        min_rate: Option<Rate> = None => maybe(rate()), default "1Mbit";
        /// Greatest rate.
        max_rate: Option<Rate> = None => maybe(rate()), default "500Mbit, 200Mbit to 2024";
        /// The encoder's rate whatever happens; losses are no news.
        fixed_rate: Option<Rate> = None => maybe(rate()), default "none";
        /// Share of the window that a loss or a classic mark leaves.
        scale: Option<f32> = None => maybe(ratio(0.1..=1.0)), default "0.7, 0.9 in 2020";
        /// Length of a burst, 200us to 20ms.
        pub microburst: Dur = Dur::from_micros(500) =>
            time_in(Dur::from_micros(200)..=Dur::from_millis(20)), default "500us, 1ms to 2024";
        /// New packets that make a report, 1 to 512.
        pub ackdiff: Option<u16> = None => maybe(number(1..=512)), default "half of reported";
        /// Packets that a report covers, 1 to 512.
        pub reported: u16 = 64 => number(1..=512);
        /// Reports count as RFC 8888, or one less.
        pub count: Count = Count::Exact =>
            one_of("exact|legacy", &[("exact", Count::Exact), ("legacy", Count::LessOne)]),
            default "exact, legacy in parity";
        /// The sending machine sleeps longer by this.
        pub timer_slack: Dur = Dur::ZERO => time_in(Dur::ZERO..=Dur::from_millis(100)),
            default "0, 60us in parity";
        /// It needs this long to send a packet.
        pub packet_cost: Dur = Dur::ZERO => time_in(Dur::ZERO..=Dur::from_millis(100)),
            default "0, 5us in parity";
    }
    groups {
        /// The algorithm.
        pub config: Config = Config::default();
        /// The stream; whoever has several changes its SSRC.
        pub stream: Stream = Stream::default();
    }
    derive complete;
    settle possible;
}

const CODEPOINTS: &[(&str, Ecn)] =
    &[("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("noecn", Ecn::NotEct)];
/// RTP header.
const RTP_HEADER: u32 = 12;

impl Setup {
    /// What the version has without further parameters.
    fn of(version: Version, parity: bool) -> Self {
        let is_2024 = version <= Version::V2024b;
        let host = |time| if parity { Dur::from_micros(time) } else { Dur::ZERO };
        Self {
            version,
            parity,
            config: Config { parity, ..Config::new(version) },
            microburst: Dur::from_micros(if is_2024 { 1000 } else { 500 }),
            count: if parity { Count::LessOne } else { Count::Exact },
            timer_slack: host(60),
            packet_cost: host(5),
            ..Self::default()
        }
    }

    fn complete(&mut self, given: &Given) {
        let version = self.version;
        *self = stated_over(self, given, Self::of(version, self.parity));
        let Self { config, stream, .. } = self;
        config.l4s = self.ecn == Ecn::Ect1;
        match self.scale {
            Some(scale) => (config.loss_beta, config.ecn_beta) = (scale, scale),
            // RFC 8298 and the draft have two shares.
            None => self.scale = (config.loss_beta == config.ecn_beta).then_some(config.loss_beta),
        }
        let most = Rate(if version <= Version::V2024b { 200_000_000 } else { 500_000_000 });
        let max = *self.max_rate.get_or_insert(most);
        let min = *self.min_rate.get_or_insert_with(|| max.min(Rate(1_000_000)));
        // The tool raises a first rate below the least one.
        let init = self.init_rate.unwrap_or(min).min(max).max(min);
        self.init_rate = Some(init);
        (stream.min_rate, stream.init_rate, stream.max_rate) =
            (min.0 as f32, init.0 as f32, max.0 as f32);
        if version != Version::Rfc8298 {
            config.initial_cwnd = (init.0 / 80).min(u64::from(u32::MAX / 2)) as u32;
        }
        if version.is_v2() {
            let largest = config.mtus.iter().copied().max().unwrap_or_default();
            config.least_cwnd = 2 * (largest + RTP_HEADER);
        }
        if let Some(fixed) = self.fixed_rate {
            // As the tool sets up its sender for `-fixedrate` (scream_sender.cpp).
            let rate = fixed.0 as f32;
            (stream.min_rate, stream.init_rate, stream.max_rate) = (rate, rate, rate);
            stream.max_queue_delay = 10.0;
            (config.loss_beta, config.ecn_beta) = (1.0, 1.0);
            config.initial_cwnd = config.least_cwnd;
            config.open_window = true;
            config.pacing &= version != Version::V2020;
        }
    }

    fn possible(&self, _: &Given) -> Result<(), String> {
        if let (Some(min), Some(max)) = (self.min_rate, self.max_rate)
            && min > max
        {
            return Err(format!("min_rate {min} is more than max_rate {max}"));
        }
        self.config.check()?;
        self.stream.check()
    }
}

impl Algorithm for Setup {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Elsewhere(self.needs()))
    }

    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: Some(Feedback::Ccfb),
            codepoint: Some(self.ecn),
            ..Needs::default()
        }
    }

    fn scream(&self) -> Option<&Self> {
        Some(self)
    }
}

/// Takes the place of SCReAM where a controller is asked for. It controls nothing: the end points of a media
/// flow run [`Sender`](super::Sender) with what [`Algorithm::scream`] says.
struct Elsewhere(Needs);

impl Controller for Elsewhere {
    fn needs(&self) -> Needs {
        self.0
    }

    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>, _win: &mut Window) {}

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        win.ssthresh
    }
}

#[cfg(test)]
mod tests;
