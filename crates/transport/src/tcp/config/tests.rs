use super::*;

#[test]
fn an_era_changes_only_the_flags_that_its_kernels_changed() {
    let changed = |old, new| Overlay::from(&Config::of(new)).differing(&Config::of(old));
    assert_eq!(changed(Era::E2019, Era::E2020), ["push_bursts"]);
    assert_eq!(changed(Era::E2020, Era::E5_15), ["hystart", "comp_sack_slack"]);
    let v6 = ["hystart", "prr", "cwnd_limited", "window_share", "tso_rtt_log", "ack_pushed"];
    assert_eq!(changed(Era::E5_15, Era::E6), v6);
    let v7 = [
        "comp_sack_rtt_percent",
        "comp_sack_slack",
        "ace",
        "accecn_edge_acks",
        "reader_acks",
        "tso_defer_soon",
        "tso_buffers",
        "drs_exact",
    ];
    assert_eq!(changed(Era::E6, Era::E7), v7);
    assert_eq!(Era::ALL.map(|era| Config::of(era).certain_sacks()), [4, 4, 2, 2, 2]);
    let of_kernel = |key: &str| PARAMETERS.iter().any(|p| p.key == key && p.owner == Owner::Kernel);
    assert!(v6.into_iter().chain(v7).chain(["push_bursts", "paws"]).all(of_kernel));
}

#[test]
fn what_is_set_goes_before_the_era_and_reads_back() {
    let own = Overlay { prr: Some(PrrRule::Rfc9937), ..Overlay::default() };
    let common = Overlay { era: Some(Era::E7), prr: Some(PrrRule::Linux5), ..own.clone() };
    let config = Config::from(&own.over(&common));
    assert_eq!(config, Config { prr: PrrRule::Rfc9937, ..Config::of(Era::E7) });
    assert_eq!(Config::from(&Overlay::from(&config)), config);
}

#[test]
fn ecn_unsafe_cep_goes_before_era_and_ace() {
    let reading = |era, ace, ecn_unsafe_cep| {
        let set = Overlay { ecn_unsafe_cep, ace, era: Some(era), ..Overlay::default() };
        Config::from(&set).ace_reading()
    };
    let (greatest, by_size) = (AceReading::Greatest, AceReading::ByAckSize);
    assert_eq!(reading(Era::E2020, None, None), greatest);
    assert_eq!(reading(Era::E7, None, None), by_size);
    assert_eq!(reading(Era::E2020, Some(by_size), None), by_size);
    assert_eq!(reading(Era::E7, None, Some(true)), AceReading::Least);
    assert_eq!(reading(Era::E2020, Some(greatest), Some(true)), AceReading::Least);
    assert_eq!(reading(Era::E2020, Some(AceReading::Least), Some(false)), AceReading::Least);
}
