//! The peer is the kernel.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sojourn_live::device::Device;
use sojourn_live::namespace::Namespace;
use sojourn_live::tun::{Read, Tun, Written};
use sojourn_stack::{Host, Report};

use crate::lab::{ADDRESSES, Running, flow, forward, run, scenario, seat, total};
use crate::plug::cable;

const BYTES: usize = 3_000_000;

/// The kernel's host: the near one, with a device.
pub(crate) fn near(ecn: u8) -> (Namespace, Arc<dyn Device>) {
    let space = Namespace::new().unwrap();
    let tun = space.enter(|| Tun::open("uplink")).unwrap().unwrap();
    let lines = format!(
        "[ ! -e /proc/sys/net/ipv6 ] || sysctl -qw net.ipv6.conf.all.disable_ipv6=1\n\
         ip addr add {}/24 dev uplink\nip link set dev uplink gso_max_segs 1 txqueuelen 1000 up\n\
         sysctl -qw net.ipv4.tcp_ecn={ecn} net.ipv4.tcp_congestion_control=reno",
        ADDRESSES[0]
    );
    space.run(lines).unwrap();
    (space, Arc::new(tun))
}

/// The far end of flow 0 is ours, and the near one the kernel's.
pub(crate) fn receiver(flows: &str, device: Arc<dyn Device>) -> Running<Report> {
    let scenario = scenario("40Mbit", "pfifo", flows);
    run(Host::new(&scenario, &[seat(1, 0)], vec![device]).unwrap(), |_| false)
}

/// The near end of flow 0 is ours, at the far address.
pub(crate) fn sender(flows: &str, device: Arc<dyn Device>) -> Running<Report> {
    let scenario = scenario("40Mbit", "pfifo", flows);
    let seat = sojourn_stack::Seat { end: 0, ..seat(1, 0) };
    run(Host::new(&scenario, &[seat], vec![device]).unwrap(), |_| false)
}

/// The same, which ends when `may_end` is set and its connection is gone: what the kernel sent last may not have
/// been read yet.
fn sender_until_gone(
    flows: &str,
    device: Arc<dyn Device>,
    may_end: &Arc<AtomicBool>,
) -> Running<Report> {
    let scenario = scenario("40Mbit", "pfifo", flows);
    let seat = sojourn_stack::Seat { end: 0, ..seat(1, 0) };
    let may_end = Arc::clone(may_end);
    run(Host::new(&scenario, &[seat], vec![device]).unwrap(), move |ends| {
        may_end.load(Ordering::Relaxed) && !ends.get(0).is_alive()
    })
}

/// The kernel's connections but listening ones, once no more than `left` are left.
pub(crate) fn connections(space: &Namespace, left: usize) -> Vec<String> {
    for _ in 0..500 {
        let all = space.run("ss -Htan state all exclude listening").unwrap();
        let all: Vec<_> = all.lines().map(str::to_owned).collect();
        if all.len() <= left {
            return all;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{}", space.run("ss -tan").unwrap());
}

/// What the kernel reads to the end of a connection that is opened to it.
pub(crate) fn read_all(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    let mut arrived = vec![];
    stream.read_to_end(&mut arrived).unwrap();
    arrived
}

/// The kernel sends this many bytes, closes, and sees the end of the other direction.
pub(crate) fn write_all(space: &Namespace, bytes: usize) {
    let mut stream = space.enter(|| TcpStream::connect((ADDRESSES[1], 5201))).unwrap().unwrap();
    stream.write_all(&vec![7; bytes]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "a normal end");
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn what_we_send_the_kernel_reads_whole() {
    let (space, tun) = near(1);
    let listener = space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
    let host = sender(&flow("f", "cubic", BYTES), tun);
    let arrived = read_all(&listener);
    assert_eq!(arrived.len(), BYTES);
    assert!(arrived.iter().all(|byte| *byte == 0));
    assert!(connections(&space, 0).is_empty(), "its FIN was acknowledged");
    let mut report = host.stop();
    assert_eq!(total(&mut report.ends, 0, "acked_bytes"), BYTES as f64);
    let counts = report.sides[0];
    assert_eq!((counts.outside, counts.resets, counts.corrupt), (0, 0, 0));
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn what_the_kernel_sends_arrives_whole() {
    let (space, tun) = near(1);
    let host = receiver(&flow("f", "cubic", BYTES), tun);
    write_all(&space, BYTES);
    let states = connections(&space, 1);
    assert!(states[0].starts_with("TIME-WAIT"), "{states:?}");
    let mut report = host.stop();
    assert_eq!(total(&mut report.ends, 1, "delivered_bytes"), BYTES as f64);
    let counts = report.sides[0];
    assert_eq!((counts.outside, counts.resets, counts.corrupt), (0, 0, 0));
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn both_directions_recover_from_losses() {
    for ours_sends in [true, false] {
        let (space, tun) = near(1);
        let [ours, end] = cable();
        let scenario = scenario("40Mbit", "drop every 50", &flow("f", "cubic", BYTES));
        // The data cross the queue forward.
        let devices = if ours_sends { [end, tun] } else { [tun, end] };
        let network = forward(&scenario, devices);
        let mut report = if ours_sends {
            let listener =
                space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
            let host = sender(&flow("f", "prague", BYTES), ours);
            let arrived = read_all(&listener);
            assert!(arrived.len() == BYTES && arrived.iter().all(|byte| *byte == 0));
            connections(&space, 0);
            host.stop()
        } else {
            let host = receiver(&flow("f", "cubic", BYTES), ours);
            write_all(&space, BYTES);
            host.stop()
        };
        let name = if ours_sends { "acked_bytes" } else { "delivered_bytes" };
        let end = usize::from(!ours_sends);
        assert_eq!(total(&mut report.ends, end, name), BYTES as f64);
        assert!(network.stop().output.queues[0].dropped > 20);
    }
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn refusals_are_understood_both_ways() {
    let (space, tun) = near(1);
    let refused = Arc::default();
    let host = sender_until_gone(&flow("f", "cubic", BYTES), tun, &refused);
    let connect = space.enter(|| TcpStream::connect((ADDRESSES[1], 5999))).unwrap();
    assert_eq!(connect.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    refused.store(true, Ordering::Relaxed);
    let mut report = host.join();
    assert_eq!((report.sides[0].resets, report.sides[0].strays), (1, 1));
    assert!(!report.ends.get(0).is_alive());
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn a_reader_that_goes_away_ends_the_flow() {
    let (space, tun) = near(1);
    let listener = space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
    let dropped = Arc::default();
    let host = sender_until_gone("[[flow]]\nname = \"f\"\ncc = \"cubic\"\n", tun, &dropped);
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut vec![0; 100_000]).unwrap();
    drop(stream); // unread data: the kernel resets
    dropped.store(true, Ordering::Relaxed);
    let mut report = host.join();
    assert_eq!(report.sides[0].resets, 1);
    assert!(!report.ends.get(0).is_alive());
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn a_slow_reader_is_waited_for() {
    let (space, tun) = near(1);
    let listener = space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
    let host = sender(&flow("f", "cubic", 3_000_000), tun);
    let (mut stream, _) = listener.accept().unwrap();
    // The window shuts, and opens after the first probe at the earliest.
    thread::sleep(Duration::from_millis(700));
    let mut arrived = vec![];
    stream.read_to_end(&mut arrived).unwrap();
    assert_eq!(arrived.len(), 3_000_000);
    drop(host.stop());
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn datagrams_and_pings_cross() {
    let (space, tun) = near(1);
    let socket = space.enter(|| UdpSocket::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
    let flows = "[[flow]]\nname = \"u\"\napp = \"cbr rate 2Mbit\"\n\
                 [[ping]]\nname = \"p\"\ninterval = \"10ms\"\n";
    let scenario = scenario("40Mbit", "pfifo", flows);
    let seats = [0, 2].map(|end| sojourn_stack::Seat { end, ..seat(1, 0) });
    let host = run(Host::new(&scenario, &seats, vec![tun]).unwrap(), |ends| {
        total(ends, 2, "received") >= 20.0
    });
    let mut packet = [0; 2000];
    for number in 0..20_u64 {
        let (len, from) = socket.recv_from(&mut packet).unwrap();
        assert_eq!((len, from.ip()), (1172, ADDRESSES[1].into()));
        assert_eq!(packet[..8], number.to_be_bytes());
    }
    let mut report = host.join();
    let [sent, received] = ["sent", "received"].map(|name| total(&mut report.ends, 2, name));
    assert!(received >= 20.0 && sent - received <= 2.0, "{received} of {sent}");
}

/// A device whose packets are kept.
struct Tap {
    device: Arc<dyn Device>,
    seen: Mutex<Vec<Vec<u8>>>,
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Device for Tap {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        let read = self.device.receive(packet)?;
        if let Read::Packet(len) = read {
            self.seen.lock().unwrap().push(packet[..len].to_vec());
        }
        Ok(read)
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        self.seen.lock().unwrap().push(packet.to_vec());
        self.device.send(packet)
    }
}

impl Tap {
    fn new(device: Arc<dyn Device>) -> Arc<Self> {
        Arc::new(Self { device, seen: Mutex::default() })
    }

    /// SYN, SYN/ACK, ACK, and the last packet, without what is drawn anew: identification, addresses, ports,
    /// numbers, times, and the checksums over these.
    fn opening_and_end(&self) -> [Vec<u8>; 4] {
        let seen = self.seen.lock().unwrap();
        [0, 1, 2, seen.len() - 1].map(|at| {
            let mut packet = seen[at].clone();
            let times = if packet[33] & 2 == 2 { 48..56 } else { 44..52 };
            for range in [4..6, 10..20, 20..32, 36..38, times] {
                packet[range].fill(0);
            }
            packet
        })
    }
}

/// The bytes with which a connection opens and ends, whichever end is the kernel.
pub(crate) fn handshakes_are_equal(ecn: u8, feedback: &str) {
    let (space, tun) = near(ecn);
    if ecn == 3 {
        space.run("sysctl -qw net.ipv4.tcp_ecn_option=0").unwrap();
    }
    space.run("sysctl -qw net.ipv4.tcp_rmem='4096 131072 6291456'").unwrap();
    let flow = flow("f", "cubic", 1000) + &format!("tcp.ecn = \"{feedback}\"\n");
    let tap = Tap::new(Arc::clone(&tun));
    let host = receiver(&flow, tap.clone());
    write_all(&space, 1000);
    connections(&space, 1);
    drop(host.stop());
    let kernel_sends = tap.opening_and_end();
    let listener = space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
    let tap = Tap::new(tun);
    let host = sender(&flow, tap.clone());
    assert_eq!(read_all(&listener).len(), 1000);
    connections(&space, 1);
    drop(host.stop());
    assert_eq!(tap.opening_and_end(), kernel_sends, "tcp_ecn={ecn}");
}

// KAT stack 1
#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn our_handshake_is_the_kernels() {
    handshakes_are_equal(0, "off");
    handshakes_are_equal(1, "rfc3168");
}
