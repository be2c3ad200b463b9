//! Groups of flows: the packets of the same flows written out, and series that are together.

use proptest::prelude::*;
use sojourn_scenario::load;
use sojourn_trace::{Column, Output, Statistics};

fn run(text: &str) -> Output {
    let parsed = load(text, "group.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    sojourn_sim::run(&parsed.scenario).expect("time moves")
}

fn head(series: &str) -> String {
    format!(
        "name = \"x\"\nduration = \"1500ms\"\nseries = \"{series}\"\nmeasure = {{ from = \"300ms\", late = {{ from = \"900ms\" }} }}\n\
         [[link]]\nname = \"bneck\"\nrate = \"20Mbit\"\nqdisc = \"fq_codel\"\ndelay = \"5ms\"\n\
         [[ping]]\nname = \"p\"\n"
    )
}

fn group(flows: usize, keys: &str) -> String {
    format!("[[flow]]\nname = \"web\"\nflows = {flows}\n{keys}\n")
}

/// The flows of a group as tables of their own.
fn written_out(text: &str, keys: &str) -> String {
    let own: Vec<&str> = keys.lines().filter(|key| !key.starts_with("interarrival")).collect();
    let own: Vec<&str> = own.into_iter().filter(|key| !key.starts_with("start =")).collect();
    let flows = load(text, "group.toml", &[]).expect("it is valid").scenario.flows;
    let table = |flow: &sojourn_scenario::Flow| {
        let start = flow.start.0;
        format!("[[flow]]\nname = \"{}\"\nstart = \"{start}ns\"\n{}\n", flow.name, own.join("\n"))
    };
    flows.iter().map(table).collect()
}

#[expect(
    clippy::type_complexity,
    reason = "summary, queues, and the times and values of each series"
)]
fn bytes(output: &Output) -> (String, String, Vec<(String, Vec<u64>, Vec<u64>)>) {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    let column = |c: &Column| (c.name.clone(), bits(&c.t), bits(&c.v));
    let series = output.series.iter().map(column).collect();
    (output.summary_json(), output.queues_json(), series)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_group_is_its_flows_written_out_byte_for_byte(
        flows in 1_usize..12,
        cc in prop::sample::select(&["cubic", "prague", "bbr", "reno"][..]),
        what in prop::sample::select(&["app = \"bulk\"", "bytes = \"200kb\"", "app = \"short load 1Mbit\""][..]),
        starts in prop::sample::select(&[
            "start_jitter = \"500ms\"",
            "start = \"100ms\"\ninterarrival = \"exponential 40ms\"",
            "interarrival = \"uniform 0ms 90ms\"\nstart_jitter = \"30ms\"",
        ][..]),
        seed in 1_u64..1000,
    ) {
        let keys = format!("cc = \"{cc}\"\n{what}\n{starts}");
        let head = head("flows").replacen('\n', &format!("\nseed = {seed}\n"), 1);
        let text = format!("{head}{}", group(flows, &keys));
        let tables = format!("{head}{}", written_out(&text, &keys));
        prop_assert_eq!(bytes(&run(&text)), bytes(&run(&tables)));
    }
}

fn statistics_agree(got: Option<Statistics>, exact: Option<Statistics>) {
    assert_eq!(got.is_some(), exact.is_some());
    let (Some(got), Some(exact)) = (got, exact) else { return };
    assert_eq!((got.n, got.max), (exact.n, exact.max));
    assert!((got.mean - exact.mean).abs() <= 1e-9 * exact.mean.abs(), "{got:?} {exact:?}");
}

#[test]
fn flows_without_series_have_the_same_summaries() {
    for app in ["bulk", "short load 2Mbit", "request think 50ms"] {
        let keys = format!("cc = \"prague\"\napp = \"{app}\"\ninterarrival = \"exponential 50ms\"");
        let of = |series: &str| run(&format!("{}{}", head(series), group(10, &keys)));
        let exact = of("flows");
        for other in [of("groups"), of("none")] {
            assert_eq!(other.queues_json(), exact.queues_json());
            let pairs = other.summary.flows.iter().zip(&exact.summary.flows);
            for (got, exact) in pairs {
                assert_eq!(got.name, exact.name);
                assert!((got.goodput_mbps - exact.goodput_mbps).abs() < 1e-9);
                assert_eq!(got.classic_detection, exact.classic_detection);
                statistics_agree(got.rtt_ms, exact.rtt_ms);
                statistics_agree(got.cwnd_segments, exact.cwnd_segments);
                statistics_agree(got.delivery_rate_mbps, exact.delivery_rate_mbps);
                statistics_agree(got.goodput_over_time_mbps, exact.goodput_over_time_mbps);
                let transfers = |c: &Option<sojourn_trace::Completions>| c.map(|c| c.fct_ms);
                assert_eq!(transfers(&got.completions), transfers(&exact.completions));
            }
            let windows = other.summary.windows.iter().zip(&exact.summary.windows);
            for (got, exact) in windows.flat_map(|(got, exact)| got.flows.iter().zip(&exact.flows))
            {
                assert!((got.goodput_mbps - exact.goodput_mbps).abs() < 1e-9);
                statistics_agree(got.rtt_ms, exact.rtt_ms);
            }
            let (got, exact) = (&other.summary.metrics, &exact.summary.metrics);
            statistics_agree(
                got.throughput.goodput_over_time_mbps,
                exact.throughput.goodput_over_time_mbps,
            );
            let fairness =
                |of: &sojourn_trace::Metrics| of.fairness.as_ref().map(|f| f.convergence_s);
            assert_eq!(fairness(got), fairness(exact));
        }
    }
}

#[test]
fn series_of_a_group_are_quantiles_and_sums_over_its_flows() {
    let keys = "cc = \"cubic\"\nbytes = \"300kb\"\ninterarrival = \"exponential 50ms\"";
    let of = |series: &str| run(&format!("{}{}", head(series), group(9, keys))).series;
    let (each, together) = (of("flows"), of("groups"));
    let column = |columns: &[Column], name: &str| {
        columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert!(together.iter().all(|c| !c.name.starts_with("flow.")));
    let at = |c: &Column, t: f64| c.t.iter().position(|at| *at == t).map(|place| c.v[place]);
    let each_at = |name: &str, t: f64| -> Vec<f64> {
        (1..=9).filter_map(|n| at(&column(&each, &format!("flow.web-{n}.{name}")), t)).collect()
    };
    let cwnd = ["min", "p50", "max"].map(|q| column(&together, &format!("group.web.cwnd.{q}")));
    for (place, t) in cwnd[0].t.iter().enumerate() {
        let mut values = each_at("cwnd", *t);
        values.sort_by(f64::total_cmp);
        assert_eq!(cwnd[0].v[place], values[0], "{t}");
        assert_eq!(cwnd[2].v[place], values[values.len() - 1], "{t}");
        if values.len() % 2 == 1 {
            assert_eq!(cwnd[1].v[place], values[values.len() / 2], "{t}");
        }
    }
    let sum = column(&together, "group.web.goodput_bytes.sum");
    let last = |name: String| *column(&each, &name).v.last().expect("samples");
    let all: f64 = (1..=9).map(|n| last(format!("flow.web-{n}.goodput_bytes"))).sum();
    assert_eq!(*sum.v.last().expect("samples"), all);
    let is_growing = sum.v.windows(2).all(|pair| pair[0] <= pair[1]);
    assert!(is_growing, "what ended flows had delivered stays in it");
    assert!(column(&together, "group.web.open").v.contains(&0.0), "all end");
}

#[test]
fn completions_of_a_group_are_in_the_order_in_which_they_came() {
    let keys = "cc = \"cubic\"\napp = \"short load 2Mbit sizes 10kb\"";
    let series = run(&format!("{}{}", head("groups"), group(5, keys))).series;
    let fct = series.iter().find(|c| c.name == "group.web.fct").expect("transfers complete");
    assert!(fct.t.len() > 20 && fct.t.windows(2).all(|pair| pair[0] <= pair[1]));
}
