use sojourn_core::Rng;

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

// Linux tcp_match_skb_to_sack and tcp_shift_skb_data: packets of three segments, of which SACKs take some out, and which
// they join.
#[test]
fn sacks_and_retransmissions_split_and_join_packets() {
    let mut board = Scoreboard::new();
    for i in 0..9 {
        let segment = Outstanding::new(i * 10, 10, Time(i), TxSnapshot::default());
        board.push(Outstanding { joined: i % 3 > 0, ..segment });
    }
    let mut splits = |change: &dyn Fn(&mut Scoreboard)| {
        change(&mut board);
        board.splits()
    };
    assert_eq!(splits(&|b| b.tag_sacked(&[(10, 20)], |_| {})), 2, "0, 1 and 2 are apart");
    assert_eq!(splits(&|b| b.tag_sacked(&[(10, 30)], |_| {})), 1, "2 joins 1");
    assert_eq!(
        splits(&|b| b.tag_sacked(&[(10, 60)], |_| {})),
        0,
        "and the second packet joins them"
    );
    assert_eq!(splits(&|b| b.part(7)), 1, "7 and 8 are sent again without 6");
    assert_eq!(splits(&|b| b.part(9)), 1, "there is none");
    assert_eq!(
        splits(&|b| b.pop()),
        0,
        "what is left begins with 1 to 5, in one packet for one and a half"
    );
    assert_eq!(
        splits(&|b| (0..3).for_each(|_| b.pop())),
        1,
        "the rest of the second packet, 6, and 7 with 8"
    );
    assert_eq!(splits(&|b| (0..5).for_each(|_| b.pop())), 0);
}

// What is counted as it changes is what a count from the start gives.
#[test]
fn packets_are_counted_as_a_walk_counts_them() {
    let mut rng = Rng::named(5, "scoreboard");
    let mut board = Scoreboard::new();
    let mut next = 0;
    for step in 0..20_000 {
        let (first, end) = (board.first, board.ids().end);
        let pick = first + rng.below((end - first).max(1) as u32) as u64;
        match rng.below(5) {
            0 | 1 => {
                let segment = Outstanding::new(next * 10, 10, Time(step), TxSnapshot::default());
                // What leaves in one packet leaves at once.
                let may_join = board.segments.back().is_some_and(|last| !last.sacked);
                board.push(Outstanding { joined: may_join && rng.below(3) > 0, ..segment });
                next += 1;
            }
            2 => {
                let end = pick + 1 + u64::from(rng.below(3));
                board.tag_sacked(&[(pick * 10, end * 10)], |_| {});
            }
            3 => board.part(pick),
            _ if board.packets_out() > 12 => board.pop(),
            _ => {}
        }
        let walked: i32 = (1..board.segments.len()).map(|at| board.split_before(at)).sum();
        assert_eq!(board.splits(), walked, "step {step}");
    }
}
