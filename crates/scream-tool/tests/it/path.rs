//! Paths that do something to the packets: a relay between both ends, which bleaches the ECN field
//! as all relays in user space do, and which may get another address in between.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process::{port, rx, tx};

/// Passes datagrams on in both directions, as a NAT does.
struct Relay {
    port: u16,
    moves: Arc<AtomicBool>,
    /// Reports stay here meanwhile.
    holds: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn to(receiver: u16) -> Self {
        let inside = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let port = inside.local_addr().expect("bound").port();
        let [moves, holds, ends] = [false; 3].map(|b| Arc::new(AtomicBool::new(b)));
        let [move_now, hold_now, end_now] = [&moves, &holds, &ends].map(Arc::clone);
        let thread = std::thread::spawn(move || {
            let outside = || {
                let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
                socket.connect(("127.0.0.1", receiver)).expect("loopback");
                socket.set_nonblocking(true).expect("a socket");
                socket
            };
            let mut out = outside();
            let mut sender: Option<SocketAddr> = None;
            let mut bytes = [0; 2048];
            inside.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket");
            while !end_now.load(Ordering::Relaxed) {
                if move_now.swap(false, Ordering::Relaxed) {
                    out = outside();
                }
                if let Ok((len, from)) = inside.recv_from(&mut bytes) {
                    sender = Some(from);
                    let _ = out.send(&bytes[..len]);
                }
                while !hold_now.load(Ordering::Relaxed)
                    && let Ok(len) = out.recv(&mut bytes)
                {
                    if let Some(to) = sender {
                        let _ = inside.send_to(&bytes[..len], to);
                    }
                }
            }
        });
        Self { port, moves, holds, ends, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_path_that_bleaches_is_reported_once_and_at_the_end() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let relay = Relay::to(port);
    let mut tx = tx(&format!("-fixedrate 2000 -ect 1 127.0.0.1 {}", relay.port));
    tx.wait_for("warning: the path bleaches the ECN field");
    assert_eq!(tx.interrupt(), 0);
    let warnings = tx.err.iter().filter(|l| l.contains("sent as ECT(1) 100 % arrive as Not-ECT"));
    assert_eq!(warnings.count(), 2, "{:#?}", tx.err);
    let diagnosis = tx.out.iter().find(|l| l.starts_with("Diagnosis: ")).expect("a line");
    assert!(diagnosis.contains("; ECN bleached; "), "{diagnosis}");
    rx.interrupt();
}

#[test]
fn packets_that_the_sender_discards_have_a_line_at_both_ends_and_are_no_loss() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let relay = Relay::to(port);
    let options = "-minrate 8000 -initrate 8000 -maxrate 8000 -delaytarget 1";
    let mut tx = tx(&format!("{options} 127.0.0.1 {}", relay.port));
    tx.wait_for(" summary ");
    // Reports wait: the window closes, and what waits behind it grows old.
    for _ in 0..3 {
        relay.holds.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(450));
        relay.holds.store(false, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(300));
    }
    tx.wait_for(" summary ");
    assert_eq!(tx.interrupt(), 0, "{:#?}", tx.err);
    rx.interrupt();
    let discarded = tx.number("Packets discarded at this end");
    assert!(discarded > 10.0, "{discarded}");
    assert_eq!(rx.number("Packets discarded by the sender"), discarded);
    assert_eq!(rx.number("Packets lost / duplicates"), 0.0);
}

#[test]
fn a_session_goes_on_when_a_nat_gives_its_sender_another_port() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let relay = Relay::to(port);
    let mut tx = tx(&format!("-fixedrate 1000 -verbose 127.0.0.1 {}", relay.port));
    rx.wait_for("Learned sender address from first RTP packet");
    // Lines of the sender come through: the session is known.
    rx.wait_for(",  ");
    relay.moves.store(true, Ordering::Relaxed);
    rx.wait_for("Sender source address changed; re-latched feedback target");
    // Feedback arrives again: the sender has a line every 2 s only then.
    let before = tx.out.len();
    tx.wait_for(" summary ");
    tx.wait_for(" summary ");
    assert!(tx.out.len() > before);
    assert_eq!(tx.interrupt(), 0);
    rx.interrupt();
}
