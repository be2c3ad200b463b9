//! Packets of a real kernel (the testbed of ect1: Linux 5.4 of L4STeam, AccECN, 128 bytes of each packet).

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use sojourn_core::{Dur, Kind};
use sojourn_wire::packet::{self, Checksum, Counts};
use sojourn_wire::segment::{Connection, Settings};
use sojourn_wire::{Addresses, Ip, ip, tcp};

const ETHERNET: usize = 14;

/// Frames of a capture, each with its length on the wire.
fn frames(name: &str, mut each: impl FnMut(&[u8], usize)) {
    let path = Path::new(env!("CAPTURES")).join(name);
    let mut xz = Command::new("xz")
        .arg("-dc")
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("xz unpacks the capture");
    let mut pcap = Vec::new();
    xz.stdout.take().expect("a pipe").read_to_end(&mut pcap).expect("it can be read");
    assert!(xz.wait().expect("xz ends").success());
    let word =
        |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes")) as usize;
    assert_eq!((word(0), word(20)), (0xa1b2_c3d4, 1), "pcap of Ethernet");
    let mut at = 24;
    while at < pcap.len() {
        let (captured, len) = (word(at + 8), word(at + 12));
        at += 16;
        each(&pcap[at..at + captured], len);
        at += captured;
    }
}

const ONE_FLOW: &str = "l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms.cli_cli.pcap.xz";
const TWO_FLOWS: &str = "l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms.srv_srv.pcap.xz";

// KAT wire 6
#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to captures")]
fn every_packet_of_a_testbed_is_read() {
    let (mut counts, mut kinds) = (Counts::default(), HashMap::new());
    let mut whole = vec![0; 2000];
    frames(ONE_FLOW, |frame, len| {
        // What was cut off is zeros.
        whole[..len].fill(0);
        whole[..frame.len()].copy_from_slice(frame);
        let bytes = &mut whole[ETHERNET..len];
        let read = packet::read(bytes, 0);
        counts.add(&read);
        let Ok((mut packet, _)) = read else { return };
        assert!(packet.len as usize <= len, "no longer than its frame");
        *kinds.entry(format!("{:?}", packet.kind)).or_insert(0) += 1;
        let ip = Ip::parse(bytes).expect("it was read");
        assert!(ip.has_valid_checksum());
        let is_whole = frame.len() == len;
        if is_whole && packet.kind != Kind::Udp {
            assert_eq!(ip.has_valid_payload(), Some(true), "{bytes:02x?}");
        }
        packet.tos ^= 3;
        packet.ace ^= if is_whole { 0b111 } else { 0 };
        packet::write_back(&packet, bytes, Checksum::Complete).expect("it was read");
        let ip = Ip::parse(bytes).expect("it still is a packet");
        assert!(ip.has_valid_checksum() && ip.tos() == packet.tos);
        if is_whole && packet.kind != Kind::Udp {
            assert_eq!(ip.has_valid_payload(), Some(true));
        }
    });
    let expected = Counts { whole: 17_329, other_protocols: 2, not_ip: 6, ..Counts::default() };
    assert_eq!(counts, expected, "{kinds:?}");
    assert_eq!((kinds["Icmp"], kinds["Udp"]), (430, 31));
}

/// What a SYN, or its answer, shows of the end that sends it.
fn settings(addresses: Addresses, syn: &tcp::Header) -> Settings {
    Settings {
        addresses,
        port: syn.source,
        peer_port: syn.destination,
        isn: syn.seq,
        mss: syn.options.mss.expect("a SYN of Linux has it"),
        window_scale: syn.options.window_scale,
        timestamps: syn.options.timestamps.is_some(),
        sack: syn.options.sack_permitted,
        tick: Dur::from_millis(1),
        first_tick: 0,
        first_id: 0,
    }
}

// KAT wire 7
#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to captures")]
fn headers_written_from_segments_are_the_kernels() {
    for (capture, connections, packets) in [(ONE_FLOW, 4, 16_870), (TWO_FLOWS, 8, 241_501)] {
        let mut segments = Vec::new();
        frames(capture, |frame, _| {
            if Ip::parse_captured(&frame[ETHERNET..]).is_ok_and(|ip| ip.protocol == ip::TCP) {
                segments.push(frame[ETHERNET..].to_vec());
            }
        });
        assert_eq!(segments.len(), packets);
        let read = |bytes| {
            let ip = Ip::parse_captured(bytes).expect("a packet");
            let (header, header_len) = tcp::Header::parse(ip.payload()).expect("a header");
            (ip, header, ip.header_len() + header_len)
        };
        // Ends by source address and ports.
        let mut ends = HashMap::new();
        for bytes in &segments {
            let (ip, header, _) = read(bytes);
            if header.flags & tcp::SYN != 0 {
                let end = Connection::new(settings(ip.addresses(), &header));
                ends.insert((ip.addresses(), header.source, header.destination), end);
            }
        }
        assert_eq!(ends.len(), connections);
        let mut out = vec![0; 2000];
        for bytes in &segments {
            let (ip, header, end) = read(bytes);
            let (addresses, source, destination) =
                (ip.addresses(), header.source, header.destination);
            let to = ends.get_mut(&(addresses.reversed(), destination, source));
            let segment = to.expect("captures begin with SYNs").read(&ip).expect("a segment");
            let from = ends.get_mut(&(addresses, source, destination)).expect("the other end");
            let written = from.write(&segment, ip.tos(), &[], &mut out).expect("it fits");
            let (mut ours, mut theirs) = (written[..end].to_vec(), bytes[..end].to_vec());
            for header in [&mut ours, &mut theirs] {
                header[4..6].fill(0); // identification
                header[10..12].fill(0); // and the checksum that covers it
                // What covers a payload is not in the capture; Linux writes 0 as 0xffff, as if it were UDP
                // (skb_checksum_help).
                if segment.len > 0 || header[36..38] == [0xff; 2] {
                    header[36..38].fill(0);
                }
            }
            assert_eq!(ours, theirs, "{segment:?}");
        }
    }
}
