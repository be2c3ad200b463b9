use super::*;

/// One round trip of three ACKs with this RTT after a base RTT of 100 ms; cwnd before and after.
fn round(win: Window, rtt_ms: f64) -> Window {
    let mut win = win;
    let mut vegas = Vegas::new(Params::default());
    vegas.base_rtt = Dur::from_millis(100);
    let mut path = Path { snd_nxt: 100, ..Path::default() };
    vegas.on_established(Time::ZERO, &path, &mut win);
    for una in [10, 20, 101] {
        path.snd_una = una;
        let rtt = Some(Dur((rtt_ms * 1e6) as u64 - 1000));
        let ack = Ack { acked: 1, may_raise: true, rtt, ..Ack::new(&path) };
        vegas.on_ack(Time::ZERO, &ack, &mut win);
    }
    win
}

// KAT vegas 1
#[test]
fn two_to_four_segments_in_the_queue_are_left_alone() {
    let steady = Window { ssthresh: 10, ..Window::new(100) };
    for (queued, cwnd) in [(0.5, 101), (1.9, 101), (2.0, 100), (4.9, 100), (5.0, 99), (30.0, 99)] {
        assert_eq!(round(steady, 100.0 + queued + 1e-3).cwnd, cwnd, "{queued} segments");
    }
}

// KAT vegas 2
#[test]
fn slow_start_ends_with_more_than_one_segment_in_the_queue() {
    let start = Window::new(100);
    assert_eq!(round(start, 101.0).cwnd, 103, "grows by what is acknowledged");
    let left = round(start, 125.0);
    // Before the last of three ACKs it has grown to 102: 81 fit the path.
    assert_eq!((left.cwnd, left.in_slow_start()), (82, false));
}

#[test]
fn alpha_must_not_exceed_beta() {
    let error = super::super::build("vegas alpha 5").err().expect("refused");
    assert_eq!(error.0, "vegas: alpha is more than beta");
}
