use super::*;

fn read(line: &str) -> Result<RxOptions, String> {
    RxOptions::parse(&args::split(line))
}

// KAT scream-rx 5: half of the reported numbers, a quarter in 2020, at least one
#[test]
fn a_report_is_due_after_half_of_what_it_reports() {
    let due = |line: &str| read(line).map(|o| (o.ack_diff, o.reported)).unwrap();
    assert_eq!(due("10.0.0.1 30122"), (32, 64));
    assert_eq!(due("-generation 2020 10.0.0.1 30122"), (16, 64));
    assert_eq!(due("-nreported 1 10.0.0.1 30122"), (1, 1));
    // The options of 2020 are no longer bound to an order.
    assert_eq!(due("-nreported 128 -ackdiff 8 10.0.0.1 30122"), (8, 128));
    assert_eq!(due("-ackdiff 1 -nreported 1 10.0.0.1 30122"), (1, 1));
}

#[test]
fn the_sender_may_be_left_out() {
    assert_eq!(read("30122").unwrap().host, None);
    assert_eq!(read("sender.example 30122").unwrap().host.as_deref(), Some("sender.example"));
}

#[test]
fn what_would_break_the_original_is_refused_in_one_line() {
    for (line, expected) in [
        ("", "expected sender's address or name (may be left out), port; got nothing"),
        ("1 2 3", "expected sender's address or name (may be left out), port; got `1 2 3`"),
        ("-nreported 513 1", "-nreported: expected a whole number between 1 and 512, got `513`"),
        ("-ackdiff 0 1", "-ackdiff: expected a whole number between 1 and 512, got `0`"),
        ("-nreport 1 1", "unknown option -nreport (did you mean -nreported?); -help lists all"),
        ("-feedback new 1", "-feedback: expected legacy, rfc8888, got `new`"),
    ] {
        assert_eq!(read(line).unwrap_err(), expected, "{line}");
    }
}

#[test]
fn the_help_names_every_option_and_an_example() {
    let text = help();
    for opt in OPTIONS.iter().flat_map(|(_, options)| *options) {
        assert!(text.contains(&format!("  -{}", opt.name())), "{}", opt.name());
    }
    assert!(text.contains("Example"));
}
