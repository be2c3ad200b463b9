use super::*;

fn columns(mode: &[f64], flips: f64) -> [Column; 2] {
    let t: Vec<f64> = (0..mode.len()).map(|n| n as f64).collect();
    let column = |name: &str, v| Column { name: name.into(), unit: "1".into(), t: t.clone(), v };
    [
        column("flow.p.cc.classic_mode", mode.to_vec()),
        column("flow.p.cc.classic_flips", vec![flips; mode.len()]),
    ]
}

fn over(columns: &[Column], from: u64, to: u64) -> Option<ClassicDetection> {
    let at = |seconds: u64| Time(seconds * 1_000_000_000);
    ClassicDetection::of(columns, (at(from), at(to)), at(1))
}

#[test]
fn the_share_is_of_the_window_and_the_first_detection_of_the_flow() {
    let seen = columns(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], 2.0);
    let expected = ClassicDetection { share: 0.25, flips: 2, after_s: Some(2.0) };
    assert_eq!(over(&seen, 4, 7), Some(expected));
    let never = ClassicDetection { share: 0.0, flips: 0, after_s: None };
    assert_eq!(over(&columns(&[0.0; 4], 0.0), 0, 3), Some(never));
}

#[test]
fn without_a_detector_in_the_window_nothing_was_detected() {
    assert_eq!(over(&columns(&[0.0; 4], 0.0), 5, 9), None);
    assert_eq!(over(&[], 0, 9), None);
}
