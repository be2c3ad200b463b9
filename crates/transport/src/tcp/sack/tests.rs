use super::*;

fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::new();
    for i in 0..n {
        board.push(Outstanding::new(i * 10, 10, Time(i), TxSnapshot::default()));
    }
    board
}

fn sent_order(board: &Scoreboard) -> Vec<u64> {
    let mut order = Vec::new();
    let mut at = board.oldest();
    while let Some(id) = at {
        order.push(board.get(id).seq);
        at = board.next_sent(id);
    }
    order
}

#[test]
fn growing_sack_block_tags_each_segment_once() {
    let mut board = board(8);
    let mut tagged = Vec::new();
    board.tag_sacked(&[(20, 40)], |s| tagged.push(s.seq));
    board.tag_sacked(&[(20, 60)], |s| tagged.push(s.seq));
    board.tag_sacked(&[(70, 80), (10, 60)], |s| tagged.push(s.seq));
    assert_eq!(tagged, [20, 30, 40, 50, 70, 10]);
    assert_eq!((board.sacked, board.in_flight()), (6, 2));
    assert_eq!(sent_order(&board), [0, 60]);
}

#[test]
fn retransmission_returns_to_the_flight_and_can_be_lost_again() {
    let mut board = board(4);
    assert!(!board.mark_lost(0));
    assert_eq!(board.in_flight(), 3);
    assert_eq!(board.next_retransmit(), Some(0));
    board.retransmit(0, Time(9), TxSnapshot::default());
    assert_eq!((board.in_flight(), board.next_retransmit()), (4, None));
    assert_eq!(sent_order(&board), [10, 20, 30, 0]);
    assert!(board.mark_lost(0));
    assert_eq!((board.in_flight(), board.next_retransmit()), (3, Some(0)));
}

#[test]
fn cumulative_ack_clears_every_count() {
    let mut board = board(4);
    board.mark_lost(0);
    board.retransmit(0, Time(9), TxSnapshot::default());
    board.tag_sacked(&[(10, 20)], |_| {});
    (0..4).for_each(|_| board.pop());
    assert_eq!((board.packets_out(), board.sacked, board.lost, board.retransmitted), (0, 0, 0, 0));
    assert_eq!(sent_order(&board), [] as [u64; 0]);
}

#[test]
fn lost_segments_of_one_packet_go_together_up_to_a_hole_in_it() {
    let mut board = Scoreboard::new();
    for i in 0..9 {
        let mut segment = Outstanding::new(i * 10, 10, Time(i), TxSnapshot::default());
        // Two packets: 0 to 5, and 6 to 8.
        segment.joined = i % 6 > 0;
        board.push(segment);
    }
    board.tag_sacked(&[(30, 40)], |_| ());
    (0..9).filter(|id| *id != 3).for_each(|id| {
        board.mark_lost(id);
    });
    assert_eq!(board.with_joined(0, 8), (3, 30), "what was acknowledged is cut out");
    assert_eq!(board.with_joined(0, 2), (2, 20));
    assert_eq!(board.with_joined(4, 8), (2, 20), "another packet follows");
    board.retransmit(7, Time(20), TxSnapshot::default());
    assert_eq!(board.with_joined(6, 8), (1, 10), "a retransmission is in flight");
    assert_eq!(board.with_joined(8, 8), (1, 10));
}
