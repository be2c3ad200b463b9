//! Links that are no constant rate: trace files, shapers without a rate, changes over time.

use std::path::PathBuf;

use sojourn_core::{Dur, Rate, Time};
use sojourn_queue::aqm::Spec;
use sojourn_scenario::{Edit, Scenario, ScenarioError, expand, load, to_toml};

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

/// A folder with files, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let unique = format!("sojourn-{name}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(unique));
        std::fs::create_dir_all(folder.0.join("sub folder")).unwrap();
        for (file, text) in files {
            folder.write(file, text);
        }
        folder
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    fn load(&self, link: &str) -> Result<Scenario, ScenarioError> {
        let text = format!("name = \"t\"\nduration = \"10s\"\n[[link]]\nname = \"a\"\n{link}");
        load(&text, self.0.join("my.toml").to_str().unwrap(), &[]).map(|parsed| parsed.scenario)
    }

    /// The message after the name of the file.
    fn error(&self, link: &str) -> String {
        let error = self.load(link).unwrap_err().to_string();
        error.split_once("my.toml:").unwrap().1.to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_trace_is_found_beside_the_scenario_and_from_anywhere_by_the_resolved_file() {
    let folder = Folder::new("found", &[("x.up", "1\n2\n"), ("sub folder/y.txt", "0 800\n1 80\n")]);
    let link = "shaper = \"mahimahi file x.up\"\n\
                reverse = { shaper = \"grant file sub%20folder/y.txt slot 500us\" }\n";
    let scenario = folder.load(link).unwrap();
    let shaper = scenario.links[0].forward.shaper.as_ref().unwrap().to_string();
    assert!(shaper.starts_with("mahimahi file /") && shaper.contains("x.up digest "), "{shaper}");
    let back = scenario.links[0].reverse.shaper.as_ref().unwrap().to_string();
    assert!(back.contains("/sub%20folder/y.txt"));
    assert_eq!(scenario.links[0].forward.wire, None);
    let resolved = to_toml(&scenario);
    let again = load(&resolved, "elsewhere/scenario.toml", &[]).unwrap().scenario;
    assert_eq!(again, scenario);
    assert_eq!(to_toml(&again), resolved);
}

#[test]
fn every_place_of_a_queue_may_name_a_trace() {
    let folder = Folder::new("places", &[("x.up", "1\n"), ("y.txt", "0 800\n1 80\n")]);
    let scenario = folder
        .load(
            "qdisc = \"mahimahi file x.up\"\ningress = [\"rate_trace file y.txt\"]\n\
             [[schedule]]\nat = \"1s\"\n\
             replace = { \"link.a.qdisc\" = \"rate_trace file y.txt\", \
             \"link.a.ingress0\" = \"mahimahi file x.up\" }\n",
        )
        .unwrap();
    let texts = [&scenario.links[0].forward.qdisc, &scenario.links[0].forward.ingress[0]];
    assert!(texts.iter().all(|spec| spec.to_string().contains(" digest ")), "{texts:?}");
    for change in &scenario.schedule {
        let (Edit::Replace(text) | Edit::Ingress(_, text)) = &change.edit else { panic!() };
        assert!(text.to_string().contains(" digest "), "{text}");
    }
}

#[test]
fn another_content_is_another_run_and_a_resolved_file_refuses_it() {
    let folder = Folder::new("changed", &[("x.up", "1\n2\n")]);
    let link = "shaper = \"mahimahi file x.up\"\n";
    let resolved = to_toml(&folder.load(link).unwrap());
    folder.write("x.up", "1\n3\n");
    assert_ne!(to_toml(&folder.load(link).unwrap()), resolved);
    let error = load(&resolved, "scenario.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("link.a.shaper: mahimahi: `file /"), "{error}");
    assert!(error.contains("has changed: its digest is "), "{error}");
    folder.write("x.up", "1\n2\n");
    assert!(load(&resolved, "scenario.toml", &[]).is_ok());
}

#[test]
fn mistakes_in_a_trace_name_file_and_line() {
    let folder = Folder::new("wrong", &[("x.up", "1\nx\n"), ("y.txt", "0 5\n0 6\n")]);
    assert_eq!(
        folder.error("shaper = \"mahimahi file x.up\"\n"),
        "5: link.a.shaper: x.up:2: expected a whole number of milliseconds, got \"x\""
    );
    assert_eq!(
        folder.error("shaper = \"rate_trace file y.txt\"\n"),
        "5: link.a.shaper: y.txt:2: 0 s is not after the time in the line above"
    );
    let absent = folder.error("shaper = \"mahimahi file z.up\"\n");
    assert!(absent.starts_with("5: link.a.shaper: z.up: No such file"), "{absent}");
    assert_eq!(folder.error("qdisc = \"mahimahi file .\"\n"), "5: link.a.qdisc: .: is not a file");
    assert_eq!(
        folder.error("shaper = \"mahimahi\"\n"),
        "5: link.a.shaper: mahimahi: `file` is required"
    );
}

#[test]
fn a_shaper_with_a_trace_excludes_a_rate_and_cannot_change_it() {
    let folder = Folder::new("rate", &[("x.up", "1\n"), ("y.txt", "0 800\n1 80\n")]);
    for (shaper, name) in [("mahimahi file x.up", "mahimahi"), ("grant file y.txt", "grant")] {
        let link = format!("shaper = \"{shaper}\"\n");
        assert_eq!(
            folder.error(&format!("rate = \"5Mbit\"\n{link}")),
            format!(
                "6: link.a.shaper: `{name}` takes no rate from the link; leave `rate` away or \
                 write \"none\""
            )
        );
        let set = "[[schedule]]\nat = \"1s\"\nset = { \"link.a.forward.rate\" = \"1Mbit\" }\n";
        let error = folder.error(&format!("{link}{set}"));
        assert!(error.ends_with("there is no rate to change"), "{error}");
        // The way back has a rate of its own.
        let back = "reverse = { rate = \"2Mbit\", shaper = \"htb\" }\n";
        let scenario = folder.load(&format!("{link}{back}")).unwrap();
        assert_eq!(scenario.links[0].reverse.shaper, Some(spec("htb rate 2Mbit")));
    }
    let grant = folder.load("rate = \"5Mbit\"\nshaper = \"grant\"\n").unwrap();
    assert_eq!(grant.links[0].forward.shaper, Some(spec("grant rate 5Mbit")));
    let wifi = folder.load("rate = \"5Mbit\"\nshaper = \"wifi half-duplex\"\n").unwrap();
    assert_eq!(wifi.links[0].forward.shaper, Some(spec("wifi rate 5Mbit half-duplex")));
}

#[test]
fn runs_of_a_sweep_share_a_trace_and_may_vary_it() {
    let folder = Folder::new("sweep", &[("x.up", "1\n"), ("y.up", "2\n")]);
    let text = "name = \"t\"\nduration = \"1s\"\n[[link]]\nname = \"a\"\n\
                shaper = \"mahimahi file x.up\"\n[sweep]\n\
                \"link.a.shaper\" = [\"mahimahi file x.up\", \"mahimahi file y.up\"]\n\
                seed = [1, 2]\n";
    let points = expand(text, folder.0.join("s.toml").to_str().unwrap(), &[]).unwrap();
    let shaper = |scenario: &Scenario| scenario.links[0].forward.shaper.clone().unwrap();
    let shapers: Vec<Spec> = points.iter().map(|point| shaper(&point.scenario)).collect();
    assert_eq!(shapers.iter().filter(|s| s.to_string().contains("y.up")).count(), 2);
    assert_eq!((&shapers[0], &shapers[2]), (&shapers[1], &shapers[3]));
}

const RAMP: &str = r#"name = "t"
duration = "20s"
[[link]]
name = "a"
rate = "50Mbit"
shaper = "htb"
delay = "10ms"
reverse = { rate = "10Mbit" }
"#;

fn ramp(changes: &str) -> Result<Scenario, String> {
    let text = format!("{RAMP}{changes}");
    load(&text, "f.toml", &[]).map(|p| p.scenario).map_err(|e| e.to_string())
}

/// Milliseconds, whether forward and reverse, and the rate or delay of each change.
fn rows(scenario: &Scenario) -> Vec<(u64, bool, bool, String)> {
    let value = |edit: &Edit| match edit {
        Edit::Rate(rate) => rate.to_string(),
        Edit::Delay(delay) => delay.to_string(),
        other => format!("{other:?}"),
    };
    let changes = scenario.schedule.iter();
    changes.map(|c| (c.at.0 / 1_000_000, c.forward, c.reverse, value(&c.edit))).collect()
}

fn row(ms: u64, forward: bool, reverse: bool, value: &str) -> (u64, bool, bool, String) {
    (ms, forward, reverse, value.to_owned())
}

#[test]
fn a_ramp_is_a_row_of_equal_steps_from_the_value_in_force() {
    let scenario = ramp(
        "[[schedule]]\nat = \"4s\"\nover = \"1s\"\nstep = \"400ms\"\n\
         set = { \"link.a.forward.rate\" = \"10Mbit\", \"link.a.delay\" = \"20ms\" }\n\
         [[schedule]]\nat = \"2s\"\nset = { \"link.a.forward.rate\" = \"20Mbit\" }\n",
    )
    .unwrap();
    let mut expected = vec![row(2000, true, false, "20Mbit")];
    for (ms, delay, rate) in [(4400, 14, "16Mbit"), (4800, 18, "12Mbit"), (5000, 20, "10Mbit")] {
        expected.push(row(ms, true, true, &Dur::from_millis(delay).to_string()));
        expected.push(row(ms, true, false, rate));
    }
    assert_eq!(rows(&scenario), expected);
    let resolved = to_toml(&scenario);
    assert!(!resolved.contains("over ="));
    assert_eq!(load(&resolved, "r.toml", &[]).unwrap().scenario, scenario);
}

#[test]
fn directions_with_different_rates_take_different_steps_to_the_same_one() {
    let text = "[[schedule]]\nat = \"1s\"\nover = \"200ms\"\n\
                set = { \"link.a.rate\" = \"30Mbit\" }\n";
    let expected = [
        row(1100, true, false, "40Mbit"),
        row(1100, false, true, "20Mbit"),
        row(1200, true, false, "30Mbit"),
        row(1200, false, true, "30Mbit"),
    ];
    assert_eq!(rows(&ramp(text).unwrap()), expected);
    // Once they are equal they go on together.
    let next = "[[schedule]]\nat = \"1200ms\"\nover = \"100ms\"\n\
                set = { \"link.a.rate\" = \"5Mbit\" }\n";
    let scenario = ramp(&format!("{text}{next}")).unwrap();
    assert_eq!(rows(&scenario)[4..], [row(1300, true, true, "5Mbit")]);
    assert_eq!(scenario.schedule[4].edit, Edit::Rate(Rate(5_000_000)));
    assert_eq!(scenario.schedule[4].at, Time(1_300_000_000));
}

#[test]
fn a_ramp_that_cannot_be_is_refused_with_its_key() {
    let with = |head: &str, tail: &str| ramp(&format!("[[schedule]]\n{head}\n{tail}")).unwrap_err();
    let rate = "set = { \"link.a.rate\" = \"30Mbit\" }";
    assert_eq!(
        with("at = \"1s\"\nstep = \"1s\"", rate),
        "f.toml:11: schedule.0.step: `step` needs `over`"
    );
    assert_eq!(
        with("at = \"1s\"\nover = \"0s\"", rate),
        "f.toml:11: schedule.0.over: expected more than zero"
    );
    let late = with("at = \"16s\"\nover = \"5s\"", rate);
    assert!(late.starts_with("f.toml:11: schedule.0.over: 21s is after the end"), "{late}");
    let many = with("at = \"1s\"\nover = \"11s\"\nstep = \"1ms\"", rate);
    assert_eq!(many, "f.toml:11: schedule.0.over: expected at most 10000 steps");
    let replace = "replace = { \"link.a.qdisc\" = \"codel\" }";
    assert_eq!(
        with("at = \"1s\"\nover = \"1s\"", replace),
        "f.toml:11: schedule.0.over: only what `set` changes can be spread over a time"
    );
    let qdisc = "set = { \"link.a.qdisc\" = \"pfifo limit 3\" }";
    assert_eq!(
        with("at = \"1s\"\nover = \"1s\"", qdisc),
        "f.toml:12: schedule.0.set.link.a.qdisc: only `rate` and `delay` can be spread over a time"
    );
    let inside = format!("{rate}\n[[schedule]]\nat = \"1500ms\"\n{rate}\n");
    assert_eq!(
        with("at = \"1s\"\nover = \"1s\"", &inside),
        "f.toml:15: schedule.1.set.link.a.rate: is within a change that is spread until 2s"
    );
}

#[test]
fn a_ramp_needs_a_rate_to_start_from() {
    let text = RAMP.replace("reverse = { rate = \"10Mbit\" }", "reverse = { rate = \"none\" }");
    let text = format!(
        "{text}[[schedule]]\nat = \"1s\"\nover = \"1s\"\nset = {{ \"link.a.rate\" = \"3Mbit\" }}\n"
    );
    let error = load(&text, "f.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("there is no rate to change (this is the reverse direction"), "{error}");
}
