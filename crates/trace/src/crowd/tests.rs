use super::*;

/// The last values of the columns that a crowd has recorded, by name.
fn last(recorder: Recorder) -> Vec<(String, f64)> {
    let columns = recorder.into_columns().into_iter();
    columns.filter_map(|column| Some((column.name, *column.v.last()?))).collect()
}

fn crowd(samples: &[&[(&str, &'static str, f64, bool)]]) -> Vec<(String, f64)> {
    let mut recorder = Recorder::default();
    let mut crowd = Crowd::new(recorder.group("group.web.".to_owned()));
    for member in samples {
        crowd.next();
        member.iter().for_each(|(name, unit, value, ends)| crowd.put(name, unit, *value, *ends));
    }
    crowd.close(Time(1), &mut recorder);
    last(recorder)
}

fn of(found: &[(String, f64)], name: &str) -> Option<f64> {
    found.iter().find(|(column, _)| column == name).map(|(_, value)| *value)
}

#[test]
fn quantiles_are_interpolated_between_members() {
    let values: Vec<_> =
        (0..=10).map(|n| [("cwnd", "segments", f64::from(10 * n), false)]).collect();
    let members: Vec<&[_]> = values.iter().rev().map(|value| &value[..]).collect();
    let found = crowd(&members);
    let got = ["min", "p10", "p50", "p90", "max", "sum"];
    let got = got.map(|suffix| of(&found, &format!("group.web.cwnd.{suffix}")));
    assert_eq!(got, [0.0, 10.0, 50.0, 90.0, 100.0, 550.0].map(Some));
}

#[test]
fn a_member_may_leave_a_value_out() {
    let with = [
        ("cwnd", "segments", 1.0, false),
        ("rtt", "ms", 20.0, false),
        ("ce", "segments", 3.0, false),
    ];
    let without = [("cwnd", "segments", 3.0, false), ("ce", "segments", 4.0, false)];
    let found = crowd(&[&without, &with]);
    assert_eq!(of(&found, "group.web.rtt.max"), Some(20.0));
    assert_eq!(of(&found, "group.web.ce.sum"), Some(7.0));
    assert_eq!(of(&found, "group.web.rtt.sum"), None, "times do not add up to anything");
}

#[test]
fn what_ended_flows_had_counted_stays_in_the_sum() {
    let mut recorder = Recorder::default();
    let mut crowd = Crowd::new(recorder.group("group.web.".to_owned()));
    for (at, members) in
        [(1, [(5.0, false), (7.0, true)].as_slice()), (2, &[(6.0, false)]), (3, &[])]
    {
        for (value, ends) in members {
            crowd.next();
            crowd.put("goodput_bytes", "bytes", *value, *ends);
            crowd.put("cwnd", "segments", *value, *ends);
        }
        crowd.close(Time(at), &mut recorder);
    }
    let columns = recorder.into_columns();
    let values =
        |name: &str| columns.iter().find(|c| c.name == name).expect("it is recorded").v.clone();
    assert_eq!(values("group.web.goodput_bytes.sum"), [12.0, 13.0, 7.0]);
    assert_eq!(values("group.web.goodput_bytes.max"), [5.0, 6.0]);
    assert_eq!(values("group.web.cwnd.sum"), [12.0, 6.0, 0.0]);
}

#[test]
fn values_without_a_number_are_left_out() {
    let found = crowd(&[
        &[("ssthresh", "segments", f64::NAN, false)],
        &[("ssthresh", "segments", 4.0, false)],
    ]);
    assert_eq!(of(&found, "group.web.ssthresh.min"), Some(4.0));
}
