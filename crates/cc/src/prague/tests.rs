use super::*;

fn text(options: &str) -> Result<String, String> {
    crate::read(&format!("prague {options}")).map(|spec| spec.to_string()).map_err(|e| e.0)
}

#[test]
fn defaults_are_those_of_the_version_wherever_it_stands() {
    for (name, version) in Version::ALL {
        let params: Params = crate::params(&format!("prague version {name}"));
        assert_eq!(params.law(), Law::of(*version));
    }
    assert_eq!(text(""), text("version current"));
    assert_eq!(text("ecn_fallback 1 version p3"), text("version p3 ecn_fallback 1"));
    assert_eq!(text("version p1"), Ok("prague version p1".to_owned()));
}

#[test]
fn a_parameter_of_another_version_is_refused() {
    for (options, error) in [
        ("rtt_mode none", "prague: version current has no `rtt_mode`"),
        ("version p1 burst_shift 11", "prague: version p1 has no `burst_shift`"),
        ("cwnd_mode rate version p2b", "prague: version p2b has no `cwnd_mode`"),
        ("version draft04 alpha_init 1", "prague: version draft04 has no `alpha_init`"),
    ] {
        assert_eq!(text(options), Err(error.to_owned()));
    }
}
