//! ECN's negotiation through middleboxes that spoil it (RFC 3168 6.1.1, RFC 9768 3.1): no
//! deadlock, and what the ends fall back to.

use sojourn_cc::Feedback;
use sojourn_core::Ecn;
use sojourn_transport::tcp::{Config, Era};

use super::pipe::{MSS, Passing, Pipe, at_ms, config, ms};

const ECE: u8 = 1;
const CWR: u8 = 2;
const AE: u8 = 4;

/// Codepoints of data and of ACKs, and reported marks, behind this mangler; every tenth segment that can
/// carry a mark gets one.
fn through(
    cc: &str,
    ecn: Feedback,
    mut mangler: impl FnMut(&mut Passing) -> bool + 'static,
) -> (Ecn, Ecn, u64) {
    let mark = move |p: &mut Passing| {
        let passes = mangler(p);
        if p.data && p.index % 10 == 9 && p.ecn.is_capable() {
            p.ecn = Ecn::Ce;
        }
        passes
    };
    let mut pipe = Pipe::new(cc, config(ecn, 300), ms(10)).mangler(mark).start();
    pipe.finish(at_ms(60_000));
    assert_eq!(pipe.rx.delivered(), 300 * 1448);
    let data = pipe.data().last().expect("data").ecn;
    let ack = pipe.acks().last().expect("ACKs").ecn;
    (data, ack, pipe.total("ce_reported"))
}

fn is_syn(p: &Passing) -> bool {
    p.segment.flags.syn && !p.segment.flags.ack
}

fn is_syn_ack(p: &Passing) -> bool {
    p.segment.flags.syn && p.segment.flags.ack
}

#[test]
fn an_honest_path_keeps_what_was_asked_for() {
    let (data, ack, ce) = through("prague", Feedback::AccEcn, |_| true);
    assert_eq!((data, ack), (Ecn::Ect1, Ecn::Ect1));
    assert!(ce >= 30, "{ce}");
    let (data, ack, ce) = through("cubic", Feedback::Rfc3168, |_| true);
    assert_eq!((data, ack), (Ecn::Ect0, Ecn::NotEct));
    assert!(ce > 0);
}

// KAT prague 15: needs AccECN, no RFC 3168 fallback; the modules before and the draft send ECT(0) as Reno
#[test]
fn prague_of_module_0_7_has_no_ecn_with_a_receiver_of_rfc_3168() {
    for (cc, asks, capable) in [
        ("prague", AE | CWR | ECE, Ecn::NotEct),
        ("prague version draft04", CWR | ECE, Ecn::Ect0),
        ("prague version p3", CWR | ECE, Ecn::Ect0),
    ] {
        let mut pipe = Pipe::new(cc, config(Feedback::Rfc3168, 300), ms(10)).start();
        pipe.finish(at_ms(60_000));
        assert_eq!(pipe.log.iter().find(|p| is_syn(p)).expect("a SYN").segment.ace, asks, "{cc}");
        assert!(pipe.data().all(|p| p.ecn == capable), "{cc}");
    }
}

// KAT ecn 3: a repeated SYN goes without ECN; of AccECN the second repetition does (Linux 7.2).
#[test]
fn a_path_that_drops_syns_with_ecn_costs_timeouts_and_ecn() {
    for (cc, ecn, times) in [
        ("prague", Feedback::AccEcn, [0, 1, 3].as_slice()),
        ("cubic", Feedback::Rfc3168, &[0, 1]),
        ("dctcp", Feedback::Dctcp, &[0, 1]),
        ("reno-sce", Feedback::Sce, &[0, 1]),
    ] {
        let drops = |p: &mut Passing| !is_syn(p) || p.segment.ace == 0;
        assert_eq!(through(cc, ecn, drops), (Ecn::NotEct, Ecn::NotEct, 0), "{cc}");
        let mut pipe = Pipe::new(cc, config(ecn, 10), ms(10)).mangler(drops).start();
        pipe.finish(at_ms(60_000));
        let syns: Vec<_> = pipe.log.iter().filter(|p| is_syn(p)).collect();
        let sent: Vec<u64> = syns.iter().map(|p| p.at.0 / 1_000_000_000).collect();
        assert_eq!(sent, times, "{cc}");
        let (last, before) = syns.split_last().expect("SYNs");
        assert!(before.iter().all(|p| p.segment.ace != 0), "{cc}");
        // DCTCP's codepoint is the socket's (measured with Linux 7.2).
        let codepoint = if cc == "dctcp" { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!((last.segment.ace, last.ecn), (0, codepoint), "{cc}");
    }
}

// Linux 7.2: SYNs at 1.04, 2.06, 3.09, 4.11, 5.14 and 7.18 s, and one segment after the second repetition.
#[test]
fn timeouts_of_syns_are_linear_at_first_and_the_second_costs_the_initial_window() {
    let opened = |era, lost: usize| {
        let mut seen = 0;
        let config = Config { bytes: Some(10 * MSS), ..Config::of(era) };
        let drops = move |p: &mut Passing| {
            seen += usize::from(is_syn(p));
            !is_syn(p) || seen > lost
        };
        let mut pipe = Pipe::new("cubic", config, ms(10)).mangler(drops).start();
        pipe.finish(at_ms(60_000));
        let syns = pipe.log.iter().filter(|p| is_syn(p)).map(|p| p.at.0 / 1_000_000_000);
        let first = pipe.data().next().expect("data").at;
        (syns.collect::<Vec<_>>(), pipe.data().take_while(|p| p.at == first).count())
    };
    assert_eq!(opened(Era::E7, 1), (vec![0, 1], 10));
    assert_eq!(opened(Era::E7, 6), (vec![0, 1, 2, 3, 4, 5, 7], 1));
    assert_eq!(opened(Era::E5_15, 3), (vec![0, 1, 3, 7], 1));
}

// Linux 7.2 answers at 0.01, 1.04, 1.05, 2.07 and 3.10 s: by its timer, and each repeated SYN; only the first two have
// ECE. They echo the first SYN, so that the window is not one segment, and the RTT is what has passed since.
#[test]
fn an_answer_that_is_lost_is_repeated_by_its_timer_and_for_each_syn() {
    let mut lost = 0;
    let drops = move |p: &mut Passing| {
        lost += usize::from(is_syn_ack(p));
        !is_syn_ack(p) || lost > 4
    };
    let config = Config { bytes: Some(10 * MSS), ecn: Feedback::Rfc3168, ..Config::of(Era::E7) };
    let mut pipe = Pipe::new("cubic", config, ms(10)).mangler(drops).start();
    pipe.finish(at_ms(60_000));
    let answers = pipe.log.iter().filter(|p| is_syn_ack(p));
    let sent: Vec<_> = answers.map(|p| (p.at.0 / 1_000_000_000, p.segment.ace)).collect();
    assert_eq!(sent, [(0, ECE), (1, ECE), (1, 0), (2, 0), (3, 0)]);
    let first = pipe.data().next().expect("data").at;
    assert_eq!(pipe.data().take_while(|p| p.at == first).count(), 10);
    let rtt = pipe.probe("rtt");
    assert!(rtt > 500.0, "{rtt}");
}

#[test]
fn a_connection_keeps_ecn_if_the_first_syn_is_answered_late() {
    // The answer takes more than a second: the SYN has been repeated without ECN, in vain.
    let mut pipe = Pipe::new("cubic", config(Feedback::Rfc3168, 10), ms(600)).start();
    pipe.finish(at_ms(60_000));
    assert_eq!(pipe.log.iter().filter(|p| is_syn(p)).count(), 2);
    let data: Vec<_> = pipe.data().map(|p| (p.ecn, p.segment.ace)).collect();
    assert_eq!(data[0], (Ecn::Ect0, CWR), "CWR reports the reduction of the timeout");
    assert_eq!(data[1], (Ecn::Ect0, 0));
    // The SYN/ACKs that come after it are challenged once (RFC 5961).
    let answers = pipe.log.iter().filter(|p| is_syn_ack(p)).count();
    let challenges = pipe.log.iter().filter(|p| p.forward && !p.data && !is_syn(p)).count() - 1;
    assert_eq!((answers, challenges), (3, 1));
}

// KAT accecn 4: what each set of flags that arrives means to the other end
#[test]
fn stripped_flags_fall_back_to_what_both_ends_can_know() {
    let strip = |on: fn(&Passing) -> bool, left: u8| {
        through("cubic", Feedback::AccEcn, move |p| {
            if on(p) {
                p.segment.ace &= left;
            }
            true
        })
    };
    assert_eq!(strip(is_syn, 0), (Ecn::NotEct, Ecn::NotEct, 0), "a SYN without flags");
    let (data, ack, ce) = strip(is_syn, 0b011);
    assert_eq!((data, ack), (Ecn::Ect0, Ecn::NotEct), "RFC 3168 without AE");
    assert!(ce > 0);
    assert_eq!(strip(is_syn_ack, 0).0, Ecn::NotEct, "a SYN/ACK without flags");
    assert_eq!(strip(is_syn_ack, 0).1, Ecn::NotEct, "and the server sees it by the third ACK");
}

// KAT accecn 5: a codepoint that the SYN cannot have arrived with
#[test]
fn an_impossible_reflection_ends_capable_data() {
    let bent = |to: Ecn| {
        through("prague", Feedback::AccEcn, move |p| {
            if is_syn(p) {
                p.ecn = to;
            }
            true
        })
    };
    assert_eq!(bent(Ecn::NotEct).0, Ecn::NotEct, "bleached");
    assert_eq!(bent(Ecn::Ect0).0, Ecn::NotEct, "ECT(1) to ECT(0)");
    assert_eq!(bent(Ecn::Ce).0, Ecn::Ect1, "a mark is no fault");
    assert_eq!(bent(Ecn::Ect1).0, Ecn::Ect1);
}

// KAT accecn 6: zeroed ACE fields
#[test]
fn a_zeroed_ace_is_no_count_of_marks() {
    let third = |p: &mut Passing| {
        if p.forward && !p.data && !p.segment.flags.syn {
            p.segment.ace = 0;
        }
        true
    };
    let (data, ack, ce) = through("prague", Feedback::AccEcn, third);
    assert_eq!((data, ack), (Ecn::Ect1, Ecn::NotEct), "only the server's half is without");
    assert!(ce >= 30);
    let all_acks = |p: &mut Passing| {
        if !p.forward && !p.segment.flags.syn {
            p.segment.ace = 0;
        }
        true
    };
    assert_eq!(through("prague", Feedback::AccEcn, all_acks), (Ecn::NotEct, Ecn::Ect1, 0));
}

// KAT ecn 4: a SYN of RFC 3168 that arrives ECN-capable was made so on the way
#[test]
fn a_capable_syn_of_rfc_3168_ends_ecn_except_dctcp_s() {
    let capable = |cc, ecn| {
        through(cc, ecn, |p| {
            if is_syn(p) {
                p.ecn = Ecn::Ect0;
            }
            true
        })
    };
    assert_eq!(capable("cubic", Feedback::Rfc3168), (Ecn::NotEct, Ecn::NotEct, 0));
    assert_eq!(capable("dctcp", Feedback::Dctcp).0, Ecn::Ect0);
}
