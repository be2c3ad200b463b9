use sojourn_core::{Bytes, Rng};

use super::*;
use crate::tcp::SceFeedback;
use crate::tcp::ecn::Negotiation;
use crate::tcp::era::Era;
use crate::tcp::segment::{AE, CWR, ECE};

const L4S: Needs = Needs {
    owns_cwnd: true,
    pacing: true,
    feedback: Some(Feedback::AccEcn),
    accecn_only: false,
    codepoint: Some(Ecn::Ect1),
    ect_on_control: true,
};

/// Segments after which a fresh flow has used up its quick ACKs, and none waits.
const STEADY: u64 = 24;

fn open() -> Receiver {
    open_with(Config::default())
}

fn open_with(config: Config) -> Receiver {
    let mut rx = Receiver::new(config, L4S);
    let syn = Segment {
        flags: Flags { syn: true, ..Flags::default() },
        ace: Negotiation::syn(Feedback::AccEcn),
        tsval: Time(1),
        tsecr: Time::NEVER,
        ..Segment::default()
    };
    rx.on_packet(Time(1), &Body::Tcp(syn), Ecn::Ect1);
    let answer = rx.poll(Time(1)).expect("a SYN/ACK");
    assert_eq!(answer.tos, 0, "the SYN/ACK is Not-ECT");
    rx
}

fn data(n: u64) -> Body {
    Body::Tcp(Segment {
        seq: 1 + n * 1448,
        len: 1448,
        flags: Flags { ack: true, ..Flags::default() },
        tsval: Time(n),
        tsecr: Time::NEVER,
        ..Segment::default()
    })
}

/// What leaves now, the application's read included.
fn acks(rx: &mut Receiver, now: Time) -> Vec<Segment> {
    if rx.deadline() <= now {
        rx.on_timer(now);
    }
    std::iter::from_fn(|| rx.poll(now))
        .map(|t| match t.body {
            Body::Tcp(s) => s,
            other => unreachable!("TCP sends TCP, not {other:?}"),
        })
        .collect()
}

#[test]
// As in captures of 5.4. Linux 7.2 sends 26 ACKs of the first 31 segments where the first five make the window grow:
// `tcp_grow_window` sets the lowest bit of `quick`. Here one segment of the buffer is kept back, and none does.
fn a_fresh_flow_gets_sixteen_quick_acks_then_one_for_two() {
    let mut rx = open();
    let mut count = Vec::new();
    for n in 0..24 {
        let now = Time(1_000_000 * (n + 2));
        rx.on_packet(now, &data(n), Ecn::Ect1);
        count.push(acks(&mut rx, now).len());
    }
    assert_eq!(&count[..16], [1; 16]);
    assert_eq!(&count[16..], [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_pushed_segment_is_acknowledged_at_once_where_the_kernel_does_so() {
    for (ack_pushed, psh, at_once) in [(false, true, 0), (true, false, 0), (true, true, 1)] {
        let config = Config { ack_pushed, ..Config::default() };
        let mut rx = open_with(config);
        for n in 0..STEADY {
            let now = Time(1_000_000 * (n + 2));
            rx.on_packet(now, &data(n), Ecn::Ect1);
            acks(&mut rx, now);
        }
        let Body::Tcp(mut last) = data(STEADY) else { unreachable!("data are TCP") };
        last.flags.psh = psh;
        let now = Time(1_000_000 * (STEADY + 2));
        rx.on_packet(now, &Body::Tcp(last), Ecn::Ect1);
        assert_eq!(acks(&mut rx, now).len(), at_once, "{ack_pushed} {psh}");
        assert_eq!(rx.deadline() == Time::NEVER, at_once == 1, "else the delayed ACK waits");
    }
}

/// ACKs of a receiver in this mode for segments that arrive a millisecond apart, quick ACKs being
/// used up: the segments that each covers, and AE, CWR, ECE.
fn answers(mode: Feedback, sce_feedback: SceFeedback, arrivals: &[Ecn]) -> Vec<(u64, u8)> {
    answers_of(Config { ecn: mode, sce_feedback, ..Config::default() }, arrivals)
}

/// A receiver that has answered a SYN.
fn opened(config: Config) -> Receiver {
    let ace = Negotiation::syn(config.ecn);
    let mut rx = Receiver::new(config, Needs::default());
    let syn = Segment {
        flags: Flags { syn: true, ..Flags::default() },
        ace,
        tsval: Time(1),
        tsecr: Time::NEVER,
        ..Segment::default()
    };
    rx.on_packet(Time(1), &Body::Tcp(syn), Ecn::NotEct);
    rx.poll(Time(1)).expect("a SYN/ACK");
    rx
}

fn answers_of(config: Config, arrivals: &[Ecn]) -> Vec<(u64, u8)> {
    // One more of 7.x is quick, for its window grows.
    let steady = STEADY + u64::from(config.window_share == 0);
    let mut rx = opened(config);
    let (mut covered, mut answers) = (1 + steady * 1448, Vec::new());
    for (n, ecn) in std::iter::repeat_n(&Ecn::Ect0, steady as usize).chain(arrivals).enumerate() {
        let now = Time(1_000_000 * (n as u64 + 2));
        rx.on_packet(now, &data(n as u64), *ecn);
        for ack in acks(&mut rx, now).iter().filter(|_| n as u64 >= steady) {
            answers.push(((ack.ack - covered) / 1448, ack.ace));
            covered = ack.ack;
        }
    }
    rx.on_timer(Time(1_000_000_000));
    let last = acks(&mut rx, Time(1_000_000_000));
    answers.extend(last.iter().map(|ack| ((ack.ack - covered) / 1448, ack.ace)));
    answers
}

const N: Ecn = Ecn::Ect0;
const S: Ecn = Ecn::Ect1;
const C: Ecn = Ecn::Ce;

fn sce(arrivals: &[Ecn]) -> Vec<(u64, u8)> {
    answers(Feedback::Sce, SceFeedback::Advanced, arrivals)
}

// KAT esce 1
#[test]
fn two_marked_segments_between_unmarked_ones_make_one_esce_ack() {
    assert_eq!(sce(&[N, N, S, S, N, N]), [(2, 0), (2, AE), (2, 0)]);
}

// KAT esce 3
#[test]
fn alternate_marks_make_an_ack_of_each_segment_and_steady_ones_none() {
    assert_eq!(sce(&[N, S, N, S]), [(1, 0), (1, AE), (1, 0), (1, AE)]);
    assert_eq!(sce(&[S, S, S, S, S, S]), [(2, AE), (2, AE), (2, AE)]);
    assert_eq!(sce(&[N, N, N, N]), [(2, 0), (2, 0)]);
}

// KAT esce 4: CE is sticky ECE until CWR and two quick ACKs, whatever ESCE does
#[test]
fn ce_and_esce_are_independent() {
    assert_eq!(sce(&[N, N, C, N, N, N]), [(2, 0), (1, ECE), (1, ECE), (2, ECE)]);
    assert_eq!(sce(&[S, C, N, N]), [(2, AE | ECE), (1, ECE), (1, ECE)]);
}

// KAT esce 5: the dithered branch keeps one ACK per two segments
#[test]
fn dithered_esce_covers_as_many_bytes_as_were_marked() {
    let dithered = |arrivals: &[Ecn]| answers(Feedback::Sce, SceFeedback::Dithered, arrivals);
    assert_eq!(dithered(&[N, S, N, S]), [(2, AE), (2, 0)]);
    assert_eq!(dithered(&[N, N, S, N, N, N, S, N]), [(2, 0), (2, AE), (2, 0), (2, 0)]);
    assert_eq!(dithered(&[S, S, S, S]), [(2, AE), (2, AE)]);
    let mut rng = Rng::named(1, "dithered");
    let marks: Vec<Ecn> = (0..5000).map(|_| if rng.unit() < 0.3 { S } else { N }).collect();
    let (mut marked, mut echoed, mut arrived) = (0_i64, 0_i64, 0);
    for (segments, ace) in dithered(&marks) {
        assert_eq!(segments, 2, "no additional ACKs");
        let new = &marks[arrived..arrived + 2];
        marked += new.iter().filter(|ecn| **ecn == S).count() as i64;
        arrived += 2;
        echoed += 2 * i64::from(ace == AE);
        assert!((marked - echoed).abs() <= 1, "{marked} marked, {echoed} echoed");
    }
}

// KAT dctcp-feedback 1
#[test]
fn dctcp_divides_the_runs_and_signals_each_ack_s_state() {
    let dctcp = |arrivals: &[Ecn]| answers(Feedback::Dctcp, SceFeedback::Advanced, arrivals);
    assert_eq!(dctcp(&[N, N, C, C, C, N, N, N]), [(2, 0), (1, ECE), (2, ECE), (1, 0), (2, 0)]);
    assert_eq!(dctcp(&[N, C, C, N, C]), [(1, 0), (1, ECE), (1, ECE), (1, 0), (1, ECE)]);
    assert_eq!(dctcp(&[C, C, C, C, C]), [(1, ECE), (2, ECE), (2, ECE)]);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delayed_ack_timeout() {
    let mut rx = open();
    for n in 0..=STEADY {
        rx.on_packet(Time(1_000_000 * (n + 2)), &data(n), Ecn::Ect1);
        acks(&mut rx, Time(1_000_000 * (n + 2)));
    }
    let due = rx.deadline();
    // In jiffies, and one more: the timer wheel.
    assert_eq!(due, Time(1_000_000 * (STEADY + 3)) + ATO_MIN);
    rx.on_timer(due);
    assert_eq!(acks(&mut rx, due).len(), 1);
    assert_eq!(rx.deadline(), Time::NEVER);
}

#[test]
fn holes_are_reported_newest_first_and_filling_one_acks_at_once() {
    let mut rx = open();
    let now = Time(5_000_000);
    for n in [0, 2, 4] {
        rx.on_packet(now, &data(n), Ecn::Ect1);
    }
    let ack = acks(&mut rx, now).pop().expect("an ACK with SACK");
    let block = |n: u64| (1 + n * 1448, 1 + (n + 1) * 1448);
    assert_eq!(ack.ack, 1 + 1448);
    assert_eq!(ack.sack.holes_above(), [block(4), block(2)]);
    rx.on_packet(now, &data(1), Ecn::Ect1);
    rx.on_packet(now, &data(3), Ecn::Ect1);
    assert_eq!(acks(&mut rx, now).pop().map(|a| a.ack), Some(1 + 5 * 1448));
}

#[test]
fn a_duplicate_is_reported_in_the_first_block() {
    let mut rx = open();
    let now = Time(5_000_000);
    rx.on_packet(now, &data(0), Ecn::Ect1);
    acks(&mut rx, now);
    rx.on_packet(now, &data(0), Ecn::Ect1);
    let ack = acks(&mut rx, now).pop().expect("an ACK for the duplicate");
    assert!(ack.sack.duplicate);
    assert_eq!(ack.sack.as_slice(), [(1, 1449)]);
    assert_eq!(ack.sack.holes_above(), [] as [(u64, u64); 0]);
}

#[test]
fn window_grows_with_what_is_read_and_never_shrinks() {
    let mut window = DynamicWindow::new(&Config::default(), 1448);
    assert_eq!(window.advertised, 65_160);
    window.rtt = Dur::from_millis(10);
    let (mut last, mut rcv_nxt) = (0, 1);
    for ms in 1..400 {
        rcv_nxt += 20 * 1448;
        window.on_data(Time(ms * 1_000_000), rcv_nxt, 1448, 1);
        window.arrived(Time(ms * 1_000_000));
        let edge = rcv_nxt + u64::from(window.advertise(Time(ms * 1_000_000)));
        assert!(edge >= last);
        last = edge;
    }
    assert!(window.advertised > 500_000 && window.advertised <= 3_145_728);
}

// RFC 8257 3.2: what waited is acknowledged with the old state, the segment that changes it at once.
#[test]
fn dctcp_acknowledges_the_segment_that_changes_the_ce_state_at_once() {
    let dctcp = |arrivals: &[Ecn]| answers(Feedback::Dctcp, SceFeedback::Advanced, arrivals);
    assert_eq!(dctcp(&[N, C, C, C]), [(1, 0), (1, ECE), (2, ECE)]);
    assert_eq!(dctcp(&[N, N, C, N, N, N]), [(2, 0), (1, ECE), (1, 0), (2, 0)]);
}

// RFC 9768 3.2.2.5.1; Linux from 6.18 on
#[test]
fn an_accecn_receiver_of_7_x_acknowledges_a_change_of_the_ecn_field_at_once() {
    for (era, expected) in
        [(Era::E2020, vec![(2, 6), (2, 6), (1, 6)]), (Era::E7, vec![(2, 6), (1, 6), (2, 6)])]
    {
        let config = Config { ecn: Feedback::AccEcn, ack_pushed: false, ..Config::of(era) };
        assert_eq!(answers_of(config, &[N, C, N, N, N]), expected, "{era:?}");
    }
}

#[test]
fn every_data_segment_with_cwr_is_acknowledged_at_once() {
    for (mode, at_once) in [(Feedback::Rfc3168, 1), (Feedback::Dctcp, 1), (Feedback::AccEcn, 0)] {
        let mut rx = opened(Config { ecn: mode, ..Config::default() });
        for n in 0..STEADY {
            let now = Time(1_000_000 * (n + 2));
            rx.on_packet(now, &data(n), N);
            acks(&mut rx, now);
        }
        let Body::Tcp(mut segment) = data(STEADY) else { unreachable!("data are TCP") };
        segment.ace = CWR;
        let now = Time(1_000_000 * (STEADY + 2));
        rx.on_packet(now, &Body::Tcp(segment), N);
        assert_eq!(acks(&mut rx, now).len(), at_once, "{mode:?}");
    }
}

// Linux tcp_cleanup_rbuf; measured on 7.2: a pair that arrives behind a waiting segment makes one ACK of three, and
// a train of four that a token bucket released in one instant one of four.
#[test]
fn what_arrives_in_one_instant_is_acknowledged_together_with_the_segment_that_waited() {
    for train in [2, 4] {
        let config = Config { reader_acks: true, ..Config::default() };
        let mut rx = open_with(config);
        for n in 0..=STEADY {
            let now = Time(1_000_000 * (n + 2));
            rx.on_packet(now, &data(n), Ecn::Ect1);
            acks(&mut rx, now);
        }
        let now = Time(1_000_000 * (STEADY + 4));
        for n in STEADY + 1..=STEADY + train {
            rx.on_packet(now, &data(n), Ecn::Ect1);
            assert!(rx.poll(now).is_none(), "all wait for the reader");
        }
        let read = rx.deadline();
        assert_eq!(read, now + Dur(1), "who takes no time, but comes after the last of the train");
        rx.on_timer(read);
        let sent = acks(&mut rx, read);
        assert_eq!(
            sent.iter().map(|ack| (ack.ack - 1) / 1448).collect::<Vec<_>>(),
            [STEADY + 1 + train]
        );
    }
}

/// Segment `n`, sent at this time.
fn sent_at(n: u64, ms: u64) -> Body {
    let Body::Tcp(segment) = data(n) else { unreachable!("data are TCP") };
    Body::Tcp(Segment { tsval: Time(ms * 1_000_000), ..segment })
}

/// What is acknowledged, and the blocks, in segments.
type Report = (u64, Vec<(u64, u64)>);

fn reports(rx: &mut Receiver, now: Time) -> Vec<Report> {
    let number = |edge: u64| (edge - 1) / 1448;
    let blocks =
        |s: &Segment| s.sack.as_slice().iter().map(|b| (number(b.0), number(b.1))).collect();
    acks(rx, now).iter().map(|s| (number(s.ack), blocks(s))).collect()
}

// RFC 7323 5.3 and 4.3. Captured on 7.2 under jitter (PAWSEstab): what a retransmission overtakes is answered
// and not taken, unless it is at most a millisecond older (TCP_PAWS_WINDOW).
#[test]
fn a_segment_that_a_retransmission_has_overtaken_is_discarded_and_answered() {
    let arrivals = [
        (0, 10, (1, vec![])),
        (3, 12, (1, vec![(3, 4)])),
        (1, 20, (2, vec![(3, 4)])),         // the retransmission
        (5, 18, (2, vec![(3, 4)])),         // overtaken
        (4, 19, (2, vec![(3, 5)])),         // by a millisecond only
        (0, 30, (2, vec![(0, 1), (3, 5)])), // below the window: a duplicate, which moves no clock
        (5, 21, (2, vec![(3, 6)])),
        (2, 25, (6, vec![])),
    ];
    let run = |paws: bool| {
        let mut rx = open_with(Config { paws, ..Config::default() });
        let now = Time(100_000_000);
        let answers = arrivals.iter().map(|(n, sent, _)| {
            rx.on_packet(now, &sent_at(*n, *sent), Ecn::Ect1);
            reports(&mut rx, now)
        });
        answers.collect::<Vec<_>>()
    };
    let expected: Vec<_> = arrivals.iter().map(|(.., report)| vec![report.clone()]).collect();
    assert_eq!(run(true), expected);
    assert_eq!(run(false)[3], [(2, vec![(5, 6), (3, 4)])]);
}

// Captured on 7.2 under jitter: TCP_SACK_BLOCKS_EXPECTED (5.8), and the ACK that it forces is the only answer.
#[test]
fn a_held_back_sack_is_sent_before_its_block_leaves_the_first_two_positions() {
    for (era, answers) in [
        (Era::E2020, [1, 1, 1, 0, 0, 1]),
        (Era::E5_15, [1, 1, 1, 0, 1, 0]),
        (Era::E7, [1, 1, 1, 0, 1, 0]),
    ] {
        let mut rx = open_with(Config::of(era));
        let mut now = Time(0);
        for n in 0..40 {
            now += Dur::from_millis(5);
            let Body::Tcp(segment) = data(n) else { unreachable!("data are TCP") };
            let tsecr = Time(now.0 - 4_000_000); // an RTT, from which SACKs are held back
            rx.on_packet(now, &Body::Tcp(Segment { tsecr, ..segment }), Ecn::Ect1);
            acks(&mut rx, now);
        }
        let mut last = Vec::new();
        let sent = [42, 44, 46, 47, 49, 51].map(|n| {
            rx.on_packet(now, &data(n), Ecn::Ect1);
            let sent = reports(&mut rx, now);
            last.extend(sent.last().cloned());
            sent.len()
        });
        assert_eq!(sent, answers, "{era:?}");
        if era != Era::E2020 {
            let newest = last.last().expect("answers").1[0];
            assert_eq!(newest, (46, 48), "{era:?}: without the segment that it answers");
        }
    }
}

// Captured on 7.2 (BBR over five packets with head drop): the ACK of one segment in order was due after 40 ms and left
// with the first SACK. Its timer still fires, and sends what is held back then (6.10).
#[test]
fn the_timer_of_a_delayed_ack_sends_a_sack_that_is_held_back() {
    for (era, early) in [(Era::E6, false), (Era::E7, true)] {
        let mut rx = open_with(Config::of(era));
        let mut now = Time(0);
        for n in 0..41 {
            now += Dur::from_millis(5);
            let Body::Tcp(segment) = data(n) else { unreachable!("data are TCP") };
            let tsecr = Time(now.0 - 4_000_000);
            rx.on_packet(now, &Body::Tcp(Segment { tsecr, ..segment }), Ecn::Ect1);
            acks(&mut rx, now);
        }
        rx.on_packet(now, &data(41), Ecn::Ect1);
        assert_eq!(acks(&mut rx, now).len(), 0, "delayed");
        let due = rx.deadline();
        for n in [43, 44, 45] {
            rx.on_packet(now, &data(n), Ecn::Ect1);
            assert_eq!(acks(&mut rx, now).len(), 1);
        }
        let arrival = Time(due.0 - 100_000);
        rx.on_packet(arrival, &data(46), Ecn::Ect1);
        assert_eq!(acks(&mut rx, arrival).len(), 0, "held back");
        assert_eq!(rx.deadline() == due, early, "{era:?}");
        assert_eq!(acks(&mut rx, due).len(), usize::from(early), "{era:?}");
    }
}

// Linux tcp_send_delayed_ack: with less than a quarter of the timeout left an ACK does not wait for its timer.
#[test]
fn a_delayed_ack_that_is_nearly_due_leaves_with_the_next_small_segment() {
    for (before_ms, sent) in [(12, 0), (9, 1)] {
        let mut rx = open();
        let mut now = Time(0);
        for n in 0..40 {
            now += Dur::from_millis(5);
            rx.on_packet(now, &data(n), Ecn::Ect1);
            acks(&mut rx, now);
        }
        let mut small = |n: u64, now: Time| {
            let seq = 1 + 40 * 1448 + n * 100;
            let Body::Tcp(segment) = data(40) else { unreachable!("data are TCP") };
            rx.on_packet(now, &Body::Tcp(Segment { seq, len: 100, ..segment }), Ecn::Ect1);
            (acks(&mut rx, now).len(), rx.deadline())
        };
        let (none, due) = small(0, now);
        assert_eq!((none, due.since(now)), (0, Dur::from_millis(41)), "40 ms and a jiffy");
        assert_eq!(small(1, Time(due.0 - before_ms * 1_000_000)).0, sent, "{before_ms} ms before");
    }
}

// Captured on 7.2 (CUBIC, RFC 3168, a CoDel of four packets): a retransmission has no ECT, the two ACKs after it are
// quick, and those are not among the three before compression.
#[test]
fn quick_acks_are_not_counted_among_those_before_compression() {
    for (era, most) in [(Era::E2020, 44), (Era::E7, 47)] {
        assert_eq!(Config::of(era).most_compressed(), most, "those sent at once included");
        // The window of 7.x has room for what the reader has taken since, and grows at the hole.
        let grows = usize::from(era == Era::E7);
        let held_back = [vec![true; 3 + grows], vec![false]].concat();
        for (retransmitted, expected) in [(false, held_back), (true, vec![true; 5])] {
            let config = Config::of(era);
            // A window that cannot grow.
            let rmem_max = config.rmem_default;
            let mut rx = opened(Config { ecn: Feedback::Rfc3168, rmem_max, ..config });
            let mut now = Time(0);
            let mut arrive = |n: u64, ecn| {
                now += Dur::from_micros(10);
                let Body::Tcp(segment) = data(n) else { unreachable!("data are TCP") };
                let tsecr = Time(now.0.saturating_sub(4_000_000));
                rx.on_packet(now, &Body::Tcp(Segment { tsecr, ..segment }), ecn);
                !acks(&mut rx, now).is_empty()
            };
            for n in 0..40 {
                arrive(n, Ecn::Ect0);
            }
            // 40 and 42 are missing; 42 comes again.
            let first = if retransmitted {
                vec![arrive(41, Ecn::Ect0), arrive(42, Ecn::NotEct)]
            } else {
                vec![]
            };
            let more =
                (44..44 + expected.len() as u64 - first.len() as u64).map(|n| arrive(n, Ecn::Ect0));
            let answers: Vec<bool> = first.into_iter().chain(more.collect::<Vec<_>>()).collect();
            assert_eq!(answers, expected, "{era:?}, retransmitted: {retransmitted}");
        }
    }
}

// Linux tcp_cleanup_rbuf; captured on 7.2: the segment that fills a hole in front of a nearly full buffer brings an ACK
// with a small window, and the reader, who empties the buffer, another one with a window of at least twice that.
#[test]
fn a_reader_who_empties_a_nearly_full_buffer_shows_the_window_that_this_opens() {
    for (era, behind, answers) in [(Era::E7, 23, 2), (Era::E7, 6, 1), (Era::E6, 23, 1)] {
        let size = Bytes(65_536);
        let config = Config { rmem_default: size, rmem_max: size, ..Config::of(era) };
        let mut rx = open_with(config);
        let (hole, mut now) = (40, Time(0));
        for n in (0..hole).chain(hole + 1..=hole + behind) {
            now += Dur::from_millis(1);
            rx.on_packet(now, &data(n), Ecn::Ect1);
            acks(&mut rx, now);
        }
        now += Dur::from_millis(1);
        rx.on_packet(now, &data(hole), Ecn::Ect1);
        let mut sent = acks(&mut rx, now);
        if rx.deadline() <= now + Dur(1) {
            sent.extend(acks(&mut rx, now + Dur(1)));
        }
        assert_eq!(sent.len(), answers, "{era:?}, {behind} behind the hole");
        assert!(sent.iter().all(|ack| ack.ack == 1 + (hole + behind + 1) * 1448));
        if let [first, second] = sent[..] {
            assert!(second.window >= 2 * first.window, "{} {}", first.window, second.window);
        }
    }
}

// Linux 7.2, drawn case 75: over a round trip of 187 ms a pause of 500 ms is none, for the timeout of a host that has
// seen the handshake alone is thrice that (tcp_rtt_estimator). Over one of 50 ms it is 250 ms.
#[test]
fn a_pause_is_longer_than_three_round_trips_of_the_handshake() {
    for (rtt_ms, pause_ms, at_once) in [(187, 500, 0), (187, 600, 1), (50, 240, 0), (50, 260, 1)] {
        let mut rx = open();
        let at = |ms: u64| Time(1 + 1_000_000 * ms);
        for n in 0..=STEADY {
            rx.on_packet(at(rtt_ms + n), &data(n), Ecn::Ect1);
            acks(&mut rx, at(rtt_ms + n));
        }
        let mut after = at(rtt_ms + STEADY + pause_ms);
        acks(&mut rx, after);
        rx.on_packet(after, &data(STEADY + 1), Ecn::Ect1);
        acks(&mut rx, after);
        after += Dur::from_millis(1);
        rx.on_packet(after, &data(STEADY + 2), Ecn::Ect1);
        acks(&mut rx, after);
        rx.on_packet(after, &data(STEADY + 3), Ecn::Ect1);
        assert_eq!(acks(&mut rx, after).len(), at_once, "{rtt_ms} {pause_ms}");
    }
}

// By captures of 7.2: what two segments ask for leaves before the host closes; with one, its own FIN acknowledges both.
#[test]
fn an_ack_that_two_segments_ask_for_is_none_of_a_fin_alone() {
    for (waiting, counted) in [(1, 0.0), (2, 1.0)] {
        let mut rx = open();
        let sent = |rx: &Receiver| rx.totals().0.iter().find(|t| t.0 == "acks_sent").map(|t| t.1);
        (0..STEADY).for_each(|n| {
            rx.on_packet(Time(1_000_000 * (n + 2)), &data(n), Ecn::Ect1);
            acks(&mut rx, Time(1_000_000 * (n + 2)));
        });
        let now = Time(100_000_000);
        acks(&mut rx, now);
        let before = sent(&rx).expect("a count");
        for n in STEADY..STEADY + waiting {
            let Body::Tcp(mut segment) = data(n) else { unreachable!("data are of TCP") };
            segment.flags.fin = n + 1 == STEADY + waiting;
            segment.len = if segment.flags.fin { 1001 } else { segment.len };
            rx.on_packet(now, &Body::Tcp(segment), Ecn::Ect1);
        }
        assert_eq!(acks(&mut rx, now + Dur(1)).len(), 1);
        assert_eq!(sent(&rx), Some(before + counted), "{waiting}");
    }
}
