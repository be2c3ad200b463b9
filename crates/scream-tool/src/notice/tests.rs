use sojourn_core::wire::ccfb::{Counting, Report};

use super::*;

#[test]
fn notices_are_read_as_they_are_written() {
    for notice in [Notice::Ends, Notice::Discarded(12), Notice::Answer(0xab)] {
        assert_eq!(Notice::parse(notice.to_string().as_bytes()), Some(notice));
    }
    for other in ["sender", "sender ends now", "sender answers x", "\u{1b}", ""] {
        assert_eq!(Notice::parse(other.as_bytes()), None, "{other}");
    }
    for reply in [Reply::Busy(0x0102_0304), Reply::Full(u32::MAX)] {
        assert_eq!(Reply::parse(&reply.bytes()), Some(reply));
        assert_eq!(Reply::parse(&reply.bytes()[..REPLY_BYTES - 1]), None);
    }
}

#[test]
fn a_reply_is_no_report_and_has_no_room_for_the_originals_blocks() {
    let bytes = Reply::Busy(7).bytes();
    assert!(Report::parse(&bytes, &mut Counting::default()).is_err());
    // The original reads blocks from byte 8 to the four bytes of the time stamp.
    assert_eq!(bytes.len(), 8 + 4);
    assert_eq!(usize::from(HEAD[3]) * 4 + 4, bytes.len());
}
