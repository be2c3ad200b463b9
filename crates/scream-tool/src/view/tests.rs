use super::*;

#[test]
fn the_picture_has_a_row_for_each_quantity_and_fits_the_terminal() {
    let mut view = View { title: "to 10.0.0.2".into(), samples: VecDeque::new() };
    for n in 0..300 {
        view.samples.push_back(Sample {
            rate_kbps: 1000.0 * n as f32,
            rtt_ms: 25.25,
            ..Sample::default()
        });
    }
    let picture = view.frame(60.0, 80, &"limited by the path; ".repeat(9)).replace("\x1b[K", "");
    // Only to be forgotten: dropping it would write to the terminal.
    std::mem::forget(view);
    let lines: Vec<&str> = picture.split("\r\n").collect();
    assert!(lines[0].contains("10.0.0.2") && lines[0].contains("60.0 s"));
    for (name, ..) in ROWS {
        assert!(lines.iter().any(|l| l.starts_with(name)), "{name} in {picture}");
    }
    assert!(lines.iter().all(|l| l.chars().count() <= 80), "{picture}");
    let rate = lines[2];
    assert!(rate.contains("299000 kbit/s") && rate.ends_with('█'), "{rate}");
    assert_eq!(lines[4].chars().filter(|c| *c == '█').count(), 80 - TEXT, "{}", lines[4]);
}

#[test]
fn what_is_not_known_is_a_dash_in_the_picture() {
    let mut view = View { title: String::new(), samples: VecDeque::new() };
    view.samples.push_back(Sample { rtt_ms: 25.0, ..Sample::default() });
    view.samples.push_back(Sample { rtt_ms: f32::NAN, ..Sample::default() });
    let picture = view.frame(1.0, 80, "");
    std::mem::forget(view);
    let rtt = picture.lines().find(|l| l.starts_with("RTT")).expect("a row");
    assert!(rtt.contains("- ms     max 25.0") && rtt.contains("█▁"), "{rtt}");
}

#[test]
fn bars_are_shares_of_the_greatest() {
    let drawn: String = [0.0, 1.0, 4.0, 8.0].map(|v| bar(v, 8.0)).iter().collect();
    assert_eq!(drawn, "▁▂▅█");
    assert_eq!(bar(0.0, 0.0), '▁');
}
