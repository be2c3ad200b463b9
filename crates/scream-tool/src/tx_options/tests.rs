use super::*;

fn read(line: &str) -> Result<TxOptions, String> {
    TxOptions::parse(&args::split(line))
}

fn refused(line: &str) -> String {
    read(line).err().unwrap_or_else(|| panic!("`{line}` was taken"))
}

// KAT scream-tx 2: defaults of the three columns
#[test]
fn each_build_has_its_defaults() {
    let [v2020, v2024, newest] =
        ["2020", "2024", "2026"].map(|g| read(&format!("-generation {g} a 1")).unwrap());
    assert_eq!([v2020.scale, v2024.scale, newest.scale], [0.9, 0.7, 0.7]);
    assert_eq!(
        [v2020.max_kbps, v2024.max_kbps, newest.max_kbps],
        [200_000.0, 200_000.0, 500_000.0]
    );
    let bursts = [v2020.microburst_ms, v2024.microburst_ms, newest.microburst_ms];
    assert_eq!(bursts, [1.0, 1.0, 0.5]);
    assert_eq!([v2020.reorder_s, v2024.reorder_s, newest.reorder_s], [0.01, 0.03, 0.03]);
    for o in [&v2020, &v2024, &newest] {
        assert_eq!((o.min_kbps, o.init_kbps, o.fps, o.ect), (1000.0, 1000.0, 50.0, -1));
        assert_eq!((o.mtus.as_slice(), o.delay_target_s), (&[1200][..], 0.06));
        assert_eq!((o.duration_s, o.fixed_kbps, o.rand_pct), (None, None, 0.0));
    }
    assert_eq!((v2020.gain_down, v2020.ramp_kbps_per_s), (10.0, 10_000.0));
    assert_eq!(read("a 1").unwrap(), newest, "the newest is the default");
}

#[test]
fn examples_of_the_documentation_are_taken() {
    for line in [
        "-verbose 10.0.0.2 30122",
        "-log test.txt 10.0.0.2 30122",
        "-key 2 10 10.0.0.2 30122",
        "-minrate 2000 10.0.0.2 30122",
        "-maxrate 20000 10.0.0.2 30122",
        "-delaytarget 0.05 10.0.0.2 30122",
        "-mtu 1360 -ect 1 -rand 50 -microburstinterval 0.25 10.0.0.2 30122",
        "-nosummary -verbose -itemlist -log x -ntp -append -detailed host.example 1",
        "-if wwan0 -ipv6 -time 10 -burst 2 3 -fps 25 -clockdrift fe80::1 1",
        "-generation 2020 -dscale 5 -rateincrease 20000 -ratescale 0.3 h 1",
    ] {
        read(line).unwrap();
    }
    let o = read("-ect -1 -time -1 -mtu 500,1000,1400 -minpktsinflight 4 h 65535").unwrap();
    assert_eq!((o.ect, o.duration_s, o.port), (-1, None, 65535));
    assert_eq!(o.mtus, [500, 1000, 1400]);
    assert_eq!(read("-duration 2.5 h 1").unwrap().duration_s, Some(2.5));
    assert_eq!(read("-fixedrate 0 h 1").unwrap().fixed_kbps, None);
    assert_eq!(read("-fixedrate 9 h 1").unwrap().microburst_ms, 1.0);
    let chosen = read("-microburstinterval 0.5 -fixedrate 9 h 1").unwrap();
    assert_eq!(chosen.microburst_ms, 0.5);
}

// The usage text and the examples of the slides of 2020-03-20, dashes as they print them.
#[test]
fn every_option_of_the_slides_of_2020_is_taken_with_its_meaning() {
    let usage = "-generation 2020 -nopace -fixedrate 5000 -key 2.0 5.0 -initrate 2000 -minrate 1000 -maxrate 10000 \
                 -rateinc 1000 -ect -1 -scale 0.9 -dscale 10.0 -delaytarget 0.06 -mtu 1200 -fps 50 \
                 \u{2013}verbose -nosummary \u{2013}log test.txt -sierralog 10.0.0.2 30122";
    let o = read(usage).unwrap();
    assert!(!o.is_paced && o.verbose && o.no_summary);
    assert_eq!((o.fixed_kbps, o.key, o.ect, o.fps), (Some(5000.0), Some((2.0, 5.0)), -1, 50.0));
    assert_eq!([o.init_kbps, o.min_kbps, o.max_kbps], [2000.0, 1000.0, 10_000.0]);
    assert_eq!((o.ramp_kbps_per_s, o.scale, o.gain_down), (1000.0, 0.9, 10.0));
    assert_eq!(
        (o.delay_target_s, &o.mtus[..], o.log.as_deref()),
        (0.06, &[1200][..], Some("test.txt"))
    );
    assert_eq!(o.notes.len(), 1);
    assert!(o.notes[0].starts_with("-sierralog has no effect: "), "{:?}", o.notes);
    let long = read("-generation 2020 -rateincrease 1000 h 1").unwrap();
    assert_eq!(read("-generation 2020 -rateinc 1000 h 1").unwrap(), long);
}

// KAT scream-tx 1: limits of ect, microburstinterval and hysteresis, pushtraffic without rate
#[test]
fn what_the_original_refuses_is_refused_in_one_line() {
    assert_eq!(refused("-ect 2 h 1"), "-ect: ect must be -1, 0, 1 or 3, got `2`");
    assert_eq!(
        refused("-microburstinterval 0.1 h 1"),
        "-microburstinterval: expected a number between 0.2 and 20, got `0.1`"
    );
    assert_eq!(
        refused("-hysteresis 0.3 h 1"),
        "-hysteresis: expected a number between 0 and 0.2, got `0.3`"
    );
    assert_eq!(refused("-pushtraffic h 1"), "-pushtraffic: needs a rate: -fixedrate kbit/s");
    assert_eq!(
        refused("-nopacing h 1"),
        "unknown option -nopacing (did you mean -nopace?); -help lists all",
        "the user guide's name for it"
    );
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused_in_one_line() {
    for (line, expected) in [
        ("", "expected receiver's address or name, port; got nothing"),
        ("h", "expected receiver's address or name, port; got `h`"),
        ("h 1 2", "expected receiver's address or name, port; got `h 1 2`"),
        ("h 0", "port: expected a whole number between 1 and 65535, got `0`"),
        ("h x", "port: expected a whole number between 1 and 65535, got `x`"),
        ("-minrate 900 -maxrate 800 h 1", "-minrate: 900 is above -maxrate 800"),
        ("-mtu 90,80 h 1", "-mtu: expected at most ten increasing sizes, got `90,80`"),
        (
            "-mtu 10;20 h 1",
            "-mtu: expected a whole number between 50 and 65495, got `10;20` (sizes are separated by \
             commas: 500,1000,1400)",
        ),
        ("-dscale 5 h 1", "-dscale: an option of SCReAM version 1: add -generation 2020"),
        (
            "-generation 2020 -mulincrease 0.1 h 1",
            "-mulincrease: an option of SCReAM version 2, not of -generation 2020",
        ),
        ("-view -json h 1", "-view: not together with -json"),
        ("-ipv4 -ipv6 h 1", "-ipv6: not together with -ipv4"),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
    assert_eq!(
        refused("-sierralog h 1"),
        "-sierralog: an option of SCReAM version 1: add -generation 2020"
    );
    assert!(refused("-newcc h 1").contains("2022-12"));
}

#[test]
fn a_limit_that_was_asked_for_moves_the_other_ones_default() {
    let o = read("-maxrate 500 h 1").unwrap();
    assert_eq!((o.min_kbps, o.init_kbps, o.max_kbps), (500.0, 500.0, 500.0));
    // 2.1: a start below the least rate is the least rate.
    let o = read("-minrate 5000 -initrate 2000 h 1").unwrap();
    assert_eq!(o.init_kbps, 5000.0);
}

#[test]
fn the_help_names_every_option_and_an_example() {
    let text = help();
    for opt in OPTIONS.iter().flat_map(|(_, options)| *options) {
        assert!(text.contains(&format!("  -{}", opt.name())), "{}", opt.name());
    }
    assert!(text.contains("Example"));
}
