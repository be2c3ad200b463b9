//! Scenarios drawn at random: a seed and an index name a case for ever.
//!
//! A [`Stratum`] says what the case is about; an index belongs to one, in turn, so that any run of
//! consecutive indices has all of them. Everything else is drawn from ranges in which people test. What is drawn
//! passes the loader, as any file does: a case is a scenario that somebody could have written.
//!
//! Cases differ by what may be in them ([`Kinds`]): what a Linux kernel can run too, so that it can be asked
//! what it does, or all that the simulator has.

#![warn(missing_docs)]

mod dice;
mod extras;
mod flows;
mod paths;
mod queues;

use sojourn_core::Dur;
use sojourn_scenario::{Scenario, ScenarioError, load};

use dice::Dice;

/// Grows with every change of what is drawn of [`Kinds::Linux`], since results of a case are those of its rules.
/// A case of [`Kinds::All`] is that of a version of this crate.
pub const RULES: u32 = 3;
/// Full-sized packets that a case may send at its bottleneck's rate. How many it sends is drawn, uniform in the
/// logarithm: what a queue or a controller does in its first seconds takes few.
pub const PACKETS: u64 = 60_000;
const FEWEST_PACKETS: u64 = 4_000;
/// The same of a small case.
pub const SMALL: u64 = 2_000;
/// Bits of a full-sized frame.
const FRAME_BITS: f64 = 1514.0 * 8.0;
/// The longest case, and the shortest beside its round trips, s.
const LONGEST_S: f64 = 60.0;
const SHORTEST_S: f64 = 0.5;

/// What may be in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// What Linux 7.2 has: its queues with their parameters, its controllers, its settings.
    Linux,
    /// All queues, shapers, controllers and feedback of the simulator.
    All,
}

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stratum {
    /// One bulk flow.
    One,
    /// Two, of which one starts later.
    Two,
    /// Up to 32.
    Many,
    /// Random loss, jitter, reordering, duplicates or slots.
    Impaired,
    /// Rate or queue change while flows run.
    Steps,
    /// Buffers, windows or segments that limit the sender.
    Limited,
    /// Short connections and requests beside a bulk flow.
    Short,
    /// Super-packets at the sender, the receiver or both.
    Offloads,
    /// A slow or shaped way back.
    Asymmetric,
    /// Unresponsive traffic beside a flow.
    Unresponsive,
}

/// In the order of indices.
pub const STRATA: [Stratum; 10] = [
    Stratum::One,
    Stratum::Two,
    Stratum::Impaired,
    Stratum::Many,
    Stratum::Steps,
    Stratum::Two,
    Stratum::Limited,
    Stratum::Short,
    Stratum::Asymmetric,
    Stratum::Unresponsive,
];

impl Stratum {
    /// That of a case. Offloads are every third of the cases with one or two flows.
    pub fn of(index: u64) -> Self {
        let count = STRATA.len() as u64;
        match STRATA[(index % count) as usize] {
            Self::One | Self::Two if (index / count) % 3 == 2 => Self::Offloads,
            stratum => stratum,
        }
    }

    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
            Self::Many => "many",
            Self::Impaired => "impaired",
            Self::Steps => "steps",
            Self::Limited => "limited",
            Self::Short => "short",
            Self::Offloads => "offloads",
            Self::Asymmetric => "asymmetric",
            Self::Unresponsive => "unresponsive",
        }
    }
}

/// How large cases are.
#[derive(Clone, Copy)]
struct Size {
    /// Packets that a case may send, at least and at most.
    packets: (u64, u64),
    /// Bits per second of the bottleneck.
    rate: (f64, f64),
    /// Milliseconds of the empty path.
    rtt: (f64, f64),
    longest_s: f64,
}

const USUAL: Size = Size {
    packets: (FEWEST_PACKETS, PACKETS),
    rate: (0.5e6, 1e9),
    rtt: (1.0, 300.0),
    longest_s: LONGEST_S,
};
/// Slow enough that a few thousand packets are several round trips.
const FEW: Size =
    Size { packets: (200, SMALL), rate: (0.2e6, 50e6), rtt: (0.5, 60.0), longest_s: 10.0 };

/// The text of a case, as a scenario file.
pub fn text(kinds: Kinds, seed: u64, index: u64) -> String {
    written(kinds, USUAL, seed, index)
}

/// The text of a case of [`Kinds::All`] with at most [`SMALL`] packets.
pub fn text_small(seed: u64, index: u64) -> String {
    written(Kinds::All, FEW, seed, index)
}

fn written(kinds: Kinds, size: Size, seed: u64, index: u64) -> String {
    let stratum = Stratum::of(index);
    let dice = Dice::of(seed, index);
    let extras = extras::Extras::draw(kinds, stratum, &dice);
    let path = paths::Path::draw(kinds, stratum, size, &extras, &dice);
    let duration_s = duration_s(&path, size, &dice);
    let mut out = format!(
        "name = \"case-{seed}-{index}\"\ndescription = \"{}\"\nduration = \"{}ms\"\nseed = {}\nstep = \"{}ms\"\n\n",
        stratum.name(),
        (duration_s * 1e3) as u64,
        index % 1000 + 1,
        step_ms(duration_s),
    );
    out += &flows::settings(kinds, stratum, &dice);
    out += &path.text(&extras);
    out += &extras.links(&path, &dice);
    out += &extras.steer(&flows::text(kinds, stratum, &path, duration_s, &dice));
    out += &extras.flows(&path);
    out += &path.schedule(stratum, duration_s, &dice);
    out
}

/// A case.
///
/// # Errors
/// The loader refuses what was drawn: a defect of this crate, or of the loader.
pub fn draw(kinds: Kinds, seed: u64, index: u64) -> Result<Scenario, ScenarioError> {
    read(&text(kinds, seed, index), seed, index)
}

/// A small case.
///
/// # Errors
/// As of [`draw`].
pub fn draw_small(seed: u64, index: u64) -> Result<Scenario, ScenarioError> {
    read(&text_small(seed, index), seed, index)
}

fn read(text: &str, seed: u64, index: u64) -> Result<Scenario, ScenarioError> {
    load(text, &format!("case {index} of seed {seed}"), &[]).map(|parsed| parsed.scenario)
}

/// As long as the bottleneck needs for the packets drawn, or 40 round trips if the most packets suffice, within
/// bounds.
fn duration_s(path: &paths::Path, size: Size, dice: &Dice) -> f64 {
    let (fewest, most) = (size.packets.0 as f64, size.packets.1 as f64);
    let packets = dice.named("packets").decades(fewest, most);
    let takes = |packets: f64| packets * FRAME_BITS / path.rate_bps;
    let least = SHORTEST_S.max(40.0 * path.rtt.as_secs_f64()).min(takes(most));
    takes(packets).max(least).min(size.longest_s)
}

/// Some 200 samples, or one every 50 ms if these are more.
fn step_ms(duration_s: f64) -> u64 {
    // rustc 1.95 compiles `if step >= 50 { 50 } else { step.max(1) }` into code that gives 300 for 300.
    ((duration_s * 1e3 / 200.0) as u64).clamp(1, 50)
}

/// A time as a scenario writes it, in whole microseconds.
fn time(dur: Dur) -> String {
    format!("{}us", dur.0 / 1000)
}

#[cfg(test)]
mod tests;
