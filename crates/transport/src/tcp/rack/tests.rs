use super::*;

fn board() -> Scoreboard {
    let mut board = Scoreboard::new();
    for i in 0..4 {
        board.push(Outstanding::new(i * 10, 10, Time(i * 1_000_000), TxSnapshot::default()));
    }
    board
}

const RTT: Dur = Dur::from_millis(80);

// KAT rack 1
#[test]
fn reordering_window_is_a_quarter_of_min_rtt_once_reordering_was_seen() {
    let mut rack = Rack::default();
    assert_eq!(rack.window(false, 3, RTT, RTT), Dur::ZERO);
    assert_eq!(rack.window(false, 2, RTT, RTT), Dur::from_millis(20));
    rack.saw_reordering(5);
    assert_eq!(rack.window(true, 9, RTT, RTT), Dur::from_millis(20));
}

#[test]
fn segments_sent_before_a_delivered_one_are_lost_without_a_window() {
    let (mut rack, mut board) = (Rack::default(), board());
    let now = Time(3_000_000) + RTT;
    let last = *board.get(3);
    rack.delivered(now, &last, RTT);
    board.tag_sacked(&[(30, 40)], |_| {});
    let found = rack.detect_if_advanced(now, &mut board, Dur::ZERO, |_| {});
    assert_eq!((found.lost, found.wait), (3, None));
}

#[test]
fn inside_the_window_a_timer_is_asked_for_instead() {
    let (mut rack, mut board) = (Rack::default(), board());
    let now = Time(3_000_000) + RTT;
    let last = *board.get(3);
    rack.delivered(now, &last, RTT);
    board.tag_sacked(&[(30, 40)], |_| {});
    let found = rack.detect_if_advanced(now, &mut board, Dur::from_millis(20), |_| {});
    assert_eq!(found.lost, 0);
    assert_eq!(found.wait, Some(Dur::from_millis(19)));
}

#[test]
fn timeout_gives_up_the_head_and_everything_older_than_an_rtt() {
    let (mut rack, mut board) = (Rack::default(), board());
    rack.rtt = RTT;
    board.tag_sacked(&[(20, 30)], |_| {});
    rack.mark_on_timeout(Time(1_000_000) + RTT, &mut board, |_| {});
    assert_eq!((board.lost, board.in_flight()), (2, 1));
    rack.mark_on_timeout(Time(300_000_000), &mut board, |_| {});
    assert_eq!((board.lost, board.in_flight()), (3, 0));
}

#[test]
fn duplicates_widen_the_window_once_per_round_trip_for_sixteen_recoveries() {
    let mut rack = Rack::default();
    rack.saw_reordering(5);
    let mut widen = |sampled, delivered| {
        rack.saw_duplicate();
        rack.update_window(sampled, delivered);
        rack.window(true, 0, RTT, RTT)
    };
    assert_eq!(widen(0, 100), Dur::from_millis(40));
    assert_eq!(widen(50, 150), Dur::from_millis(40));
    assert_eq!(widen(100, 200), Dur::from_millis(60));
    rack.update_window(300, 400);
    assert_eq!(rack.window(true, 0, RTT, RTT), Dur::from_millis(60));
    for _ in 0..16 {
        rack.recovered();
    }
    assert_eq!(rack.window(true, 0, RTT, RTT), Dur::from_millis(20));
}
