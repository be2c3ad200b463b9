//! Which settings are reported to have no effect, and which are not.

use sojourn_scenario::load;

const BASE: &str = r#"
name = "idle"
duration = "10s"
[tcp]
[[link]]
name = "b"
rate = "50Mbit"
shaper = "htb"
[[flow]]
name = "f"
cc = "reno-sce"
[[flow]]
name = "g"
cc = "cubic"
"#;

fn warnings(text: &str, overrides: &[(&str, &str)]) -> Vec<String> {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    load(text, "f.toml", &overrides).unwrap_or_else(|e| panic!("{e}")).warnings
}

#[test]
fn pacing_ratios_without_pacing_are_warned_about_with_their_place() {
    let text = BASE.replace("[tcp]", "[tcp]\npacing_ss_ratio = 100\npacing_ca_ratio = 40");
    let why = "no effect here: nothing is paced, since `tcp.pacing` is off and no controller asks \
               for it (bursts are sized by it)";
    assert_eq!(
        warnings(&text, &[]),
        [
            format!("f.toml:5: tcp.pacing_ss_ratio: {why}"),
            format!("f.toml:6: tcp.pacing_ca_ratio: {why}"),
        ]
    );
    assert!(warnings(&text, &[("tcp.pacing", "true")]).is_empty());
    assert!(warnings(&text, &[("flow.g.tcp.pacing", "true")]).is_empty(), "one flow feels it");
    assert!(warnings(&text, &[("flow.g.cc", "prague")]).is_empty(), "Prague asks for pacing");
    let own = warnings(BASE, &[("flow.g.tcp.pacing_ca_ratio", "40")]);
    assert_eq!(own.len(), 1);
    assert!(own[0].starts_with("-s flow.g.tcp.pacing_ca_ratio: no effect here: "), "{own:?}");
}

#[test]
fn a_setting_is_idle_until_what_it_needs_is_there() {
    for (key, value, needs) in [
        ("limit_output_bytes", "64Kb", ("tcp.tsq", "true")),
        ("gro_flush_timeout", "50us", ("tcp.gro", "true")),
        ("max_tcp_header", "208", ("tcp.tsq_netem", "true")),
        ("accecn_option", "true", ("flow.g.tcp.ecn", "accecn")),
        ("ecn_unsafe_cep", "true", ("flow.g.tcp.ecn", "accecn")),
        ("accecn_edge_acks", "true", ("flow.g.tcp.ecn", "accecn")),
        ("ace", "least", ("flow.g.tcp.ecn", "accecn")),
        ("sce_feedback", "dithered", ("tcp.ecn", "sce")),
        ("ecn_plus_plus", "true", ("flow.g.tcp.ecn", "rfc3168")),
        ("hystart", "newer", ("flow.f.cc", "cubic")),
        ("prr", "rfc9937", ("flow.f.cc", "cubic")),
    ] {
        let key = format!("tcp.{key}");
        let without = match key.as_str() {
            "tcp.hystart" => vec![("flow.f.cc", "reno"), ("flow.g.cc", "dctcp")],
            "tcp.prr" => vec![("flow.f.cc", "bbr"), ("flow.g.cc", "bbr")],
            _ => vec![("tcp.ecn", "off")],
        };
        let idle: Vec<_> = [(key.as_str(), value)].into_iter().chain(without).collect();
        let found = warnings(BASE, &idle);
        assert!(found.iter().any(|w| w.contains(&format!("{key}: no effect"))), "{key}: {found:?}");
        let acting: Vec<_> = idle.iter().copied().chain([needs]).collect();
        let found = warnings(BASE, &acting);
        assert!(!found.iter().any(|w| w.contains("no effect")), "{key}: {found:?}");
    }
}

#[test]
fn a_tcp_table_of_a_flow_without_tcp_and_words_without_their_partner_are_named() {
    let udp = format!("{BASE}[[flow]]\nname = \"v\"\napp = \"voip\"\ntcp = {{ hz = 250 }}\n");
    let found = warnings(&udp, &[]);
    assert_eq!(found, ["f.toml:18: flow.v.tcp: no effect here: `voip` does not use TCP"]);
    let media = udp.replace("app = \"voip\"", "app = \"video\"\ncc = \"gcc\"");
    assert_eq!(warnings(&media, &[]).len(), 1);
    assert!(warnings(&media.replace("hz = 250", "mtu = 1400"), &[]).is_empty(), "it reads the MTU");
    let back = "fq_pie ecn_prob 5";
    let found = warnings(BASE, &[("link.b.reverse.qdisc", back)]);
    assert!(found[0].starts_with("-s link.b.reverse.qdisc: no effect here"), "{found:?}");
    for (queue, count) in [
        ("fq_codel ce_threshold_selector 0x1/0x3", 1),
        ("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3", 0),
        ("fq_pie ecn_prob 5", 1),
        ("fq_pie ecn ecn_prob 5", 0),
    ] {
        assert_eq!(warnings(BASE, &[("link.b.qdisc", queue)]).len(), count, "{queue}");
    }
}

#[test]
fn a_resolved_file_says_nothing_and_a_sweep_leaves_it_to_its_runs() {
    let loaded = load(BASE, "f.toml", &[]).unwrap();
    let written = sojourn_scenario::to_toml(&loaded.scenario);
    assert!(warnings(&written, &[]).is_empty(), "{written}");
    let text = BASE.replace("[tcp]", "[tcp]\npacing_ca_ratio = 40");
    let swept = format!("{text}[sweep]\n\"tcp.pacing\" = [false, true]\n");
    assert!(warnings(&swept, &[]).is_empty());
    assert_eq!(warnings(&swept, &[("tcp.pacing", "false")]).len(), 1);
    assert!(warnings(&swept, &[("tcp.pacing", "true")]).is_empty());
}
