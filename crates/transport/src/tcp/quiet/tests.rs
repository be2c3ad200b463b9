use super::*;

const NOW: Time = Time(1_000_000_000);

fn flags(text: &str) -> Flags {
    let has = |flag| text.contains(flag);
    Flags { syn: has('S'), ack: has('.'), fin: has('F'), ..Flags::default() }
}

fn segment(text: &str, (seq, ack, len): (u64, u64, u32)) -> Segment {
    Segment { seq, ack, len, flags: flags(text), tsval: NOW, ..Segment::default() }
}

/// A connection whose sender has sent this many bytes.
fn sender(bytes: u32) -> Quiet {
    let mut quiet = Quiet::of_sender();
    quiet.on_departure(NOW, &mut segment("S", (0, 0, 0)));
    assert_eq!(quiet.on_arrival(&segment("S.", (0, 1, 0))), Arrival::Pass);
    quiet.on_departure(NOW, &mut segment(".", (1, 1, 0)));
    quiet.on_departure(NOW, &mut segment(".", (1, 1, bytes)));
    assert_eq!(quiet.poll(NOW), None);
    quiet
}

/// One whose receiver has acknowledged up to `ack`.
fn receiver(ack: u64) -> Quiet {
    let mut quiet = Quiet::of_receiver();
    assert_eq!(quiet.on_arrival(&segment("S", (0, 0, 0))), Arrival::Pass);
    quiet.on_departure(NOW, &mut segment("S.", (0, 1, 0)));
    quiet.on_departure(NOW, &mut segment(".", (1, ack, 0)));
    quiet
}

// RFC 9293 3.6, case 1: the sender of the data closes first.
#[test]
fn both_directions_close() {
    let (mut tx, mut rx) = (sender(100), receiver(1));
    let mut fin = segment(".F", (101, 1, 0));
    tx.on_departure(NOW, &mut fin);
    assert_eq!(rx.on_arrival(&fin), Arrival::Pass);
    assert!(rx.poll(NOW).is_none(), "the reader has not read all");
    let mut ack = segment(".", (1, 102, 0));
    rx.on_departure(NOW, &mut ack);
    tx.on_arrival(&ack);
    assert!(!tx.is_closed(), "the other direction is open");
    let answer = rx.poll(NOW).expect("the reader closes");
    assert_eq!((answer.seq, answer.ack, answer.flags), (1, 102, flags(".F")));
    assert_eq!(tx.on_arrival(&answer), Arrival::Pass);
    assert!(tx.is_closed());
    let last = tx.poll(NOW).expect("an acknowledgement");
    assert_eq!((last.seq, last.ack, last.flags), (102, 2, flags(".")));
    assert!(!rx.is_closed());
    rx.on_arrival(&last);
    assert!(rx.is_closed());
    assert_eq!((rx.deadline(), rx.poll(NOW)), (Time::NEVER, None));
}

#[test]
fn a_fin_that_nobody_acknowledges_is_repeated_a_few_times() {
    let mut rx = receiver(1);
    rx.on_arrival(&segment(".F", (1, 1, 0)));
    rx.on_departure(NOW, &mut segment(".", (1, 2, 0)));
    let mut at = NOW;
    let mut gaps = vec![];
    while rx.deadline() != Time::NEVER {
        gaps.push(rx.deadline().since(at).as_millis_f64() as u64);
        at = rx.deadline();
        let fin = rx.poll(at).expect("due");
        assert_eq!((fin.seq, fin.flags.fin, fin.tsval), (1, true, at));
        let mut ack = segment(".", (1, 2, 0));
        rx.on_departure(at, &mut ack);
        assert_eq!(ack.seq, 2, "behind the FIN");
    }
    assert_eq!(gaps, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000]);
    assert!(rx.is_closed());
}

#[test]
fn a_fin_that_comes_again_is_acknowledged_again() {
    let mut tx = sender(100);
    for _ in 0..3 {
        tx.on_arrival(&segment(".F", (1, 101, 0)));
        let ack = tx.poll(NOW).expect("an acknowledgement");
        assert_eq!((ack.seq, ack.ack), (101, 2));
        assert_eq!(tx.poll(NOW), None);
    }
    // What the sender still sends acknowledges it too.
    let mut data = segment(".", (101, 1, 100));
    tx.on_departure(NOW, &mut data);
    assert_eq!((data.ack, data.window), (2, WINDOW));
    assert!(!tx.is_closed(), "the data's FIN has not left");
}

#[test]
fn probes_and_a_repeated_syn_ack_are_answered() {
    let mut tx = sender(100);
    assert_eq!(tx.on_arrival(&segment("S.", (0, 1, 0))), Arrival::Taken);
    assert_eq!(tx.poll(NOW).expect("an acknowledgement").seq, 101);
    tx.on_arrival(&segment(".", (0, 101, 0)));
    assert_eq!(tx.poll(NOW).expect("to the probe").seq, 101);
    let mut rx = receiver(5000);
    rx.on_arrival(&segment(".", (4999, 1, 0)));
    assert_eq!(rx.poll(NOW).expect("to the probe").ack, 5000);
    rx.on_arrival(&segment(".", (5000, 1, 0)));
    assert_eq!(rx.poll(NOW), None, "an ordinary acknowledgement");
}

#[test]
fn data_that_nobody_reads_are_refused() {
    assert_eq!(sender(100).on_arrival(&segment(".", (1, 1, 10))), Arrival::Refuse);
}

// RFC 5961 3.2
#[test]
fn only_the_next_number_resets() {
    let mut opening = Quiet::of_sender();
    opening.on_departure(NOW, &mut segment("S", (0, 0, 0)));
    assert!(opening.on_reset(0));
    let mut tx = sender(100);
    assert!(!tx.on_reset(7) && tx.on_reset(1));
    assert_eq!(tx.poll(NOW).expect("a challenge").ack, 1);
    let mut rx = receiver(5000);
    assert!(!rx.on_reset(5001) && rx.on_reset(5000));
    assert_eq!(rx.poll(NOW).expect("a challenge").ack, 5000);
}

#[test]
fn what_is_sent_here_has_the_state_of_the_data() {
    let mut tx = sender(100);
    let cwr = Segment { ace: 2, tsecr: Time(3), ..segment(".", (101, 1, 100)) };
    tx.on_departure(NOW, &mut { cwr });
    tx.on_arrival(&segment(".F", (1, 101, 0)));
    let ack = tx.poll(NOW).expect("an acknowledgement");
    assert_eq!((ack.seq, ack.ace, ack.tsecr), (201, 0, NOW), "CWR is said once");
    let mut rx = receiver(5000);
    rx.on_departure(NOW, &mut Segment { ace: 2, ..segment("S.", (0, 1, 0)) });
    let count = Segment { ace: 7, accecn: Some([1, 2, 3]), ..segment(".", (1, 5000, 0)) };
    rx.on_departure(NOW, &mut { count });
    rx.on_arrival(&segment(".", (4999, 1, 0)));
    let ack = rx.poll(NOW).expect("an acknowledgement");
    assert_eq!((ack.ace, ack.accecn), (7, Some([1, 2, 3])));
}

/// An end of a connection that carries data both ways, whose peer answered with `ace`: it has sent 100 bytes with that
/// ACE field, and has received 300.
fn both(ace: u8) -> Quiet {
    let mut quiet = Quiet::of_both();
    quiet.on_departure(NOW, &mut segment("S", (0, 0, 0)));
    quiet.on_arrival(&Segment { ace, ..segment("S.", (0, 1, 0)) });
    let before = Segment { ace: 3, window: 7, ..segment(".", (1, 301, 100)) };
    let mut left = before;
    quiet.on_departure(NOW, &mut left);
    assert_eq!(left, before, "the end point has said it all");
    quiet
}

#[test]
fn an_end_that_sends_and_receives_does_it_all_itself() {
    let mut end = both(0);
    for one in
        [segment(".", (301, 1, 50)), segment(".", (351, 101, 0)), segment(".F", (351, 101, 0))]
    {
        assert_eq!(end.on_arrival(&one), Arrival::Pass);
        assert_eq!(end.poll(NOW), None);
    }
    assert!(!end.is_closed());
    end.on_departure(NOW, &mut segment(".F", (101, 352, 0)));
    assert!(!end.is_closed());
    end.on_arrival(&segment(".", (352, 102, 0)));
    assert!(end.is_closed());
    assert_eq!((end.deadline(), end.poll(NOW)), (Time::NEVER, None));
}

#[test]
fn it_answers_probes_and_wrong_resets() {
    let mut end = both(0);
    end.on_arrival(&segment(".", (300, 101, 0)));
    let answer = end.poll(NOW).expect("an answer");
    assert_eq!((answer.seq, answer.ack, answer.window), (101, 301, 7));
    assert!(!end.on_reset(300) && end.on_reset(301));
    assert!(end.poll(NOW).is_some(), "a challenge");
}

#[test]
fn a_counter_is_said_again_and_cwr_is_not() {
    // The answers to SYNs of RFC 3168 and of AccECN.
    for (agreed, ace) in [(1, 1), (2, 3)] {
        let mut end = both(agreed);
        end.on_arrival(&segment(".", (300, 101, 0)));
        assert_eq!(end.poll(NOW).expect("an answer").ace, ace);
    }
}
