//! Packets of the kernel's stacks cross two TUN devices.

use std::fs;
use std::io::{self, Read as _, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, sockopt};
use sojourn_live::error::Error;
use sojourn_live::namespace::{Namespace, spawn_as_root};
use sojourn_live::tun::{Read, Tun, Written};

use crate::network::{DEVICES, ENDS, again, carry, end, plays};

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(30);

fn udp_crosses(spaces: &[Namespace; 2]) {
    let sockets = [0, 1].map(|index| {
        let bound = spaces[index].enter(|| UdpSocket::bind((ENDS[index], 0))).expect("inside");
        let socket = bound.expect("the address is there");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket
    });
    for (from, to) in [(0, 1), (1, 0)] {
        // The longest that is one packet of the MTU, 1500 bytes.
        for length in [0, 1, 1472] {
            let sent = vec![length as u8; length];
            let address = sockets[to].local_addr().expect("bound");
            sockets[from].send_to(&sent, address).expect("a way");
            let mut taken = [0; 2000];
            let (taken_length, source) = sockets[to].recv_from(&mut taken).expect("it came");
            assert_eq!(taken[..taken_length], sent);
            assert_eq!(source, sockets[from].local_addr().expect("bound"));
        }
    }
}

fn tcp_crosses(spaces: &[Namespace; 2]) {
    let [near, far] = spaces;
    let listener = far.enter(|| TcpListener::bind((ENDS[1], 0))).expect("inside").expect("free");
    let address = listener.local_addr().expect("bound");
    let sender = near.enter(|| TcpStream::connect(address)).expect("inside");
    let mut sender = sender.expect("it listens");
    let (mut receiver, _) = listener.accept().expect("it connected");
    receiver.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let sent: Vec<u8> = (0..300_000_u32).map(|at| (at / 7) as u8).collect();
    let mut taken = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(&sent).expect("it reads");
            drop(sender);
        });
        receiver.read_to_end(&mut taken).expect("all of it");
    });
    assert!(taken == sent, "{} bytes", taken.len());
}

/// RFC 792: an echo request, and the reply of the kernel at the other end.
fn an_echo_returns(space: &Namespace) {
    let socket = space
        .enter(|| rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)))
        .expect("inside")
        .expect("CAP_NET_RAW");
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE)).expect("a socket");
    let (id, sequence, data) = ([0xab, 0xcd], [0, 7], *b"sojourn!");
    let message = |kind: u8| {
        let mut bytes = [&[kind, 0, 0, 0][..], &id, &sequence, &data].concat();
        let sum: u32 = bytes.chunks(2).map(|b| u32::from(b[0]) << 8 | u32::from(b[1])).sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let to = SocketAddrV4::new(ENDS[1], 0);
    rustix::net::sendto(&socket, &message(8), SendFlags::empty(), &to).expect("a way");
    let mut packet = [0; 1500];
    loop {
        let (length, _) =
            rustix::net::recv(&socket, &mut packet, RecvFlags::empty()).expect("it came");
        // Behind 20 bytes of IPv4; what else arrives is not for this test.
        if packet[20..length] == message(0) {
            return;
        }
    }
}

fn packets_cross() {
    let ends = [0, 1].map(end);
    let [(left, left_tun), (right, right_tun)] = ends;
    assert_eq!((left_tun.name(), left_tun.mtu().expect("a device")), (DEVICES[0], 1500));
    let (stop, end) = io::pipe().expect("a pipe");
    let carrier = carry([left_tun, right_tun], stop);
    let spaces = [left, right];
    udp_crosses(&spaces);
    tcp_crosses(&spaces);
    an_echo_returns(&spaces[0]);
    drop(end);
    carrier.join().expect("no panic");
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn udp_tcp_and_icmp_cross_two_namespaces() {
    packets_cross();
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(user_namespaces)), ignore = "no user namespaces")]
#[cfg_attr(all(iproute, user_namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn packets_cross_for_the_root_of_a_user_namespace() {
    const NAME: &str = "crossing::packets_cross_for_the_root_of_a_user_namespace";
    if plays("root") {
        return packets_cross();
    }
    let mut command = again(NAME, "root");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn_as_root(command);
    // The kernel in virtual time has none.
    if !fs::exists("/proc/self/ns/user").expect("/proc") {
        let error = child.expect_err("no user namespace").to_string();
        return assert!(error.contains("the kernel has none (CONFIG_USER_NS)"), "{error}");
    }
    let done = child.expect("a user namespace").wait_with_output().expect("it ends");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn a_device_reports_why_a_packet_did_not_pass() {
    let (space, tun) = end(0);
    let mut buffer = [0; 1500];
    let mut packet = [0; 20];
    packet[0] = 0x45;
    assert_eq!(tun.write(&packet).expect("a device"), Written::Taken);
    assert_eq!(tun.write(&[0; 20]).expect("a device"), Written::Malformed);
    space.run("ip link set dev left mtu 1400 down").expect("a device");
    assert_eq!(tun.mtu().expect("a device"), 1400);
    assert_eq!(tun.write(&packet).expect("a device"), Written::Down);
    // What the kernel sent of its own before, such as IPv6's greetings, is still there.
    while tun.read(&mut buffer).expect("a device") != Read::Nothing {}
    let again = space.enter(|| Tun::open("left")).expect("inside").expect_err("in use");
    assert!(matches!(again, Error::Busy(name) if name == "left"));
    space.run("ip link del dev left").expect("a device");
    assert!(tun.read(&mut buffer).is_err() && tun.write(&packet).is_err() && tun.mtu().is_err());
}

#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
fn a_command_that_fails_is_told_with_what_it_said() {
    let space = Namespace::new().expect("a namespace");
    let lines = "echo one\nip link set dev nowhere up\necho two";
    let error = space.run(lines).expect_err("no such device").to_string();
    assert!(error.contains("nowhere") && error.contains("Cannot find device"), "{error}");
    let links = space.run("ip -o link show up").expect("links");
    assert!(links.starts_with("1: lo: ") && links.lines().count() == 1, "{links}");
}
