use super::*;

fn receiver(mode: Feedback) -> EcnReceiver {
    EcnReceiver::new(mode, false, true, SceFeedback::Advanced)
}

#[test]
fn counter_wraps_and_every_mark_is_seen_once() {
    let mut receiver = receiver(Feedback::AccEcn);
    let mut sender = AccEcnSender::default();
    let (mut marked, mut seen) = (0, 0);
    for i in 0..1000_u32 {
        for ecn in [Ecn::Ect1, if i % 3 == 0 { Ecn::Ce } else { Ecn::Ect1 }] {
            receiver.on_arrival(ecn, 0, 1448, 1);
            marked += u32::from(ecn == Ecn::Ce);
        }
        let progress = Progress { segments: 2, bytes: 2896, mss: 1448 };
        seen += sender.decode(receiver.ace(2896), None, progress);
    }
    assert_eq!(seen, marked);
}

#[test]
fn rfc3168_repeats_ece_until_cwr() {
    let mut receiver = receiver(Feedback::Rfc3168);
    let quick = |receiver: &mut EcnReceiver, ecn| receiver.on_data(ecn, 1448).quick;
    assert!(quick(&mut receiver, Ecn::Ce));
    assert!(!quick(&mut receiver, Ecn::Ce));
    assert!(!quick(&mut receiver, Ecn::Ect0));
    assert_eq!(receiver.ace(2896), ECE);
    assert!(receiver.on_arrival(Ecn::Ect0, CWR, 1448, 1), "CWR is acknowledged at once");
    assert_eq!(receiver.ace(2896), 0);
}

#[test]
fn what_comes_without_ect_after_ect_is_acknowledged_quickly() {
    for (mode, expected) in [
        (Feedback::Rfc3168, true),
        (Feedback::Sce, true),
        (Feedback::Dctcp, true),
        (Feedback::AccEcn, false),
        (Feedback::None, false),
    ] {
        let mut receiver = receiver(mode);
        let mut quick = |ecn| receiver.on_data(ecn, 1448).quick;
        assert!(!quick(Ecn::NotEct), "{mode:?}: no ECT yet");
        assert!(!quick(Ecn::Ect0), "{mode:?}");
        assert_eq!(quick(Ecn::NotEct), expected, "{mode:?}");
    }
}

// By captures of 7.2: every counter that has changed since the last option is in the next one, or there is none.
#[test]
fn sack_blocks_and_the_accecn_option_share_the_room_as_in_7_2() {
    let beside = |ecn, blocks: u64, timestamps| {
        let mut receiver = EcnReceiver::new(Feedback::AccEcn, true, true, SceFeedback::Advanced);
        receiver.on_arrival(ecn, 0, 1448, 1);
        let mut sack = SackBlocks::default();
        (0..blocks).for_each(|n| sack.push((10 * n, 10 * n + 5)));
        (receiver.option(timestamps, &mut sack).is_some(), sack.as_slice().len())
    };
    for (blocks, ect0, ect1) in
        [(0, (true, 0), (true, 0)), (1, (true, 1), (true, 1)), (2, (false, 2), (true, 2))]
    {
        assert_eq!(
            (beside(Ecn::Ect0, blocks, true), beside(Ecn::Ect1, blocks, true)),
            (ect0, ect1)
        );
    }
    assert_eq!(beside(Ecn::Ect0, 3, true), (false, 3), "the last of three counters has no room");
    assert_eq!(beside(Ecn::Ce, 3, true), (true, 2), "the third block gives way");
    assert_eq!(beside(Ecn::Ect0, 3, false), (true, 3));
}
