//! Kernel eras and the versions of Reno and CUBIC with real flows; and a real Linux beside them.

use crate::lab::{Named, close, run_with, total};

/// The dumbbell of `docs/algorithms/tcp.md`: htb of 50 Mbit/s, the path's delay on the way back.
const KERNEL: &str = r#"
duration = "30s"
measure = { from = "5s", to = "30s" }
[tcp]
era = "7.x"
ecn = "rfc3168"
rmem_max = "16Mb"
wmem_max = "16Mb"
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "fq_codel flows 1"
[link.reverse]
rate = "none"
shaper = "none"
qdisc = "pfifo"
ingress = ["netem delay 20ms limit 1000000"]
[[flow]]
name = "a"
cc = "cubic"
"#;

/// The way back with this delay in milliseconds.
fn back(ms: u32) -> String {
    format!(r#"["netem delay {ms}ms limit 1000000"]"#)
}

/// Goodput (Mbit/s) and mean smoothed RTT (ms) of Linux 7.2 where runs hardly differ from each
/// other: one flow, no random marking.
#[test]
fn goodput_and_rtt_are_those_of_linux_7_2() {
    for (qdisc, ecn, rtt, cc, mbps, ms) in [
        ("fq_codel flows 1", "rfc3168", 20, "cubic", 47.311, 22.671),
        ("fq_codel flows 1", "rfc3168", 80, "cubic", 44.627, 80.770),
        ("fq_codel flows 1", "rfc3168", 20, "reno", 43.369, 21.939),
        ("fq_codel flows 1", "rfc3168", 80, "reno", 36.783, 80.484),
        ("fq_codel flows 1 noecn", "off", 20, "cubic", 47.227, 22.630),
        ("fq_codel flows 1 noecn", "off", 80, "cubic", 44.249, 80.876),
        ("pfifo limit 250", "off", 20, "cubic", 47.731, 69.001),
        ("pfifo limit 250", "off", 80, "cubic", 47.983, 120.188),
    ] {
        let output = run_with(
            KERNEL,
            &[
                ("link.bneck.qdisc", qdisc.to_owned()),
                ("tcp.ecn", ecn.to_owned()),
                ("link.bneck.reverse.ingress", back(rtt)),
                ("flow.a.cc", cc.to_owned()),
            ],
        );
        let flow = output.flow("a");
        let share = flow.goodput_mbps / mbps;
        assert!((0.98..1.02).contains(&share), "{qdisc} {rtt} ms {cc}: {}", flow.goodput_mbps);
        let mean = flow.rtt_ms.as_ref().expect("samples").mean;
        assert!((0.98..1.02).contains(&(mean / ms)), "{qdisc} {rtt} ms {cc}: {mean} ms");
    }
}

#[test]
fn every_era_and_every_flag_runs_and_fills_a_fifo() {
    let flags = [
        ("era", "2019"),
        ("era", "2020"),
        ("era", "5.15"),
        ("era", "6.x"),
        ("era", "7.x"),
        ("hystart", "5.15"),
        ("prr", "rfc9937"),
        ("cwnd_limited", "latest"),
        ("tso_rtt_log", "0"),
        ("comp_sack_slack", "100us"),
        ("ace", "least"),
        ("tso_defer_soon", "false"),
        ("tso_buffers", "false"),
        ("drs_exact", "false"),
        ("accecn_edge_acks", "false"),
        ("paws", "false"),
        ("frto", "false"),
        ("undo", "false"),
    ];
    for (key, value) in flags {
        let output = run_with(
            KERNEL,
            &[
                ("link.bneck.qdisc", "pfifo limit 250".into()),
                ("duration", "10s".into()),
                ("measure.to", "10s".into()),
                (&format!("tcp.{key}"), value.to_owned()),
            ],
        );
        let goodput = output.flow("a").goodput_mbps;
        close(goodput, 47.82, 1.0);
        assert_eq!(total(&output.flow("a").sender, "undone_reductions"), 0.0, "{key} {value}");
    }
}

#[test]
fn a_receive_buffer_holds_the_era_s_share_of_payload() {
    // 250 Mbit/s over 160 ms need 5 MB; half of 6 MiB is 3.1 MB, so half of the rate is out of reach.
    let peak = |era: &str| {
        let output = run_with(
            KERNEL,
            &[
                ("link.bneck.qdisc", "pfifo limit 10000".into()),
                ("link.bneck.rate", "250Mbit".into()),
                ("link.bneck.reverse.ingress", back(160)),
                ("tcp.rmem_max", "6Mb".into()),
                ("tcp.era", era.to_owned()),
            ],
        );
        output.flow("a").goodput_mbps
    };
    let (old, new) = (peak("2020"), peak("6.x"));
    close(old, 6.0 * 1024.0 * 1024.0 * 8.0 / 2.0 / 0.16 / 1e6, 2.0);
    close(new, old * 153.0 / 128.0, 2.0);
}

#[test]
fn hystart_plus_plus_loses_less_in_the_first_overshoot_than_plain_slow_start() {
    let lost = |cc: &str| {
        let output = run_with(
            KERNEL,
            &[
                ("link.bneck.qdisc", "pfifo limit 250".into()),
                ("link.bneck.reverse.ingress", back(40)),
                ("tcp.ecn", "off".into()),
                ("duration", "6s".into()),
                ("measure.from", "1s".into()),
                ("measure.to", "6s".into()),
                ("flow.a.cc", cc.to_owned()),
            ],
        );
        total(&output.flow("a").sender, "lost")
    };
    for (plain, with) in [
        ("reno", "reno hystart ++"),
        ("cubic hystart off", "cubic hystart ++"),
        ("cubic version rfc9438 hystart off", "cubic version rfc9438"),
    ] {
        let (plain_lost, with_lost) = (lost(plain), lost(with));
        assert!(plain_lost > 50.0, "{plain}: {plain_lost}");
        assert!(with_lost < plain_lost / 2.0, "{with}: {with_lost} of {plain_lost}");
    }
}

#[test]
fn cubic_of_the_rfc_and_of_linux_share_a_queue_evenly() {
    let text = format!("{KERNEL}[[flow]]\nname = \"b\"\ncc = \"cubic version rfc9438\"\n");
    let output = run_with(
        &text,
        &[
            // Random marks: the two would fall into step under deterministic ones.
            ("link.bneck.qdisc", "pie ecn".into()),
            ("duration", "60s".into()),
            ("measure.from", "20s".into()),
            ("measure.to", "60s".into()),
        ],
    );
    let (linux, rfc) = (output.flow("a").goodput_mbps, output.flow("b").goodput_mbps);
    assert!(linux + rfc > 45.0, "{linux} + {rfc}");
    let ratio = rfc / linux;
    assert!((0.67..1.5).contains(&ratio), "{linux} and {rfc}");
}

#[test]
fn reordering_on_the_path_is_taken_back() {
    let run = |undo: bool| {
        let output = run_with(
            KERNEL,
            &[
                ("link.bneck.ingress", r#"["netem delay 12ms reorder 99.9% limit 100000"]"#.into()),
                ("tcp.undo", undo.to_string()),
                ("tcp.ecn", "off".into()),
            ],
        );
        (output.flow("a").goodput_mbps, total(&output.flow("a").sender, "undone_reductions"))
    };
    let ((with, undone), (without, none)) = (run(true), run(false));
    assert!(undone > 0.0 && none == 0.0, "{undone} and {none}");
    assert!(with >= without, "{with} and {without}");
}
