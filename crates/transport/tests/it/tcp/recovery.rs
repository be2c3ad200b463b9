//! Loss: what it costs, how it is found, and what the repair sends.

use sojourn_cc::{self as cc, Feedback};
use sojourn_core::{Dur, Ecn, Rate, Time};
use sojourn_transport::tcp::{Config, Era, Flags, SackBlocks, Segment, Sender};
use sojourn_transport::{Body, Endpoint};

use super::pipe::{Fate, MSS, Pipe, at_ms, config, ms};

/// Four segments per millisecond, so that every transmission has its own time (RACK's order) and
/// no compressed SACK reports more segments than AccECN's counter can tell apart.
const RATE: Rate = Rate(50_000_000);

const ALL: [&str; 6] =
    ["reno", "cubic", "prague", "prague version p1", "prague version p2a", "prague version p2b"];

fn lossy(cc: &str, lost: &'static [u64]) -> Pipe {
    let mut pipe = Pipe::new(cc, config(Feedback::AccEcn, 1000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(move |p| if p.is_first_of(lost) { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(20_000));
    pipe
}

#[test]
fn one_lost_segment_costs_one_retransmission_and_one_reduction() {
    for cc in ["reno", "cubic"] {
        let pipe = lossy(cc, &[100]);
        assert_eq!(pipe.retransmissions().len(), 1, "{cc}");
        assert_eq!(pipe.retransmissions()[0].index, 100);
        assert_eq!(pipe.reductions.len(), 1, "{cc}: {:?}", pipe.reductions);
        assert_eq!((pipe.total("timeouts"), pipe.total("tail_loss_probes")), (0, 0));
    }
}

#[test]
fn a_lost_segment_is_repaired_within_two_round_trips_whatever_the_controller() {
    for cc in ALL {
        let pipe = lossy(cc, &[100]);
        let first = pipe.data().find(|p| p.index == 100).expect("sent").at;
        let again = pipe.retransmissions();
        assert_eq!(again.len(), 1, "{cc}");
        // p1 halves at once and without PRR: the copy waits until half of the flight has left.
        let limit = if cc == "prague version p1" { ms(180) } else { ms(130) };
        assert!(again[0].at.since(first) <= limit, "{cc}");
    }
}

#[test]
fn many_losses_in_one_window_are_one_reduction_and_one_copy_each() {
    static LOST: [u64; 8] = [71, 75, 76, 77, 90, 101, 120, 149];
    for cc in ["reno", "cubic"] {
        let pipe = lossy(cc, &LOST);
        let mut again: Vec<u64> = pipe.retransmissions().iter().map(|p| p.index).collect();
        again.sort_unstable();
        assert_eq!(again, LOST, "{cc}");
        assert_eq!(pipe.reductions.len(), 1, "{cc}: {:?}", pipe.reductions);
        assert_eq!(pipe.total("timeouts"), 0);
    }
}

// Linux 7.2: of a packet of two segments the second one lost, or both, which PRR sends again one by one.
#[test]
fn a_segment_that_is_repaired_alone_has_no_psh_of_the_packet_that_it_ended() {
    let repairs = |lost: &'static [u64]| {
        let config = Config { bytes: Some(1000 * MSS), ..Config::of(Era::E7) };
        let mut pipe = Pipe::new("reno", config, ms(50))
            .rule(move |p| if p.is_first_of(lost) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(20_000));
        let first = pipe.data().filter(|p| p.copy == 0 && lost.contains(&p.index));
        let first: Vec<_> = first.map(|p| p.segment.flags.psh).collect();
        let again = pipe.retransmissions().iter().map(|p| p.segment.flags.psh).collect::<Vec<_>>();
        (first, again)
    };
    assert_eq!(repairs(&[100]), (vec![true], vec![false]));
    assert_eq!(repairs(&[99, 100]), (vec![false, true], vec![false, false]));
}

// Linux tcp_xmit_retransmit_queue leaves a pending timer of RACK: by a capture of 7.2. The last of the first flight is lost,
// and of the burst that follows all but one: its SACK shows the first loss at once, and the others are overdue soon after.
#[test]
fn what_is_overdue_soon_is_repaired_before_the_repair_of_the_head_is_acknowledged() {
    static LOST: [u64; 18] =
        [9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
    let mut pipe = Pipe::new("reno", config(Feedback::None, 1000), ms(50))
        .rule(|p| if p.is_first_of(&LOST) { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(20_000));
    let again = pipe.retransmissions();
    assert_eq!(again[..4].iter().map(|p| p.index).collect::<Vec<_>>(), [9, 10, 11, 12]);
    let wait = again[1].at.since(again[0].at);
    assert!(wait > ms(25) && wait < ms(30), "a quarter of the RTT: {wait:?}");
}

#[test]
fn losses_in_two_windows_are_two_reductions() {
    let pipe = lossy("reno", &[100, 800]);
    assert_eq!(pipe.retransmissions().len(), 2);
    assert_eq!(pipe.reductions.len(), 2, "{:?}", pipe.reductions);
}

#[test]
fn a_lost_retransmission_is_found_within_a_round_trip_and_a_quarter() {
    for cc in ALL {
        let mut pipe = Pipe::new(cc, config(Feedback::AccEcn, 4000), ms(50))
            .bottleneck(RATE, 2000)
            .rule(|p| if p.data && p.index == 100 && p.copy < 2 { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(20_000));
        let times: Vec<Time> = pipe.data().filter(|p| p.index == 100).map(|p| p.at).collect();
        assert_eq!(times.len(), 3, "{cc}");
        // With the queue, which differs among them, of what was sent next. A quarter of the path's and the timer.
        let next = pipe.data().find(|p| p.at > times[1]).map(|p| p.at).expect("more data");
        let echo = pipe.acks().find(|a| a.segment.tsecr >= next).expect("an answer");
        let rtt = echo.at.since(next) + ms(50);
        assert!(times[2].since(times[1]) <= rtt + ms(25 + 4), "{cc}: {times:?}, {rtt}");
        assert_eq!(pipe.total("timeouts"), 0, "{cc}");
    }
}

#[test]
fn a_tail_loss_is_repaired_by_a_probe_and_not_by_a_timeout() {
    for cc in ALL {
        let mut pipe = Pipe::new(cc, config(Feedback::AccEcn, 30), ms(40))
            .rule(|p| if p.is_first_of(&[27, 28, 29]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(1000));
        assert_eq!(pipe.total("timeouts"), 0, "{cc}");
        assert_eq!(pipe.total("tail_loss_probes"), 1, "{cc}");
        let again: Vec<(u64, bool)> =
            pipe.retransmissions().iter().map(|p| (p.index, p.probe)).collect();
        assert_eq!(again, [(29, true), (27, false), (28, false)], "{cc}");
    }
}

#[test]
fn a_probe_that_repairs_the_very_last_segment_costs_nothing() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 30), ms(40))
        .rule(|p| if p.is_first_of(&[29]) { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(1000));
    assert_eq!((pipe.total("tail_loss_probes"), pipe.total("timeouts")), (1, 0));
    // The FIN's ACK equals tlp_high_seq: Linux 5.4 counts the loss when more is acknowledged.
    assert_eq!(pipe.reductions.len(), 0);
}

#[test]
fn a_probe_for_a_lost_ack_costs_nothing() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 30), ms(40))
        .rule(|p| {
            let last = !p.forward && p.segment.ack > 28 * 1448 && p.at < at_ms(400);
            if last { Fate::Drop } else { Fate::Pass }
        })
        .start();
    pipe.finish(at_ms(2000));
    assert_eq!((pipe.total("tail_loss_probes"), pipe.total("timeouts")), (1, 0));
    assert_eq!(pipe.reductions, []);
}

#[test]
fn a_lost_fin_is_repaired() {
    let mut pipe = Pipe::new("cubic", config(Feedback::None, 10), ms(20))
        .rule(|p| if p.segment.flags.fin && p.copy < 2 { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(2000));
    assert_eq!(pipe.data().filter(|p| p.segment.flags.fin).count(), 3);
}

#[test]
fn slight_reordering_retransmits_nothing_and_is_remembered() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 3000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| {
            // Overtaken by two segments at first; later by ten, which exceeds the duplicate
            // threshold but not the reordering window that has been learned.
            match p.index {
                200 if p.data => Fate::Late(Dur::from_micros(500)),
                n if p.data && n >= 600 && n % 400 == 0 => Fate::Late(ms(3)),
                _ => Fate::Pass,
            }
        })
        .start();
    pipe.finish(at_ms(5000));
    assert_eq!(pipe.retransmissions().len(), 0);
    assert_eq!(pipe.reductions, []);
}

// Linux tcp_skb_spurious_retrans. The queue makes the RTT more than twice its minimum, so that the ACK of
// the original comes later than the minimum after the copy: taken for the copy's, it would make RACK
// give up all that was sent before the copy.
#[test]
fn an_ack_of_the_original_does_not_advance_rack_to_the_copy() {
    // With undo the first such ACK ends the recovery, and RACK is not asked.
    let mut config = config(Feedback::None, 4000);
    config.undo = false;
    let mut pipe = Pipe::new("reno", config, ms(20))
        .bottleneck(RATE, 2000)
        .rule(|p| if p.is_first_of(&[2000]) { Fate::Late(ms(60)) } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(20_000));
    let again: Vec<u64> = pipe.retransmissions().iter().map(|p| p.index).collect();
    assert_eq!(again, [2000]);
    assert_eq!(pipe.acks().filter(|a| a.segment.sack.duplicate).count(), 1);
}

#[test]
fn reordering_beyond_the_window_is_reported_as_a_duplicate_and_widens_it() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 3000), ms(50))
        .bottleneck(RATE, 2000)
        .rule(|p| match p.index {
            150 if p.data => Fate::Late(Dur::from_micros(500)),
            n if p.data && p.copy == 0 && n % 1000 == 300 => Fate::Late(ms(40)),
            _ => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(20_000));
    let again: Vec<u64> = pipe.retransmissions().iter().map(|p| p.index).collect();
    assert_eq!(again, [300], "a quarter of 100 ms is too short once; half of it is enough");
    assert_eq!(pipe.acks().filter(|a| a.segment.sack.duplicate).count(), 1);
}

#[test]
fn compressed_sacks_acknowledge_a_long_hole_at_most_once_per_millisecond() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 4000), ms(50))
        .bottleneck(Rate(1_000_000_000), 4000)
        .rule(|p| if p.is_first_of(&[1000]) { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(20_000));
    let acked = 1 + 1000 * 1448;
    let times: Vec<u64> = pipe
        .acks()
        .filter(|a| a.segment.ack == acked && !a.segment.sack.is_empty())
        .map(|a| a.at.0)
        .collect();
    let span = (times[times.len() - 1] - times[3]) / 1_000_000;
    assert!(times.len() > 8, "the hole stays open for a while");
    // 82 segments per millisecond arrive: every 42nd forces an ACK, the third more was sent at once.
    assert!(times.len() as u64 <= 3 + 2 * span + 2, "{} ACKs in {span} ms", times.len());
}

/// A sender whose ACKs a test writes, and the time.
struct Answered {
    tx: Sender,
    now: Time,
}

impl Answered {
    /// A connection that has sent its first window, 100 ms after its SYN.
    fn new(config: Config) -> Self {
        let tx = Sender::new(config, cc::build("reno").expect("a registered controller"));
        let mut answered = Self { tx, now: Time::ZERO };
        answered.now += ms(50);
        answered.ack(true, 1, 25, None);
        answered.now += ms(50);
        answered
    }

    /// An ACK arrives. Gives how many segments are lost so far.
    fn ack(&mut self, syn: bool, ack: u64, sent_ms: u64, block: Option<(u64, u64)>) -> f64 {
        let mut sack = SackBlocks::default();
        if let Some(block) = block {
            sack.push(block);
        }
        let segment = Segment {
            seq: u64::from(!syn),
            ack,
            window: 65_535,
            flags: Flags { syn, ack: true, ..Flags::default() },
            sack,
            tsval: at_ms(sent_ms),
            tsecr: Time::ZERO,
            ..Segment::default()
        };
        self.tx.on_packet(self.now, &Body::Tcp(segment), Ecn::NotEct);
        while self.tx.poll(self.now).is_some() {}
        self.tx.totals().0.iter().find(|(name, _)| *name == "lost").expect("a total").1
    }
}

// Linux `prior_fack`: an ACK that was delayed goes out with the first block above a hole, and acknowledges what lies
// below. None of it was late; three blocks show a loss at once.
#[test]
fn an_ack_that_advances_below_its_own_first_block_shows_no_reordering() {
    let mut sender = Answered::new(Config::default());
    let end = |n: u64| 1 + n * 1448;
    let mut lost = |n: u64| {
        sender.now += ms(1);
        sender.ack(false, end(1), 60 + n, Some((end(2), end(2 + n))))
    };
    assert_eq!([1_u64, 2, 3].map(&mut lost), [0.0, 0.0, 1.0]);
}

#[test]
fn an_ack_that_ends_within_a_segment_is_no_reordering() {
    let lost_after = |within: bool| {
        let mut sender = Answered::new(Config::default());
        if within {
            sender.ack(false, 1 + 724, 60, None);
        }
        sender.now += ms(1);
        sender.ack(false, 1 + 1448, 61, None)
    };
    assert_eq!(lost_after(true), lost_after(false));
}

// Linux tcp_disordered_ack; seen on 7.2 under jitter: a third of the ACKs of a flow (PAWSEstab at the sender).
#[test]
fn an_overtaken_ack_is_discarded_unless_it_repeats_the_last() {
    let flight_after = |paws: bool, ack: u64, sent_ms: u64| {
        let mut sender = Answered::new(Config { paws, ..Config::default() });
        sender.ack(false, 1 + 3 * 1448, 60, None);
        sender.now += ms(1);
        sender.ack(false, 1 + ack * 1448, sent_ms, Some((1 + 5 * 1448, 1 + 9 * 1448)))
    };
    assert_eq!(flight_after(true, 3, 50), 2.0, "a duplicate");
    assert_eq!(flight_after(true, 2, 59), 2.0, "a millisecond late");
    assert_eq!(flight_after(true, 2, 58), 0.0);
    assert_eq!(flight_after(false, 2, 58), 2.0);
}
