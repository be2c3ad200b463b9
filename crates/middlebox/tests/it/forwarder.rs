use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::thread;

use sojourn_core::{Dur, Ecn, Time};
use sojourn_live::clock::Clock;
use sojourn_live::realtime::Measures;
use sojourn_live::tun::{Read, Written};
use sojourn_middlebox::{Device, Forwarder, Hosts, Report};
use sojourn_wire::{Addresses, Ip, udp};

/// A host's link: what it sends waits until it is read, in both directions, so that nothing is lost on a
/// machine that is busy.
struct Cable {
    from_host: UnixDatagram,
    to_host: UnixDatagram,
}

impl AsFd for Cable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from_host.as_fd()
    }
}

impl Device for Cable {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        match self.from_host.recv(packet) {
            Ok(len) => Ok(Read::Packet(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Nothing),
            Err(error) => Err(error),
        }
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        self.to_host.send(packet).map(|_| Written::Taken)
    }
}

impl Drop for Cable {
    /// An empty packet is the end.
    fn drop(&mut self) {
        self.to_host.send(&[]).unwrap();
    }
}

/// The host's end.
struct Host {
    out: UnixDatagram,
    back: UnixDatagram,
    clock: Clock,
}

impl Host {
    fn send(&self, packet: &[u8]) {
        self.out.send(packet).unwrap();
    }

    /// What arrives until the end; each packet is shown to `seen`.
    fn receive(&self, seen: impl Fn(&[u8])) -> Arrived {
        let mut packet = vec![0; 2000];
        let mut all = Vec::new();
        loop {
            let len = self.back.recv(&mut packet).unwrap();
            if len == 0 {
                return all;
            }
            seen(&packet[..len]);
            all.push((self.clock.now(), packet[..len].to_vec()));
        }
    }
}

fn cable(clock: Clock) -> (Arc<dyn Device>, Host) {
    let (from_host, out) = UnixDatagram::pair().unwrap();
    let (to_host, back) = UnixDatagram::pair().unwrap();
    from_host.set_nonblocking(true).unwrap();
    (Arc::new(Cable { from_host, to_host }), Host { out, back, clock })
}

type Arrived = Vec<(Time, Vec<u8>)>;

/// Runs the scenario with this queue while the near host sends `packets`, and the far one each packet
/// that it receives back to it; gives what both receive.
fn forward(qdisc: &str, packets: Vec<Vec<u8>>) -> (Report, [Arrived; 2]) {
    let clock = Clock::start();
    let [(near_device, near), (far_device, far)] = [cable(clock), cable(clock)];
    let forwarder = Forwarder::new(
        crate::scenario("500ms", "10Mbit", qdisc),
        Hosts::pair(near_device, far_device),
        clock,
    )
    .unwrap();
    let sender = thread::spawn(move || {
        for packet in &packets {
            near.send(packet);
        }
        near.receive(|_| ())
    });
    let echo = thread::spawn(move || far.receive(|packet| far.send(packet)));
    let report = forwarder.run(Measures::default(), |_| false).unwrap();
    (report, [sender.join().unwrap(), echo.join().unwrap()])
}

/// 1400 bytes of payload in IPv4, numbered.
fn datagrams(count: u8, ecn: Ecn) -> Vec<Vec<u8>> {
    let one = |number| {
        let addresses =
            Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        let header =
            udp::Header { addresses, source: 4000, destination: 5000, tos: ecn as u8, id: 0 };
        let mut out = vec![0; 1500];
        header.write(&[number; 1400], &mut out).unwrap().to_vec()
    };
    (0..count).map(one).collect()
}

#[test]
fn packets_pass_whole_in_order_and_no_faster_than_the_link() {
    let sent = datagrams(50, Ecn::NotEct);
    let (report, [back, there]) = forward("pfifo", sent.clone());
    let bytes =
        |arrived: &Arrived| arrived.iter().map(|(_, packet)| packet.clone()).collect::<Vec<_>>();
    assert_eq!(bytes(&there), sent);
    assert_eq!(bytes(&back), sent);
    // 50 frames of 1442 bytes at 10 Mbit/s, and 20 ms.
    let (last, _) = there.last().unwrap();
    assert!(*last >= Time::ZERO + Dur::from_micros(50 * 1153 + 20_000), "{last:?}");
    let queue = &report.output.queues[0];
    assert_eq!((queue.received_packets, queue.sent_packets, queue.dropped), (50, 50, 0));
    assert_eq!(report.sides.iter().map(|side| side.received.whole).collect::<Vec<_>>(), [50, 50]);
    assert_eq!(report.sides.iter().map(|side| side.lateness.count()).collect::<Vec<_>>(), [50, 50]);
}

// RFC 894: what a link pads packets with is not of IP.
#[test]
fn padding_of_the_link_goes_no_further() {
    let sent = datagrams(5, Ecn::NotEct);
    let padded = sent.iter().map(|packet| [packet, &[7; 6][..]].concat()).collect();
    let (report, [_, there]) = forward("pfifo", padded);
    assert!(there.iter().map(|(_, packet)| packet).eq(&sent));
    assert_eq!(report.output.queues[0].sent_bytes, Some(5 * 1442));
}

#[test]
fn marks_are_in_the_bytes_that_arrive() {
    let (report, [_, there]) = forward("codel ecn ce_threshold 1ms", datagrams(50, Ecn::Ect0));
    let mut marked = 0;
    for (_, bytes) in &there {
        let ip = Ip::parse(bytes).unwrap();
        assert!(ip.has_valid_checksum());
        assert_eq!(ip.has_valid_payload(), Some(true));
        marked += u64::from(ip.tos() == Ecn::Ce as u8);
    }
    assert!(marked > 0);
    assert_eq!(marked, report.output.queues[0].marked);
}

#[test]
fn what_the_queue_drops_does_not_arrive() {
    let (report, [_, there]) = forward("pfifo limit 5", datagrams(50, Ecn::NotEct));
    let queue = &report.output.queues[0];
    assert_eq!(queue.received_packets, 50);
    assert_eq!(there.len() as u64, queue.sent_packets);
    assert_eq!(queue.sent_packets + queue.dropped, 50);
}

#[test]
fn what_is_no_packet_is_counted_and_goes_nowhere() {
    let mut packets = vec![vec![0x45; 7], vec![0x10; 60], vec![0xff; 100]];
    packets.extend(datagrams(1, Ecn::NotEct));
    let (report, [_, there]) = forward("pfifo", packets);
    assert_eq!(there.len(), 1);
    let counts = report.sides[0].received;
    assert_eq!((counts.whole, counts.short, counts.not_ip), (1, 1, 2));
}
