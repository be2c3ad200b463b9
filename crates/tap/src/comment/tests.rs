use super::rounded;

#[test]
fn numbers_are_cut_behind_six_digits() {
    for (value, text) in [
        (0.0, "0"),
        (1.0 / 3.0, "0.333333"),
        (1234.567891, "1234.57"),
        (0.000_012_345_678, "0.0000123457"),
        (98_765_432.1, "98765432"),
        (-2.5, "-2.5"),
    ] {
        assert_eq!(rounded(value).to_string(), text);
    }
}
