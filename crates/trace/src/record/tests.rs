use super::*;

#[test]
fn columns_keep_order_and_prefix() {
    let mut recorder = Recorder::default();
    let group = recorder.group("queue.bneck.".into());
    for ms in [0, 50] {
        recorder.sample(group, Time(ms * 1_000_000), |p| {
            p.put("backlog", "packets", ms as f64);
            p.put("drops", "packets", 1.0);
        });
    }
    let mut cursor = Cursor::default();
    assert_eq!(recorder.since(&mut cursor).map(|c| c.t.len()).sum::<usize>(), 4);
    recorder.sample(group, Time(100_000_000), |p| p.put("backlog", "packets", 9.0));
    let fresh: Vec<_> = recorder.since(&mut cursor).collect();
    assert_eq!((fresh.len(), &fresh[0].t[..], &fresh[0].v[..]), (1, &[0.1][..], &[9.0][..]));
    assert_eq!(recorder.since(&mut cursor).count(), 0);
    let columns = recorder.into_columns();
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["queue.bneck.backlog", "queue.bneck.drops"]);
    assert_eq!(columns[0].t, [0.0, 0.05, 0.1]);
    assert_eq!(columns[0].v, [0.0, 50.0, 9.0]);
}
