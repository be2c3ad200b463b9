use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;

use proptest::prelude::*;
use sojourn_core::{Dur, Ecn, Kind, Rng};
use sojourn_live::tun::Read;
use sojourn_wire::packet::{Checksum, write_back};
use sojourn_wire::{Ip, ip};

use super::*;
use crate::seat::FIRST_PORT;

/// Where a host's packets go.
struct Out {
    sent: Mutex<VecDeque<Vec<u8>>>,
    fd: UnixDatagram,
}

impl AsFd for Out {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Device for Out {
    fn receive(&self, _packet: &mut [u8]) -> io::Result<Read> {
        Ok(Read::Nothing)
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        self.sent.lock().expect("no panic").push_back(packet.to_vec());
        Ok(Written::Taken)
    }
}

/// Two hosts, or one with two devices, and a path of 10 ms each way, in virtual time.
struct Lab {
    hosts: Vec<Host>,
    outs: [Arc<Out>; 2],
    under_way: BinaryHeap<Reverse<UnderWay>>,
    now: Time,
    /// Packets so far.
    sent: u64,
}

/// When it arrives, its number, at which host, and what it is.
type UnderWay = (Time, u64, usize, Vec<u8>);

const DELAY: Dur = Dur::from_millis(10);

fn v4(n: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1 + n as u8).into()
}

fn v6(n: usize) -> IpAddr {
    Ipv6Addr::from_bits(0xfd00 << 112 | (1 + n as u128)).into()
}

fn scenario(flows: &str) -> Scenario {
    let text = format!(
        "name = \"lab\"\nduration = \"300s\"\n[[link]]\nname = \"bneck\"\nrate = \"50Mbit\"\n\
         qdisc = \"pfifo\"\ndelay = \"10ms\"\n{flows}"
    );
    sojourn_scenario::load(&text, "lab.toml", &[]).expect("valid").scenario
}

impl Lab {
    fn new(flows: &str) -> Self {
        Self::with(flows, v4, |_| true)
    }

    /// All end points at one host, even ones at its first device.
    fn of_one_host(flows: &str) -> Self {
        let mut lab = Self::new("");
        let ends = |count| 0..2 * count;
        let scenario = scenario(flows);
        let seat = |end: usize| {
            let side = end % 2;
            let addresses = Addresses::new(v4(side), v4(1 - side)).expect("one version");
            Seat { end, device: side, addresses }
        };
        let seats: Vec<_> = ends(scenario.flows.len() + scenario.pings.len()).map(seat).collect();
        let devices = lab.outs.each_ref().map(|out| Arc::clone(out) as Arc<dyn Device>);
        lab.hosts = vec![Host::new(&scenario, &seats, devices.into()).expect("a host")];
        lab
    }

    /// Host and device of a side.
    fn place(&self, side: usize) -> (usize, usize) {
        if self.hosts.len() == 1 { (0, side) } else { (side, 0) }
    }

    /// Even end points are at the near host.
    fn with(flows: &str, address: fn(usize) -> IpAddr, has_seat: impl Fn(usize) -> bool) -> Self {
        let scenario = scenario(flows);
        let out = || {
            let fd = UnixDatagram::unbound().expect("a socket");
            Arc::new(Out { sent: Mutex::default(), fd })
        };
        let outs = [out(), out()];
        let ends = 2 * (scenario.flows.len() + scenario.pings.len());
        let host = |side: usize| {
            let addresses = Addresses::new(address(side), address(1 - side)).expect("one version");
            let ends = (0..ends).filter(|end| end % 2 == side && has_seat(*end));
            let seats: Vec<_> = ends.map(|end| Seat { end, device: 0, addresses }).collect();
            let device: Arc<dyn Device> = outs[side].clone();
            Host::new(&scenario, &seats, vec![device]).expect("a host")
        };
        Self {
            hosts: vec![host(0), host(1)],
            outs,
            under_way: BinaryHeap::new(),
            now: Time::ZERO,
            sent: 0,
        }
    }

    /// Runs until `end`, or nothing is left to do. `path` gets each packet with its number and the side that
    /// it leaves, and gives what arrives.
    fn run(&mut self, end: Time, mut path: impl FnMut(u64, usize, Vec<u8>) -> Vec<Vec<u8>>) {
        loop {
            for side in 0..2 {
                let sent = std::mem::take(&mut *self.outs[side].sent.lock().expect("no panic"));
                for packet in sent {
                    for packet in path(self.sent, side, packet) {
                        let number = self.sent;
                        self.under_way.push(Reverse((self.now + DELAY, number, 1 - side, packet)));
                    }
                    self.sent += 1;
                }
            }
            let arrival = self.under_way.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
            let due = self.hosts.iter().map(Host::due).min().expect("a host");
            self.now = self.now.max(arrival.min(due));
            if self.now > end {
                return;
            }
            if arrival <= self.now {
                let Reverse((_, _, side, packet)) = self.under_way.pop().expect("it was there");
                let (host, device) = self.place(side);
                self.hosts[host].receive(self.now, device, &packet);
            } else {
                self.hosts.iter_mut().for_each(|host| host.advance(self.now));
            }
        }
    }

    fn total(&mut self, end: usize, name: &str) -> f64 {
        let (host, _) = self.place(end % 2);
        let totals = self.hosts[host].ends.get(end).totals().0;
        totals.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, value)| *value)
    }

    /// Connections that are open, and those that are closed and not forgotten.
    fn connections(&mut self) -> [(usize, usize); 2] {
        [0, 1].map(|side| {
            let host = &mut self.hosts[side];
            let closed = host.sockets.iter_mut().filter(|s| s.is_closed()).count();
            (host.sockets.iter_mut().count() - closed, closed)
        })
    }
}

fn all(_: u64, _: usize, packet: Vec<u8>) -> Vec<Vec<u8>> {
    vec![packet]
}

fn at(s: u64) -> Time {
    Time::ZERO + Dur::from_secs(s)
}

fn bulk(cc: &str, kb: u32) -> String {
    format!("[[flow]]\nname = \"f\"\ncc = \"{cc}\"\nbytes = \"{}b\"\n", u64::from(kb) * 1000)
}

#[test]
fn a_transfer_arrives_whole_and_closes() {
    for (cc, address) in
        [("prague", v4 as fn(usize) -> IpAddr), ("cubic", v6), ("reno-sce", v4), ("dctcp", v4)]
    {
        let mut lab = Lab::with(&bulk(cc, 3000), address, |_| true);
        lab.run(at(20), all);
        assert_eq!(lab.total(1, "delivered_bytes"), 3e6, "{cc}");
        assert_eq!(lab.total(0, "acked_bytes"), 3e6);
        assert_eq!(lab.total(0, "retransmits"), 0.0);
        assert_eq!(lab.connections(), [(0, 1), (0, 1)], "closed, and in TIME-WAIT");
        lab.run(at(100), all);
        assert_eq!(lab.connections(), [(0, 0), (0, 0)]);
        for host in &lab.hosts {
            let Counts { strays, corrupt, outside, resets, unsent, .. } = host.sides[0].counts;
            assert_eq!([strays, corrupt, outside, resets, unsent], [0; 5]);
        }
    }
}

// RFC 9293 3.5 and 3.6: whichever packet of opening and closing is lost, both ends close.
#[test]
fn any_one_packet_may_be_lost() {
    let mut count = 0;
    Lab::new(&bulk("cubic", 20)).run(at(100), |_, _, packet| {
        count += 1;
        vec![packet]
    });
    assert!((20..60).contains(&count), "{count}");
    for lost in 0..count {
        let mut lab = Lab::new(&bulk("cubic", 20));
        lab.run(at(50), |n, _, packet| if n == lost { vec![] } else { vec![packet] });
        assert_eq!(lab.total(1, "delivered_bytes"), 2e4, "without {lost}");
        assert_eq!(lab.total(0, "acked_bytes"), 2e4, "without {lost}");
        assert_eq!(lab.connections().map(|(open, _)| open), [0, 0], "without {lost}");
    }
}

#[test]
fn what_is_lost_comes_again() {
    for cc in ["prague", "cubic", "bbr"] {
        let mut lab = Lab::new(&bulk(cc, 3000));
        let mut sent = [0, 0];
        lab.run(at(250), |_, side, packet| {
            sent[side] += 1;
            if sent[side] % 37 == 5 { vec![] } else { vec![packet] }
        });
        assert_eq!(lab.total(1, "delivered_bytes"), 3e6, "{cc}");
        let again = lab.total(0, "retransmits");
        assert!(again > 40.0, "{cc}: {again}");
        assert_eq!(lab.connections().map(|(open, _)| open), [0, 0]);
    }
}

#[test]
fn marks_reach_the_controller() {
    let bulk = |cc: &str| format!("[[flow]]\nname = \"f\"\ncc = \"{cc}\"\n");
    // A CE mark on every tenth packet with data; of SCE ECT(1).
    for (cc, mark, name) in
        [("prague", Ecn::Ce, "ce_reported"), ("reno-sce", Ecn::Ect1, "sce_reported")]
    {
        let mut lab = Lab::new(&bulk(cc));
        let (mut data, mut marked) = (0, 0);
        lab.run(at(5), |_, side, mut bytes| {
            let (mut packet, _) = sojourn_wire::packet::read(&bytes, 0).expect("a packet");
            if side == 0 && packet.kind == Kind::TcpData {
                data += 1;
                if data % 10 == 0 {
                    packet.tos = mark as u8;
                    marked += 1;
                    write_back(&packet, &mut bytes, Checksum::Complete).expect("it was read");
                }
            }
            vec![bytes]
        });
        let reported = lab.total(0, name);
        assert!(marked > 100, "{cc}: {marked} of {data}");
        let under_way = 0.1 * f64::from(marked);
        // An ACK with ESCE stands for all that it acknowledges, up to two segments.
        assert!(reported > f64::from(marked) - under_way - 50.0, "{cc}: {reported} of {marked}");
        assert!(reported < 2.5 * f64::from(marked), "{cc}: {reported} of {marked}");
    }
}

#[test]
fn a_flow_that_nobody_accepts_is_over() {
    let mut lab = Lab::with(&bulk("cubic", 20), v4, |end| end == 0);
    lab.run(at(50), all);
    assert_eq!(lab.hosts[1].sides[0].counts.strays, 1);
    assert_eq!(lab.hosts[0].sides[0].counts.resets, 1);
    assert_eq!(lab.sent, 2, "a SYN and its answer");
    assert!(!lab.hosts[0].ends.get(0).is_alive());
    assert_eq!(lab.connections(), [(0, 0), (0, 0)]);
}

#[test]
fn a_flow_that_stops_closes() {
    let mut lab = Lab::new("[[flow]]\nname = \"f\"\ncc = \"cubic\"\nstop = \"2s\"\n");
    lab.run(at(10), all);
    assert!(lab.total(1, "delivered_bytes") > 1e6);
    assert_eq!(lab.total(0, "acked_bytes"), lab.total(1, "delivered_bytes"));
    assert_eq!(lab.connections(), [(0, 1), (0, 1)]);
}

#[test]
fn other_applications_run_too() {
    let mut lab = Lab::new(
        "[[flow]]\nname = \"web\"\napp = \"short arrivals 20 sizes 30000b\"\ncc = \"cubic\"\nstop = \"10s\"\n\
         [[flow]]\nname = \"ask\"\napp = \"request think 100ms sizes 20000b\"\ncc = \"cubic\"\nstop = \"10s\"\n\
         [[flow]]\nname = \"cbr\"\napp = \"cbr rate 1Mbit\"\nstop = \"10s\"\n\
         [[ping]]\nname = \"icmp\"\ninterval = \"100ms\"\nstop = \"10s\"\n\
         [[ping]]\nname = \"udp\"\nprotocol = \"udp\"\ninterval = \"100ms\"\nstop = \"10s\"\n",
    );
    lab.run(at(20), |n, _, packet| if n % 101 == 7 { vec![] } else { vec![packet] });
    let arrived = lab.total(0, "arrived");
    assert!(arrived > 150.0, "{arrived}");
    assert_eq!(lab.total(0, "completed"), arrived);
    assert_eq!(lab.total(1, "delivered_bytes"), 3e4 * arrived);
    assert!(lab.total(2, "completed") > 30.0);
    assert_eq!(lab.total(2, "completed"), lab.total(2, "asked"));
    let (sent, received) = (lab.total(4, "packets_sent"), lab.total(5, "packets_received"));
    assert!(sent > 1000.0 && received > 0.97 * sent && received < sent, "{received} of {sent}");
    for end in [6, 8] {
        let (sent, received) = (lab.total(end, "sent"), lab.total(end, "received"));
        assert!((100.0..=101.0).contains(&sent) && received > 90.0, "{received} of {sent}");
    }
    let columns: Vec<_> = lab.hosts[0].ends.drain().collect();
    let rtt = columns.iter().find(|c| c.name == "ping.icmp.rtt").expect("samples");
    assert!(rtt.v.iter().all(|ms| *ms == 20.0), "{:?}", rtt.v);
    lab.run(at(90), all);
    // Requests go on over a connection that stays open.
    assert_eq!(lab.connections(), [(1, 0), (1, 0)]);
}

const MEDIA: &str = "[[flow]]\nname = \"s\"\napp = \"scream-bw\"\ncc = \"scream max_rate 10Mbit\"\nstop = \"10s\"\n\
     [[flow]]\nname = \"v\"\napp = \"video\"\ncc = \"scream max_rate 5Mbit\"\nstop = \"10s\"\n\
     [[flow]]\nname = \"g\"\napp = \"video\"\ncc = \"gcc\"\nstop = \"10s\"\n\
     [[flow]]\nname = \"n\"\napp = \"voip\"\ncc = \"nada\"\nstop = \"10s\"\n\
     [[flow]]\nname = \"u\"\ncc = \"udp-prague\"\nstop = \"10s\"\n";

#[test]
fn media_of_every_controller_arrive_with_their_reports() {
    let mut lab = Lab::of_one_host(MEDIA);
    // UDP alone: no flow has a connection.
    lab.run(at(12), |n, _, packet| if n % 211 == 7 { vec![] } else { vec![packet] });
    for flow in 0..5 {
        let [sent, lost] = ["packets_sent", "lost"].map(|name| lab.total(2 * flow, name));
        let received = lab.total(2 * flow + 1, "packets_received");
        assert!(
            sent > 400.0 && (0.0..0.02 * sent).contains(&(sent - received)),
            "flow {flow}: {received} of {sent}"
        );
        assert!(lost > 0.0 && lost <= sent - received, "flow {flow}: {lost}");
    }
    for side in &lab.hosts[0].sides {
        let Counts { strays, corrupt, outside, unsent, .. } = side.counts;
        assert_eq!([strays, corrupt, outside, unsent], [0; 4]);
    }
    let summaries = lab.hosts[0].ends.flow_summaries(lab.now, &[None; 5]);
    for summary in &summaries[..4] {
        let one_way = summary.one_way.as_ref().expect("both ends are known");
        assert_eq!(one_way.min_ms, 10.0, "{}: {one_way:?}", summary.name);
        let media = summary.media.as_ref().expect("media");
        let frames = media.frames.as_ref().expect("frames");
        assert!(
            media.target_mbps.is_some() && frames.complete > 100,
            "{}: {media:?}",
            summary.name
        );
    }
}

#[test]
fn media_that_nobody_sent_are_strays() {
    let mut lab = Lab::of_one_host(MEDIA);
    let mut forged = 0;
    lab.run(at(3), |_, side, packet| {
        let mut other = packet.clone();
        let (data, port) = (side == 0, u16::from_be_bytes([packet[22], packet[23]]));
        if !data {
            return vec![packet];
        }
        forged += 1;
        // Far ahead of what was sent: the number of RTP, and that of udp-prague.
        other[if port < 5205 { 30 } else { 37 }] ^= 0x80;
        vec![finished(other), packet]
    });
    assert!(forged > 1000);
    let under_way = lab.under_way.len() as u64;
    let strays = lab.hosts[0].sides[1].counts.strays;
    assert!((forged - under_way..=forged).contains(&strays), "{strays} of {forged}");
    assert_eq!(lab.hosts[0].sides[1].counts.corrupt, 0);
}

#[test]
fn datagrams_from_another_port_are_strays() {
    let flows = format!("{MEDIA}[[ping]]\nname = \"p\"\nprotocol = \"udp\"\nstop = \"10s\"\n");
    let mut lab = Lab::of_one_host(&flows);
    let mut forged = [0; 2];
    lab.run(at(2), |_, side, packet| {
        let mut other = packet.clone();
        other[20] ^= 0x80;
        forged[1 - side] += 1;
        vec![finished(other), packet]
    });
    assert!(forged.iter().all(|count| *count > 100), "{forged:?}");
    let mut under_way = [0; 2];
    lab.under_way.iter().for_each(|Reverse((_, _, side, _))| under_way[*side] += 1);
    for (side, forged) in forged.into_iter().enumerate() {
        let strays = lab.hosts[0].sides[side].counts.strays;
        assert!((forged - under_way[side]..=forged).contains(&strays), "{strays} of {forged}");
    }
}

#[test]
fn media_need_both_ends_at_one_host() {
    let scenario = scenario(MEDIA);
    let addresses = Addresses::new(v4(0), v4(1)).expect("one version");
    let out: Arc<dyn Device> = Lab::new("").outs[0].clone();
    let refused = Host::new(&scenario, &[Seat { end: 0, device: 0, addresses }], vec![out]).err();
    assert_eq!(
        refused.map(|e| e.to_string()).as_deref(),
        Some("flow.s: expected both ends of media at one host")
    );
}

#[test]
fn offloads_and_no_timestamps_are_fine() {
    let tcp = ["{ gso = true, gro = true, tsq = true }", "{ timestamps = false }"];
    for tcp in tcp.map(|tcp| format!("tcp = {tcp}\n")) {
        for cc in ["prague", "cubic"] {
            let mut lab = Lab::new(&(bulk(cc, 3000) + &tcp));
            lab.run(at(20), |n, _, packet| if n % 501 == 9 { vec![] } else { vec![packet] });
            assert_eq!(lab.total(1, "delivered_bytes"), 3e6, "{cc} {tcp}");
            assert_eq!(lab.connections().map(|(open, _)| open), [0, 0]);
        }
    }
}

// RFC 4987: SYNs of nobody take the place of connections neither for ever nor without bound.
#[test]
fn many_syns_do_not_keep_a_connection_out() {
    for app in ["bulk", "short arrivals 5 sizes 10000b"] {
        let flow = format!(
            "[[flow]]\nname = \"f\"\napp = \"{app}\"\ncc = \"cubic\"\nstart = \"70s\"\nstop = \"75s\"\n"
        );
        let mut lab = Lab::new(&flow);
        let host = &mut lab.hosts[1];
        let mut syn = [0_u8; 40];
        syn[..10].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
        syn[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        syn[22..24].copy_from_slice(&5201_u16.to_be_bytes());
        syn[32..34].copy_from_slice(&[0x50, 2]);
        let sum = sojourn_wire::checksum::of(&syn[..20]);
        syn[10..12].copy_from_slice(&sum.to_be_bytes());
        for port in 1024..61_000_u16 {
            syn[20..22].copy_from_slice(&port.to_be_bytes());
            host.receive(at(1), 0, &finished(syn.to_vec()));
        }
        assert!(host.sockets.iter_mut().count() <= 1 << 14, "{app}");
        lab.outs[1].sent.lock().expect("no panic").clear();
        lab.run(at(80), all);
        assert!(lab.total(1, "delivered_bytes") > 1e5, "{app}");
        assert_eq!(lab.total(1, "delivered_bytes"), lab.total(0, "acked_bytes"), "{app}");
    }
}

// KAT stack 3
#[test]
fn a_syn_is_that_of_linux() {
    let mut lab = Lab::new(&bulk("cubic", 20));
    let mut syns = vec![];
    lab.run(at(1), |n, _, packet| {
        if n < 2 {
            syns.push(packet.clone());
        }
        vec![packet]
    });
    let (syn, answer) = (&syns[0], &syns[1]);
    // IPv4 with DF; 40 bytes of TCP, AE CWR ECE SYN; window 64240.
    assert_eq!(&syn[..4], [0x45, 0, 0, 60]);
    assert_eq!(&syn[6..10], [0x40, 0, 64, 6]);
    assert_eq!(&syn[32..36], [0xa1, 0xc2, 0xfa, 0xf0]);
    let options = |packet: &[u8], echo: [u8; 4]| {
        assert_eq!(packet[40..48], [2, 4, 5, 180, 4, 2, 8, 10], "MSS 1460, SACK, timestamps");
        assert_eq!(packet[52..56], echo);
        assert_eq!(packet[56..60], [1, 3, 3, 7], "windows are shifted by 7");
    };
    options(syn, [0; 4]);
    // AccECN: the SYN arrived as Not-ECT; window 65160.
    assert_eq!(answer[32..36], [0xa0, 0x92, 0xfe, 0x88]);
    options(answer, syn[48..52].try_into().expect("four bytes"));
}

/// Forges packets of a connection by somebody who sees none of it, but knows addresses and ports.
fn forged(seen: &[u8], dice: u64) -> Vec<u8> {
    let mut packet = seen.to_vec();
    let mut rng = Rng::named(dice, "forged");
    for at in [24, 28] {
        packet[at..at + 4].copy_from_slice(&rng.u32().to_be_bytes());
    }
    let flags = [0x10, 0x02, 0x12, 0x11, 0x14, 0x18];
    packet[33] = flags[rng.below(flags.len() as u32) as usize];
    finished(packet)
}

/// With the checksum that it should have.
fn finished(mut packet: Vec<u8>) -> Vec<u8> {
    let addresses = Ip::parse(&packet).map(|ip| ip.addresses());
    let at = match packet.get(9) {
        Some(&ip::TCP) => 36,
        _ => 26,
    };
    let has_sum = packet.len() >= 40 && [ip::TCP, ip::UDP].contains(&packet[9]);
    if let (Ok(addresses), true) = (addresses, has_sum) {
        packet[at..at + 2].fill(0);
        let sum = sojourn_wire::checksum::of_transport(&addresses, packet[9], &packet[20..]);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

// RFC 5961: who cannot see the sequence numbers cannot stop a connection.
#[test]
fn blind_attackers_do_not_stop_a_transfer() {
    let mut lab = Lab::new(&bulk("prague", 1000));
    let mut first = true;
    lab.run(at(60), |n, _, packet| {
        let is_syn = std::mem::take(&mut first);
        let forgery = forged(&packet, n);
        if is_syn { vec![packet] } else { vec![forgery, packet] }
    });
    assert_eq!(lab.total(1, "delivered_bytes"), 1e6);
    assert_eq!(lab.connections().map(|(open, _)| open), [0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Of RTP and its reports too, which anybody may send who knows addresses and ports.
    #[test]
    fn hostile_media_neither_crash_nor_loop(dice in any::<u64>(), every in 1..20_u64) {
        let mut rng = Rng::named(dice, "hostile");
        let mut lab = Lab::of_one_host(MEDIA);
        let mut sent = [0; 5];
        lab.run(at(1), |n, _, packet| {
            let flow = usize::from(u16::from_be_bytes([packet[22], packet[23]]) - FIRST_PORT);
            sent[flow] += 1;
            assert!(sent[flow] < 80_000, "flow {flow}: packets without end");
            if n % every != 0 {
                return vec![packet];
            }
            let mut bad = packet.clone();
            for _ in 0..=rng.below(4) {
                // From the payload on: RTP and reports.
                let at = 28 + rng.below((bad.len() as u32 - 28).clamp(1, 40)) as usize;
                if let Some(byte) = bad.get_mut(at) {
                    *byte = rng.u32() as u8;
                }
            }
            vec![finished(bad), packet]
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Whatever comes, nothing panics, and no host answers without end.
    #[test]
    fn hostile_packets_neither_crash_nor_loop(
        dice in any::<u64>(),
        every in 1..20_u64,
        cc in prop::sample::select(vec!["prague", "cubic", "reno-sce", "dctcp"]),
        app in prop::sample::select(vec!["bulk", "short arrivals 50", "request think 10ms", "cbr rate 1Mbit"]),
    ) {
        let mut rng = Rng::named(dice, "hostile");
        let cc = if app.starts_with("cbr") { String::new() } else { format!("cc = \"{cc}\"\n") };
        let flow = format!(
            "[[flow]]\nname = \"f\"\napp = \"{app}\"\n{cc}stop = \"1s\"\n\
             [[ping]]\nname = \"p\"\ninterval = \"100ms\"\n"
        );
        let mut lab = Lab::new(&flow);
        lab.run(at(3), |n, _, packet| {
            if n % every != 0 || n > 20_000 {
                return vec![packet];
            }
            let mut bad = packet.clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bad.len() as u32) as usize;
                // Headers matter more than what follows.
                let at = if rng.below(4) > 0 { at % 60 % bad.len() } else { at };
                bad[at] = rng.u32() as u8;
            }
            if rng.below(8) == 0 {
                bad.truncate(rng.below(bad.len() as u32) as usize);
            }
            vec![finished(bad), packet]
        });
        prop_assert!(lab.sent < 400_000, "{} packets", lab.sent);
    }
}
