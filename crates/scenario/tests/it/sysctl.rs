//! `tcp.sysctl`: the kernel's names mean keys of ours, and nothing else.

use sojourn_cc as cc;
use sojourn_cc::Feedback;
use sojourn_scenario::{Parsed, ScenarioError, load, to_toml};
use sojourn_transport::tcp::SceFeedback;

const BASE: &str =
    "name = \"base\"\nduration = \"30s\"\n[[link]]\nname = \"b\"\nrate = \"1Mbit\"\n";

fn with(tcp: &str, flow: &str, overrides: &[(&str, &str)]) -> Result<Parsed, ScenarioError> {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    load(&format!("{BASE}[tcp]\n{tcp}\n[[flow]]\nname = \"a\"\n{flow}\n"), "my.toml", &overrides)
}

fn refused(tcp: &str, flow: &str) -> String {
    with(tcp, flow, &[]).expect_err("it is wrong").to_string()
}

#[test]
fn every_setting_becomes_its_key() {
    let settings = r#"sysctl = { "net.ipv4.tcp_ecn" = 1, tcp_sce = 1, tcp_sce_feedback = 0, tcp_pacing_ss_ratio = 100,
        tcp_pacing_ca_ratio = 40, tcp_rmem = "4096 65536 1048576", tcp_wmem = [4096, 16384, 2097152], tcp_timestamps = 0,
        tcp_limit_output_bytes = 262144, tcp_frto = 0, tcp_tso_rtt_log = 9, tcp_comp_sack_rtt_percent = 33,
        tcp_comp_sack_slack_ns = 10000, tcp_adv_win_scale = 1, tcp_ecn_option = 2, tcp_ecn_unsafe_cep = 1,
        tcp_sack = 1, tcp_reordering = 3, tcp_min_tso_segs = 2, tcp_notsent_lowat = 4294967295 }"#
        .replace('\n', " ");
    let ours = r#"ecn = "sce"
        sce_feedback = "dithered"
        pacing_ss_ratio = 100
        pacing_ca_ratio = 40
        rmem_default = "64Kb"
        rmem_max = "1Mb"
        wmem_max = "2Mb"
        timestamps = false
        limit_output_bytes = "256Kb"
        frto = false
        tso_rtt_log = 9
        comp_sack_rtt_percent = 33
        comp_sack_slack = "10us"
        window_share = 128
        accecn_option = true
        ecn_unsafe_cep = true"#;
    let cc = "cc = \"cubic-sce\"";
    let (theirs, ours) = (with(&settings, cc, &[]).unwrap(), with(ours, cc, &[]).unwrap());
    assert_eq!(theirs.scenario, ours.scenario);
    assert_eq!(theirs.scenario.flows[0].tcp.ecn, Feedback::Sce);
    assert_eq!(theirs.scenario.flows[0].tcp.sce_feedback, SceFeedback::Dithered);
    assert!(!to_toml(&theirs.scenario).contains("sysctl"));
}

#[test]
fn ecn_is_what_two_ends_with_this_setting_negotiate() {
    for (number, mode) in [
        (0, Feedback::None),
        (1, Feedback::Rfc3168),
        (2, Feedback::None),
        (3, Feedback::AccEcn),
        (4, Feedback::Rfc3168),
        (5, Feedback::None),
    ] {
        let given = with(&format!("sysctl.tcp_ecn = {number}"), "cc = \"cubic\"", &[]).unwrap();
        assert_eq!(given.scenario.flows[0].tcp.ecn, mode, "{number}");
    }
    let dctcp = with("sysctl.tcp_ecn = 1", "cc = \"dctcp\"", &[]).unwrap();
    assert_eq!(dctcp.scenario.flows[0].tcp.ecn, Feedback::Dctcp);
    let own = with("", "cc = \"dctcp\"\ntcp.sysctl.tcp_ecn = 1", &[]).unwrap();
    assert_eq!(own.scenario.flows[0].tcp.ecn, Feedback::Dctcp);
}

#[test]
fn a_default_controller_is_for_flows_over_tcp_without_one() {
    let flows = "[[flow]]\nname = \"b\"\ncc = \"reno\"\n[[flow]]\nname = \"c\"\napp = \"voip\"";
    let parsed = with("sysctl.tcp_congestion_control = \"prague\"", flows, &[]).unwrap();
    let cc: Vec<_> =
        parsed.scenario.flows.iter().map(|flow| flow.cc.as_ref().map(cc::Spec::name)).collect();
    assert_eq!(cc, [Some("prague"), Some("reno"), None]);
    let own = with("", "tcp.sysctl = { tcp_congestion_control = \"bbr\" }", &[]).unwrap();
    assert_eq!(own.scenario.flows[0].cc.as_ref().map(cc::Spec::name), Some("bbr"));
}

#[test]
fn an_override_may_use_the_kernels_dotted_name() {
    for key in ["tcp.sysctl.tcp_ecn", "tcp.sysctl.net.ipv4.tcp_ecn", "flow.a.tcp.sysctl.tcp_ecn"] {
        let parsed = with("", "cc = \"cubic\"", &[(key, "0")]).unwrap();
        assert_eq!(parsed.scenario.flows[0].tcp.ecn, Feedback::None, "{key}");
    }
    let sweep = format!(
        "{BASE}[[flow]]\nname = \"a\"\ncc = \"cubic\"\n[sweep]\n\"tcp.sysctl.tcp_ecn\" = [0, 3]\n"
    );
    let modes: Vec<_> = sojourn_scenario::expand(&sweep, "my.toml", &[])
        .unwrap()
        .iter()
        .map(|point| point.scenario.flows[0].tcp.ecn)
        .collect();
    assert_eq!(modes, [Feedback::None, Feedback::AccEcn]);
}

#[test]
fn a_flows_own_key_goes_before_the_common_setting() {
    let parsed = with("sysctl.tcp_ecn = 1", "cc = \"cubic\"\ntcp.ecn = \"accecn\"", &[]).unwrap();
    assert_eq!(parsed.scenario.flows[0].tcp.ecn, Feedback::AccEcn);
    let same = with(
        "rmem_max = \"6Mb\"\nsysctl.tcp_rmem = \"4096 131072 6291456\"",
        "cc = \"cubic\"",
        &[],
    );
    assert!(same.is_ok(), "what says the same is no contradiction");
}

#[test]
fn what_has_no_form_is_refused_by_name() {
    for (tcp, message) in [
        (
            "sysctl.tcp_enc = 1",
            "tcp.sysctl: unknown setting \"tcp_enc\" (did you mean \"tcp_ecn\"?); valid: ",
        ),
        ("sysctl.tcp_ecn = 7", "tcp.sysctl.tcp_ecn: expected 0 to 5, got 7"),
        (
            "sysctl.tcp_sack = 0",
            "tcp.sysctl.tcp_sack: expected 1, which the model always does, got 0",
        ),
        (
            "sysctl.tcp_rmem = \"4096 1\"",
            "tcp.sysctl.tcp_rmem: expected three sizes that grow, such as",
        ),
        ("sysctl.tcp_ecn_option = 1", "tcp.sysctl.tcp_ecn_option: expected 0 or 2 or 3, got 1"),
        ("sysctl.tcp_sce = 0", "tcp.sysctl.tcp_sce: expected tcp_ecn beside it, got 0"),
        (
            "sysctl = { tcp_ecn = 3, tcp_sce = 1 }",
            "tcp.sysctl.tcp_ecn: tcp_sce = 1 needs tcp_ecn = 1, got 3",
        ),
        ("sysctl = 3", "tcp.sysctl: expected a table such as { tcp_ecn = 3 }, got 3"),
        ("sysctl.tcp_pacing_ca_ratio = 0", "tcp.pacing_ca_ratio: expected 1 to 1000"),
        (
            "ecn = \"off\"\nsysctl.tcp_ecn = 3",
            "tcp.sysctl.tcp_ecn: 3 means ecn = \"accecn\", which contradicts ecn = \"off\"",
        ),
        (
            "tcp_ecn = 3",
            "tcp: unknown key \"tcp_ecn\": the kernel's name of `tcp.ecn`; `tcp.sysctl.tcp_ecn` is read, too",
        ),
        (
            "net.ipv4.tcp_sce = 1",
            "tcp: unknown key \"net\": the kernel's names go below `tcp`, as `sysctl = ",
        ),
        (
            "tcp_sack = 1",
            "tcp: unknown key \"tcp_sack\": this setting of the kernel is always 1 here",
        ),
    ] {
        let text = refused(tcp, "cc = \"cubic\"");
        let shown = text.split_once(": ").unwrap().1;
        assert!(shown.starts_with(message), "{text}");
        assert!(text.starts_with("my.toml:7: ") || text.starts_with("my.toml:8: "), "{text}");
    }
    let text = refused("", "cc = \"cubic\"\ntcp.sysctl.tcp_congestion_control = \"prague\"");
    assert!(text.ends_with(
        "flow.a.tcp.sysctl.tcp_congestion_control: \"prague\" contradicts cc = \"cubic\""
    ));
    let text = refused("", "app = \"voip\"\ntcp.sysctl.tcp_congestion_control = \"prague\"");
    assert!(text.ends_with("\"prague\": this application is not TCP's"));
    let text = with("", "cc = \"cubic\"", &[("tcp_ecn", "3")]).unwrap_err().to_string();
    assert!(
        text.starts_with("-s : unknown key \"tcp_ecn\": the kernel's name of `tcp.ecn`"),
        "{text}"
    );
}

#[test]
fn no_value_of_any_type_is_more_than_a_line() {
    let values = [
        "\"\"",
        "\"x y\"",
        "1.5",
        "true",
        "[]",
        "[[1]]",
        "[1, \"2\"]",
        "1979-05-27",
        "{}",
        "{ a = 1 }",
        "-9223372036854775808",
        "9223372036854775807",
        "\"99999999999999999999999999999999999999999\"",
    ];
    let names = [
        "tcp_ecn",
        "tcp_sce",
        "tcp_rmem",
        "tcp_adv_win_scale",
        "tcp_limit_output_bytes",
        "tcp_comp_sack_slack_ns",
        "tcp_congestion_control",
        "tcp_pacing_ca_ratio",
        "tcp_sack",
        "tcp_frto",
        "tcp_sce_feedback",
    ];
    for name in names {
        for value in values {
            for place in ["tcp.sysctl", "flow.a.tcp.sysctl"] {
                let key = format!("{place}.{name}");
                let text = format!("sysctl.{name} = {value}");
                let results = [
                    with("", "cc = \"cubic\"", &[(&key, value)]),
                    with(&text, "cc = \"cubic\"", &[]),
                ];
                for error in results.into_iter().filter_map(Result::err) {
                    let shown = error.to_string();
                    assert!(
                        shown.lines().count() == 1 && shown.contains("tcp"),
                        "{key} = {value}: {shown}"
                    );
                }
            }
        }
    }
}
