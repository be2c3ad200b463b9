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

/// A host with a TUN device, whose stack sends so many segments at a time.
fn host(index: usize, segments: u8) -> (Namespace, Arc<dyn Device>) {
    let space = Namespace::new().unwrap();
    let open = if segments > 1 { Tun::open_for_super_packets } else { Tun::open };
    let tun = space.enter(|| open("uplink")).unwrap().unwrap();
    let lines = format!(
        "ip addr add {}/24 dev uplink\n\
         ip link set dev uplink gso_max_segs {segments} txqueuelen 1000 up\n\
         sysctl -qw net.ipv4.tcp_ecn=1 net.ipv4.tcp_congestion_control=reno",
        ADDRESSES[index]
    );
    space.run(lines).unwrap();
    (space, Arc::new(tun))
}

/// Sends this many bytes from the near to the far host by TCP.
fn transfer(qdisc: &str, segments: u8, bytes: usize) -> Report {
    let scenario = crate::scenario("60s", "40Mbit", qdisc);
    let [(near, near_device), (far, far_device)] = [0, 1].map(|index| host(index, segments));
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
    let report = transfer("codel ecn", 1, BYTES);
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

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn super_packets_pass_whole_and_are_charged_for_all_their_segments() {
    const BYTES: usize = 8_000_000;
    // A queue that leaves them as they are, and one that splits them.
    for (qdisc, splits) in [("fq_codel ce_threshold 2ms", false), ("cake unlimited", true)] {
        let report = transfer(qdisc, 64, BYTES);
        let (queue, near) = (&report.output.queues[0], &report.sides[0]);
        assert!(near.super_packets > 0, "{qdisc}");
        assert!(report.sides.iter().all(|side| side.refused == 0));
        // Each segment has headers of at least 14, 20 and 32 bytes, and at most 1448 of payload.
        let segments = BYTES.div_ceil(1448) as u64;
        assert!(queue.sent_bytes.unwrap() >= BYTES as u64 + segments * 66, "{qdisc}");
        if splits {
            assert!(queue.received_packets >= segments, "{queue:?}");
        } else {
            assert_eq!(near.received.whole, queue.received_packets);
            assert!(queue.received_packets < segments, "{queue:?}");
        }
        assert!(report.output.summary.duration_s > BYTES as f64 * 8.0 / 40e6, "{qdisc}");
    }
}
