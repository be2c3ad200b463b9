use super::*;

impl Line for (&'static str, u32) {
    fn name(&self) -> &'static str {
        self.0
    }
}

fn lines() -> Lines<(&'static str, u32)> {
    Lines::new("fruit", &[("apple", 1), ("pear", 2)])
}

fn error<T>(answer: Result<T, GrammarError>) -> String {
    answer.err().expect("refused").0
}

#[test]
fn an_added_line_is_found_listed_in_order_and_named_as_the_nearest() {
    let lines = lines();
    lines.register(("banana", 3)).unwrap();
    assert_eq!(lines.entry("banana").unwrap().1, 3);
    let names: Vec<&str> = lines.all().iter().map(|e| e.0).collect();
    assert_eq!(names, ["apple", "banana", "pear"]);
    assert_eq!(
        error(lines.entry("bananna")),
        "unknown fruit `bananna` (did you mean `banana`?); valid: apple, banana, pear"
    );
}

#[test]
fn a_name_is_taken_once_and_only_an_added_line_is_redefined() {
    let lines = lines();
    lines.register(("fig", 3)).unwrap();
    assert_eq!(error(lines.register(("fig", 4))), "fruit `fig`: the name is already taken");
    assert_eq!(error(lines.register(("pear", 4))), "fruit `pear`: the name is already taken");
    assert_eq!(error(lines.redefine(("pear", 4))), "fruit `pear`: the name is already taken");
    lines.redefine(("fig", 5)).unwrap();
    assert_eq!((lines.entry("fig").unwrap().1, lines.all().len()), (5, 3));
}

#[test]
fn a_name_is_one_word() {
    for name in ["", "two words", "bra{ce", "quo\"te"] {
        let message = error(lines().register((name, 0)));
        assert!(message.ends_with("expected letters, digits and _ + . -"), "{message}");
    }
}
