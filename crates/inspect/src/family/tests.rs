use sojourn_core::math;

use super::of_rounds;
use crate::report::Family;
use crate::rounds::Round;

const MSS: f64 = 1000.0;

/// Signals of a round: packets with CE, part with ESCE, packets lost.
#[derive(Clone, Copy, Default)]
struct Signal {
    ce: f64,
    sce: f64,
    lost: u32,
}

/// Rounds of a sender that has `window`, and of a queue that gives the signals of a window and a round number.
fn run(
    rounds: usize,
    mut window: f64,
    queue: impl Fn(usize, f64) -> Signal,
    mut sender: impl FnMut(usize, f64, Signal) -> f64,
) -> Vec<Round> {
    (0..rounds)
        .map(|n| {
            let signal = queue(n, window);
            let packets = window.round().max(1.0) as u32;
            let bytes = (window.round().max(1.0) * MSS) as u64;
            let ce_seen = (signal.ce * f64::from(packets)).ceil() as u32;
            let round = Round {
                start: n as u64 * 50_000_000,
                duration: 50_000_000,
                packets,
                bytes,
                ce_seen,
                ce_fed: ce_seen,
                acked_packets: packets,
                delivered: bytes,
                esce_bytes: (signal.sce * bytes as f64) as u64,
                lost: signal.lost,
                ..Round::default()
            };
            window = sender(n, window, signal);
            round
        })
        .collect()
}

fn family(rounds: &[Round]) -> Option<Family> {
    of_rounds(rounds, MSS, true).map(|answer| answer.family)
}

/// Marks this part of the packets while the window is above a threshold.
fn above(threshold: f64, part: f64) -> impl Fn(usize, f64) -> Signal {
    move |_, window| Signal { ce: if window > threshold { part } else { 0.0 }, ..Signal::default() }
}

/// Loses a packet at the threshold.
fn losing(threshold: f64) -> impl Fn(usize, f64) -> Signal {
    move |_, window| Signal { lost: u32::from(window > threshold), ..Signal::default() }
}

/// Multiplies by this at a signal, once, and adds a segment per round else.
fn aimd(factor: f64) -> impl FnMut(usize, f64, Signal) -> f64 {
    move |_, window, signal| {
        if signal.ce > 0.0 || signal.lost > 0 { window * factor } else { window + 1.0 }
    }
}

/// DCTCP in rounds (RFC 8257 3.3).
fn dctcp() -> impl FnMut(usize, f64, Signal) -> f64 {
    let mut alpha = 1.0;
    move |_, window, signal| {
        let cut = if signal.ce > 0.0 { window * alpha / 2.0 } else { -1.0 };
        alpha += (signal.ce - alpha) / 16.0;
        let window = if signal.lost > 0 { window / 2.0 } else { window - cut };
        window.max(2.0)
    }
}

/// BBRv1 in rounds: a pulse every eight, whatever is signalled.
fn bbr(n: usize, window: f64, _: Signal) -> f64 {
    let base = if n % 8 == 1 { window / 1.25 } else { window };
    if n.is_multiple_of(8) { base * 1.25 } else { base }
}

#[test]
fn a_factor_that_does_not_depend_on_the_marks_is_classic() {
    for factor in [0.5, 0.7] {
        for part in [0.01, 0.2] {
            let rounds = run(600, 40.0, above(60.0, part), aimd(factor));
            assert_eq!(family(&rounds), Some(Family::Classic), "{factor} {part}");
        }
        assert_eq!(family(&run(600, 40.0, losing(60.0), aimd(factor))), Some(Family::Classic));
        // Of a whole window of marks a quick average takes as much.
        assert_eq!(family(&run(600, 40.0, above(60.0, 1.0), aimd(factor))), None);
    }
}

#[test]
fn a_factor_in_proportion_to_the_marks_is_scalable() {
    for (threshold, part) in [(60.0, 0.05), (60.0, 0.1), (120.0, 0.05), (25.0, 0.2)] {
        let rounds = run(800, 20.0, above(threshold, part), dctcp());
        assert_eq!(family(&rounds), Some(Family::Scalable), "{threshold} {part}");
    }
}

#[test]
fn halving_at_losses_beside_marks_may_be_scalable_too_and_is_no_answer() {
    let queue = |n: usize, window: f64| Signal {
        ce: if n == 30 { 0.02 } else { 0.0 },
        lost: u32::from(window > 60.0),
        ..Signal::default()
    };
    assert_eq!(family(&run(600, 40.0, queue, dctcp())), None);
}

#[test]
fn halving_at_losses_and_little_at_marks_is_scalable() {
    let queue = |n: usize, window: f64| Signal {
        ce: if n % 12 == 6 { 0.02 } else { 0.0 },
        lost: u32::from(window > 60.0),
        ..Signal::default()
    };
    assert_eq!(family(&run(600, 40.0, queue, dctcp())), Some(Family::Scalable));
    // Who does not answer losses either is none.
    let deaf = |n: usize, window: f64, _: Signal| window + [1.0, -1.0][n % 2];
    assert_ne!(family(&run(600, 70.0, queue, deaf)), Some(Family::Scalable));
}

#[test]
fn pulses_without_a_signal_are_bbr_like() {
    let quiet = |_: usize, _: f64| Signal::default();
    assert_eq!(family(&run(200, 40.0, quiet, bbr)), Some(Family::BbrLike));
    let losses = |n: usize, _: f64| Signal { lost: u32::from(n % 37 == 20), ..Signal::default() };
    assert_eq!(family(&run(400, 40.0, losses, bbr)), Some(Family::BbrLike));
}

#[test]
fn rises_from_a_level_and_back_to_it_are_bbr_like_even_with_marks() {
    // BBRv3: up until 2 % are marked, then down.
    let queue = |_: usize, window: f64| Signal {
        ce: if window > 55.0 { 0.3 } else { 0.0 },
        ..Signal::default()
    };
    let sender = |n: usize, _: f64, _: Signal| match n % 30 {
        0 => 48.0,
        1 => 56.0,
        2 => 60.0,
        3 => 50.0,
        _ => 40.0,
    };
    assert_eq!(family(&run(200, 40.0, queue, sender)), Some(Family::BbrLike));
}

#[test]
fn a_window_that_varies_without_rhythm_is_no_answer() {
    let quiet = |_: usize, _: f64| Signal::default();
    let varies = |n: usize, _: f64, _: Signal| 40.0 + [0.0, 3.0, -2.0, 2.0, -3.0][n * n % 5];
    assert_eq!(family(&run(400, 40.0, quiet, varies)), None);
}

#[test]
fn a_constant_through_signals_is_unresponsive_and_without_signals_no_answer() {
    let fixed = |_: usize, window: f64, _: Signal| window;
    let marks =
        |n: usize, _: f64| Signal { ce: if n % 9 < 5 { 0.8 } else { 0.0 }, ..Signal::default() };
    assert_eq!(family(&run(200, 40.0, marks, fixed)), Some(Family::Unresponsive));
    let losses = |n: usize, _: f64| Signal { lost: u32::from(n % 20 == 8), ..Signal::default() };
    assert_eq!(family(&run(200, 40.0, losses, fixed)), Some(Family::Unresponsive));
    // So few that growth makes up for what a scalable controller takes.
    let few =
        |n: usize, _: f64| Signal { ce: if n % 9 == 8 { 0.03 } else { 0.0 }, ..Signal::default() };
    assert_eq!(family(&run(200, 40.0, few, fixed)), None);
    assert_eq!(family(&run(200, 40.0, |_, _| Signal::default(), fixed)), None);
}

#[test]
fn esce_that_brings_the_window_down_is_sce_and_else_no_answer() {
    let queue = |_: usize, window: f64| Signal {
        sce: ((window - 50.0) / 20.0).clamp(0.0, 1.0),
        ..Signal::default()
    };
    // Reno-SCE: a root of the window for a window of marks.
    let mut answers = 0.0;
    let sce = |n: usize, window: f64, signal: Signal| {
        // Another flow comes and goes.
        answers = if n % 40 < 20 { 8.0 } else { 0.0 };
        window + 1.0 - signal.sce * window.sqrt() - if n % 40 == 20 { answers } else { 0.0 }
    };
    let varied = |n: usize, window: f64| queue(n, window + if n % 40 < 20 { 15.0 } else { 0.0 });
    assert_eq!(family(&run(600, 40.0, varied, sce)), Some(Family::Sce));
    let deaf = |_: usize, window: f64, _: Signal| if window > 90.0 { 45.0 } else { window + 1.0 };
    assert_eq!(family(&run(600, 40.0, queue, deaf)), None);
}

#[test]
fn too_little_is_no_answer() {
    assert_eq!(family(&[]), None);
    assert_eq!(family(&run(20, 40.0, losing(45.0), aimd(0.5))), None);
    // Windows of a few segments.
    assert_eq!(family(&run(300, 3.0, above(4.0, 0.3), aimd(0.5))), None);
}

#[test]
fn growth_behind_a_first_loss_is_classic_where_nothing_could_have_been_marked() {
    // Slow start, one loss, then a segment a round.
    let once = |n: usize, _: f64| Signal { lost: u32::from(n == 6), ..Signal::default() };
    let reno = |n: usize, window: f64, signal: Signal| match n {
        0..6 => window * 2.0,
        _ if signal.lost > 0 => window / 2.0,
        _ => window + 1.0,
    };
    let rounds = run(80, 4.0, once, reno);
    assert_eq!(family(&rounds), Some(Family::Classic));
    // Nothing else has grown, or a step has.
    let holds = |n: usize, window: f64, signal: Signal| match n {
        0..6 => window * 2.0,
        40 => window + 20.0,
        _ if signal.lost > 0 => window / 2.0,
        _ => window,
    };
    assert_eq!(family(&run(80, 4.0, once, holds)), None);
    // With marks in slow start half after a loss may be a scalable controller's, too.
    let marked =
        |n: usize, window: f64| Signal { ce: if n == 5 { 0.1 } else { 0.0 }, ..once(n, window) };
    assert_eq!(family(&run(80, 4.0, marked, reno)), None);
}

#[test]
fn a_rhythm_through_marks_is_bbr_like_and_a_sawtooth_of_single_segments_is_not() {
    let marks = |_: usize, _: f64| Signal { ce: 0.1, ..Signal::default() };
    let beats = |n: usize, _: f64, _: Signal| if n.is_multiple_of(6) { 48.0 } else { 42.0 };
    assert_eq!(family(&run(200, 42.0, marks, beats)), Some(Family::BbrLike));
    let saw = |n: usize, _: f64, _: Signal| [12.0, 13.0, 14.0, 15.0, 13.0, 12.0][n % 6];
    assert_ne!(family(&run(200, 12.0, marks, saw)), Some(Family::BbrLike));
    // Without a rhythm.
    let now_and_then = |n: usize, _: f64, _: Signal| {
        if [5, 9, 20, 24, 37, 50, 54, 70, 83, 87].contains(&(n % 90)) { 48.0 } else { 42.0 }
    };
    assert_ne!(family(&run(200, 42.0, marks, now_and_then)), Some(Family::BbrLike));
}

#[test]
fn a_window_that_losses_do_not_change_is_bbr_like_if_it_moves_and_else_unresponsive() {
    let losses =
        |n: usize, _: f64| Signal { lost: u32::from(n.is_multiple_of(3)), ..Signal::default() };
    let moves = |n: usize, _: f64, _: Signal| [30.0, 36.0, 30.0, 24.0, 30.0][n % 5];
    assert_eq!(family(&run(200, 30.0, losses, moves)), Some(Family::BbrLike));
    let declines = |n: usize, _: f64, _: Signal| 60.0 - (n / 10) as f64;
    assert_eq!(family(&run(200, 60.0, losses, declines)), Some(Family::Unresponsive));
    // Whoever takes 0.7 for each of them is neither.
    assert_ne!(family(&run(200, 60.0, losses, aimd(0.7))), Some(Family::BbrLike));
}

#[test]
fn a_constant_through_more_and_more_marks_is_unresponsive() {
    let rising = |n: usize, _: f64| Signal { ce: n as f64 / 400.0, ..Signal::default() };
    let fixed = |_: usize, window: f64, _: Signal| window;
    assert_eq!(family(&run(200, 40.0, rising, fixed)), Some(Family::Unresponsive));
    // DCTCP settles at two marks a round.
    let settled = |_: usize, window: f64| Signal { ce: 2.0 / window, ..Signal::default() };
    assert_ne!(family(&run(400, 40.0, settled, dctcp())), Some(Family::Unresponsive));
}

#[test]
fn growth_that_ends_where_marks_begin_is_scalable_if_it_then_stands() {
    let queue = |_: usize, window: f64| Signal {
        ce: if window >= 100.0 { 0.02 } else { 0.0 },
        ..Signal::default()
    };
    let stops = |n: usize, _: f64, _: Signal| (60.0 + n as f64).min(100.0);
    assert_eq!(family(&run(250, 60.0, queue, stops)), Some(Family::Scalable));
    // A constant that meets the same marks says nothing.
    let fixed = |_: usize, _: f64, _: Signal| 100.0;
    assert_ne!(family(&run(250, 100.0, queue, fixed)), Some(Family::Scalable));
}

#[test]
fn falls_at_esce_are_sce_and_beside_it_losses_tell_nothing() {
    let queue = |n: usize, _: f64| Signal {
        sce: if n % 10 == 9 { 0.02 } else { 0.0 },
        ..Signal::default()
    };
    let falls = |n: usize, _: f64, _: Signal| 200.0 + [0.0, 3.0, 6.0, 4.0, 1.0][n / 2 % 5];
    assert_eq!(family(&run(200, 200.0, queue, falls)), Some(Family::Sce));
    let lossy =
        |n: usize, window: f64| Signal { lost: u32::from(n % 40 == 25), ..queue(n, window) };
    assert_eq!(family(&run(400, 100.0, lossy, aimd(0.7))), None);
}

/// CUBIC's curve of these many segments to its plateau (RFC 9438 4.2), in rounds of 50 ms; and the line between its ends.
fn cubic(below: f64, n: usize) -> f64 {
    let k = math::cbrt(below / 0.4);
    let t = n as f64 * 0.05 - k;
    100.0 + 0.4 * t * t * t
}

#[test]
fn growth_along_cubics_curve_is_classic_and_a_line_with_the_same_ends_is_no_answer() {
    let once =
        |n: usize, _: f64| Signal { ce: if n == 6 { 0.3 } else { 0.0 }, ..Signal::default() };
    let curve = |n: usize, _: f64, _: Signal| if n < 6 { 100.0 } else { cubic(40.0, n - 6) };
    assert_eq!(family(&run(190, 100.0, once, curve)), Some(Family::Classic));
    let (from, to) = (cubic(40.0, 0), cubic(40.0, 183));
    let line = |n: usize, _: f64, _: Signal| {
        if n < 6 { 100.0 } else { from + (to - from) * (n - 6) as f64 / 183.0 }
    };
    assert_eq!(family(&run(190, 100.0, once, line)), None);
}

#[test]
fn a_window_that_falls_without_a_signal_is_bbr_like_and_else_not() {
    // Up in three rounds and down in five, of no flat level.
    let beats = |n: usize, _: f64, _: Signal| {
        let wave = [20.0, 24.0, 30.0, 29.0, 26.0, 23.0, 20.0, 18.0, 17.0, 18.0, 19.0];
        wave[n % wave.len()] + (n / 30) as f64
    };
    let quiet = |_: usize, _: f64| Signal::default();
    assert_eq!(family(&run(200, 20.0, quiet, beats)), Some(Family::BbrLike));
    // One is a damaged capture's, and Vegas takes a segment in a round trip.
    let one = |n: usize, _: f64, _: Signal| if (90..100).contains(&n) { 20.0 } else { 40.0 };
    assert_eq!(family(&run(200, 40.0, quiet, one)), None);
    let vegas = |n: usize, _: f64, _: Signal| 40.0 - (n % 60).abs_diff(30) as f64 / 2.0;
    assert_ne!(family(&run(200, 40.0, quiet, vegas)), Some(Family::BbrLike));
}

#[test]
fn a_rhythm_that_esce_makes_is_sce() {
    // Down when marked, and up again.
    let queue = |_: usize, window: f64| Signal {
        sce: if window >= 17.0 { 0.4 } else { 0.0 },
        ..Signal::default()
    };
    let sce = |_: usize, window: f64, signal: Signal| {
        if signal.sce > 0.0 { window - 4.0 } else { window + 1.0 }
    };
    assert_eq!(family(&run(300, 14.0, queue, sce)), Some(Family::Sce));
    // However little of the payload it is.
    let some = |n: usize, window: f64| Signal {
        sce: queue(n, window).sce * [0.03, 1.0, 0.3][n % 3],
        ..Signal::default()
    };
    assert_eq!(family(&run(300, 14.0, some, sce)), Some(Family::Sce));
}

#[test]
fn a_window_that_follows_the_law_of_marks_far_from_its_equilibrium_is_scalable() {
    // Slow start's mark, and much later more marks than growth makes up for, at a window of thousands.
    let queue = |n: usize, _: f64| Signal {
        ce: match n {
            2 => 0.01,
            0..80 => 0.0,
            _ => [0.004, 0.03, 0.012, 0.05][n / 40 % 4],
        },
        ..Signal::default()
    };
    assert_eq!(family(&run(260, 12_000.0, queue, dctcp())), Some(Family::Scalable));
    // The same marks, and the same decline whatever they are.
    let declines = |_: usize, window: f64, _: Signal| window * 0.99;
    assert_ne!(family(&run(260, 6000.0, queue, declines)), Some(Family::Scalable));
}

#[test]
fn one_cut_of_a_long_climb_is_classic_if_the_marks_explain_none_of_it() {
    // The first three round trips with marks are slow start's.
    let queue = |n: usize, window: f64| Signal {
        ce: if (4..7).contains(&n) || n == 200 { 1.0 / window } else { 0.0 },
        ..Signal::default()
    };
    assert_eq!(family(&run(300, 400.0, queue, aimd(0.5))), Some(Family::Classic));
    // Behind its very first mark DCTCP takes half, too.
    let first = |n: usize, window: f64| Signal {
        ce: if n == 200 { 1.0 / window } else { 0.0 },
        ..Signal::default()
    };
    assert_eq!(family(&run(300, 40.0, first, dctcp())), None);
}

#[test]
fn a_few_segments_that_stand_without_a_signal_are_not_classic() {
    let mut answers = aimd(0.5);
    assert_eq!(family(&run(400, 5.0, losing(9.5), &mut answers)), Some(Family::Classic));
    // BBR at its least window.
    let floor = |n: usize, window: f64, signal: Signal| {
        if (150..190).contains(&n) { 5.0 } else { answers(n, window, signal) }
    };
    assert_eq!(family(&run(400, 5.0, losing(9.5), floor)), None);
}
