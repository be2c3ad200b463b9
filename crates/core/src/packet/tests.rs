use super::*;

#[test]
fn packet_metadata_stays_within_forty_bytes() {
    assert_eq!(std::mem::size_of::<Packet>(), 40);
}

#[test]
fn the_side_of_a_dual_queue_is_taken_once_and_leaves_the_flags_alone() {
    let mut p = Packet { ace: 0b111, ..Packet::default() };
    p.set_corrupt();
    p.set_side(Side::Classic);
    p.set_side(Side::L4s);
    assert_eq!((p.take_side(), p.take_side()), (Side::L4s, Side::None));
    assert!(p.is_corrupt() && p.ecn_flags() == 0b111 && !p.is_syn());
}

#[test]
fn corruption_leaves_the_flags_alone() {
    let mut p = Packet { ace: 0b101, ..Packet::default() };
    assert!(!p.is_corrupt());
    p.set_corrupt();
    assert_eq!((p.is_corrupt(), p.ace & 0b111), (true, 0b101));
}

#[test]
fn syn_and_its_answer_are_distinguished_and_leave_the_flags_alone() {
    let (mut syn, mut answer) = (Packet { ace: 0b111, ..Packet::default() }, Packet::default());
    syn.set_syn(false);
    answer.set_syn(true);
    assert_eq!((syn.is_syn(), syn.is_syn_ack(), syn.ecn_flags()), (true, false, 0b111));
    assert_eq!((answer.is_syn(), answer.is_syn_ack(), answer.ecn_flags()), (false, true, 0));
}

// Linux include/net/inet_ecn.h INET_ECN_set_ce(); chromi/sce INET_ECN_set_ect1().
#[test]
fn set_ce_and_set_sce_follow_the_linux_table() {
    for (tos, ce, after_ce, sce, after_sce) in [
        (0u8, false, 0u8, false, 0u8),
        (1, true, 3, false, 1),
        (2, true, 3, true, 1),
        (3, true, 3, false, 3),
    ] {
        let dscp = 0x28;
        let mut p = Packet { tos: dscp | tos, ..Packet::default() };
        assert_eq!(p.set_ce(), ce);
        assert_eq!(p.tos, dscp | after_ce);
        let mut p = Packet { tos: dscp | tos, ..Packet::default() };
        assert_eq!(p.set_sce(), sce);
        assert_eq!(p.tos, dscp | after_sce);
    }
}
