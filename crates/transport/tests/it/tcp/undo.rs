//! Reductions that prove spurious are taken back; those that do not, stay.

use sojourn_cc::{Feedback, State, Window};
use sojourn_core::{Dur, Rate};
use sojourn_transport::tcp::{Config, Era};

use super::pipe::{Fate, MSS, Passing, Pipe, at_ms, config, ms};

const RATE: Rate = Rate(50_000_000);

fn with(change: impl FnOnce(&mut Config), segments: u64) -> Config {
    let mut config = config(Feedback::None, segments);
    change(&mut config);
    config
}

/// All data that enters from 420 ms on is held until 1450 ms or later, in its order: no loss, but a timeout.
fn delay_spike(config: Config) -> Pipe {
    Pipe::new("reno", config, ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.at {
            at if p.data && at >= at_ms(420) && at < at_ms(1450) => {
                Fate::Late(at_ms(1450).since(at) + at.since(at_ms(420)) / 4)
            }
            _ => Fate::Pass,
        })
        .start()
}

#[test]
fn a_timeout_whose_originals_arrive_is_taken_back_by_timestamps_and_by_f_rto() {
    let by_timestamps: fn(&mut Config) = |c| c.frto = false;
    let by_frto: fn(&mut Config) = |c| c.timestamps = false;
    for change in [by_timestamps, by_frto] {
        let mut pipe = delay_spike(with(change, 4000));
        pipe.run_until(at_ms(410));
        let before = pipe.tx.window().cwnd;
        pipe.run_until(at_ms(1450));
        assert_eq!((pipe.tx.state(), pipe.tx.window().cwnd), (State::Loss, 1));
        pipe.finish(at_ms(30_000));
        assert!(pipe.total("timeouts") >= 1);
        assert_eq!(pipe.total("spurious_timeouts"), 1);
        assert!(pipe.total("undone_reductions") >= 1);
        assert_eq!(pipe.tx.window().ssthresh, Window::INFINITE, "the threshold returns");
        assert!(pipe.tx.window().cwnd >= before, "{} < {before}", pipe.tx.window().cwnd);
    }
}

#[test]
fn without_f_rto_and_undo_the_same_timeout_costs_the_window_and_a_flight_of_copies() {
    let copies = |set: fn(&mut Config)| {
        let mut pipe = delay_spike(with(set, 4000));
        pipe.finish(at_ms(30_000));
        (pipe.retransmissions().len(), pipe.tx.window().ssthresh, pipe.total("undone_reductions"))
    };
    let (few, restored, undone) = copies(|_| {});
    let (many, reduced, none) = copies(|c| (c.frto, c.undo) = (false, false));
    assert!(undone >= 1 && none == 0);
    assert_eq!(restored, Window::INFINITE);
    assert!(reduced < 1000);
    assert!(few <= 3 && many > 10 * few, "{few} and {many} retransmissions");
}

#[test]
fn f_rto_sends_new_data_before_it_repeats_old() {
    // Of the flight after 420 ms all is lost once, the probe too, so that the timeout is genuine.
    let mut pipe = Pipe::new("reno", with(|c| c.timestamps = false, 4000), ms(50))
        .rule(|p| match p.at {
            at if p.data && p.copy == 0 && at >= at_ms(420) && at < at_ms(1000) => Fate::Drop,
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(30_000));
    let timeout = pipe.data().find(|p| p.copy > 0 && !p.probe).expect("a retransmission");
    let (at, head) = (timeout.at, timeout.index);
    let next: Vec<(bool, u64)> =
        pipe.data().filter(|p| p.at > at).take(3).map(|p| (p.copy > 0, p.index)).collect();
    // RFC 5682 step 2b: two new segments; their SACKs show (3a) that the loss was real.
    assert!(!next[0].0 && !next[1].0, "new data first: {next:?}");
    assert_eq!(next[2], (true, head + 1), "then the conventional repair: {next:?}");
    assert_eq!((pipe.total("spurious_timeouts"), pipe.total("undone_reductions")), (0, 0));
}

#[test]
fn f_rto_repeats_old_data_at_once_when_there_is_no_new() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 10), ms(50))
        .rule(|p| if p.data && p.copy == 0 { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(3000));
    assert_eq!(pipe.total("spurious_timeouts"), 0);
}

#[test]
fn a_recovery_whose_hole_an_original_fills_is_taken_back() {
    for cc in ["reno", "cubic nohystart", "cubic version rfc9438 hystart off", "prague"] {
        let ecn = if cc == "prague" { Feedback::AccEcn } else { Feedback::None };
        let mut pipe = Pipe::new(cc, config(ecn, 3000), ms(50))
            .bottleneck(RATE, 2000)
            .rule(|p| match p.index {
                300 if p.data && p.copy == 0 => Fate::Late(ms(40)),
                _ => Fate::Pass,
            })
            .start();
        pipe.finish(at_ms(20_000));
        assert_eq!(pipe.retransmissions().len(), 1, "{cc}");
        assert_eq!(pipe.total("undone_reductions"), 1, "{cc}");
        assert_eq!(pipe.total("spurious_retransmits"), 1, "{cc}");
        let restored = pipe.reductions.iter().any(|(_, ssthresh)| *ssthresh == Window::INFINITE);
        assert!(restored, "{cc}: {:?}", pipe.reductions);
    }
}

#[test]
fn without_timestamps_a_d_sack_for_every_retransmission_takes_the_reduction_back() {
    let mut pipe = Pipe::new("reno", with(|c| c.timestamps = false, 3000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.index {
            300 | 303 if p.data && p.copy == 0 => Fate::Late(ms(40)),
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(20_000));
    assert_eq!(pipe.total("spurious_retransmits"), 2);
    assert_eq!(pipe.total("undone_reductions"), 1);
    assert_eq!(pipe.tx.window().ssthresh, Window::INFINITE);
}

#[test]
fn one_real_loss_among_spurious_ones_keeps_the_reduction() {
    let mut pipe = Pipe::new("reno", with(|c| c.timestamps = false, 3000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.index {
            300 if p.data && p.copy == 0 => Fate::Late(ms(40)),
            303 if p.data && p.copy == 0 => Fate::Drop,
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(20_000));
    assert_eq!((pipe.total("spurious_retransmits"), pipe.total("undone_reductions")), (1, 0));
    assert!(pipe.tx.window().ssthresh < Window::INFINITE);
}

#[test]
fn a_real_loss_is_never_taken_back() {
    for cc in ["reno", "cubic", "prague"] {
        let mut pipe = Pipe::new(cc, config(Feedback::AccEcn, 2000), ms(50))
            .bottleneck(RATE, 2000)
            .rule(|p| if p.is_first_of(&[100, 140, 800]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(20_000));
        assert_eq!(pipe.total("undone_reductions"), 0, "{cc}");
        assert_eq!(pipe.total("spurious_retransmits"), 0, "{cc}");
    }
}

#[test]
fn a_reduction_for_a_mark_stands_although_a_loss_beside_it_was_spurious() {
    let mut pipe = Pipe::new("reno", config(Feedback::Rfc3168, 3000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.index {
            290 if p.data => Fate::Mark,
            300 if p.data && p.copy == 0 => Fate::Late(ms(40)),
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(20_000));
    assert_eq!(pipe.total("spurious_retransmits"), 1);
    let restored = pipe.reductions.iter().any(|(_, ssthresh)| *ssthresh == Window::INFINITE);
    assert!(!restored && !pipe.reductions.is_empty(), "{:?}", pipe.reductions);
}

#[test]
fn copies_that_the_network_makes_take_nothing_back_once_they_outnumber_retransmissions() {
    // What arrives twice before the loss, and what after it: 5.15 believes a D-SACK if no more segments were received
    // twice than were sent again.
    for (era, early, undone) in [(Era::E2020, true, 1), (Era::E7, true, 0), (Era::E7, false, 1)] {
        let config = Config { bytes: Some(3000 * MSS), ..Config::of(era) };
        let mut pipe = Pipe::new("reno", config, ms(50))
            .bottleneck(RATE, 2000)
            .rule(move |p| match p.index {
                50 if p.data && early => Fate::Twice(ms(0)),
                300 if p.data && p.copy == 0 => Fate::Drop,
                1500 if p.data => Fate::Twice(ms(0)),
                _ => Fate::Pass,
            })
            .start();
        pipe.finish(at_ms(20_000));
        assert_eq!(pipe.total("undone_reductions"), undone, "{era:?}, early: {early}");
    }
}

// Linux `tcp_try_undo_partial` looks for reordering, so that only the first late segment is sent again.
#[test]
fn an_original_that_fills_a_hole_in_recovery_shows_reordering() {
    let config = Config { bytes: Some(3000 * MSS), ..Config::of(Era::E7) };
    let mut pipe = Pipe::new("reno", config, ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.index {
            300 | 600 | 900 if p.data && p.copy == 0 => Fate::Late(ms(20)),
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(20_000));
    let again: Vec<u64> = pipe.retransmissions().iter().map(|p| p.index).collect();
    assert_eq!(again, [300]);
}

// 6.12: the pacer holds the repair back until the original is there (`tcp_packet_delayed`).
#[test]
fn a_recovery_that_has_sent_nothing_again_is_taken_back_in_7() {
    let undone = |era| {
        let config = Config { bytes: Some(3000 * MSS), pacing: true, ..Config::of(era) };
        let late = |p: &Passing| p.data && p.index >= 100 && p.index.is_multiple_of(100);
        let mut pipe = Pipe::new("reno", config, ms(50))
            .bottleneck(RATE, 2000)
            .rule(move |p| if late(p) { Fate::Late(ms(2)) } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(20_000));
        assert_eq!(pipe.retransmissions().len(), 0, "{era:?}");
        assert_eq!(pipe.reductions.len(), 1 + pipe.total("undone_reductions") as usize, "{era:?}");
        pipe.total("undone_reductions")
    };
    assert_eq!((undone(Era::E6), undone(Era::E7)), (0, 1));
}

#[test]
fn held_back_sacks_follow_the_era() {
    // From one held-back SACK of a hole to the next, at an RTT of little more than 10 ms.
    let gap = |set: fn(&mut Config)| {
        // A window that grows is shown with every segment.
        let mut config = with(set, 3000);
        config.rmem_max = config.rmem_default;
        let mut pipe = Pipe::new("reno", config, ms(5))
            .bottleneck(RATE, 2000)
            .rule(|p| if p.is_first_of(&[45]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(20_000));
        let acked = 1 + 45 * 1448;
        let times: Vec<u64> = pipe
            .acks()
            .filter(|a| a.segment.ack == acked && !a.segment.sack.is_empty())
            .map(|a| a.at.0)
            .collect();
        Dur(times[6] - times[5])
    };
    let short = gap(|c| c.comp_sack_rtt_percent = 1);
    let slack = gap(|c| (c.comp_sack_rtt_percent, c.comp_sack_slack) = (1, ms(1)));
    assert!(slack >= short + Dur::from_micros(700), "{short} and {slack}");
    let (five, all) = (gap(|_| {}), gap(|c| c.comp_sack_rtt_percent = 33));
    assert!(five < all, "{five} and {all}: five percent of the RTT is less than 1 ms");
}
