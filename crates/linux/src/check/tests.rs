use std::collections::BTreeSet;

use super::*;
use crate::job::Place;
use crate::run::Carrier;

const LINE: &str = r#"
name = "line"
duration = "4s"
[tcp]
ecn = "rfc3168"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "fq_codel flows 1"
delay = "10ms"
reverse = { rate = "none", qdisc = "pfifo" }
[[flow]]
name = "a"
cc = "cubic"
[[ping]]
name = "p"
"#;

/// What Linux 7.2.13 has.
pub(crate) fn linux72() -> Capabilities {
    serde_json::from_str(include_str!("linux72.json")).expect("capabilities")
}

fn refusal(changes: &[(&str, &str)], kernel: &Capabilities) -> Option<String> {
    let text = changes.iter().fold(LINE.to_owned(), |text, (ours, theirs)| {
        assert!(text.contains(ours), "{ours}");
        text.replacen(ours, theirs, 1)
    });
    let scenario = sojourn_scenario::load(&text, "line.toml", &[]).expect(&text).scenario;
    check(&scenario, kernel, Place::Virtual, Carrier::Kernel)
        .err()
        .map(|refusal| refusal.to_string())
}

const CC: &str = r#"cc = "cubic""#;
const ECN: &str = r#"ecn = "rfc3168""#;
const QDISC: &str = r#"qdisc = "fq_codel flows 1""#;
const PING: &str = r#"name = "p""#;

#[test]
fn what_a_mainline_kernel_cannot_do_is_refused_with_its_key() {
    for (ours, theirs, line) in [
        (CC, r#"cc = "bbr""#, "flow.a.cc: Linux 7.2.13 has `bbr version v1` only"),
        (CC, r#"cc = "prague""#, "flow.a.cc: `prague` is in only the tree L4STeam/linux"),
        (
            CC,
            "cc = \"scream mtu 1500\"\napp = \"scream-bw\"",
            "flow.a.cc: the kernel would send more than the MTU of 1500 bytes in fragments",
        ),
        (CC, "cc = \"cubic\"\ntcp = { hz = 250 }", "flow.a.tcp.hz: the kernel is built with 1000"),
        (
            CC,
            "cc = \"cubic\"\ntcp = { frto = false }",
            "flow.a.tcp.frto: the kernel does what its version does",
        ),
        (
            CC,
            r#"app = "cbr rate 1Mbit size 1600""#,
            "flow.a.app: the kernel would send more than the MTU of 1500 bytes in fragments",
        ),
        (ECN, "gso = true", "flow.a.tcp.gso: its devices have no offloads"),
        (ECN, "gro = true", "flow.a.tcp.gro: its devices have no offloads"),
        (ECN, r#"ecn = "sce""#, "flow.a.tcp.ecn: no mainline kernel has it"),
        (ECN, "ecn_plus_plus = true", "flow.a.tcp.ecn_plus_plus: no mainline kernel has it"),
        (
            "[[ping]]",
            "[hosts]\nnoise = \"linux\"\n[[ping]]",
            "hosts.noise: its hosts have their own, or in virtual time none",
        ),
        (QDISC, r#"qdisc = "deltic""#, "link.bneck.qdisc: `deltic` is in only the tree chromi/sce"),
        (
            QDISC,
            r#"qdisc = "cake sce""#,
            "link.bneck.qdisc: Linux 7.2.13 has no `version chromi` of `cake`",
        ),
        (
            QDISC,
            r#"qdisc = "dualpi2 version 2020""#,
            "link.bneck.qdisc: Linux 7.2.13 has no `version 2020` of `dualpi2`",
        ),
        (
            QDISC,
            r#"qdisc = "red limit 400000 avpkt 1000 gentle""#,
            "link.bneck.qdisc: no kernel knows `gentle` of `red`",
        ),
        (
            "name = \"bneck\"\n",
            "name = \"bneck\"\ningress = [\"ackthin\"]\n",
            "link.bneck.ingress0: `ackthin` is in no kernel, only Sojourn",
        ),
        (
            PING,
            "name = \"p\"\nprotocol = \"udp\"\nsize = 28",
            "ping.p.size: an echo request over UDP has 30 bytes at least",
        ),
        (
            PING,
            "name = \"p\"\nsize = 2000",
            "ping.p.size: the kernel would send more than the MTU of 1500 bytes in fragments",
        ),
        (
            "[[ping]]",
            "[[tunnel]]\nname = \"vpn\"\nlinks = [\"bneck\"]\n[[ping]]",
            "tunnel.vpn: tunnels are in the simulator only",
        ),
        (
            "[[ping]]",
            "[[flow]]\nname = \"b\"\ncc = \"reno\"\ntcp = { initial_cwnd = 4 }\n[[ping]]",
            "flow.b.tcp.initial_cwnd: the kernel has one value for all flows, 10",
        ),
        (
            "[[ping]]",
            "[[schedule]]\nat = \"2s\"\nreplace = { \"link.bneck.forward.qdisc\" = \"blue\" }\n[[ping]]",
            "schedule at 2s: link.bneck.forward.qdisc: `blue` is in no kernel, only Sojourn",
        ),
    ] {
        let (key, reason) = line.rsplit_once(": ").expect("key and reason");
        let expected = format!("{key}: not on this engine: {reason}");
        assert_eq!(refusal(&[(ours, theirs)], &linux72()), Some(expected), "{theirs}");
    }
    let graph = [
        ("name = \"bneck\"\n", "name = \"bneck\"\nfrom = \"a\"\nto = \"b\"\n"),
        (CC, "cc = \"cubic\"\npath = [\"bneck\"]"),
        (PING, "name = \"p\"\npath = [\"bneck\"]"),
    ];
    assert_eq!(refusal(&graph, &linux72()), None);
    assert_eq!(refusal(&[], &linux72()), None);
    assert_eq!(refusal(&[(CC, r#"cc = "bbr version v1""#)], &linux72()), None);
}

#[test]
fn sockets_differ_in_what_bounds_their_pacing_rate() {
    let second =
        "[[flow]]\nname = \"b\"\ncc = \"cubic\"\ntcp = { max_pacing_rate = \"5Mbit\" }\n[[ping]]";
    assert_eq!(refusal(&[("[[ping]]", second)], &linux72()), None);
}

#[test]
fn a_kernel_may_lack_what_mainline_has() {
    let mut kernel = linux72();
    kernel.controllers.remove("cubic");
    let line = "flow.a.cc: not on this engine: `cubic` is mainline since 2.6.13, and not in this Linux 7.2.13";
    assert_eq!(refusal(&[], &kernel).as_deref(), Some(line));
    kernel.qdiscs.remove("htb");
    let line = "link.bneck.shaper: not on this engine: `htb` is mainline since 2.4.20, and not in this Linux 7.2.13";
    assert_eq!(refusal(&[], &kernel).as_deref(), Some(line));
    let mut kernel = linux72();
    kernel.qdiscs.remove("netem");
    let line = "link.bneck.delay: not on this engine: `netem` is mainline since 2.6, and not in this Linux 7.2.13; a kernel \
                has no other delay: expected 0s, or our queues and delays, --qdisc sojourn";
    assert_eq!(refusal(&[], &kernel).as_deref(), Some(line));
    let mut kernel = linux72();
    kernel.qdiscs.insert("fq_codel".to_owned(), ["flows".to_owned()].into());
    let line = "link.bneck.qdisc: not on this engine: Linux 7.2.13 or its tc refuses or ignores `flows 1` of `fq_codel`";
    assert_eq!(refusal(&[], &kernel).as_deref(), Some(line));
}

#[test]
fn what_a_build_of_ones_own_has_runs() {
    let mut own = Capabilities { release: "5.4.7-prague".to_owned(), accecn: true, ..linux72() };
    own.controllers
        .extend([("prague".to_owned(), "0.7".to_owned()), ("bbr".to_owned(), "3".to_owned())]);
    own.settings.extend(["tcp_sce".to_owned(), "tcp_ecn_unsafe_cep".to_owned()]);
    own.qdiscs.extend([
        ("deltic".to_owned(), BTreeSet::default()),
        ("cake".to_owned(), BTreeSet::default()),
    ]);
    own.qdiscs
        .insert("dualpi2".to_owned(), ["memlimit".to_owned(), "min_qlen_step".to_owned()].into());
    for (ours, theirs) in [
        (CC, r#"cc = "prague version p2b""#),
        (CC, r#"cc = "bbr version v3""#),
        (ECN, r#"ecn = "sce""#),
        (ECN, "ecn = \"accecn\"\necn_unsafe_cep = true"),
        (QDISC, r#"qdisc = "deltic version 2023a""#),
        (QDISC, r#"qdisc = "cake sce""#),
        (QDISC, r#"qdisc = "dualpi2 version 2020""#),
        (QDISC, r#"qdisc = "pie version 5.4""#),
    ] {
        assert_eq!(refusal(&[(ours, theirs)], &own), None, "{theirs}");
    }
    let refused = |theirs: &str| refusal(&[(QDISC, theirs)], &own).unwrap_or_default();
    assert!(refused(r#"qdisc = "dualpi2""#).ends_with("has no `version mainline` of `dualpi2`"));
    assert!(
        refused(r#"qdisc = "pie""#)
            .ends_with("Linux 5.4.7-prague has no `version mainline` of `pie`")
    );
    let before_accecn = Capabilities { accecn: false, ..linux72() };
    let line = "flow.a.tcp.ecn: not on this engine: Linux 7.2.13 refuses AccECN (tcp_ecn=3)";
    assert_eq!(refusal(&[(ECN, r#"ecn = "accecn""#)], &before_accecn).as_deref(), Some(line));
}

/// Whose end points a flow of these lines has, with our queues on this machine.
fn stack(flow: &str) -> Result<Stack, String> {
    let text = LINE.replacen(CC, flow, 1);
    let scenario = sojourn_scenario::load(&text, "line.toml", &[]).expect(&text).scenario;
    let carrier = Carrier::Middlebox {
        bound: Dur::from_millis(1),
        has_super_packets: false,
        keeps_awake: false,
    };
    let found = stacks(&scenario, &linux72(), Place::Machine, carrier);
    found.map(|stacks| stacks[0]).map_err(|refusal| refusal.to_string())
}

#[test]
fn a_flow_has_the_end_points_of_the_kernel_if_it_can_and_else_ours() {
    assert_eq!(stack(CC), Ok(Stack::Kernel));
    assert_eq!(stack("cc = \"cubic\"\nstack = \"sojourn\""), Ok(Stack::Sojourn));
    assert_eq!(stack(r#"cc = "prague""#), Ok(Stack::Sojourn));
    // A machine is as it is.
    assert_eq!(stack("cc = \"cubic\"\ntcp = { hz = 250 }"), Ok(Stack::Kernel));
    let wanted = stack("cc = \"prague\"\nstack = \"kernel\"").expect_err("no kernel has it");
    assert!(wanted.starts_with("flow.a.cc: not on this engine: `prague` is in"), "{wanted}");
}

#[test]
fn media_are_ours_over_the_kernels_udp_with_any_queues() {
    let scream = "cc = \"scream\"\napp = \"scream-bw\"";
    for flow in [scream, "cc = \"gcc\"\napp = \"video\"", "cc = \"udp-prague\""] {
        assert_eq!(stack(flow), Ok(Stack::Scream), "{flow}");
        assert_eq!(stack(&format!("{flow}\nstack = \"sojourn\"")), Ok(Stack::Sojourn), "{flow}");
        assert_eq!(refusal(&[(CC, flow)], &linux72()), None, "{flow}");
    }
    // One value for all flows of the kernel's own alone.
    let other = format!("{scream}\ntcp = {{ initial_cwnd = 4 }}\n[[flow]]\nname = \"b\"\n{CC}");
    assert_eq!(refusal(&[(CC, &other)], &linux72()), None);
}

#[test]
fn our_end_points_need_our_queues() {
    let line = "flow.a.stack: not on this engine: our end points need our queues";
    let own = refusal(&[(CC, "cc = \"cubic\"\nstack = \"sojourn\"")], &linux72());
    assert_eq!(own.as_deref(), Some(line));
}
