//! Rates and delays that follow from arithmetic.

use crate::lab::{Named, close, run, run_with};

const ONE: &str = r#"
duration = "12s"
measure = { from = "4s", to = "12s" }
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "pfifo limit 1000"
ingress = ["netem delay 10ms limit 100000"]
[[flow]]
name = "a"
cc = "cubic"
[[ping]]
name = "p"
interval = "10ms"
"#;

// X1
#[test]
fn goodput_reaches_its_ceiling_and_never_exceeds_it() {
    for (rate, cc, qdisc, shaper, least) in [
        (5.0, "cubic", "pfifo limit 100", "htb", 0.95),
        (50.0, "cubic", "pfifo limit 1000", "htb", 0.95),
        // Half of a BDP of 84 segments and a target of 5 ms do not fill the link.
        (50.0, "reno", "fq_codel", "htb", 0.85),
        (50.0, "prague", "dualpi2", "htb", 0.95),
        (50.0, "prague", "dualpi2", "none", 0.95),
        (200.0, "prague", "dualpi2", "none", 0.95),
    ] {
        let output = run_with(
            ONE,
            &[
                ("link.bneck.rate", format!("{rate}Mbit")),
                ("link.bneck.qdisc", qdisc.to_owned()),
                ("link.bneck.shaper", shaper.to_owned()),
                ("flow.a.cc", cc.to_owned()),
            ],
        );
        let ceiling = rate * 1448.0 / 1514.0;
        let share = output.flow("a").goodput_mbps / ceiling;
        assert!((least..=1.005).contains(&share), "{rate} {cc} {qdisc} {shaper}: {share:.4}");
        let utilisation = output.queue("bneck").utilisation.expect("a rate");
        assert!(utilisation <= 1.005, "{rate} {cc}: {utilisation}");
    }
}

// X5: limit times the time of a frame, and the base RTT in the ping.
#[test]
fn a_full_fifo_delays_by_its_limit() {
    for (limit, ms) in [(1000, 242.24), (100, 24.224), (50, 12.112)] {
        let qdisc = format!("pfifo limit {limit}");
        let output = run_with(
            ONE,
            &[
                ("link.bneck.qdisc", qdisc),
                ("flow.a.cc", "cubic".into()),
                ("duration", "40s".into()), // CUBIC is there every few seconds
                ("measure.to", "40s".into()),
            ],
        );
        let most = output.queue("bneck").sojourn_ms.expect("packets").max;
        assert!(most <= ms * 1.005, "{limit}: {most} > {ms}");
        if limit < 1000 {
            assert!(most >= ms * 0.97, "{limit}: {most} < {ms}");
            let rtt = output.ping("p").rtt_ms.expect("replies").max;
            assert!((rtt - 20.0) >= ms * 0.9 && rtt <= 20.0 + ms * 1.005 + 0.5, "{limit}: {rtt}");
        }
    }
}

// X6
#[test]
fn a_frame_takes_its_time_at_five_megabits() {
    let text = r#"
duration = "2s"
[[link]]
name = "bneck"
rate = "5Mbit"
delay = "5ms"
[link.reverse]
rate = "none"
[[ping]]
name = "p"
size = 1500
"#;
    for shaper in ["none", "htb"] {
        let rtt = run_with(text, &[("link.bneck.shaper", shaper.to_owned())]);
        let rtt = rtt.ping("p").rtt_ms.expect("replies");
        // An idle htb has saved one burst, so a lone frame passes it at once.
        let expected = if shaper == "none" { 12.4224 } else { 10.0 };
        assert!((rtt.p50 - expected).abs() < 1e-6 && rtt.max - rtt.p05 < 1e-6, "{rtt:?}");
    }
    let busy = text.replace("[[ping]]", "[[flow]]\nname = \"a\"\ncc = \"reno\"\n[[ping]]");
    let output = run_with(&busy, &[("link.bneck.shaper", "htb".to_owned())]);
    let least = output.ping("p").rtt_ms.expect("replies").p50;
    assert!(least >= 12.4, "{least}");
}

#[test]
fn a_shaper_and_a_wire_of_the_same_rate_agree() {
    let of = |shaper: &str| {
        let output = run_with(
            ONE,
            &[
                ("link.bneck.shaper", shaper.to_owned()),
                ("link.bneck.qdisc", "pfifo limit 100".into()),
            ],
        );
        (output.flow("a").goodput_mbps, output.queue("bneck").sojourn_ms.expect("packets").mean)
    };
    let (wire, htb) = (of("none"), of("htb"));
    close(htb.0, wire.0, 0.5);
    close(htb.1, wire.1, 8.0);
}

#[test]
fn a_slow_way_back_limits_by_its_acks() {
    let text = format!("{ONE}\n").replace("[[flow]]", "[link.reverse]\nrate = \"256kbit\"\nshaper = \"htb\"\nqdisc = \"pfifo limit 100\"\n[[flow]]");
    let output = run(&text);
    let reverse = output.queue("bneck.reverse");
    assert!(reverse.utilisation.expect("a rate") > 0.95);
    // 485 ACKs of 66 bytes per second for two segments each, pings take a part: 11 Mbit/s at most.
    let goodput = output.flow("a").goodput_mbps;
    assert!((6.0..11.3).contains(&goodput), "{goodput}");
}
