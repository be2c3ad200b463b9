use super::*;
use crate::Arrival;

// Critical values of the two-sample test for large samples: 1.358 sqrt(2/n) at 5 %,
// 1.628 sqrt(2/n) at 1 %.
#[test]
fn kolmogorov_smirnov_has_the_tabled_probabilities() {
    let n = 2000;
    let a: Vec<f64> = (0..n).map(f64::from).collect();
    for (critical, probability) in [(1.358, 0.05), (1.628, 0.01)] {
        let shift = critical * (2.0 / f64::from(n)).sqrt() * f64::from(n);
        let b: Vec<f64> = a.iter().map(|x| x + shift.round()).collect();
        let (_, p) = kolmogorov_smirnov(&a, &b);
        assert!((p / probability - 1.0).abs() < 0.06, "{p} for {probability}");
    }
    assert_eq!(kolmogorov_smirnov(&a, &a), (0.0, 1.0));
    assert!(kolmogorov_smirnov(&[1.0; 12], &[2.0; 200]).1 < 1e-9);
}

fn passage(left: &[(u32, u64, u8)]) -> Passage {
    let left = left.iter().map(|&(seq, time_ns, tos)| Arrival { seq, time_ns, tos });
    Passage { left: left.collect(), stats: Vec::new() }
}

#[test]
fn parting_sees_fate_codepoint_order_and_time() {
    let linux = passage(&[(0, 100, 2), (1, 200, 2), (2, 300, 2)]);
    let parting = |left: &[_]| Parting::of(&linux, &passage(left), 4, 50);
    assert!(parting(&[(0, 140, 2), (1, 200, 2), (2, 290, 2)]).is_none());
    let p = parting(&[(0, 151, 2), (1, 200, 3), (3, 300, 2)]);
    assert_eq!((p.fates, p.codepoints, p.order, p.time_ns), (2, 1, 1, 51));
    assert_eq!(p.first, Some(0));
    assert!(!parting(&[(1, 100, 2), (0, 100, 2), (2, 300, 2)]).is_none());
}

#[test]
fn measures_count_drops_marks_copies_and_overtaking() {
    let packet = |tos| Offered { time_ns: 0, flow: 0, len: 1514, tos };
    let offered = [packet(2), packet(2), packet(0), packet(0)];
    let run = passage(&[(1, 2_000_000, 3), (0, 4_000_000, 2), (3, 1_000_000, 0), (3, 1, 0)]);
    let measures = measures(&offered, &run);
    let value = |name: &str| measures.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(value("ECT(0) marked %"), 50.0);
    assert_eq!(value("ECT(0) dropped %"), 0.0);
    assert_eq!(value("Not-ECT dropped %"), 50.0);
    assert_eq!(value("ECT(0) mean sojourn ms"), 3.0);
    assert_eq!((value("duplicated %"), value("overtaken %")), (25.0, 25.0));
}
