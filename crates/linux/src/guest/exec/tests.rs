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

#[test]
fn a_user_of_sudo_that_is_half_known_is_refused() {
    let read = |ids: [Option<&str>; 2]| User::read(ids.map(|id| id.map(OsString::from)));
    assert!(matches!(read([None, None]), Ok(User(None))));
    assert!(matches!(read([Some("1000"), Some("100")]), Ok(User(Some([1000, 100])))));
    for ids in [[Some("1000"), None], [None, Some("100")], [Some("1000"), Some("x")]] {
        let error = read(ids).err();
        assert_eq!(error.as_deref(), Some("SUDO_UID, SUDO_GID: expected two numbers"));
    }
}

#[test]
fn a_program_starts_only_below_a_living_parent() {
    let start = |parent: Pid| {
        let mut command = Command::new("true");
        #[expect(unsafe_code, reason = "between fork and exec")]
        // SAFETY: as in `confined`.
        unsafe {
            command.pre_exec(move || detach(parent));
        }
        command.status().map(|status| status.success()).map_err(|error| error.raw_os_error())
    };
    assert_eq!(start(getpid()), Ok(true));
    assert_eq!(start(Pid::INIT), Err(Some(libc::ESRCH)));
}
