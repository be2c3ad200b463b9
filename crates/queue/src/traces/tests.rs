use super::*;

fn refused(text: &str) -> String {
    Opportunities::parse(text).unwrap_err().to_string()
}

#[test]
fn mahimahi_lines_are_checked_one_by_one() {
    assert_eq!(refused(""), "1: expected at least one line");
    assert_eq!(refused("0\n0\n"), "2: the last line must be more than zero: it is the period");
    assert_eq!(refused("1\n\n2\n"), "2: expected a whole number of milliseconds, got \"\"");
    assert_eq!(refused("1\n3\n2\n"), "3: 2 is before 3 in the line above");
    assert_eq!(refused("1.5\n"), "1: expected a whole number of milliseconds, got \"1.5\"");
    assert_eq!(refused("-1\n"), "1: expected a whole number of milliseconds, got \"-1\"");
    assert!(refused("99999999999\n").starts_with("1: expected"));
    assert_eq!(Opportunities::parse("0\r\n0\r\n5").unwrap().ms(), [0, 0, 5]);
}

#[test]
fn rate_lines_count_from_the_first_and_increase() {
    let trace =
        RateSteps::parse("# unix time, kbit/s\n1700.5 100\n\n1701,0\n1702.25\t50.5\n").unwrap();
    let ms = Dur::from_millis;
    assert_eq!(trace.steps, [(ms(0), 100.0), (ms(500), 0.0), (ms(1750), 50.5)]);
    let refused = |text| RateSteps::parse(text).unwrap_err().to_string();
    assert_eq!(refused("0 1\n0 2"), "2: 0 s is not after the time in the line above");
    assert_eq!(refused("5 1\n4 2"), "2: 4 s is not after the time in the line above");
    for bad in ["0 1 2", "0", "a 1", "0 -1", "0 inf", "0 NaN"] {
        let expected = "expected a time in seconds and a bandwidth such as `0.5 12000`";
        assert_eq!(refused(bad), format!("1: {expected}, got {bad:?}"));
    }
    assert_eq!(refused("# nothing\n"), "1: expected at least one line with a bandwidth above zero");
    assert_eq!(refused("0 0\n1 0"), "1: expected at least one line with a bandwidth above zero");
}

fn cursor(repeats: bool) -> RateCursor {
    // 8 Mbit/s (1 byte per us) for 1 ms, nothing for 1 ms, 4 Mbit/s.
    let ms = Dur::from_millis;
    let steps = [(ms(0), Rate(8_000_000)), (ms(1), Rate(0)), (ms(2), Rate(4_000_000))];
    RateCursor::new(steps.into(), repeats, Time::ZERO)
}

#[test]
fn a_packet_is_serialised_over_the_steps_that_it_spans() {
    let us = |n: u64| Time(n * 1000);
    assert_eq!(cursor(false).serve(us(0), 1000), us(1000));
    assert_eq!(cursor(false).serve(us(500), 500), us(1000));
    assert_eq!(cursor(false).serve(us(500), 1000), us(3000));
    assert_eq!(cursor(false).serve(us(1200), 100), us(2200));
    assert_eq!(cursor(false).serve(us(900_000), 1), us(900_002));
}

#[test]
fn a_repeated_trace_gives_its_last_step_the_length_of_the_one_before() {
    let us = |n: u64| Time(n * 1000);
    // 500 bytes until 3 ms, then 1000 until 4 ms.
    assert_eq!(cursor(true).serve(us(2000), 1500), us(4000));
    assert_eq!(cursor(true).serve(us(2000), 1501), us(5002));
    assert_eq!(cursor(true).serve(us(3_000_100), 100), us(3_000_200));
}

#[test]
fn a_trace_that_ends_at_zero_never_ends_a_packet() {
    let steps = [(Dur::ZERO, Rate(8000)), (Dur::from_millis(1), Rate(0))];
    let mut cursor = RateCursor::new(steps.into(), false, Time::ZERO);
    assert_eq!(cursor.serve(Time::ZERO, 1), Time(1_000_000));
    assert_eq!(cursor.serve(Time(1_000_000), 1), Time::NEVER);
}
