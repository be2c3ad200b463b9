use super::*;

#[test]
fn times_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.000000007Z"),
        (951_782_400, "2000-02-29T00:00:00.000000007Z"),
        (1_587_805_625, "2020-04-25T09:07:05.000000007Z"),
        (1_798_761_599, "2026-12-31T23:59:59.000000007Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000000007Z"),
    ] {
        assert_eq!(rfc3339(seconds * 1_000_000_000 + 7), text);
    }
}

#[test]
fn statistics_of_nothing_are_empty() {
    assert_eq!(statistics(None), json!({}));
    let of = Distribution { n: 3, mean: 2.0, stddev: 2.0, ..Distribution::default() };
    assert_eq!(statistics(Some(of))["Burstiness"], json!(2.0));
}
