//! Digests of whole runs: the same bytes on every platform, in every profile and with every compiler. Between
//! them the runs call each function of `sojourn_core::math`.
//!
//! A change of results changes digests. `SOJOURN_DIGESTS=write cargo test -p sojourn-sim digests` stores the new
//! ones, in a commit that says why.

use sojourn_trace::Output;

use crate::lab::run;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");

/// Name, the link's keys, and what uses it.
const RUNS: [(&str, &str, &str); 10] = [
    ("cubic", "qdisc = \"fq_codel\"", "cc = \"cubic\""),
    ("cubic-rfc9438", "qdisc = \"codel ecn\"", "cc = \"cubic version rfc9438\""),
    ("bbr", "qdisc = \"pfifo limit 200\"", "cc = \"bbr version v3\""),
    ("prague", "qdisc = \"dualpi2\"", "cc = \"prague\""),
    (
        "netem-normal",
        "qdisc = \"red limit 200kb min 20kb max 60kb avpkt 1000 burst 40 bandwidth 10Mbit\"\n\
         ingress = [\"netem delay 20ms 4ms distribution normal loss 0.1%\"]",
        "cc = \"reno\"",
    ),
    (
        "netem-pareto",
        "qdisc = \"curvy_red\"\ningress = [\"netem delay 20ms 4ms distribution paretonormal\"]",
        "cc = \"dctcp\"",
    ),
    (
        "wifi",
        "shaper = \"wifi poisson 2ms geometric 8\"\nqdisc = \"cake\"",
        "cc = \"reno-sce response ratefair\"",
    ),
    (
        "sizes-lognormal",
        "qdisc = \"red_classic bandwidth 10Mbit\"",
        "cc = \"cubic\"\napp = \"short load 4Mbit sizes lognormal median 20kb sigma 1.5\"",
    ),
    (
        "sizes-pareto",
        "qdisc = \"pie ecn\"",
        "cc = \"cubic\"\napp = \"request think 50ms sizes pareto min 2kb max 500kb shape 1.2\"",
    ),
    ("media", "qdisc = \"pi2\"", "cc = \"gcc\"\napp = \"video\""),
];

/// FNV-1a of the summary, the queues, and every value that was sampled.
fn digest(output: &Output) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    eat(output.summary_json().as_bytes());
    eat(output.queues_json().as_bytes());
    for column in &output.series {
        eat(column.name.as_bytes());
        for value in column.t.iter().chain(&column.v) {
            eat(&value.to_bits().to_le_bytes());
        }
    }
    hash
}

#[test]
fn digests_of_ten_runs_are_the_stored_ones() {
    let mut found = String::new();
    for (name, link, flow) in RUNS {
        let output = run(&format!(
            r#"
duration = "8s"
[[link]]
name = "bneck"
rate = "10Mbit"
delay = "10ms"
{link}
[link.reverse]
ingress = []
[[flow]]
name = "f"
{flow}
[[flow]]
name = "nada"
cc = "nada"
app = "video"
[[flow]]
name = "poisson"
app = "poisson rate 500kbit"
[[flow]]
name = "voip"
app = "voip"
"#
        ));
        found += &format!("{name} {:016x}\n", digest(&output));
    }
    if std::env::var("SOJOURN_DIGESTS").is_ok_and(|value| value == "write") {
        std::fs::write(STORED, &found).expect("the file of digests");
    }
    let stored = std::fs::read_to_string(STORED).expect("the file of digests");
    assert!(found == stored, "stored:\n{stored}found:\n{found}");
}
