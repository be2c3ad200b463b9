//! The retransmission timeout and the tail-loss probe, to the millisecond: in jiffies of the timer wheel, which adds
//! one to short times and rounds longer ones up to a multiple of 8, 64 or 512.

use sojourn_cc::{Feedback, State};
use sojourn_core::{Rate, Time};
use sojourn_transport::tcp::Config;

use super::pipe::{Fate, Pipe, at_ms, config, ms};

/// Milliseconds of the transmissions after the first flight, all of which is lost.
fn repairs(rtt: u64, config: Config, until: Time) -> Vec<f64> {
    let mut pipe = Pipe::new("reno", config, ms(rtt / 2))
        .rule(|p| if p.data { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.run_until(until);
    let sent = at_ms(rtt);
    pipe.data().filter(|p| p.at > sent).map(|p| p.at.since(sent).as_millis_f64()).collect()
}

// KAT tlp 1: with one segment outstanding 2·srtt + 200 ms exceeds the RTO of 280 ms at
// srtt 80, and Linux takes the earlier of the two; from srtt 200 the formula holds.
#[test]
fn probe_timeout_is_two_rtts_and_two_jiffies_or_the_delayed_ack_allowance() {
    let one = config(Feedback::None, 0);
    assert_eq!(repairs(80, config(Feedback::None, 4), at_ms(400))[0], 168.0);
    assert_eq!(repairs(80, one.clone(), at_ms(400))[0], 288.0);
    assert_eq!(repairs(200, one.clone(), at_ms(900))[0], 664.0);
    assert_eq!(repairs(300, one, at_ms(1200))[0], 820.0);
}

#[test]
fn a_slower_tick_rounds_the_probe_up_to_its_jiffies() {
    let config = Config { hz: 250, ..config(Feedback::None, 4) };
    // 41 jiffies and two, set 2 ms after the 20th.
    assert_eq!(repairs(82, config, at_ms(400))[0], 164.0 + 8.0 + 2.0);
}

// KAT rto 1: the first RTO at srtt 100 is 300 ms; it starts at the probe.
#[test]
fn timeouts_follow_the_probe_and_double() {
    let times = repairs(100, config(Feedback::None, 4), at_ms(20_000));
    assert_eq!(times, [204.0, 508.0, 1148.0, 2364.0, 4796.0, 10108.0, 19836.0]);
}

#[test]
fn the_timeout_never_exceeds_two_minutes() {
    let times = repairs(100, config(Feedback::None, 4), at_ms(1_000_000));
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(
        gaps[8..],
        [77_824.0, 122_880.0, 122_880.0, 122_880.0, 122_880.0, 122_880.0, 122_880.0]
    );
}

#[test]
fn a_blackout_ends_in_slow_start_from_one_segment_and_the_back_off_is_forgotten() {
    for cc in
        ["reno", "cubic", "prague", "prague version p1", "prague version p2a", "prague version p2b"]
    {
        let (from, to) = (at_ms(420), at_ms(3000));
        // The ACK of a whole flight may hide marks, and a mark would keep what the timeout did.
        let config = Config { ecn_unsafe_cep: true, ..config(Feedback::AccEcn, 4000) };
        let mut pipe = Pipe::new(cc, config, ms(50))
            .rule(move |p| if p.at >= from && p.at < to { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.run_until(at_ms(2999));
        assert_eq!(pipe.tx.state(), State::Loss, "{cc}");
        assert_eq!(pipe.probe("in_flight"), 1.0, "{cc}");
        let timeouts = pipe.total("timeouts");
        assert_eq!(timeouts, 3, "{cc}");
        pipe.finish(at_ms(30_000));
        assert_eq!(pipe.total("timeouts"), timeouts + 1, "{cc}: the next one gets through");
        assert_eq!(pipe.tx.state(), State::Open, "{cc}");
    }
}

// Linux `tcp_fastretrans_alert`: a lost repair takes the state Loss to Recovery, and is a loss of its own.
#[test]
fn a_lost_repair_after_a_timeout_reduces_once_more() {
    let reductions = |lost_again: u32| {
        let mut repairs = 0;
        let mut pipe = Pipe::new("reno", config(Feedback::None, 4000), ms(50))
            .rule(move |p| {
                let is_repair = p.data && p.copy > 0 && p.at > at_ms(900);
                repairs += u32::from(is_repair);
                let is_lost = p.data && p.at >= at_ms(420) && p.at < at_ms(900);
                if is_lost || is_repair && repairs == lost_again { Fate::Drop } else { Fate::Pass }
            })
            .start();
        pipe.finish(at_ms(30_000));
        assert_eq!(pipe.total("timeouts"), 1);
        pipe.reductions.len()
    };
    assert_eq!(reductions(8), reductions(0) + 1);
}

#[test]
fn an_episode_of_timeouts_reduces_once() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 4000), ms(50))
        .rule(|p| if p.at >= at_ms(420) && p.at < at_ms(5000) { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.run_until(at_ms(410));
    let cwnd = pipe.tx.window().cwnd;
    pipe.run_until(at_ms(4900));
    assert!(pipe.total("timeouts") >= 3);
    let ssthresh = pipe.tx.window().ssthresh;
    assert!(ssthresh >= cwnd / 2, "halved once: {cwnd} to {ssthresh}");
}

#[test]
fn a_timeout_marks_what_is_old_and_spares_what_just_left() {
    // Only every second retransmission survives: the flow limps, but always on.
    let mut pipe = Pipe::new("reno", config(Feedback::None, 300), ms(50))
        .rule(|p| if p.data && p.copy < 2 && p.index % 10 < 7 { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(120_000));
    assert!(pipe.data().all(|p| p.copy < 6), "no segment is sent again and again");
}

// Linux tcp_clean_rtx_queue: in a queue that grows, the answer to a retransmission takes longer than the timeout, which
// SACKs of data from before it put off. Found by a drawn case: DCTCP over fq_pie, 3296 retransmissions for the
// kernel's 618.
#[test]
fn a_retransmission_in_a_long_queue_does_not_time_out() {
    for cc in ["reno", "cubic", "dctcp"] {
        let mut pipe = Pipe::new(cc, config(Feedback::None, None), ms(10))
            .bottleneck(Rate(4_000_000), 2000)
            .rule(|p| if p.is_first_of(&[400]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.run_until(at_ms(6000));
        assert_eq!(pipe.total("timeouts"), 0, "{cc}");
        let again: Vec<_> = pipe.data().filter(|p| p.copy > 0).map(|p| p.index).collect();
        assert_eq!(again, [400], "{cc}");
    }
}
