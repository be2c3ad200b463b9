use std::io::Cursor;

use super::*;

#[test]
fn the_beginning_and_the_end_of_a_long_output_are_kept() {
    let text = |len: usize| kept(Cursor::new(vec![b'x'; len])).join().expect("no panic");
    assert_eq!(text(100).len(), 100);
    assert_eq!(text(2 * KEPT), "x".repeat(2 * KEPT));
    let long = text(2 * KEPT + 5);
    assert!(long.contains("\n[5 bytes left out]\n"));
    assert_eq!(long.matches('x').count(), 2 * KEPT);
}

#[test]
fn what_is_no_text_is_still_kept() {
    let text = kept(Cursor::new(b"a\xffb".to_vec())).join().expect("no panic");
    assert_eq!(text, "a\u{fffd}b");
}

#[test]
fn a_listener_is_found_by_port_and_state() {
    let rows = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                0: 0100090A:1451 00000000:0000 0A 00000000:00000000 00:00000000\n   \
                1: 0100090A:1452 0200090A:8000 01 00000000:00000000 00:00000000\n";
    assert!(listens(rows, 5201, "0A"));
    assert!(!listens(rows, 5202, "0A"));
    assert!(!listens(rows, 20817, "0A"));
    assert!(!listens(rows, 0x8000, "01"));
}
