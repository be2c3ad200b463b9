use super::*;

fn open(priority: f32, most: f32) -> Share {
    Share { priority, most, rate: 0.0, is_full: false }
}

fn rates<const N: usize>(rate: f32, mut shares: [Share; N]) -> [f32; N] {
    share(rate, &mut shares);
    shares.map(|share| share.rate)
}

// KAT scream2 9: rates by priority, surplus redistributed
#[test]
fn rates_go_by_priority_and_a_full_stream_leaves_the_rest_to_others() {
    assert_eq!(rates(6e6, [open(1.0, 50e6), open(0.5, 50e6)]), [4e6, 2e6]);
    assert_eq!(rates(6e6, [open(1.0, 1e6), open(0.5, 50e6)]), [1e6, 5e6]);
    assert_eq!(rates(12e6, [open(1.0, 1e6), open(0.5, 3e6), open(0.5, 50e6)]), [1e6, 3e6, 8e6]);
    assert_eq!(rates(12e6, [open(1.0, 1e6), open(0.5, 3e6)]), [1e6, 3e6]);
}

// KAT scream-streams 1: highest priority without credit, most credit first
#[test]
fn credit_goes_before_priority() {
    let turn = |credit, last| Turn { credit, lost: 0.0, last: Ticks(last) };
    let pick = |turns: &[(Turn, f32)]| {
        next(Ticks(100), turns.iter().enumerate().map(|(i, &(turn, prio))| (i, turn, prio)))
    };
    assert_eq!(pick(&[(turn(0.0, 0), 0.1), (turn(0.0, 50), 1.0)]), Some(1));
    assert_eq!(pick(&[(turn(2.0, 0), 0.1), (turn(0.0, 50), 1.0)]), Some(0));
    assert_eq!(pick(&[(turn(2.0, 50), 0.1), (turn(3.0, 0), 1.0)]), Some(1));
    // As much credit, but it waited less.
    assert_eq!(pick(&[(turn(2.0, 0), 0.1), (turn(3.0, 50), 1.0)]), Some(0));
    assert_eq!(pick(&[]), None);
}
