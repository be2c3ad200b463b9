//! ECN feedback from mark to reduction.

use sojourn_cc::Feedback;
use sojourn_core::units::Bytes;
use sojourn_core::{Ecn, Rate, Rng};
use sojourn_transport::tcp::{Config, SceFeedback};

use super::pipe::{Fate, Pipe, at_ms, config, ms};

const ECE: u8 = 1;
const CWR: u8 = 2;
const AE: u8 = 4;

fn marked(cc: &str, feedback: Feedback, indices: &'static [u64]) -> Pipe {
    let mut pipe = Pipe::new(cc, config(feedback, 2000), ms(50))
        .rule(move |p| if p.is_first_of(indices) { Fate::Mark } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(60_000));
    assert_eq!(pipe.retransmissions().len(), 0, "marks lose nothing");
    pipe
}

// KAT ecn 1
#[test]
fn marks_within_one_window_cost_one_reduction() {
    for feedback in [Feedback::Rfc3168, Feedback::AccEcn, Feedback::Dctcp, Feedback::Sce] {
        for cc in ["reno", "reno abe", "cubic", "dctcp", "reno-sce", "cubic-sce", "scalable"] {
            let pipe = marked(cc, feedback, &[80, 110]);
            // The SCE controllers set their threshold once more when the reduction is over.
            let sce = usize::from(cc == "reno-sce");
            assert_eq!(pipe.reductions.len(), 1 + sce, "{cc} {feedback:?}: {:?}", pipe.reductions);
        }
    }
}

#[test]
fn marks_in_windows_far_apart_cost_one_reduction_each() {
    for feedback in [Feedback::Rfc3168, Feedback::AccEcn] {
        let pipe = marked("reno", feedback, &[80, 700, 1500]);
        assert_eq!(pipe.reductions.len(), 3, "{feedback:?}: {:?}", pipe.reductions);
    }
}

#[test]
fn a_mark_and_a_loss_in_one_window_cost_one_reduction() {
    for feedback in [Feedback::Rfc3168, Feedback::AccEcn] {
        // At this rate no SACK reports more than seven segments: with more, AccECN without its
        // option assumes marks (RFC 9768 A.2, the safe estimate).
        let mut pipe = Pipe::new("reno", config(feedback, 2000), ms(50))
            .bottleneck(Rate(20_000_000), 1000)
            .rule(|p| match () {
                () if p.is_first_of(&[80]) => Fate::Mark,
                () if p.is_first_of(&[110]) => Fate::Drop,
                () => Fate::Pass,
            })
            .start();
        pipe.finish(at_ms(60_000));
        assert_eq!(pipe.reductions.len(), 1, "{feedback:?}: {:?}", pipe.reductions);
    }
}

#[test]
fn ece_lasts_from_the_mark_until_cwr_arrives() {
    let pipe = marked("reno", Feedback::Rfc3168, &[80]);
    let marked_at = pipe.data().find(|p| p.index == 80).expect("sent").at + ms(50);
    let cwr: Vec<_> = pipe.data().filter(|p| p.segment.ace & CWR != 0).collect();
    assert_eq!(cwr.len(), 1, "one segment carries CWR");
    assert!(pipe.acks().any(|a| a.segment.ace == ECE));
    for ack in pipe.acks() {
        let demanded = ack.at >= marked_at && ack.at < cwr[0].at + ms(50);
        if ack.at != marked_at && ack.at != cwr[0].at + ms(50) {
            assert_eq!(ack.segment.ace == ECE, demanded, "at {}", ack.at);
        }
    }
}

#[test]
fn the_lost_segment_that_carried_cwr_is_not_the_end_of_ece() {
    // The retransmission carries no CWR (RFC 3168 6.1.5 sends it on new data only), so ECE lasts
    // until the reduction after the recovery has sent another one.
    let mut seen = 0;
    let mut pipe = Pipe::new("reno", config(Feedback::Rfc3168, 2000), ms(50))
        .rule(move |p| match () {
            () if p.is_first_of(&[80]) => Fate::Mark,
            () if p.data && p.segment.ace & CWR != 0 && seen == 0 => {
                seen += 1;
                Fate::Drop
            }
            () => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(60_000));
    assert!(pipe.retransmissions().iter().all(|p| p.segment.ace & CWR == 0));
    assert_eq!(pipe.acks().last().expect("ACKs").segment.ace, 0);
}

#[test]
fn a_timeout_answers_a_pending_ece_with_cwr() {
    // Linux tcp_enter_loss queues CWR: the timeout's reduction is the answer to the mark as well.
    // ACKs are lost too, so F-RTO would take the timeout back (what was sent once has arrived).
    let mut config = config(Feedback::Rfc3168, 2000);
    config.frto = false;
    let mut pipe = Pipe::new("reno", config, ms(50))
        .rule(|p| match () {
            () if p.is_first_of(&[80]) => Fate::Mark,
            () if p.at >= at_ms(395) && p.at < at_ms(1000) => Fate::Drop,
            () => Fate::Pass,
        })
        .start();
    pipe.run_until(at_ms(1000));
    assert!(pipe.total("timeouts") > 0);
    let so_far = pipe.reductions.len();
    pipe.finish(at_ms(60_000));
    // Retransmissions carry no CWR, so that ECE is still set when they end, and is answered then (`tcp_try_to_open`).
    assert_eq!(pipe.reductions.len(), so_far + 1, "{:?}", pipe.reductions);
    let repaired = pipe.retransmissions().last().expect("repairs").at + ms(100);
    assert_eq!(pipe.reductions[so_far].0, repaired);
}

#[test]
fn an_ack_that_was_overtaken_does_not_reduce_again() {
    // Linux processes ECE only on ACKs that are not older than snd_una (tcp_ack, old_ack).
    let mut held = false;
    let mut pipe = Pipe::new("reno", config(Feedback::Rfc3168, 2000), ms(50))
        .rule(move |p| match () {
            () if p.is_first_of(&[80]) => Fate::Mark,
            () if !p.forward && !p.segment.flags.syn && p.segment.ace == ECE && !held => {
                held = true;
                Fate::Twice(ms(350))
            }
            () => Fate::Pass,
        })
        .start();
    pipe.finish(at_ms(60_000));
    assert_eq!(pipe.reductions.len(), 1, "{:?}", pipe.reductions);
}

#[test]
fn accecn_counts_every_mark_exactly_whatever_acks_are_lost() {
    // Two ACKs in three are lost, still at most six segments per ACK: the counter cannot wrap.
    let mut n = 0;
    let mut pipe = Pipe::new("prague", config(Feedback::AccEcn, 2000), ms(20))
        .rule(move |p| {
            if p.data {
                return if p.index % 5 == 0 { Fate::Mark } else { Fate::Pass };
            }
            n += u32::from(!p.forward);
            if !p.forward && p.index > 100 && n % 3 != 0 && p.segment.ack < 2000 * 1448 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        })
        .start();
    pipe.finish(at_ms(60_000));
    assert_eq!(pipe.total("ce_reported"), 400);
}

// By the captures of five flows of the L4S testbed of April 2020: what has the ACE field of the last change of the
// window, here its first value, reports no mark until another ACE field comes, or a SACK, an option or many segments.
#[test]
fn a_predicted_ace_field_reports_its_mark_with_the_next_one() {
    let marks: &'static [u64] = &[200, 400, 600, 800, 1000, 1200, 1400, 1610, 1800];
    // The marks that the sender knows of in the end. The window is of five segments, and never changes after the first data.
    let reported = |ace_prediction, option, marks: &'static [u64], lost: u64| {
        let config = Config {
            ace_prediction,
            accecn_option: option,
            rmem_default: Bytes(16 << 10),
            rmem_max: Bytes(16 << 10),
            ..config(Feedback::AccEcn, 2000)
        };
        let mut pipe = Pipe::new("reno", config, ms(20))
            .rule(move |p| match () {
                () if p.is_first_of(marks) => Fate::Mark,
                () if p.is_first_of(&[lost]) => Fate::Drop,
                () => Fate::Pass,
            })
            .start();
        pipe.finish(at_ms(60_000));
        pipe.total("ce_reported")
    };
    let (eight, none) = (&marks[..8], 9999);
    assert_eq!(reported(false, false, eight, none), 8);
    assert_eq!(reported(true, false, eight, none), 7, "the eighth brings the field to 5 again");
    assert_eq!(reported(true, false, marks, none), 9, "the ninth reports both");
    assert_eq!(reported(true, false, eight, 1612), 8, "no ACK with SACK is predicted");
    assert_eq!(reported(true, true, eight, none), 8, "nor is one with the option");
}

#[test]
fn the_accecn_option_counts_bytes_of_each_codepoint() {
    let config = Config { accecn_option: true, ..config(Feedback::AccEcn, 100) };
    let mut pipe = Pipe::new("prague", config, ms(20))
        .rule(|p| if p.data && p.index % 4 == 0 { Fate::Mark } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(10_000));
    let last = pipe.acks().last().expect("ACKs").segment;
    let marked = pipe.data().filter(|p| p.index % 4 == 0).map(|p| p.segment.len).sum::<u32>();
    assert!(marked > 25 * 1436);
    assert_eq!(last.accecn, Some([1, marked, 1 + 100 * 1448 - marked]));
    assert_eq!(last.frame_len(true), 66 + 12);
}

// Linux 7.2 in a capture: 1436 bytes of payload.
#[test]
fn the_accecn_option_takes_the_place_of_payload_in_data_segments() {
    let wanted = Config { accecn_option: true, ..config(Feedback::AccEcn, 100) };
    for (agreed, payload) in [(Feedback::AccEcn, 1436), (Feedback::Rfc3168, 1448)] {
        let config = Config { ecn: agreed, ..wanted.clone() };
        let mut pipe = Pipe::new("reno", config, ms(20)).start();
        pipe.finish(at_ms(10_000));
        let longest = pipe.data().map(|sent| sent.segment.len).max();
        assert_eq!(longest, Some(payload), "{agreed:?}");
        assert!(pipe.data().all(|sent| sent.segment.frame_len(true) <= 1514));
    }
}

// RFC 3168 6.1.5 and RFC 9768 3.2.1
#[test]
fn retransmissions_are_capable_under_accecn_and_dctcp_only() {
    for (cc, feedback, expected) in [
        ("reno", Feedback::Rfc3168, Ecn::NotEct),
        ("reno", Feedback::AccEcn, Ecn::Ect0),
        ("prague", Feedback::AccEcn, Ecn::Ect1),
        ("prague", Feedback::Rfc3168, Ecn::NotEct),
        ("reno", Feedback::None, Ecn::NotEct),
        ("reno", Feedback::Dctcp, Ecn::NotEct),
        ("reno-sce", Feedback::Sce, Ecn::NotEct),
        ("dctcp", Feedback::Dctcp, Ecn::Ect0),
    ] {
        let mut pipe = Pipe::new(cc, config(feedback, 500), ms(20))
            .rule(|p| if p.is_first_of(&[60, 300]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(60_000));
        let again = pipe.retransmissions();
        assert_eq!(again.len(), 2);
        assert!(again.iter().all(|p| p.ecn == expected), "{cc} {feedback:?}");
    }
}

#[test]
fn prague_follows_the_fraction_of_marks_and_reno_does_not() {
    let steady = |cc: &str| {
        let mut pipe = Pipe::new(cc, config(Feedback::AccEcn, None), ms(10))
            .rule(|p| if p.data && p.index % 100 == 0 { Fate::Mark } else { Fate::Pass })
            .start();
        pipe.run_until(at_ms(20_000));
        let from = pipe.rx.delivered();
        pipe.run_until(at_ms(60_000));
        // Window in segments from the throughput of 40 s = 2000 round trips.
        (pipe.rx.delivered() - from) as f64 / 1448.0 / 2000.0
    };
    // One mark in a hundred segments. Reno: 8 round trips from 8 to 16 segments, and two to four
    // halves of one in which the mark travels and the reduction runs. Prague: 2/p = 200.
    let (reno, prague) = (steady("reno"), steady("prague version p2b"));
    assert!((9.3..11.2).contains(&reno), "reno {reno:.1}");
    assert!((170.0..230.0).contains(&prague), "prague {prague:.1}");
}

/// Bytes acknowledged with this flag.
fn acked_with(pipe: &Pipe, flag: u8) -> u64 {
    let (mut last, mut sum) = (1, 0);
    for ack in pipe.acks() {
        sum += if ack.segment.ace & flag != 0 { ack.segment.ack - last } else { 0 };
        last = ack.segment.ack;
    }
    sum
}

/// Marks segments at random, each with probability `p`, and counts their bytes.
fn marked_at_random(
    cc: &str,
    config: Config,
    p: f64,
    fate: Fate,
) -> (Pipe, std::rc::Rc<std::cell::Cell<u64>>) {
    let bytes = std::rc::Rc::new(std::cell::Cell::new(0));
    let counter = bytes.clone();
    let mut rng = Rng::named(7, "marks");
    let mut pipe = Pipe::new(cc, config, ms(20))
        .rule(move |passing| {
            if !passing.data || rng.unit() >= p {
                return Fate::Pass;
            }
            counter.set(counter.get() + passing.segment.end() - passing.segment.seq);
            fate
        })
        .start();
    pipe.finish(at_ms(600_000));
    (pipe, bytes)
}

// KAT esce 2: "±1 ACK", here of the last ACK, because each run is acknowledged by itself
#[test]
fn bytes_acknowledged_with_esce_are_those_marked() {
    for p in [0.02, 0.3, 0.5, 0.9] {
        for sce_feedback in [SceFeedback::Advanced, SceFeedback::Dithered] {
            let config = Config { sce_feedback, ..config(Feedback::Sce, 4000) };
            let (pipe, bytes) = marked_at_random("reno-sce", config, p, Fate::Sce);
            assert_eq!(pipe.retransmissions().len(), 0);
            let (marked, echoed) = (bytes.get(), acked_with(&pipe, AE));
            assert!(marked.abs_diff(echoed) <= 2 * 1448, "{p} {sce_feedback:?}: {marked} {echoed}");
            assert_eq!(acked_with(&pipe, ECE), 0);
        }
    }
}

// KAT dctcp-feedback 2
#[test]
fn bytes_acknowledged_with_ece_under_dctcp_are_those_marked() {
    for p in [0.02, 0.5, 0.9] {
        let (pipe, bytes) = marked_at_random("dctcp", config(Feedback::Dctcp, 4000), p, Fate::Mark);
        assert_eq!(acked_with(&pipe, ECE), bytes.get(), "{p}");
        let segments = bytes.get().div_ceil(1448);
        assert!(pipe.total("ce_reported").abs_diff(segments) <= 1, "{p}");
    }
}

// KAT dctcp-feedback 3: SYN, SYN/ACK, ACKs and retransmissions, and none of them under another controller
#[test]
fn dctcp_sends_every_packet_with_ect0() {
    for (cc, all) in [("dctcp", true), ("reno", false)] {
        let mut pipe = Pipe::new(cc, config(Feedback::Dctcp, 300), ms(20))
            .rule(|p| if p.is_first_of(&[60]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(60_000));
        let mut others = pipe.log.iter().filter(|p| !p.data || p.copy > 0);
        assert!(others.all(|p| (p.ecn == Ecn::Ect0) == all), "{cc}");
        assert!(pipe.data().filter(|p| p.copy == 0).all(|p| p.ecn == Ecn::Ect0));
    }
}

// KAT dctcp-feedback 4
#[test]
fn dctcp_without_ecn_at_the_peer_is_reno() {
    let run = |cc: &str| {
        let client = config(Feedback::Dctcp, 3000);
        let mut pipe = Pipe::between(cc, client, config(Feedback::None, 3000), ms(20))
            .rule(|p| if p.is_first_of(&[80, 1200]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(600_000));
        assert!(pipe.data().all(|p| p.ecn == Ecn::NotEct));
        (pipe.now, pipe.reductions)
    };
    assert_eq!(run("dctcp"), run("reno"));
}

// KAT ecn++ 1
#[test]
fn ecn_plus_plus_marks_what_the_feedback_can_report() {
    let kinds = |feedback, ecn_plus_plus| {
        let config = Config { ecn_plus_plus, ..config(feedback, 300) };
        let mut pipe = Pipe::new("reno", config, ms(20))
            .rule(|p| if p.is_first_of(&[60]) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(60_000));
        let capable = |of: &dyn Fn(&&super::pipe::Passing) -> bool| {
            let mut some = pipe.log.iter().filter(of).peekable();
            assert!(some.peek().is_some());
            some.all(|p| p.ecn != Ecn::NotEct)
        };
        let syn = |p: &&super::pipe::Passing| p.segment.flags.syn;
        [
            capable(&|p| syn(p) && p.forward),
            capable(&|p| syn(p) && !p.forward),
            capable(&|p| p.copy > 0),
            capable(&|p| !syn(p) && !p.forward),
        ]
    };
    assert_eq!(kinds(Feedback::AccEcn, true), [true; 4]);
    assert_eq!(kinds(Feedback::AccEcn, false), [false, false, true, true]);
    assert_eq!(kinds(Feedback::Rfc3168, true), [false, true, true, false]);
    assert_eq!(kinds(Feedback::Rfc3168, false), [false; 4]);
}

// KAT ecn++ 2
#[test]
fn a_mark_on_an_ecn_plus_plus_syn_costs_the_initial_window() {
    let first_flight = |ecn_plus_plus, mark| {
        let config = Config { ecn_plus_plus, ..config(Feedback::AccEcn, 300) };
        let mut pipe = Pipe::new("reno", config, ms(20))
            .rule(move |p| match () {
                () if mark && p.forward && p.segment.flags.syn => Fate::Mark,
                () => Fate::Pass,
            })
            .start();
        pipe.run_until(at_ms(60));
        pipe.data().count()
    };
    assert_eq!(first_flight(true, true), 1);
    assert_eq!(first_flight(true, false), 10);
    assert_eq!(first_flight(false, false), 10);
}
