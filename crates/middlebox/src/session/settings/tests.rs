use super::*;

fn settings(down: &str, up: &str) -> Settings {
    let way =
        |queue: &str| Way { queue: (!queue.is_empty()).then(|| queue.to_owned()), ingress: vec![] };
    Settings {
        left: "left".into(),
        right: "right".into(),
        down: way(down),
        up: way(up),
        delay: None,
        scenario: None,
        seed: None,
        duration: None,
        interval: "1s".into(),
        max_lateness: "1ms".into(),
        capture: None,
        snaplen: None,
        super_packets: false,
        keep_awake: false,
        control: None,
    }
}

fn refused(settings: &Settings) -> String {
    settings.plan().expect_err("refused").to_string()
}

#[test]
fn shaper_and_queue_are_those_of_a_link() {
    let mut settings =
        settings("htb rate 50mbit burst 3000; dualpi2 target 20ms", "rate 5mbit; fq_codel");
    settings.delay = Some("40ms".into());
    settings.down.ingress.push("netem loss 1%".into());
    let (scenario, warnings) = settings.plan().expect("a scenario");
    assert_eq!(warnings, [""; 0]);
    let link = &scenario.links[0];
    let shaper = link.forward.shaper.as_ref().expect("a shaper");
    assert_eq!(shaper.name(), "htb");
    assert_eq!(link.forward.rate().map(|rate| rate.0), Some(50_000_000));
    assert_eq!((link.forward.qdisc.name(), link.forward.ingress.len()), ("dualpi2", 1));
    assert_eq!((link.reverse.qdisc.name(), link.reverse.ingress.len()), ("fq_codel", 0));
    assert_eq!(
        (link.reverse.shaper.is_none(), link.reverse.wire.map(|rate| rate.0)),
        (true, Some(5_000_000))
    );
    assert_eq!([link.forward.delay, link.reverse.delay], [Dur::from_millis(40); 2]);
    // The text to which changes are added says the same.
    let again = load(&text(&scenario), "middlebox", &[]).expect("it reads");
    assert_eq!(again.scenario, scenario);
}

#[test]
fn without_queues_everything_passes() {
    let (scenario, _) = settings("", "").plan().expect("a scenario");
    assert_eq!(scenario.links[0].forward, scenario.links[0].reverse);
    assert_eq!(scenario.links[0].forward.rate(), None);
}

#[test]
fn what_may_not_be_meant_is_said() {
    let (_, warnings) = settings("pfifo", "htb rate 5Mbps; pfifo").plan().expect("a scenario");
    assert!(warnings.len() == 1 && warnings[0].starts_with("--up: "), "{warnings:?}");
}

#[test]
fn an_error_names_the_option() {
    let cases = [
        ("htb rate 50mbit; dualpi", "--down: unknown"),
        ("htb rate fifty; dualpi2", "--down: "),
        ("htb; dualpi2", "--down: a shaper needs the link's `rate`"),
        ("htb rate 1mbit; pfifo; pfifo", "--down \"htb rate 1mbit; pfifo; pfifo\": expected"),
        ("htb rate 1mbit;", "--down \"htb rate 1mbit;\": expected"),
        (
            "rate 1mbit burst 3; pfifo",
            "--down \"rate 1mbit burst 3; pfifo\": expected nothing after",
        ),
        ("\u{7f};\"\n", "--down: unknown"),
    ];
    for (text, start) in cases {
        let down = refused(&settings(text, ""));
        assert!(down.starts_with(start), "{text}: {down}");
        assert!(!down.contains('\n'), "{down}");
        let up = refused(&settings("", text));
        assert!(up.starts_with(&start.replace("--down", "--up")), "{text}: {up}");
    }
    let mut late = settings("", "");
    late.delay = Some("long".into());
    assert!(refused(&late).starts_with("--delay: "), "{}", refused(&late));
    late.delay = None;
    late.interval = "1ms".into();
    assert!(refused(&late).starts_with("--interval 1ms: expected at least"), "{}", refused(&late));
}

#[test]
fn a_scenario_file_gives_its_links() {
    let file = r#"
name = "file"
duration = "10s"
[[link]]
name = "a"
rate = "10mbit"
shaper = "htb"
qdisc = "codel"
[[link]]
name = "b"
delay = "5ms"
[[flow]]
name = "x"
cc = "cubic"
path = ["b"]
[[schedule]]
at = "5s"
set = { "link.a.rate" = "5mbit" }
"#;
    let mut settings = settings("", "");
    settings.scenario = Some(("file.toml".into(), file.into()));
    settings.seed = Some(9);
    let (scenario, warnings) = settings.plan().expect("a scenario");
    assert_eq!(warnings, [""; 0]);
    assert_eq!((scenario.links.len(), scenario.schedule.len(), scenario.seed), (2, 1, 9));
    assert_eq!((scenario.flows.len(), scenario.flows[0].path().hops.len()), (1, 1));
    assert_eq!(scenario.links[1].forward.delay, Dur::from_millis(5));
    let again = load(&text(&scenario), "middlebox", &[]).expect("it reads");
    assert_eq!(again.scenario, scenario);
    settings.down.queue = Some("pfifo".into());
    assert!(refused(&settings).starts_with("--scenario file.toml: has the links"));
}
