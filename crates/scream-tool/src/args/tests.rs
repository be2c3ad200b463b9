use super::*;

#[derive(Default)]
struct Chosen {
    rate: f64,
    pair: (u64, u64),
    is_loud: bool,
}

const GROUPS: &[Group<Chosen>] = &[(
    "Options",
    &[
        opt("maxrate kbit/s", "rate", |o, v| v.number(0, 0.0, f64::MAX).map(|n| o.rate = n)),
        opt("pair|couple a b", "two,\nand both", |o, v| {
            o.pair = (v.whole(0, 0, 9)?, v.whole(1, 0, 9)?);
            Ok(())
        }),
        opt("loud", "loud", |o, _| flag(&mut o.is_loud)),
    ],
)];

fn read(line: &str) -> Result<(Chosen, Vec<String>), String> {
    let parsed = Parsed::new(&split(line), GROUPS)?;
    let mut chosen = Chosen::default();
    parsed.apply(&mut chosen)?;
    Ok((chosen, parsed.others))
}

#[test]
fn options_stand_anywhere_with_one_dash_or_two() {
    let (chosen, others) = read("-pair 1 2 10.0.0.1 --loud 5000 -maxrate=7.5").unwrap();
    assert_eq!((chosen.rate, chosen.pair, chosen.is_loud), (7.5, (1, 2), true));
    assert_eq!(others, ["10.0.0.1", "5000"]);
}

#[test]
fn names_are_matched_exactly_and_the_nearest_is_offered() {
    // The original takes an argument that merely contains an option's name.
    let expected = read("x-maxrate 5").err();
    assert_eq!(expected, None, "no option, so two positional arguments");
    assert_eq!(
        read("-maxrat 5").err().unwrap(),
        "unknown option -maxrat (did you mean -maxrate?); -help lists all"
    );
    assert_eq!(read("-zzzzzzzz").err().unwrap(), "unknown option -zzzzzzzz; -help lists all");
}

#[test]
fn values_are_read_strictly() {
    for (line, expected) in [
        ("-maxrate", "-maxrate: expected kbit/s"),
        ("-maxrate fast", "-maxrate: expected a number of at least 0, got `fast`"),
        ("-maxrate 5x", "-maxrate: expected a number of at least 0, got `5x`"),
        ("-maxrate -1", "-maxrate: expected a number of at least 0, got `-1`"),
        ("-maxrate nan", "-maxrate: expected a number of at least 0, got `nan`"),
        ("-maxrate inf", "-maxrate: expected a number of at least 0, got `inf`"),
        ("-couple 1 x", "-pair: expected a whole number between 0 and 9, got `x`"),
        ("-pair 1", "-pair: expected a and b"),
        ("-pair=1", "-pair: takes 2 values, not ="),
        ("-loud=yes", "-loud: takes no value, not ="),
    ] {
        assert_eq!(read(line).err().as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn the_help_has_every_option() {
    let text = help(GROUPS);
    for word in ["Options", "-maxrate kbit/s", "-pair a b", "-loud"] {
        assert!(text.contains(word), "{text}");
    }
}
