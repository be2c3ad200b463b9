//! `[sample]`: what its points are, how it stands beside a sweep, and what is refused.

use sojourn_scenario::{Method, SweepPoint, design, expand, expand_at, load, runs};

const BASE: &str = r#"
name = "s"
duration = "10s"
[[link]]
name = "b"
rate = "50Mbit"
qdisc = "dualpi2 step_thresh 1ms"
[[flow]]
name = "f"
cc = "prague"
"#;

fn overrides(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Points on the diagonal of the cube.
fn diagonal(points: usize, names: usize) -> Vec<Vec<f64>> {
    (0..points).map(|n| vec![n as f64 / points as f64; names]).collect()
}

fn expanded(text: &str, given: &[(&str, &str)]) -> Vec<SweepPoint> {
    let given = overrides(given);
    let wanted = design(text, "f.toml", &given).unwrap().expect("a sample");
    let cube = diagonal(wanted.points, wanted.keys.len());
    let points = expand_at(text, "f.toml", &given, &cube).unwrap();
    assert_eq!(runs(text, "f.toml", &given), Ok(points.len()));
    points
}

fn column(points: &[SweepPoint], key: &str) -> Vec<String> {
    let value = |p: &SweepPoint| p.values.iter().find(|(name, _)| name == key).unwrap().1.clone();
    points.iter().map(value).collect()
}

#[track_caller]
fn refused(table: &str, expected: &str) {
    let error = load(&format!("{BASE}{table}"), "my.toml", &[]).expect_err("the file is wrong");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn values_have_the_type_and_the_unit_of_their_ends() {
    let text = format!(
        "{BASE}[sample]\nmethod = \"latin-hypercube\"\npoints = 4\n\
         \"link.b.rate\" = {{ from = \"1Mbit\", to = \"10Gbit\", scale = \"log\" }}\n\
         \"link.b.delay\" = {{ from = \"10ms\", to = \"30ms\" }}\n\
         \"flow.f.flows\" = {{ from = 1, to = 4 }}\n\
         \"flow.f.bytes\" = {{ from = \"1Kb\", to = \"5Kb\" }}\n\
         \"tcp.pacing_ss_ratio\" = {{ from = 100, to = 400, scale = \"log\" }}\n\
         \"link.b.qdisc.coupling_factor\" = {{ from = 1, to = 4 }}\n\
         \"flow.f.cc\" = [\"prague\", \"cubic\"]\n"
    );
    let points = expanded(&text, &[]);
    assert_eq!(column(&points, "link.b.rate"), ["1Mbit", "10Mbit", "100Mbit", "1Gbit"]);
    assert_eq!(column(&points, "link.b.delay"), ["10ms", "15ms", "20ms", "25ms"]);
    assert_eq!(column(&points, "flow.f.flows"), ["1", "2", "3", "4"]);
    assert_eq!(column(&points, "flow.f.bytes"), ["1Kb", "2Kb", "3Kb", "4Kb"]);
    assert_eq!(column(&points, "tcp.pacing_ss_ratio"), ["100", "141", "200", "283"]);
    assert_eq!(column(&points, "flow.f.cc"), ["prague", "prague", "cubic", "cubic"]);
    assert_eq!(points[3].scenario.links[0].forward.rate().unwrap().to_string(), "1Gbit");
    // A point is the file with its values as overrides.
    for point in points {
        assert_eq!(load(&text, "f.toml", &point.values).unwrap().scenario, point.scenario);
    }
}

#[test]
fn drawn_values_have_four_digits_or_those_of_a_narrow_range_and_stay_between_the_ends() {
    let text = format!(
        "{BASE}[sample]\nmethod = \"latin-hypercube\"\npoints = 3\n\
         \"link.b.rate\" = {{ from = \"10Mbit\", to = \"1Gbit\", scale = \"log\" }}\n\
         \"link.b.delay\" = {{ from = \"99ms\", to = \"100ms\" }}\n\
         \"link.b.ingress\" = [[\"netem delay 1ms\"]]\n"
    );
    let points = expanded(&text, &[]);
    assert_eq!(column(&points, "link.b.rate"), ["10Mbit", "46.42Mbit", "215.4Mbit"]);
    assert_eq!(column(&points, "link.b.delay"), ["99ms", "99.3333ms", "99.6667ms"]);
    let end = 1.0 - f64::EPSILON;
    let at = expand_at(&text, "f.toml", &[], &vec![vec![end, end, 0.0]; 3]).unwrap();
    assert_eq!(column(&at, "link.b.rate"), ["1Gbit"; 3]);
}

#[test]
fn points_are_multiplied_with_the_sweep_and_change_fastest() {
    let text = format!(
        "{BASE}[sweep]\n\"link.b.qdisc\" = [\"dualpi2\", \"pie\"]\n[sample]\nmethod = \"sobol\"\n\
         points = 2\n\"link.b.delay\" = {{ from = \"10ms\", to = \"30ms\" }}\n"
    );
    let points = expanded(&text, &[]);
    assert_eq!(column(&points, "link.b.qdisc"), ["dualpi2", "dualpi2", "pie", "pie"]);
    assert_eq!(column(&points, "link.b.delay"), ["10ms", "20ms", "10ms", "20ms"]);
}

#[test]
fn an_override_fixes_its_name_and_leaves_the_other_coordinates() {
    let text = format!(
        "{BASE}[sample]\nmethod = \"sobol\"\npoints = 4\nseed = 9\n\
         \"flow.f.cc\" = [\"prague\", \"cubic\"]\n\
         \"link.b.delay\" = {{ from = \"10ms\", to = \"30ms\" }}\n"
    );
    let points = expanded(&text, &[("flow.f.cc", "reno")]);
    assert_eq!(column(&points, "flow.f.cc"), ["reno"; 4]);
    assert_eq!(column(&points, "link.b.delay"), ["10ms", "15ms", "20ms", "25ms"]);
    let wanted = design(&text, "f.toml", &[]).unwrap().unwrap();
    assert_eq!((wanted.method, wanted.seed), (Method::Sobol, 9));
    assert_eq!(wanted.keys, ["flow.f.cc", "link.b.delay"]);
    // With nothing left to draw there is one point.
    assert_eq!(expanded(&text, &[("flow.f.cc", "reno"), ("link.b.delay", "1ms")]).len(), 1);
    assert_eq!(expanded(&text, &[("sample.points", "8")]).len(), 8);
    assert_eq!(design(BASE, "f.toml", &[]), Ok(None));
}

#[test]
fn a_dotted_name_reaches_into_the_parameters_of_an_algorithm() {
    let qdisc = |given: &[(&str, &str)]| {
        let scenario = load(BASE, "f.toml", &overrides(given)).unwrap().scenario;
        scenario.links[0].forward.qdisc.short()
    };
    assert_eq!(qdisc(&[("link.b.qdisc.step_thresh", "2ms")]), "dualpi2 step_thresh 2ms");
    let both = [("link.b.qdisc.target", "9ms"), ("link.b.qdisc", "pie target 20ms")];
    assert_eq!(qdisc(&both), "pie target 9ms");
    let error = load(BASE, "f.toml", &overrides(&[("link.b.qdisc.targt", "9ms")]));
    assert!(error.unwrap_err().to_string().starts_with("-s link.b.qdisc: "), "names the text");
    // The parameter is of every discipline that a sweep makes of the queue.
    let text = format!("{BASE}[sweep]\n\"link.b.qdisc\" = [\"codel\", \"pie\"]\n");
    let points = expand(&text, "f.toml", &overrides(&[("link.b.qdisc.target", "9ms")])).unwrap();
    let queues: Vec<_> = points.iter().map(|p| p.scenario.links[0].forward.qdisc.short()).collect();
    assert_eq!(queues, ["codel target 9ms", "pie target 9ms"]);
}

#[test]
fn a_sobol_count_that_is_no_power_of_two_is_warned_of() {
    let warnings = |method: &str, points: u32| {
        let range = "\"link.b.delay\" = { from = \"10ms\", to = \"30ms\" }";
        let table = format!("[sample]\nmethod = \"{method}\"\npoints = {points}\n{range}\n");
        load(&format!("{BASE}{table}"), "my.toml", &[]).unwrap().warnings
    };
    assert_eq!(
        warnings("sobol", 100),
        [
            "my.toml:13: sample.points: Sobol' points are evenly spread in powers of two only, and 100 is \
          none (write 64 or 128)"
        ]
    );
    assert!(warnings("sobol", 64).is_empty());
    assert!(warnings("latin-hypercube", 100).is_empty());
}

#[test]
fn a_sample_is_checked() {
    let head = "[sample]\nmethod = \"sobol\"\npoints = 4\n";
    refused("[sample]\npoints = 4\n", "my.toml:11: sample: missing key \"method\"");
    refused(
        "[sample]\nmethod = \"sobl\"\n",
        "my.toml:12: sample.method: unknown value \"sobl\" (did you mean \"sobol\"?); valid: sobol, \
         latin-hypercube",
    );
    refused(
        &format!("{head}\"link.b.rate\" = \"10Mbit\"\n"),
        "my.toml:14: sample.link.b.rate: expected a range { from = ..., to = ... }, or an array of \
         choices, got \"10Mbit\"",
    );
    refused(
        &format!("{head}\"link.b.rate\" = {{ from = \"10Mbit\", to = \"20ms\" }}\n"),
        "my.toml:14: sample.link.b.rate.to: expected a rate, as `from` is, got \"20ms\"",
    );
    refused(
        &format!("{head}\"link.b.rate\" = {{ from = \"10Mbit\", to = \"1Mbit\" }}\n"),
        "my.toml:14: sample.link.b.rate.to: expected more than `from`, which is \"10Mbit\", got \
         \"1Mbit\"",
    );
    refused(
        &format!("{head}\"link.b.rate\" = {{ from = \"fast\", to = \"1Mbit\" }}\n"),
        "my.toml:14: sample.link.b.rate.from: expected a number, or a text with a unit such as \
         \"10Mbit\", \"20ms\", \"10Kb\" or \"1%\", got \"fast\"",
    );
    refused(
        &format!("{head}\"flow.f.flows\" = {{ from = 0, to = 9, scale = \"log\" }}\n"),
        "my.toml:14: sample.flow.f.flows.from: a logarithmic range begins above 0",
    );
    refused(
        &format!("{head}\"link.b.rat\" = {{ from = \"1Mbit\", to = \"2Mbit\", scal = \"log\" }}\n"),
        "my.toml:14: sample.link.b.rat: unknown key \"scal\" (did you mean \"scale\"?); valid: from, \
         to, scale",
    );
    refused(
        &format!("{head}\"link.bb.rate\" = [\"1Mbit\"]\n"),
        "my.toml:14: sample.link.bb.rate: unknown name \"bb\" (did you mean \"b\"?); valid: b",
    );
    refused(
        &format!("{head}link.b.rate = [\"1Mbit\"]\n"),
        "my.toml:14: sample.link: write the dotted name in quotes: \"link.bneck.rate\" = ...",
    );
    refused(
        head,
        "my.toml:11: sample: expected at least one name with its range, such as \"link.bneck.rate\" = \
         { from = \"10Mbit\", to = \"1Gbit\" }",
    );
    refused(
        "[sample]\nmethod = \"sobol\"\npoints = 0\n\"link.b.rate\" = [\"1Mbit\"]\n",
        "my.toml:13: sample.points: expected 1 to 100000 points",
    );
    refused(
        &format!("[sweep]\n\"link.b.rate\" = [\"1Mbit\"]\n{head}\"link.b.rate\" = [\"1Mbit\"]\n"),
        "my.toml:16: sample.link.b.rate: [sweep] varies it already",
    );
    // What a range says is checked in every point.
    let text = format!("{BASE}{head}\"link.b.rate\" = {{ from = \"1ms\", to = \"2ms\" }}\n");
    assert_eq!(
        expand_at(&text, "my.toml", &[], &diagonal(4, 1)).unwrap_err().to_string(),
        "my.toml:14: link.b.rate: expected a rate such as \"50Mbit\", got \"1ms\""
    );
}

#[test]
fn another_number_of_points_or_names_than_the_file_has_is_refused() {
    let table = "[sample]\nmethod = \"sobol\"\npoints = 2\n\"link.b.rate\" = [\"1Mbit\"]\n";
    let text = format!("{BASE}{table}");
    for cube in [
        vec![],
        vec![vec![0.0]],
        vec![vec![0.0, 0.0]; 2],
        vec![vec![1.0]; 2],
        vec![vec![f64::NAN]; 2],
    ] {
        let error = expand_at(&text, "my.toml", &[], &cube).unwrap_err().to_string();
        assert_eq!(error, "my.toml:1: sample: expected 2 sobol points of the cube of 1 names");
    }
}
