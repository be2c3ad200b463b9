//! Media under GCC and NADA: where each settles alone, what marks do, who gets what beside CUBIC,
//! and that the accounts of packets and frames agree.

use sojourn_trace::Output;

use crate::lab::{Named, close, run, total};

/// Frames of one size, so that what is seen is the controller's.
const PLAIN: &str = "video key 1 sigma 0";
/// 3 Mbit/s of Ethernet frames, in IP bytes of full packets.
const CEILING: f64 = 3.0 * 1200.0 / 1214.0;

fn bottleneck(qdisc: &str, seconds: u32, cc: &str, app: &str, more: &str) -> Output {
    run(&format!(
        r#"
duration = "{seconds}s"
measure = {{ from = "{}s", to = "{seconds}s" }}
[[link]]
name = "bneck"
rate = "3Mbit"
qdisc = "{qdisc}"
delay = "20ms"
[[flow]]
name = "m"
cc = "{cc}"
app = "{app}"
{more}"#,
        seconds / 2
    ))
}

fn target(output: &Output) -> f64 {
    let media = output.flow("m").media.as_ref().expect("a media flow");
    media.target_mbps.expect("a sampled target").mean
}

/// Mean over packets and 95th percentile, ms.
fn queuing(output: &Output) -> (f64, f64) {
    let sojourn = output.queue("bneck").sojourn_ms.expect("packets");
    (sojourn.mean, sojourn.p95)
}

fn mean(output: &Output, series: &str) -> f64 {
    let from = output.summary.measure.from_s;
    let values: Vec<f64> =
        output.series(series).iter().filter(|(t, _)| *t >= from).map(|(_, v)| *v).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

// KAT nada 1: x = PRIO XREF RMAX / r, in a closed loop
#[test]
fn nada_alone_fills_the_link_at_the_delay_of_its_law() {
    for ratio in [1.0, 2.0, 4.0] {
        // Without a part for the sender's queue the encoder gets the reference rate.
        let rmax = (ratio * CEILING * 1e6).ceil() + 1000.0;
        let cc = format!("nada rmax {rmax:.0}bit beta_v 0 beta_s 0");
        let out = bottleneck("pfifo limit 100", 60, &cc, PLAIN, "");
        close(target(&out), CEILING, 1.0);
        close(mean(&out, "flow.m.cc.x_curr"), 10.0 * ratio, 5.0);
        // The filter takes the least of 15 packets.
        let (delay, p95) = queuing(&out);
        assert!((7.0 * ratio..12.0 * ratio).contains(&delay), "{ratio}: {delay}");
        assert!(p95 < 12.0 * ratio + 3.0, "{ratio}: {p95}");
        assert_eq!(out.queue("bneck").dropped, 0);
    }
}

#[test]
fn gcc_alone_comes_near_the_capacity_and_lets_the_queue_drain() {
    for (words, share, most_ms) in [
        // The slope that counts as over-use is threshold / (60 gain): 5 to 12 % too much.
        ("", 0.94, 120.0),
        // The threshold falls back before the next overshoot.
        (" k_down 0.01", 0.94, 35.0),
        (" estimator kalman", 0.94, 10.0),
    ] {
        let out = bottleneck("pfifo limit 100", 120, &format!("gcc{words}"), PLAIN, "");
        let rate = target(&out) / CEILING;
        assert!((share..=1.02).contains(&rate), "gcc{words}: {rate}");
        let (delay, _) = queuing(&out);
        // The queue holds 324 ms.
        assert!(delay < most_ms, "gcc{words}: {delay} ms");
        let rtts: Vec<f64> = out.series("flow.m.rtt").iter().map(|(_, v)| *v).collect();
        for (n, part) in rtts.rchunks(300).take(2).enumerate() {
            let least = part.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least < 65.0, "gcc{words}, last half minute but {n}: {least}");
        }
        let drops = out.queue("bneck").dropped as f64;
        assert!(drops < 0.001 * out.queue("bneck").received_packets as f64, "gcc{words}");
    }
}

#[test]
fn key_frames_and_noise_cost_rate_but_no_frames() {
    for (cc, least) in [("gcc", 0.6), ("gcc estimator kalman", 0.9), ("nada rmax 6Mbit", 0.9)] {
        let out = bottleneck("pfifo limit 100", 90, cc, "video", "");
        let share = target(&out) / CEILING;
        assert!((least..=1.01).contains(&share), "{cc}: {share}");
        let frames = out.flow("m").media.as_ref().and_then(|m| m.frames).expect("frames");
        assert!(frames.incomplete < 0.01, "{cc}: {frames:?}");
        let delay = frames.delay_ms.expect("whole frames").p95;
        assert!((20.0..500.0).contains(&delay), "{cc}: {delay}");
    }
}

#[test]
fn nada_answers_marks_where_it_would_have_answered_delay() {
    // DualPI2's classic queue: marks at a target of 15 ms, far below the 40 ms of rmax 12Mbit.
    let of =
        |words: &str| bottleneck("dualpi2", 60, &format!("nada rmax 12Mbit{words}"), PLAIN, "");
    let marked = of("");
    assert!(marked.queue("bneck").marked > 50 && marked.queue("bneck").dropped == 0);
    let flow = marked.flow("m");
    assert_eq!(total(&flow.receiver, "ce_received"), marked.queue("bneck").marked as f64);
    let share = target(&marked) / CEILING;
    assert!((0.75..=1.01).contains(&share), "{share}");
    let (delay, _) = queuing(&marked);
    assert!(delay < 28.0, "{delay}");
    // The same queue without marking: the delay of the law.
    let plain = bottleneck("pfifo limit 100", 60, "nada rmax 12Mbit", PLAIN, "");
    assert!(queuing(&plain).0 > 33.0);
    let deaf = of(" noecn");
    assert_eq!(deaf.queue("bneck").marked, 0);
    assert_eq!(total(&deaf.flow("m").receiver, "ce_received"), 0.0);
}

const CUBIC: &str = r#"
[[flow]]
name = "tcp"
cc = "cubic"
start = "5s"
tcp = { ecn = "off" }
"#;

#[test]
fn beside_cubic_each_gets_a_share_and_fair_queuing_gives_half() {
    for cc in ["gcc", "nada rmax 6Mbit"] {
        let share = |qdisc: &str| {
            let out = bottleneck(qdisc, 90, cc, PLAIN, CUBIC);
            let (media, tcp) = (out.flow("m").goodput_mbps, out.flow("tcp").goodput_mbps);
            assert!(media + tcp > 0.85 * 3.0 * 0.95, "{cc}, {qdisc}: {media} + {tcp}");
            media / (media + tcp)
        };
        // One FIFO: neither is starved. GCC holds its rate up to 10 % of loss, and so takes the most.
        let fifo = share("pfifo limit 50");
        assert!((0.2..0.95).contains(&fifo), "{cc}: {fifo}");
        let fair = share("fq_codel");
        assert!((0.38..0.56).contains(&fair), "{cc}: {fair}");
    }
}

#[test]
fn a_media_flow_is_the_same_every_time_and_every_packet_is_accounted_for() {
    for cc in ["gcc", "nada"] {
        let once = || bottleneck("pfifo limit 20", 20, cc, "video", "stop = \"18s\"\n");
        let (a, b) = (once(), once());
        assert_eq!(a.summary_json(), b.summary_json());
        assert_eq!(a.queues_json(), b.queues_json());
        let flow = a.flow("m");
        let (sent, received) =
            (total(&flow.sender, "packets_sent"), total(&flow.receiver, "packets_received"));
        assert_eq!(sent, received + a.queue("bneck").dropped as f64);
        assert_eq!(total(&flow.sender, "lost"), a.queue("bneck").dropped as f64);
        // 18 s at 30 frames per second, the first at once.
        assert_eq!(total(&flow.sender, "frames_encoded"), 540.0);
    }
}

#[test]
fn media_goes_up_as_it_goes_down_and_follows_a_change_of_the_link() {
    let up = bottleneck("pfifo limit 100", 40, "nada rmax 6Mbit", PLAIN, "direction = \"up\"\n");
    let down = bottleneck("pfifo limit 100", 40, "nada rmax 6Mbit", PLAIN, "");
    close(target(&up), target(&down), 5.0);
    let change = r#"
[[schedule]]
at = "20s"
set = { "link.bneck.rate" = "1Mbit" }
"#;
    for cc in ["nada rmax 6Mbit", "gcc init_rate 2500kbit"] {
        let out = bottleneck("pfifo limit 100", 60, cc, PLAIN, change);
        let share = target(&out) / (CEILING / 3.0);
        assert!((0.8..1.1).contains(&share), "{cc}: {share}");
    }
}
