//! Every parameter of every registered discipline, tried through its table of parameters: what is read
//! is written so that it reads the same, and what is refused is refused in one line.

use sojourn_core::grammar::Parameter;
use sojourn_core::{Rng, Time};
use sojourn_queue::aqm::{Entry, Env, Log};
use sojourn_queue::qdiscs::{self, REGISTRY};
use sojourn_queue::traces::{DelaySteps, Opportunities, RateSteps, Traces};

/// What some parameters require; each parameter is read with at least one of these.
fn contexts(name: &str) -> &'static [&'static str] {
    match name {
        "docsis_pie" => &["msr 5Mbit", "msr 1kbit"],
        "drop" => &["", "rule"],
        "mangle" => &["", "bleach-ecn"],
        "fq_pie" => &["", "dq_rate_estimator"],
        "grant" => &["rate 10Mbit", "file t"],
        "htb" => {
            &["rate 10Mbit", "class 1:1 rate 10Mbit", "class 1:1 rate 10Mbit class 1:2 rate 1Mbit"]
        }
        "mahimahi" | "rate_trace" => &["file t"],
        "netem" => &["delay trace t", "", "delay 10ms", "delay 10ms 2ms", "loss 1%"],
        "police" => &["rate 10Mbit burst 15kb", "pkts_rate 500 pkts_burst 10", "pkts_burst 10", ""],
        "red" => &["limit 400000 avpkt 1000", "limit 400000 avpkt 1000 ecn"],
        "red_classic" => &["bandwidth 10Mbit", "bandwidth 10Mbit bytes limit 90000"],
        "sfq" => &["", "redflowlimit 100000", "redflowlimit 9000 min 300 avpkt 64 burst 20"],
        "wifi" => &["rate 10Mbit", "rate 10Mbit poisson 3ms"],
        "tbf" => &[
            "rate 10Mbit burst 15kb limit 99kb",
            "rate 10Mbit burst 15kb",
            "rate 10Mbit burst 15kb limit 99kb peakrate 20Mbit",
            "rate 10Mbit burst 15kb limit 99kb mtu 2000",
        ],
        _ => &[""],
    }
}

/// Values for the kinds that the table names; for a kind not listed here, all of them.
fn values(param: &Parameter) -> Vec<&'static str> {
    const KINDS: &[(&str, &[&str])] = &[
        ("", &[""]),
        ("TIME", &["5ms", "100ms", "1us", "1s", "0", "500"]),
        ("RATE", &["10Mbit", "1kbit", "2.5Gbit"]),
        ("PACKETS", &["60", "1", "0", "5p", "4000000000"]),
        ("BYTES", &["1500", "64", "0", "20kb", "3000b"]),
        ("SIZE", &["9000", "20kb", "1b"]),
        ("NUMBER", &["1", "2", "20", "300"]),
        ("PERCENT", &["10%", "10"]),
        ("PERCENT [CORRELATION]", &["10%", "10% 20%", "100%", "0%"]),
        ("PROBABILITY", &["0.1", "0.0001", "1"]),
        ("HERTZ", &["200", "40.5", "8"]),
        ("HZ", &["0.16", "3.2", "10"]),
        ("MASK", &["0xff", "3"]),
        ("MINOR", &["2", "20"]),
        ("MAJOR:MINOR", &["1:1", "1:2", "1:9 rate 1Mbit"]),
        ("{ QDISC }", &["{ fq_codel flows 1 }", "{ pfifo }"]),
        ("match ip FIELD ... flowid ID", &["match ip tos 0x10 0xfc flowid 1:2"]),
        ("NAME", &["t"]),
        ("BYTE", &["0x01", "224"]),
        ("N", &["1", "7"]),
        ("N,N,...", &["3", "3,9,27"]),
        ("ae,cwr,ece", &["ae", "ae,cwr,ece"]),
        ("3 priomap P0 ... P15", &["3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"]),
        ("W0 W1 W2", &["20000 30000 40000"]),
        ("MILLISECONDS", &["1000", "0"]),
        ("PPS", &["10", "0"]),
        ("VALUE/MASK", &["0x1/0x3"]),
        ("TIME|PACKETS", &["2ms", "5p"]),
        ("EXCEED[/CONFORM]", &["drop", "drop/ok", "continue/pipe"]),
        ("TIME [JITTER [CORRELATION]] | trace NAME", &["5ms", "5ms 2ms", "5ms 2ms 30%", "trace t"]),
        (
            "RATE [PACKET_OVERHEAD [CELL_SIZE [CELL_OVERHEAD]]]",
            &["10Mbit", "10Mbit 20", "1Mbit -4 48 5"],
        ),
        (
            "MIN [MAX] | distribution NAME DELAY JITTER [packets N] [bytes N]",
            &["800us", "800us 10ms packets 42", "distribution pareto 3ms 1ms bytes 9000"],
        ),
        (
            "[random] PERCENT [CORRELATION] | state P13 [P31 [P32 [P23 [P14]]]] | gemodel P [R [1-H [1-K]]]",
            &["1%", "random 1% 5%", "state 1% 20% 5% 60% 2%", "gemodel 1% 30% 90% 1%"],
        ),
    ];
    if param.name == param.name.to_uppercase() {
        return vec!["pfifo limit 7", "fq_codel flows 4"]; // a discipline with its parameters
    }
    if param.name == "digest" {
        let traces = env().traces;
        let digests = [
            traces.digest::<Opportunities>("t"),
            traces.digest::<RateSteps>("t"),
            traces.digest::<DelaySteps>("t"),
        ];
        return digests.into_iter().flatten().map(|digest| &*digest.leak()).collect();
    }
    if param.name == "rule" {
        return vec!["data", "bleach-ecn"]; // a rule is not empty
    }
    if let Some((_, values)) = KINDS.iter().find(|(kind, _)| *kind == param.value) {
        return values.to_vec();
    }
    // `2020|mainline` lists the values themselves.
    let listed = param.value.split('|').filter(|v| !v.contains(char::is_uppercase));
    let every = KINDS.iter().flat_map(|(_, values)| values.iter().copied());
    listed.filter(|v| !v.is_empty()).chain(every).collect()
}

/// An Ethernet device that knows the traces `t`.
fn env() -> Env {
    let mut traces = Traces::default();
    traces.add("t", Opportunities::parse("1\n2\n").unwrap());
    traces.add("t", RateSteps::parse("0 9000\n1 400\n").unwrap());
    traces.add("t", DelaySteps::parse("0 20\n0.2 31.5\n").unwrap());
    Env { traces, ..Env::ethernet(Rng::named(1, "t")) }
}

fn build(text: &str) -> Result<String, String> {
    qdiscs::build(text, env()).map(|q| q.describe()).map_err(|e| e.0)
}

/// The keywords of a parameter.
fn keywords(param: &Parameter) -> Vec<&'static str> {
    if param.name == param.name.to_uppercase() { vec![""] } else { param.name.split('|').collect() }
}

/// Panics unless `text` is refused in one line, or its description describes itself.
fn reads_the_same_or_is_refused_in_one_line(entry: &Entry, text: &str) -> bool {
    match build(text) {
        Ok(once) => {
            assert_eq!(build(&once).as_ref(), Ok(&once), "`{text}` is written as `{once}`");
            let mut again = qdiscs::build(&once, env()).unwrap();
            qdiscs::change(&mut *again, Time::ZERO, &once, &mut Log::default()).unwrap();
            assert_eq!(again.describe(), once, "`{text}` changed into itself");
            true
        }
        Err(error) => {
            // Its own name, or that of a discipline inside.
            let named = error.split(':').next().unwrap_or_default();
            let is_named = named == entry.name || text.contains(&format!(" {named}"));
            assert!(error.lines().count() == 1 && is_named, "`{text}`: {error}");
            false
        }
    }
}

#[test]
fn every_word_of_the_tables_is_read_and_written() {
    for entry in REGISTRY {
        for param in &entry.table() {
            for word in keywords(param) {
                let mut accepted = 0;
                for context in contexts(entry.name) {
                    for value in values(param) {
                        let text = format!("{} {context} {word} {value}", entry.name);
                        let is_read = reads_the_same_or_is_refused_in_one_line(entry, &text);
                        accepted += u32::from(is_read);
                    }
                }
                assert!(accepted > 0, "{}: `{word}` takes none of {:?}", entry.name, values(param));
            }
        }
    }
}

#[test]
fn random_parameters_of_the_tables_read_the_same_or_are_refused_in_one_line() {
    let mut rng = Rng::named(1, "grammar");
    let mut below = |n: usize| rng.below(n as u32) as usize;
    for entry in REGISTRY {
        let mut accepted = 0;
        let table = entry.table();
        for _ in 0..400 {
            let context = contexts(entry.name)[below(contexts(entry.name).len())];
            let mut text = format!("{} {context}", entry.name);
            for _ in 0..below(6).min(table.len()) {
                let param = &table[below(table.len())];
                let options = keywords(param);
                let values = values(param);
                text +=
                    &format!(" {} {}", options[below(options.len())], values[below(values.len())]);
            }
            accepted += u32::from(reads_the_same_or_is_refused_in_one_line(entry, &text));
        }
        assert!(accepted >= 80, "{}: only {accepted} of 400 were valid", entry.name);
    }
}

#[test]
fn a_wrong_value_names_its_word_and_what_is_allowed() {
    for entry in REGISTRY {
        let context = contexts(entry.name)[0];
        for param in entry.table().iter().filter(|param| !param.value.is_empty()) {
            for word in keywords(param) {
                for wrong in ["frobnicate", "-99999999999999999999", "1e999", "%", "5 5 5 x"] {
                    let text = format!("{} {context} {word} {wrong}", entry.name);
                    let error = build(&text).expect_err(&text);
                    assert_eq!(error.lines().count(), 1, "{error}");
                    let names = [
                        "expected",
                        "valid:",
                        "needs",
                        "at ",
                        "takes none",
                        "required",
                        "no trace",
                        "belongs",
                    ];
                    assert!(names.iter().any(|name| error.contains(name)), "`{text}`: {error}");
                }
            }
        }
    }
}
