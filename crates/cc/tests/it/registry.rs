//! The registry of congestion controllers and the quantities that the interface computes.

use sojourn_cc::{self as cc, Path, REGISTRY, Window};
use sojourn_core::{Dur, Rate};

#[test]
fn registry_is_sorted_and_every_text_form_reads_the_same() {
    assert!(REGISTRY.is_sorted_by(|a, b| a.name < b.name));
    for entry in REGISTRY {
        let defaults = cc::read(entry.name).expect("defaults are valid");
        let again = cc::read(&defaults.to_string()).expect("the text form is valid");
        assert_eq!(again, defaults);
        assert!(defaults.to_string().starts_with(entry.name));
        assert_eq!(defaults.needs(), defaults.build().needs());
    }
}

#[test]
fn wrong_parameters_are_answered_with_the_valid_ones() {
    let error = |text| cc::build(text).err().expect("refused").0;
    assert_eq!(
        error("cubik"),
        "unknown congestion controller `cubik` (did you mean `cubic`?); valid: bbr, copa, cubic, \
         cubic-sce, dctcp, dctcp-sce, gcc, ledbat, ledbat++, nada, prague, reno, reno-sce, scalable, scream, udp-prague, vegas"
    );
    assert_eq!(
        error("prague version p9"),
        "prague: `version p9`: expected one of \
         p0, p1, p2a, p2b, p2c, p3, draft04, current"
    );
    assert_eq!(
        error("prague rtt_target 1us"),
        "prague: `rtt_target 1us`: expected a time from 128us to 10s"
    );
    assert_eq!(
        error("cubic beta 100"),
        "cubic: `beta 100`: expected a whole number from 512 to 1023"
    );
}

fn path(ss_ratio: u32, ca_ratio: u32) -> Path {
    Path {
        mss: 1448,
        srtt: Dur::from_millis(80),
        pacing_ss_ratio: ss_ratio,
        pacing_ca_ratio: ca_ratio,
        ..Path::default()
    }
}

// KAT pacing 1, pacing 2, pacing 3
#[test]
fn default_pacing_rate_is_the_window_per_rtt_times_the_ratio_of_the_phase() {
    let win = Window { ssthresh: 100, ..Window::new(100) };
    let linux = path(200, 120).linux_pacing_rate(&win);
    assert_eq!(linux, Rate(2_172_000 * 8));
    assert_eq!(linux.bytes_per_sec() >> 10, 2121, "bytes per TSO burst");
    assert_eq!(path(100, 40).linux_pacing_rate(&win), Rate(724_000 * 8));
    let slow_start = Window::new(100);
    assert_eq!(path(200, 120).linux_pacing_rate(&slow_start), Rate(3_620_000 * 8));
    let out = Path { packets_out: 150, ..path(200, 100) };
    assert_eq!(out.linux_pacing_rate(&win), Rate(2_715_000 * 8), "flight above cwnd");
}
