use super::*;
use crate::check::check;
use crate::check::tests::linux72;
use crate::job::Place;
use crate::run::Carrier;

const WANTED: &str = r#"
name = "wanted"
duration = "4s"
[tcp]
era = "2020"
hz = 250
gso = true
paws = false
ecn_plus_plus = true
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2 version 2020 target 10ms"
reverse = { rate = "none", qdisc = "pie version 5.4 target 20ms" }
[[flow]]
name = "a"
cc = "bbr"
[[flow]]
name = "b"
cc = "cubic beta 800"
tcp = { ecn = "off", initial_cwnd = 4 }
[[schedule]]
at = "2s"
replace = { "link.bneck.forward.qdisc" = "red limit 400kb avpkt 1000 gentle" }
"#;

fn loaded(text: &str) -> Scenario {
    sojourn_scenario::load(text, "wanted.toml", &[]).expect("a scenario").scenario
}

#[test]
fn the_kernels_own_stands_for_other_versions_and_settings() {
    let wanted = loaded(WANTED);
    let (used, differences) = nearest(&wanted, &linux72());
    assert_eq!(check(&used, &linux72(), Place::Virtual, Carrier::Kernel), Ok(()));
    let rows: Vec<_> =
        differences.iter().map(|d| format!("{}: {} -> {}", d.key, d.wanted, d.used)).collect();
    let of_flow = |name: &str, rows: &[&str]| {
        rows.iter().map(|row| format!("flow.{name}.{row}")).collect::<Vec<_>>()
    };
    let tcp = [
        "paws: false -> true",
        "ecn_plus_plus: true -> false",
        "gso: true -> false",
        "hz: 250 -> 1000",
    ]
    .map(|row| format!("tcp.{row}"));
    let tcp = tcp.each_ref().map(String::as_str);
    let red = "red limit 409600b avpkt 1000b";
    let expected = [
        vec![
            "link.bneck.qdisc: dualpi2 version 2020 target 10ms -> dualpi2 target 10ms".to_owned(),
            "link.bneck.reverse.qdisc: pie target 20ms version 5.4 -> pie target 20ms".to_owned(),
        ],
        of_flow("a", &["cc: bbr -> bbr version v1"]),
        of_flow("a", &tcp),
        of_flow("b", &["cc: cubic beta 800 -> cubic"]),
        of_flow("b", &tcp),
        of_flow("b", &["tcp.initial_cwnd: 4 -> 10"]),
        vec![format!("schedule at 2s: link.bneck.forward.qdisc: {red} gentle -> {red}")],
    ];
    assert_eq!(rows, expected.concat());
    let text = sojourn_scenario::to_toml(&used);
    assert_eq!(loaded(&text), used);
    assert_eq!(nearest(&used, &linux72()), (used.clone(), vec![]));
}

#[test]
fn nothing_stands_for_what_the_kernel_does_not_have() {
    for (ours, theirs, key) in [
        (r#""bbr""#, r#""prague""#, "flow.a.cc"),
        (r#""bbr""#, r#""cubic-sce""#, "flow.a.cc"),
        ("dualpi2 version 2020 target 10ms", "deltic", "link.bneck.qdisc"),
        ("dualpi2 version 2020 target 10ms", "cake sce", "link.bneck.qdisc"),
        ("dualpi2 version 2020 target 10ms", "fq_codel sce_threshold 1ms", "link.bneck.qdisc"),
    ] {
        let (used, _) = nearest(&loaded(&WANTED.replacen(ours, theirs, 1)), &linux72());
        assert_eq!(
            check(&used, &linux72(), Place::Virtual, Carrier::Kernel)
                .map_err(|refusal| refusal.key),
            Err(key.to_owned()),
            "{theirs}"
        );
    }
}

#[test]
fn noise_of_hosts_is_left_out_and_named() {
    let noisy = WANTED.replacen("[[schedule]]", "[hosts]\nnoise = \"linux\"\n[[schedule]]", 1);
    let (used, differences) = nearest(&loaded(&noisy), &linux72());
    assert_eq!(used, nearest(&loaded(WANTED), &linux72()).0);
    let difference = differences.iter().find(|d| d.key == "hosts.noise").expect("it is named");
    assert!(difference.wanted.starts_with("linux") && difference.used == "none");
}

#[test]
fn an_old_kernel_gets_its_old_versions() {
    let old = Capabilities { release: "5.4.7".to_owned(), accecn: false, ..linux72() };
    let text = WANTED.replace("version 2020 ", "").replace("version 5.4 ", "");
    let (used, differences) = nearest(&loaded(&text), &old);
    let link = &used.links[0];
    assert_eq!(Ok(&link.forward.qdisc), "dualpi2 version 2020 target 10ms".parse().as_ref());
    assert_eq!(Ok(&link.reverse.qdisc), "pie version 5.4 target 20ms".parse().as_ref());
    assert_eq!(used.flows[0].tcp.ecn, Feedback::Rfc3168);
    assert!(differences.iter().any(|d| d.key == "flow.a.tcp.ecn" && d.wanted == "accecn"));
}
