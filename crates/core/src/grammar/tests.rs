use super::*;

fn table() -> Vec<Parameter> {
    let row =
        |name, value| Parameter { name, value, default: String::new(), doc: ".", is_tc: true };
    vec![row("limit", "PACKETS"), row("ecn|noecn", "")]
}

#[test]
fn unknown_word_names_the_nearest_and_the_valid_ones() {
    let mut args = Args::of("pfifo", &table, "limt 3");
    args.key();
    assert_eq!(
        args.unknown().0,
        "pfifo: unknown parameter `limt` (did you mean `limit`?); valid: limit, ecn, noecn"
    );
}

#[test]
fn out_of_range_number_says_what_is_allowed() {
    let mut args = Args::of("pfifo", &table, "limit 0");
    args.key();
    assert_eq!(
        args.number(1..=10).unwrap_err().0,
        "pfifo: `limit 0`: expected a whole number from 1 to 10"
    );
}

#[test]
fn missing_value_is_named() {
    let mut args = Args::of("pfifo", &table, "limit");
    args.key();
    assert_eq!(args.number(1..=10).unwrap_err().0, "pfifo: `limit` needs a value");
}
#[test]
fn group_is_what_stands_between_matching_braces() {
    let mut args = Args::of("t", &Vec::new, "leaf { htb class 1:1 leaf {pfifo limit 3} } rate 5 {");
    args.key();
    assert_eq!(args.group().unwrap(), "htb class 1:1 leaf {pfifo limit 3}");
    assert_eq!((args.key(), args.word()), (Some("rate"), Ok("5")));
    assert_eq!(args.group().unwrap_err().0, "t: the `{` after `rate` is never closed");
    let mut args = Args::of("t", &Vec::new, "leaf pfifo");
    args.key();
    assert_eq!(args.group().unwrap_err().0, "t: `leaf` needs a text in `{ }`");
    assert_eq!((args.remainder(), args.key()), ("pfifo", None));
}
