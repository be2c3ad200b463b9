use super::*;
use crate::app::build;

fn source(text: &str) -> source::Params {
    let App::Media(flow) = build(text).unwrap() else { panic!("{text}") };
    let Encoder::Video(params) = flow.encoder else { panic!("{text}") };
    params
}

#[test]
fn a_call_is_between_the_rates_of_its_codecs_and_a_game_shrinks_to_its_headers() {
    let call = source("voip adaptive");
    assert_eq!((call.fps, call.least, call.most), (50.0, Rate(24_000), Rate(80_000)));
    let call = source("voip adaptive frame 10ms most 510kbit");
    assert_eq!((call.fps, call.least, call.most), (100.0, Rate(40_000), Rate(510_000)));
    let game = source("game adaptive tick 1ms size 100 spread 0");
    assert_eq!((game.least, game.most, game.sigma), (Rate(328_000), Rate(800_000), 0.0));
}

#[test]
fn parameters_of_the_other_kind_are_refused() {
    for (text, expected) in [
        ("voip adaptive codec g729", "`codec` and `buffer` are of a call"),
        ("voip least 9kbit", "`least` and `most` are of `adaptive`"),
        ("game most 9kbit", "`least` and `most` are of `adaptive`"),
        ("voip adaptive least 90kbit", "`least` 90Kbit is more than `most` 80Kbit"),
    ] {
        let error = build(text).unwrap_err().0;
        assert!(
            error.contains(expected) || error.to_lowercase().contains(&expected.to_lowercase()),
            "{error}"
        );
    }
}
