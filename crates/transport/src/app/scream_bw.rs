//! The encoder of SCReAM's bandwidth test tool: frames of the target rate at equal distances, all of
//! one size or uniform about it. EricssonResearch/scream, scream_sender.cpp.

use sojourn_core::grammar::forms::{Form, custom, decimal, maybe, time_in};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::{Dur, parameters};

use super::application::line;
use super::{App, Application, Entry, MediaFlow};
use crate::media::Encoder;
use crate::media::scream_tx::{Key, OnOff, Tool};

pub(super) const ENTRY: Entry = line::<Params>(
    "scream-bw",
    "frames under SCReAM, as its bandwidth test tool makes them",
    "EricssonResearch/scream, scream_bw_test_tx",
);

parameters! {
    /// Parameters of `scream-bw`.
    struct Params {
        /// Frames per second, 1 to 1000.
        fps: f64 = 50.0 => decimal("NUMBER", 1.0..=1000.0);
        /// Sizes are uniform within this share of the mean; under `parity` within half of it.
        rand: f64 = 0.0 => decimal("PERCENT", 0.0..=100.0);
        /// Time between key frames, and their size as a multiple of the others.
        key: Option<Key> = None => maybe(custom("TIME NUMBER", read_key, |key: &Key| {
            format!("{} {}", key.every, key.times)
        })), default "none";
        /// Media for the first time, none for the second, and so on.
        burst: Option<OnOff> = None => maybe(custom("TIME TIME", read_burst, |burst: &OnOff| {
            format!("{} {}", burst.on, burst.off)
        })), default "always on";
        /// A stream for each: up to ten shares above 0, at most 1, with commas between them.
        priorities: Vec<f32> = vec![1.0] => custom("LIST", read_shares, |shares: &Vec<f32>| {
            shares.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
        });
    }
}

impl Application for Params {
    fn build(&self) -> App {
        let Self { fps, rand, key, burst, .. } = *self;
        let encoder = Encoder::Tool(Tool { fps, rand: rand as f32, key, burst });
        App::Media(MediaFlow { encoder, priorities: self.priorities.clone() })
    }
}

fn span(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    time_in(Dur::from_millis(10)..=Dur::from_secs(1000)).read("", "", args)
}

fn read_key(args: &mut Args<'_>) -> Result<Key, GrammarError> {
    Ok(Key { every: span(args)?, times: args.decimal(1.0..=100.0)? as f32 })
}

fn read_burst(args: &mut Args<'_>) -> Result<OnOff, GrammarError> {
    Ok(OnOff { on: span(args)?, off: span(args)? })
}

const SHARES: &str = "up to ten numbers above 0, at most 1, with commas between them";

fn read_shares(args: &mut Args<'_>) -> Result<Vec<f32>, GrammarError> {
    args.value(SHARES, |word| {
        let shares: Option<Vec<f32>> = word.split(',').map(|share| share.parse().ok()).collect();
        let fits = |share: &f32| 0.001 <= *share && *share <= 1.0;
        shares.filter(|shares| shares.len() <= 10 && shares.iter().all(fits))
    })
}

#[cfg(test)]
mod tests;
