//! Others on the network: both ends stay up, small, and send nothing to them.

use std::net::UdpSocket;
use std::time::Duration;

use sojourn_core::Rng;

use crate::process::{port, rx, tx};

/// Memory of an end, whatever comes, kB.
const MEMORY_KB: u64 = 20_000;

/// An RTP packet of the tool.
fn rtp(seq: u16, ssrc: u32, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0x80, 98];
    bytes.extend(seq.to_be_bytes());
    bytes.extend(1000_u32.to_be_bytes());
    bytes.extend(ssrc.to_be_bytes());
    bytes.resize(12 + payload, 7);
    bytes
}

/// A report of 64 packets that counts `field`.
fn report(begin: u16, field: u16) -> Vec<u8> {
    let mut bytes = vec![0x8b, 205, 0, 36, 0, 0, 0, 10, 0, 0, 0, 100];
    bytes.extend(begin.to_be_bytes());
    bytes.extend(field.to_be_bytes());
    bytes.resize(144, 0xa0);
    bytes.extend([0, 0, 0x90, 0xac]);
    bytes
}

/// Datagrams of every sort: cut, long, empty, mutated, random.
fn rubbish(rng: &mut Rng) -> Vec<u8> {
    let seq = rng.u32() as u16;
    let mut bytes = match rng.below(6) {
        0 => rtp(seq, 100, rng.below(1200) as usize),
        1 => rtp(seq, rng.u32(), 0),
        2 => report(seq, rng.u32() as u16),
        3 => report(seq, 63),
        4 => [vec![0x80, 0x7f], vec![0x1b; rng.below(2000) as usize]].concat(),
        _ => (0..rng.below(3000)).map(|_| rng.u32() as u8).collect(),
    };
    for _ in 0..rng.below(4) {
        if !bytes.is_empty() {
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] = rng.u32() as u8;
        }
    }
    if rng.below(4) == 0 {
        bytes.truncate(rng.below(bytes.len() as u32 + 1) as usize);
    }
    if rng.below(500) == 0 {
        bytes.resize(60_000, 0x8b);
    }
    bytes
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
    socket
}

/// Bytes and datagrams that came until nothing came for a while.
fn drain(socket: &UdpSocket) -> (usize, usize) {
    let mut bytes = [0; 4096];
    let (mut total, mut datagrams) = (0, 0);
    let mut silent = 0;
    while silent < 8 {
        match socket.recv(&mut bytes) {
            Ok(len) => {
                total += len;
                datagrams += 1;
            }
            Err(_) => silent += 1,
        }
    }
    (total, datagrams)
}

#[test]
fn a_flood_of_rubbish_leaves_both_ends_running_small_and_strangers_nearly_without_answer() {
    let port = port();
    let local = crate::process::port();
    let mut rx = rx(&format!("{port}"));
    // Takes feedback from anywhere, so that the rubbish reaches the parser.
    let mut tx = tx(&format!(
        "-fixedrate 2000 -verbose -anysource -localport {local} -ect 1 127.0.0.1 {port}"
    ));
    rx.wait_for(",  ");
    let stranger = socket();
    let mut rng = Rng::named(5, "rubbish");
    for n in 0..20_000_u32 {
        let bytes = rubbish(&mut rng);
        let _ = stranger.send_to(&bytes, ("127.0.0.1", if n % 2 == 0 { port } else { local }));
        if n % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // That the receiver is busy, twice a second, and no more bytes than the stranger sent.
    let (bytes, datagrams) = drain(&stranger);
    assert!(bytes == 12 * datagrams && datagrams < 100, "{bytes} bytes in {datagrams} datagrams");
    assert!(rx.is_alive() && tx.is_alive());
    // The session goes on.
    rx.wait_for(",  ");
    for (end, name) in [(&tx, "sender"), (&rx, "receiver")] {
        assert!(end.peak_kb() < MEMORY_KB, "{name}: {} kB", end.peak_kb());
    }
    assert_eq!((tx.interrupt(), rx.interrupt()), (0, 0));
    assert!(tx.err.iter().any(|l| l.contains("datagrams were no feedback")), "{:#?}", tx.err);
    assert!(rx.number("Packets of unknown sources, ignored") > 0.0);
    assert!(rx.number("Malformed datagrams, ignored") > 0.0);
    // What the stranger wrote for the screen is not there, and its terminal codes least of all.
    assert!(rx.out.iter().chain(&rx.err).all(|l| !l.contains('\x1b')));
}

#[test]
fn a_receiver_is_no_reflector() {
    for (seq, payload, packets) in [(0, 0, 1), (40_000, 0, 1), (1000, 0, 60), (7, 20, 200)] {
        let port = port();
        let mut rx = rx(&format!("-ackdiff 1 {port}"));
        let victim = socket();
        let mut sent = 0;
        for n in 0..packets {
            // Numbers far apart: each asks for many blocks.
            let bytes = rtp(if packets < 100 { seq + n * 500 } else { seq + n }, 100, payload);
            sent += bytes.len() + 28;
            victim.send_to(&bytes, ("127.0.0.1", port)).expect("loopback");
        }
        let (bytes, datagrams) = drain(&victim);
        let got = bytes + 28 * datagrams;
        assert!(got <= sent + 4 * 29, "{got} bytes for {sent} ({packets} packets from {seq})");
        assert_eq!(rx.interrupt(), 0);
    }
}

#[test]
fn a_named_sender_alone_is_answered() {
    let port = port();
    let mut rx = rx(&format!("127.0.0.2 {port}"));
    let stranger = socket();
    for n in 0..500 {
        stranger.send_to(&rtp(n, 100, 1000), ("127.0.0.1", port)).expect("loopback");
    }
    assert_eq!(drain(&stranger), (0, 0));
    assert_eq!(rx.interrupt(), 0);
    assert_eq!(rx.number("Packets of unknown sources, ignored"), 500.0);
    assert!(rx.err.iter().any(|l| l.contains("leave the address out")), "{:#?}", rx.err);
}

#[test]
fn feedback_from_elsewhere_does_not_reach_the_sender() {
    let port = port();
    let local = crate::process::port();
    let mut rx = rx(&format!("{port}"));
    let mut tx = tx(&format!("-fixedrate 1000 -verbose -localport {local} 127.0.0.1 {port}"));
    rx.wait_for(",  ");
    let stranger = socket();
    for n in 0..2000 {
        let _ = stranger.send_to(&report(n, 63), ("127.0.0.1", local));
    }
    rx.wait_for(",  ");
    assert_eq!((tx.interrupt(), rx.interrupt()), (0, 0));
    assert!(!tx.err.iter().any(|l| l.contains("ignored")), "the kernel drops it: {:#?}", tx.err);
}

#[test]
fn a_stranger_beside_a_session_learns_that_the_receiver_is_busy_and_gets_no_reports() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let mut tx = tx(&format!("-fixedrate 1000 -verbose 127.0.0.1 {port}"));
    rx.wait_for(",  ");
    let stranger = socket();
    for n in 0..100 {
        stranger.send_to(&rtp(n, 100, 0), ("127.0.0.1", port)).expect("loopback");
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut answer = [0; 100];
    let len = stranger.recv(&mut answer).expect("an answer");
    assert!(len <= 12 && answer[..4] == [0x80, 204, 0, 2] && answer[8..12] == *b"BUSY");
    let (_, more) = drain(&stranger);
    assert!(more < 10, "{more} more datagrams for 100");
    assert_eq!((tx.interrupt(), rx.interrupt()), (0, 0));
}
