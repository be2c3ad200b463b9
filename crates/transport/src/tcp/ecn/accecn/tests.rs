use super::*;

/// What 10 marks have been reported to, by an ACK of two segments with ECT(0) last.
fn decode(ace: u8, segments: u32, ce_bytes: Option<u32>) -> u32 {
    let mut sender = AccEcnSender::new(10, AceReading::Greatest);
    assert_eq!(sender.decode(7, Some([1 + 2896, 0, 1]), progress(2)), 0);
    let ect0 = 1 + 2896 + segments * 1448;
    sender.decode(ace, ce_bytes.map(|ce| [ect0 - ce, ce, 1]), progress(segments))
}

fn progress(segments: u32) -> Progress {
    Progress { segments, bytes: u64::from(segments) * 1448, mss: 1448 }
}

// KAT accecn 1
#[test]
fn ace_decodes_to_the_published_vectors() {
    assert_eq!(decode(1, 2, None), 2);
    assert_eq!(AccEcnSender::new(10, AceReading::Greatest).decode(1, None, progress(20)), 18);
    assert_eq!(decode(1, 20, Some(0)), 2);
    assert_eq!(decode(7, 7, None), 0);
    assert_eq!(AccEcnSender::new(10, AceReading::Greatest).decode(7, None, progress(9)), 8);
    assert_eq!(decode(1, 20, Some(2896)), 2);
    assert_eq!(decode(1, 20, Some(14480)), 10);
}

#[test]
fn unsafe_decoding_invents_no_marks() {
    let progress = progress(9);
    assert_eq!(AccEcnSender::new(10, AceReading::Greatest).decode(7, None, progress), 8);
    assert_eq!(AccEcnSender::new(10, AceReading::Least).decode(7, None, progress), 0);
    assert_eq!(AccEcnSender::new(10, AceReading::Least).decode(1, None, progress), 2);
}

#[test]
fn large_acks_teach_a_7_x_sender_that_a_jump_is_no_mark() {
    let mut sender = AccEcnSender::new(10, AceReading::ByAckSize);
    assert_eq!(sender.decode(7, None, progress(9)), 8, "one large ACK is suspicious");
    let mut sender = AccEcnSender::new(10, AceReading::ByAckSize);
    let invented: Vec<u32> = (0..100).map(|_| sender.decode(7, None, progress(9))).collect();
    let trusted = invented.iter().position(|ce| *ce == 0).expect("trusts in the end");
    // From a mean of 1, 9 segments per ACK exceed a mean of 4 after 64 ln(8/5) = 30.1 ACKs; the mean rounds down,
    // which takes one or two more.
    assert!((31..=33).contains(&trusted), "{trusted}");
    assert_eq!(sender.decode(7, None, progress(2)), 0);
}

// A third SACK block takes the option's place. What was reported before tells which counter such ACKs add to.
#[test]
fn an_ack_without_option_adds_to_the_counter_that_grew() {
    assert_eq!(decode(7, 9, None), 0, "of ECT(0): none of nine was marked");
    let mut sender = AccEcnSender::new(10, AceReading::Greatest);
    assert_eq!(sender.decode(0, Some([1, 1448, 1]), progress(1)), 1);
    assert_eq!(sender.decode(0, None, progress(9)), 8, "all nine may be");
    let mut torn = AccEcnSender::new(10, AceReading::Greatest);
    torn.decode(0, Some([1449, 1448, 1]), progress(2));
    assert_eq!(torn.decode(0, None, progress(9)), 8, "two counters grew: nothing is known");
}

#[test]
fn an_estimate_that_was_too_high_is_taken_back() {
    let mut sender = AccEcnSender::new(10, AceReading::Greatest);
    sender.decode(7, Some([1449, 0, 1]), progress(1));
    sender.decode(7, None, progress(4));
    assert_eq!(sender.decode(7, Some([1 + 2 * 1448, 0, 1]), progress(9)), 8, "a counter went back");
    assert_eq!(sender.bytes, [2 * 1448, 0, 0]);
}
