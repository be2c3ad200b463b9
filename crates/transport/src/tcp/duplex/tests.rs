use std::collections::VecDeque;

use sojourn_core::Dur;

use super::*;
use crate::tcp::{Config, Era};

const MSS: u64 = 1448;
/// A delayed ACK: 40 ms, and the jiffy that has begun.
const LATE: Dur = Dur::from_millis(41);
/// One way.
const DELAY: Dur = Dur::from_millis(10);

/// A client and a server on a path of constant delay.
struct Lab {
    now: Time,
    ends: [Duplex; 2],
    /// What is under way to each end.
    lines: [VecDeque<(Time, Transmit)>; 2],
    /// All that was sent: when, by which end, and what.
    sent: Vec<(Time, usize, Segment)>,
    /// What becomes of a packet's codepoint on its way to the server.
    marks: bool,
}

fn end(config: &Config) -> Duplex {
    let cc = sojourn_cc::build("reno").expect("a controller");
    let needs = cc.needs();
    Duplex::new(Sender::new(config.clone(), cc), Receiver::new(config.clone(), needs))
}

impl Lab {
    fn new(config: &Config) -> Self {
        let mut lab = Self {
            now: Time(1_000_000_000),
            ends: [end(config), end(config)],
            lines: [VecDeque::new(), VecDeque::new()],
            sent: Vec::new(),
            marks: false,
        };
        lab.ends[0].start(lab.now);
        lab.flush();
        lab
    }

    /// An open connection on which nothing is under way.
    fn open(config: &Config) -> Self {
        let mut lab = Self::new(config);
        lab.run(Dur::from_millis(100));
        lab
    }

    fn of(era: Era) -> Self {
        Self::open(&Config::of(era))
    }

    fn flush(&mut self) {
        for n in 0..2 {
            while let Some(tx) = self.ends[n].poll(self.now) {
                let Body::Tcp(segment) = tx.body else { unreachable!("TCP sends TCP") };
                assert_eq!(tx.len, segment.frame_len(true), "the length is of all options");
                self.sent.push((self.now, n, segment));
                self.lines[1 - n].push_back((self.now + DELAY, tx));
            }
        }
    }

    /// Runs for so long; gives what was sent meanwhile.
    fn run(&mut self, time: Dur) -> Vec<(usize, Segment)> {
        let (until, from) = (self.now + time, self.sent.len());
        loop {
            let arrival = |n: usize| self.lines[n].front().map_or(Time::NEVER, |(at, _)| *at);
            let arrivals = [arrival(0), arrival(1)];
            let timers = self.ends[0].deadline().min(self.ends[1].deadline());
            let next = arrivals[0].min(arrivals[1]).min(timers);
            if next > until {
                self.now = until;
                break;
            }
            self.now = next;
            for (n, arrival) in arrivals.into_iter().enumerate() {
                if arrival == next {
                    let (_, tx) = self.lines[n].pop_front().expect("it arrives");
                    let is_marked = self.marks && n == 1 && tx.tos & 3 != 0;
                    let ecn = if is_marked { Ecn::Ce } else { Ecn::from_tos(tx.tos) };
                    self.ends[n].on_packet(next, &tx.body, ecn);
                } else if self.ends[n].deadline() <= next {
                    self.ends[n].on_timer(next);
                }
            }
            self.flush();
        }
        self.sent[from..].iter().map(|(_, n, segment)| (*n, *segment)).collect()
    }

    fn write(&mut self, n: usize, bytes: u64) {
        self.ends[n].write(bytes);
        self.flush();
    }

    /// The client asks, and the server answers as it has read that.
    fn exchange(&mut self, query: u64, answer: u64, then: Dur) -> Vec<(usize, Segment)> {
        let from = self.sent.len();
        self.write(0, query);
        self.run(DELAY);
        self.write(1, answer);
        self.run(then);
        self.sent[from..].iter().map(|(_, n, segment)| (*n, *segment)).collect()
    }
}

/// Those without data.
fn pure(sent: &[(usize, Segment)], end: usize) -> usize {
    sent.iter().filter(|(n, segment)| *n == end && segment.len == 0).count()
}

#[test]
fn one_handshake_opens_both_directions() {
    let lab = Lab::of(Era::E7);
    let all: Vec<_> = lab.sent.iter().map(|(_, n, s)| (*n, s.flags.syn, s.flags.ack)).collect();
    assert_eq!(all, [(0, true, false), (1, true, true), (0, false, true)]);
    let window = |n: usize| lab.sent[n].2.window;
    // As Linux 7.2 shows them.
    assert_eq!([0, 1, 2].map(window), [64_240, 65_160, 64_256]);
    for end in &lab.ends {
        assert!(end.sender().is_established());
        assert_eq!(end.sender().min_rtt(), DELAY * 2);
        assert_eq!(end.deadline(), Time::NEVER);
    }
    let acks =
        |end: &Duplex| end.receiver().totals().0.iter().find(|t| t.0 == "acks_sent").map(|t| t.1);
    assert_eq!(lab.ends.each_ref().map(acks), [Some(1.0), Some(0.0)]);
}

#[test]
fn an_answer_acknowledges_its_request_and_the_next_request_the_answer() {
    let mut lab = Lab::of(Era::E7);
    // The first request is acknowledged quickly, before the application has read it.
    let first = lab.exchange(300, 3 * MSS, Dur::from_millis(25));
    assert_eq!(pure(&first, 1), 1);
    for n in 1..6_u64 {
        let sent = lab.exchange(300, 3 * MSS, Dur::from_millis(25));
        let requests: Vec<_> = sent.iter().filter(|(n, s)| *n == 0 && s.len > 0).collect();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].1.ack, 1 + n * 3 * MSS, "of all that was answered");
        assert_eq!(pure(&sent, 1), 0, "the answer is the ACK");
        let answers: Vec<_> = sent.iter().filter(|(n, s)| *n == 1 && s.len > 0).collect();
        assert!(answers.iter().all(|(_, s)| s.ack == 1 + (n + 1) * 300));
    }
    assert_eq!(lab.ends.each_ref().map(Duplex::delivered), [6 * 3 * MSS, 6 * 300]);
    assert_eq!(lab.ends.each_ref().map(|end| end.sender().retransmits()), [0, 0]);
}

/// When the end of an answer is acknowledged after `exchanges` that follow each other within `pause`, from when it arrives.
fn delay(era: Era, exchanges: u32, pause: Dur) -> Dur {
    let mut lab = Lab::of(era);
    for _ in 0..exchanges {
        lab.exchange(300, 100, DELAY + pause);
    }
    let from = lab.sent.len();
    lab.exchange(300, 100, Dur::from_secs(1));
    let client = |(at, n, s): &(Time, usize, Segment)| (*n == 0 && s.len == 0).then_some(*at);
    let sent = lab.sent[from..].iter().find_map(client).expect("an ACK");
    sent.since(lab.sent[from].0 + DELAY * 2)
}

#[test]
fn replies_within_a_delayed_ack_make_acks_wait_for_the_next() {
    // Linux `tcp_event_data_sent`: 1 reply since 6.0; from 5.1 to 5.19 three, each in a jiffy after what it answers.
    let soon = Dur::from_millis(5);
    assert_eq!(delay(Era::E7, 0, soon), Dur::ZERO, "quick ACKs at first");
    assert_eq!(delay(Era::E7, 1, soon), LATE);
    assert_eq!(delay(Era::E6, 1, soon), LATE);
    assert_eq!(delay(Era::E5_15, 2, soon), Dur::ZERO);
    assert_eq!(delay(Era::E5_15, 3, soon), LATE);
}

#[test]
fn a_reply_counts_once_before_6_0() {
    let quick = |era, exchanges: usize| -> Vec<usize> {
        let mut lab = Lab::of(era);
        let exchange = |_| pure(&lab.exchange(300, 3 * MSS, Dur::from_millis(25)), 1);
        (0..exchanges).map(exchange).collect()
    };
    assert_eq!(quick(Era::E5_15, 5), [1, 1, 1, 0, 0]);
    assert_eq!(quick(Era::E7, 3), [1, 0, 0]);
}

#[test]
fn requests_after_a_pause_are_no_replies() {
    assert_eq!(delay(Era::E7, 5, Dur::from_millis(45)), Dur::ZERO);
}

#[test]
fn an_ack_that_no_data_took_along_ends_the_wait() {
    let mut lab = Lab::of(Era::E7);
    let soon = DELAY + Dur::from_millis(5);
    lab.exchange(300, 100, soon);
    assert_eq!(pure(&lab.exchange(300, 100, Dur::from_secs(1)), 0), 1, "by the timer");
    // The request after the pause is no reply: its answer is acknowledged at once.
    assert_eq!(pure(&lab.exchange(300, 100, soon), 0), 1);
    assert_eq!(pure(&lab.exchange(300, 100, soon), 0), 0);
}

#[test]
fn data_show_marks_and_reductions_at_once() {
    let mut lab = Lab::open(&Config { ecn: Feedback::Rfc3168, ..Config::of(Era::E7) });
    lab.marks = true;
    let sent = lab.exchange(300, 2 * MSS, Dur::from_millis(25));
    let answers: Vec<_> = sent.iter().filter(|(n, s)| *n == 1 && s.len > 0).collect();
    assert!(answers.iter().all(|(_, s)| s.ace & 1 == 1), "ECE until the client says CWR");
    lab.marks = false;
    let request = lab.exchange(300, MSS, Dur::from_millis(25))[0].1;
    assert_eq!((request.len, request.ace), (300, 2), "CWR");
}

#[test]
fn data_carry_accecn_counters() {
    let mut lab =
        Lab::open(&Config { ecn: Feedback::AccEcn, accecn_option: true, ..Config::of(Era::E7) });
    lab.marks = true;
    for n in 1..4_u8 {
        let sent = lab.exchange(300, MSS, Dur::from_millis(25));
        let answer = sent.iter().find(|(n, s)| *n == 1 && s.len > 0).expect("an answer").1;
        assert_eq!(answer.ace, (5 + n) & 7);
        assert_eq!(answer.accecn.map(|counters| counters[1]), Some(300 * u32::from(n)));
    }
}

#[test]
fn an_end_closes_after_its_peer() {
    let mut lab = Lab::of(Era::E7);
    lab.exchange(300, MSS, Dur::from_millis(25));
    let now = lab.now;
    lab.ends[0].stop(now);
    lab.flush();
    let sent = lab.run(Dur::from_secs(1));
    let fins: Vec<_> = sent.iter().filter(|(_, s)| s.flags.fin).map(|(n, _)| *n).collect();
    assert_eq!(fins, [1], "the answer to a FIN");
    for end in &lab.ends {
        assert!(end.sender().is_finished() && end.deadline() == Time::NEVER);
    }
}

#[test]
fn what_is_lost_is_sent_again_in_both_directions() {
    let mut lab = Lab::of(Era::E7);
    lab.write(0, 300);
    lab.lines[1].clear();
    lab.run(Dur::from_secs(1));
    assert_eq!(lab.ends[1].delivered(), 300);
    lab.write(1, 5 * MSS);
    lab.lines[0].remove(1);
    lab.run(DELAY);
    lab.write(0, 300);
    let (_, _, request) = lab.sent.last().expect("a request");
    assert_eq!(
        (request.ack, request.sack.holes_above().len()),
        (1 + MSS, 1),
        "it reports the hole"
    );
    lab.write(0, MSS);
    assert!(lab.sent.last().is_some_and(|(_, _, s)| u64::from(s.len) == MSS && s.sack.is_empty()));
    lab.run(Dur::from_secs(1));
    assert_eq!(lab.ends[1].delivered(), 600 + MSS);
    assert_eq!(lab.ends[0].delivered(), 5 * MSS);
    assert!(lab.ends.iter().all(|end| end.sender().retransmits() == 1));
}

#[test]
fn data_that_acknowledge_nothing_use_no_quick_ack_up() {
    let mut lab = Lab::of(Era::E5_15);
    lab.write(1, 100);
    lab.run(Dur::from_millis(55));
    for _ in 0..20 {
        lab.write(0, MSS);
    }
    lab.run(Dur::from_millis(55));
    lab.write(1, 100);
    assert_eq!(pure(&lab.run(DELAY), 0), 1);
}

#[test]
fn a_pause_is_what_is_longer_than_the_timeout_of_the_own_data() {
    // `tcp_event_data_recv` with `icsk_rto`: 220 ms here, and a second before anything is known.
    for (pause, acks) in [(150, 0), (400, 1)] {
        let mut lab = Lab::of(Era::E5_15);
        lab.write(1, 31 * MSS);
        lab.run(Dur::from_millis(100));
        lab.run(Dur::from_millis(pause));
        lab.write(1, 100);
        assert_eq!(pure(&lab.run(DELAY), 0), acks, "after {pause} ms");
    }
}

#[test]
fn an_ack_without_data_is_echoed() {
    let mut lab = Lab::of(Era::E7);
    lab.write(0, 300);
    lab.run(Dur::from_millis(30));
    let (at, _, ack) = *lab.sent.last().expect("an ACK");
    lab.write(0, 300);
    assert_eq!((ack.len, lab.sent.last().map(|(_, _, s)| s.tsecr)), (0, Some(at)));
}

#[test]
fn a_copy_of_the_syn_opens_nothing_again() {
    let mut lab = Lab::new(&Config::of(Era::E7));
    let syn = lab.lines[1][0].1.clone();
    lab.run(Dur::from_millis(100));
    lab.exchange(300, 3 * MSS, Dur::from_millis(25));
    lab.lines[1].push_back((lab.now, syn));
    for _ in 0..3 {
        lab.exchange(300, 3 * MSS, Dur::from_millis(25));
    }
    assert_eq!(lab.ends.each_ref().map(Duplex::delivered), [4 * 3 * MSS, 4 * 300]);
    let answers = lab.sent.iter().filter(|(_, n, s)| *n == 1 && s.len > 0);
    assert!(answers.map(|(_, _, s)| s.seq).is_sorted_by(|one, next| one < next), "none twice");
}
