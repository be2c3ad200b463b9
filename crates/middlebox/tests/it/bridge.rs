//! Two Ethernet interfaces between the stacks of two hosts, with the offloads that veth has by default.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sojourn_live::clock::Clock;
use sojourn_live::namespace::Namespace;
use sojourn_live::packet_socket::{Arrival, PacketSocket, Received};
use sojourn_live::realtime::Measures;
use sojourn_live::unfinished::Unfinished;
use sojourn_middlebox::{Forwarder, Hosts, Port, Report};
use sojourn_wire::{Addresses, udp};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 2);

/// Two hosts and the machine between them, with an interface to each.
struct Network {
    near: Namespace,
    far: Namespace,
    ports: [Arc<Port>; 2],
    between: Namespace,
}

fn network(super_packets: bool) -> Network {
    let [near, far, between] = [(); 3].map(|()| Namespace::new().unwrap());
    for (host, side, address) in [(&near, "left", NEAR), (&far, "right", FAR)] {
        let path = host.path();
        between
            .run(format!("ip link add {side} type veth peer name eth0 netns {}", path.display()))
            .unwrap();
        between.run(format!("ip link set dev {side} up")).unwrap();
        host.run(format!("ip addr add {address}/24 dev eth0; ip link set dev eth0 up")).unwrap();
    }
    let open = |name| between.enter(|| PacketSocket::open(name)).unwrap().unwrap();
    let ports = Port::pair(open("left"), open("right"), super_packets);
    Network { near, far, ports, between }
}

/// Forwards while `hosts` does its work.
fn forward<T>(network: &Network, qdisc: &str, hosts: impl FnOnce() -> T) -> (Report, T) {
    let scenario = crate::scenario("60s", "100Mbit", qdisc);
    let is_done = Arc::new(AtomicBool::new(false));
    let (stop, [near, far]) = (Arc::clone(&is_done), network.ports.clone());
    let forwarding = thread::spawn(move || {
        let hosts = Hosts::pair(near, far);
        let forwarder = Forwarder::new(scenario, hosts, Clock::start()).unwrap();
        forwarder.run(Measures::default(), |_| stop.load(Ordering::Relaxed)).unwrap()
    });
    let given = hosts();
    is_done.store(true, Ordering::Relaxed);
    (forwarding.join().unwrap(), given)
}

const BYTES: usize = 8_000_000;

/// TCP brings this much from one host to the other.
fn tcp_passes(qdisc: &str, super_packets: bool) -> (Network, Report) {
    let network = network(super_packets);
    let sent: Vec<u8> = (0..BYTES).map(|at| (at / 7) as u8).collect();
    let (report, arrived) = forward(&network, qdisc, || {
        let listener = network.far.enter(|| TcpListener::bind((FAR, 5201))).unwrap().unwrap();
        let mut sender = network.near.enter(|| TcpStream::connect((FAR, 5201))).unwrap().unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let mut arrived = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                sender.write_all(&sent).unwrap();
                drop(sender);
            });
            receiver.read_to_end(&mut arrived).unwrap();
        });
        arrived
    });
    assert!(arrived == sent, "{} bytes", arrived.len());
    // No faster than the link.
    assert!(report.output.summary.duration_s > BYTES as f64 * 8.0 / 100e6);
    let [near, far] = network.ports.each_ref().map(|port| port.frames().unwrap());
    assert_eq!((near.unreadable, near.overflowed, far.refused, far.too_long), (0, 0, 0, 0));
    assert!(near.arp > 0 && far.arp > 0, "{near:?} {far:?}");
    (network, report)
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn tcp_of_hosts_with_offloads_passes_whole() {
    let (network, report) = tcp_passes("pfifo limit 1000", false);
    let queue = &report.output.queues[0];
    assert!(queue.sent_bytes.unwrap() as usize > BYTES);
    let near = network.ports[0].frames().unwrap();
    assert!(near.cut > 0, "the host sends super-packets: {near:?}");
    assert_eq!(report.sides[0].super_packets, 0);
    // A queue sees no packet that is longer than the link's.
    assert!(queue.sent_bytes.unwrap() <= queue.sent_packets * 1514);
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn super_packets_pass_whole_or_as_the_queue_splits_them() {
    for (qdisc, is_split) in [("pfifo limit 1000", false), ("cake unlimited", true)] {
        let (network, report) = tcp_passes(qdisc, true);
        assert_eq!(network.ports[0].frames().unwrap().cut, 0);
        assert!(report.sides[0].super_packets > 100, "{}", report.sides[0].super_packets);
        let queue = &report.output.queues[0];
        let bytes = queue.sent_bytes.unwrap();
        // All headers are charged, and what is split is no longer than a packet.
        assert!(bytes as usize > BYTES + BYTES / 1448 * 66);
        assert_eq!(bytes <= queue.sent_packets * 1514, is_split, "{qdisc}");
    }
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn vlans_ipv6_fragments_and_long_frames_pass_or_have_a_reason() {
    let network = network(false);
    for (host, number) in [(&network.near, 1), (&network.far, 2)] {
        host.run(format!("ip addr add fd09::{number}/64 dev eth0 nodad")).unwrap();
    }
    let (report, ()) = forward(&network, "pfifo", || {
        let v6: Ipv6Addr = "fd09::2".parse().unwrap();
        let far = network.far.enter(|| UdpSocket::bind((v6, 7))).unwrap().unwrap();
        let near = network.near.enter(|| UdpSocket::bind("[::]:0")).unwrap().unwrap();
        near.send_to(b"version 6", (v6, 7)).unwrap();
        assert_eq!(taken(&far), 9);

        let far = network.far.enter(|| UdpSocket::bind((FAR, 7))).unwrap().unwrap();
        let near = network.near.enter(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        near.send_to(&[1; 3000], (FAR, 7)).unwrap();
        assert_eq!(taken(&far), 3000, "fragments");

        let eth0 = |host: &Namespace| host.enter(|| PacketSocket::open("eth0")).unwrap().unwrap();
        let (from, to) = (eth0(&network.near), eth0(&network.far));
        from.send(Unfinished::default(), &tagged()).unwrap();
        assert_eq!(tag(&to), (0x8100, 7));

        // Longer frames than the far side's interface takes.
        network.between.run("ip link set dev left mtu 4000").unwrap();
        network.near.run("ip link set dev eth0 mtu 4000").unwrap();
        near.send_to(&[2; 3000], (FAR, 7)).unwrap();
        near.send_to(&[3; 10], (FAR, 7)).unwrap();
        assert_eq!(taken(&far), 10, "the long one is lost");
    });
    let [near, far] = network.ports.each_ref().map(|port| port.frames().unwrap());
    assert_eq!(near.tagged, 1);
    assert!(near.discovery > 0 && far.discovery > 0, "{near:?} {far:?}");
    assert_eq!((near.too_long, far.too_long), (0, 1));
    assert_eq!((report.sides[0].received.fragments, report.sides[1].refused), (3, 1));
}

/// Bytes of the next datagram.
fn taken(socket: &UdpSocket) -> usize {
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.recv(&mut [0; 4000]).unwrap()
}

/// A frame of VLAN 7 for everyone, with an IPv4 packet of UDP.
fn tagged() -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &[2; 6], &[0x81, 0, 0, 7, 8, 0]].concat();
    let mut packet = [0; 60];
    let addresses = Addresses::V4 { source: NEAR, destination: FAR };
    let header = udp::Header { addresses, source: 1, destination: 2, tos: 0, id: 0 };
    frame.extend_from_slice(header.write(&[0; 20], &mut packet).unwrap());
    frame
}

/// The tag of the next frame that has one.
fn tag(socket: &PacketSocket) -> (u16, u16) {
    let mut frame = [0; 2000];
    loop {
        match socket.receive(&mut frame).unwrap() {
            Received::Frame(Arrival { tag: Some(tag), .. }) => return tag,
            Received::Nothing => thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn an_interface_that_cannot_be_opened_is_named() {
    let space = Namespace::new().unwrap();
    space.run("ip link add d0 type veth peer name d1").unwrap();
    let refused = |name: &str| {
        space.enter(|| PacketSocket::open(name)).unwrap().expect_err("refused").to_string()
    };
    assert!(refused("nic9").starts_with("device `nic9`: none of this name"));
    assert_eq!(refused("d0"), "device `d0`: down; `ip link set dev d0 up` switches it on");
    assert_eq!(refused("lo"), "device `lo`: expected an Ethernet interface");
    assert!(refused("a b").starts_with("device `a b`: expected 1 to 15"));
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn an_interface_is_promiscuous_only_while_it_is_open() {
    let network = network(false);
    let show = || network.between.run("ip -d link show dev left").unwrap();
    assert!(show().contains("promiscuity 1"), "{}", show());
    let Network { ports, between, .. } = network;
    drop(ports);
    // A program that another test starts at this moment has the socket, too, until it runs.
    let is_left = || between.run("ip -d link show dev left").unwrap().contains("promiscuity 0");
    assert!((0..100).any(|_| is_left()));
}
