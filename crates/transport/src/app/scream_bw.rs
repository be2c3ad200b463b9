//! The encoder of SCReAM's bandwidth test tool: frames of the target rate at equal distances, all of
//! one size or uniform about it. Facts: `scream.md` 2.5.

use sojourn_core::Dur;
use sojourn_core::grammar::{Args, GrammarError, Param};

use super::{App, Entry, MediaFlow};
use crate::media::Encoder;
use crate::media::scream_tx::{Key, OnOff, Tool};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "scream-bw",
    summary: "frames under SCReAM, as its bandwidth test tool makes them",
    reference: "EricssonResearch/scream, scream_bw_test_tx",
    params: &[
        Param { name: "fps", value: "NUMBER", default: "50", doc: "Frames per second, 1 to 1000." },
        Param {
            name: "rand",
            value: "PERCENT",
            default: "0",
            doc: "Sizes are uniform within so much of the mean; under `parity` within half of it.",
        },
        Param {
            name: "key",
            value: "TIME NUMBER",
            default: "none",
            doc: "Once in this time a frame is so many times larger.",
        },
        Param {
            name: "burst",
            value: "TIME TIME",
            default: "always on",
            doc: "Media for the first time, none for the second, and so on.",
        },
        Param {
            name: "priorities",
            value: "LIST",
            default: "1",
            doc: "A stream for each: up to ten shares above 0, at most 1, with commas between them.",
        },
    ],
    build,
};

const PRIORITIES: &str = "up to ten numbers above 0, at most 1, with commas between them";

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let mut tool = Tool::default();
    let mut priorities = vec![1.0];
    while let Some(key) = args.key() {
        match key {
            "fps" => tool.fps = args.decimal(1.0..=1000.0)?,
            "rand" => tool.rand = args.decimal(0.0..=100.0)? as f32,
            "key" => {
                let every = span(args)?;
                tool.key = Some(Key { every, times: args.decimal(1.0..=100.0)? as f32 });
            }
            "burst" => tool.burst = Some(OnOff { on: span(args)?, off: span(args)? }),
            "priorities" => priorities = args.value(PRIORITIES, list)?,
            _ => return Err(args.unknown()),
        }
    }
    Ok(App::Media(MediaFlow { encoder: Encoder::Tool(tool), priorities }))
}

fn span(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time from 10ms to 1000s", |w| {
        let range = Dur::from_millis(10)..=Dur::from_secs(1000);
        Dur::parse_tc(w).filter(|time| range.contains(time))
    })
}

fn list(word: &str) -> Option<Vec<f32>> {
    let shares: Option<Vec<f32>> = word.split(',').map(|share| share.parse().ok()).collect();
    let fits = |share: &f32| 0.001 <= *share && *share <= 1.0;
    shares.filter(|shares| shares.len() <= 10 && shares.iter().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_tools_options() {
        let app =
            super::super::build("scream-bw fps 25 rand 50 key 10s 3 burst 5s 2s priorities 1,0.5");
        let tool = Tool {
            fps: 25.0,
            rand: 50.0,
            key: Some(Key { every: Dur::from_secs(10), times: 3.0 }),
            burst: Some(OnOff { on: Dur::from_secs(5), off: Dur::from_secs(2) }),
        };
        let expected = MediaFlow { encoder: Encoder::Tool(tool), priorities: vec![1.0, 0.5] };
        assert_eq!(app, Ok(App::Media(expected)));
        let error = |text: &str| super::super::build(text).expect_err("refused").0;
        assert_eq!(error("scream-bw key 1s"), "scream-bw: `key` needs a value");
        assert_eq!(
            error("scream-bw priorities 1,2"),
            format!("scream-bw: `priorities 1,2`: expected {PRIORITIES}")
        );
    }
}
