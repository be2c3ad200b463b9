//! The kernel's own TCP through a queue.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sojourn_live::clock::Clock;
use sojourn_live::namespace::Namespace;
use sojourn_live::realtime::Measures;
use sojourn_live::tun::Tun;
use sojourn_middlebox::{Device, Forwarder, Hosts, Report};

const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];

/// A host with a TUN device, whose stack sends one segment at a time.
fn host(index: usize) -> (Namespace, Arc<dyn Device>) {
    let space = Namespace::new().unwrap();
    let tun = space.enter(|| Tun::open("uplink")).unwrap().unwrap();
    let lines = format!(
        "ip addr add {}/24 dev uplink\nip link set dev uplink gso_max_segs 1 txqueuelen 1000 up\n\
         sysctl -qw net.ipv4.tcp_ecn=1 net.ipv4.tcp_congestion_control=reno",
        ADDRESSES[index]
    );
    space.run(lines).unwrap();
    (space, Arc::new(tun))
}

/// Sends this many bytes from the near to the far host by TCP.
fn transfer(qdisc: &str, bytes: usize) -> Report {
    let scenario = crate::scenario("60s", "40Mbit", qdisc);
    let [(near, near_device), (far, far_device)] = [host(0), host(1)];
    let listener = far.enter(|| TcpListener::bind((ADDRESSES[1], 5201))).unwrap().unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_done);
    let forwarding = thread::spawn(move || {
        let hosts = Hosts::pair(near_device, far_device);
        let forwarder = Forwarder::new(scenario, hosts, Clock::start()).unwrap();
        forwarder.run(Measures::default(), |_| stop.load(Ordering::Relaxed)).unwrap()
    });
    let mut sender = near.enter(|| TcpStream::connect((ADDRESSES[1], 5201))).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let sent: Vec<u8> = (0..bytes).map(|at| (at / 7) as u8).collect();
    let mut arrived = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(&sent).unwrap();
            drop(sender);
        });
        receiver.read_to_end(&mut arrived).unwrap();
    });
    assert!(arrived == sent, "{} bytes", arrived.len());
    is_done.store(true, Ordering::Relaxed);
    forwarding.join().unwrap()
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn tcp_passes_whole_through_a_queue_that_marks() {
    const BYTES: usize = 8_000_000;
    let report = transfer("codel ecn", BYTES);
    let queue = &report.output.queues[0];
    assert!(queue.marked > 0);
    assert!(queue.sent_bytes.unwrap() as usize > BYTES);
    let gone = queue.sent_packets + queue.dropped;
    assert_eq!(queue.received_packets, gone + queue.backlog_packets);
    assert_eq!(report.sides[0].received.whole, queue.received_packets);
    assert!(report.sides.iter().all(|side| side.refused == 0));
    // No faster than the link.
    assert!(report.output.summary.duration_s > BYTES as f64 * 8.0 / 40e6);
}
