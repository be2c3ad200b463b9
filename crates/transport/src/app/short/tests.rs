use super::*;
use crate::app::build;

#[test]
fn a_load_is_arrivals_times_the_mean_size() {
    let App::Short(p) = build("short load 8Mbit sizes 10kb,30kb").unwrap() else { panic!() };
    assert_eq!(p.gap, Dur(20_480_000));
    assert!(build("short load 8Mbit arrivals 3").is_err());
}
