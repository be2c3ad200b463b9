//! What a state machine sends is what the other end's receives.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use sojourn_core::{Dur, Time};
use sojourn_transport::tcp::{Flags, SackBlocks, Segment};
use sojourn_wire::segment::{Connection, Settings};
use sojourn_wire::{Addresses, Ip, packet};

fn settings(is_v6: bool, isn: u32, first_tick: u32) -> Settings {
    let addresses = if is_v6 {
        Addresses::V6 { source: Ipv6Addr::from_bits(1), destination: Ipv6Addr::from_bits(2) }
    } else {
        Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
        }
    };
    Settings {
        addresses,
        port: 5000,
        peer_port: 443,
        isn,
        mss: 1460,
        window_scale: Some(10),
        timestamps: true,
        sack: true,
        tick: Dur::from_micros(1),
        first_tick,
        first_id: 0,
    }
}

fn handshake(client: &mut Connection, server: &mut Connection, now: Time) {
    let mut out = [0; 100];
    let flags = Flags { syn: true, ..Flags::default() };
    let syn = Segment { flags, tsval: now, tsecr: Time::NEVER, ..Segment::default() };
    let packet = client.write(&syn, 0, &[], &mut out).expect("room");
    let got = server.read(&Ip::parse(packet).expect("a packet")).expect("a SYN");
    let flags = Flags { ack: true, ..flags };
    let answer = Segment { flags, ack: 1, tsval: now, tsecr: got.tsval, ..Segment::default() };
    let packet = server.write(&answer, 0, &[], &mut out).expect("room");
    client.read(&Ip::parse(packet).expect("a packet")).expect("a SYN/ACK");
}

prop_compose! {
    /// What leaves at `now` at the latest, with `room` for blocks in what the peer has sent.
    fn segment(now: u64, room: u64)(
        seq in 1..1_000_000_u64,
        ack in 1..=room,
        len in prop_oneof![Just(0_u32), 1..1400_u32],
        window in 0..=65_535_u32,
        (fin, psh) in any::<(bool, bool)>(),
        ace in 0..8_u8,
        mut edges in prop::collection::vec(ack_free(room), 0..=3),
        tsval in 0..=now,
        tsecr in 0..=now,
        accecn in prop::option::of([0..1_u32 << 24, 0..1 << 24, 0..1 << 24]),
    ) -> Segment {
        let mut sack = SackBlocks::default();
        edges.retain(|(left, _)| *left > ack);
        for block in edges {
            sack.push(block);
        }
        Segment {
            seq,
            ack,
            len,
            window: window << 10,
            flags: Flags { ack: true, fin, psh, ..Flags::default() },
            ace,
            tsval: Time(tsval * 1000),
            tsecr: Time(tsecr * 1000),
            // With two blocks one of three counters has no room.
            accecn: accecn.filter(|_| sack.as_slice().len() < 2),
            sack,
            ..Segment::default()
        }
    }
}

/// A block anywhere.
fn ack_free(room: u64) -> impl Strategy<Value = (u64, u64)> {
    (1..room).prop_flat_map(move |left| (Just(left), left + 1..=room))
}

proptest! {
    #[test]
    fn segments_read_as_they_were_written(
        is_v6 in any::<bool>(),
        (isn, peer_isn, first_tick) in any::<(u32, u32, u32)>(),
        segments in prop::collection::vec(segment(10_000_000, 1_000_000), 1..20),
    ) {
        let own = settings(is_v6, isn, first_tick);
        let peer = Settings {
            addresses: own.addresses.reversed(),
            port: own.peer_port,
            peer_port: own.port,
            isn: peer_isn,
            ..own
        };
        let (mut client, mut server) = (Connection::new(own), Connection::new(peer));
        let end = Time(10_000_000_000);
        handshake(&mut client, &mut server, end);
        // The server has sent all that may be acknowledged, and both clocks are at the end.
        let mut out = vec![0; 2000];
        let flags = Flags { ack: true, ..Flags::default() };
        let far = Segment { seq: 1_000_000, ack: 1, flags, tsval: end, ..Segment::default() };
        let bytes = server.write(&far, 0, &[], &mut out).expect("room");
        let theirs = client.read(&Ip::parse(bytes).expect("a packet")).expect("a segment").tsval;
        // What the client calls the server's time differs from it by a constant.
        let shift = theirs.since(end);
        for segment in &segments {
            let echo = segment.tsecr + shift;
            let sent = Segment { tsecr: echo, ..*segment };
            let bytes = client.write(&sent, 2, b"abc", &mut out).expect("room");
            let is_data = segment.len > 0;
            let frame = 14 + bytes.len() as u32 - if is_v6 { 20 } else { 0 };
            prop_assert_eq!(frame, segment.frame_len(true));
            let (seen, opaque) = packet::read(bytes, 0).expect("a packet");
            prop_assert_eq!((opaque, seen.ecn_flags(), seen.tos), (None, segment.ace, 2));
            if !is_data && !segment.flags.fin {
                prop_assert_eq!(seen.ack, peer_isn.wrapping_add(segment.ack as u32));
            }
            let ip = Ip::parse(bytes).expect("a packet");
            prop_assert_eq!(ip.has_valid_payload(), Some(true));
            let got = server.read(&ip).expect("a segment");
            prop_assert_eq!((got.seq, got.ack, got.len), (segment.seq, segment.ack, segment.len));
            prop_assert_eq!((got.window, got.flags, got.ace), (segment.window, segment.flags, segment.ace));
            prop_assert_eq!(got.sack.as_slice(), segment.sack.as_slice());
            prop_assert_eq!(got.accecn, segment.accecn);
            prop_assert_eq!(got.tsecr, segment.tsecr, "in the server's clock");
        }
    }
}
