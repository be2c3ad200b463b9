use std::net::Ipv6Addr;

use sojourn_transport::tcp::Flags;

use super::*;
use crate::put32;

const TICK: u64 = 1_000_000;

fn settings(isn: u32) -> Settings {
    Settings {
        addresses: Addresses::V6 {
            source: Ipv6Addr::from_bits(1),
            destination: Ipv6Addr::from_bits(2),
        },
        port: 5000,
        peer_port: 443,
        isn,
        mss: 1440,
        window_scale: Some(7),
        timestamps: true,
        sack: true,
        tick: Dur::from_millis(1),
        first_tick: 0xffff_ff00,
        first_id: 0,
    }
}

fn peer_of(settings: Settings) -> Settings {
    Settings {
        addresses: settings.addresses.reversed(),
        port: settings.peer_port,
        peer_port: settings.port,
        isn: settings.isn ^ 0x8000_0000,
        first_tick: 77,
        ..settings
    }
}

/// Hands a segment over.
fn pass(from: &mut Connection, to: &mut Connection, segment: &Segment) -> Segment {
    let mut out = vec![0; 2000];
    let packet = from.write(segment, 1, &[], &mut out).expect("it fits");
    let ip = Ip::parse(packet).expect("a packet");
    assert_eq!(ip.has_valid_payload(), Some(true));
    to.read(&ip).expect("a segment")
}

fn flags(text: &str) -> Flags {
    let has = |flag| text.contains(flag);
    Flags { syn: has('S'), ack: has('.'), fin: has('F'), psh: has('P'), ..Flags::default() }
}

fn syn() -> Segment {
    Segment { flags: flags("S"), window: 64_240, tsecr: Time::NEVER, ..Segment::default() }
}

fn syn_ack() -> Segment {
    Segment { flags: flags("S."), ack: 1, window: 65_160, ..Segment::default() }
}

fn open(client: Settings, server: Settings) -> (Connection, Connection) {
    let sizes = [server.mss, client.mss].map(u32::from);
    let (mut client, mut server) = (Connection::new(client), Connection::new(server));
    let got = pass(&mut client, &mut server, &syn());
    let offered = got.gso_size;
    assert_eq!((got.seq, got.flags, got.window), (0, flags("S"), 64_240));
    let got = pass(&mut server, &mut client, &syn_ack());
    assert_eq!((got.seq, got.ack, got.flags, got.window), (0, 1, flags("S."), 65_160));
    assert_eq!([got.gso_size, offered], sizes);
    (client, server)
}

#[test]
fn numbers_go_on_where_the_wire_wraps() {
    let (mut client, mut server) = open(settings(0xffff_fff0), peer_of(settings(0xffff_fff0)));
    let mut seq = 1;
    for step in [1_u64, 1400, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 5] {
        seq += step;
        let data = Segment { seq, ack: 1, len: 100, flags: flags(".P"), ..Segment::default() };
        let got = pass(&mut client, &mut server, &data);
        assert_eq!((got.seq, got.len, got.flags), (seq, 100, flags(".P")));
        let ack = Segment { seq: 1, ack: got.end(), flags: flags("."), ..Segment::default() };
        assert_eq!(pass(&mut server, &mut client, &ack).ack, seq + 100);
    }
    let old = Segment { seq: seq - 2000, len: 1000, ..Segment::default() };
    assert_eq!(pass(&mut client, &mut server, &old).seq, seq - 2000);
}

// RFC 7323 3.2 and 4: the echo is in the clock of its first sender.
#[test]
fn times_come_back_in_their_senders_clock() {
    let (mut client, mut server) = open(settings(1), peer_of(settings(1)));
    let mut first = None;
    for ms in [300_u64, 301, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 7] {
        let tsval = Time(ms * TICK + 999_999);
        let data = Segment { seq: 1, ack: 1, tsval, flags: flags("."), ..Segment::default() };
        let got = pass(&mut client, &mut server, &data);
        let first = *first.get_or_insert(got.tsval);
        assert_eq!(got.tsval.since(first), Dur((ms - 300) * TICK), "from anywhere");
        let ack = Segment { tsval: Time(5), tsecr: got.tsval, flags: flags("."), ..got };
        let ack = Segment { seq: 1, ack: 1, accecn: None, ..ack };
        let back = pass(&mut server, &mut client, &ack);
        assert_eq!(back.tsecr, Time(ms * TICK), "cut to the tick");
    }
    let earlier = |a: &Segment, b: &Segment| a.tsval < b.tsval;
    let first = pass(&mut server, &mut client, &Segment { tsval: Time(0), ..syn_ack() });
    let second = pass(&mut server, &mut client, &Segment { tsval: Time(TICK), ..syn_ack() });
    assert!(earlier(&first, &second));
}

// RFC 7323 3.2: the echo is zero, and means nothing, without an acknowledgement.
#[test]
fn a_syn_echoes_no_time() {
    let own = Settings { first_tick: 0, ..settings(1) };
    let (mut client, mut server) = (Connection::new(own), Connection::new(peer_of(own)));
    server.settings.first_tick = 0;
    let mut out = [0; 200];
    let segment = Segment { tsecr: Time(9 * TICK), ..syn() };
    let packet = client.write(&segment, 0, &[], &mut out).expect("room");
    let (header, _) = tcp::Header::parse(&packet[40..]).expect("a header");
    assert_eq!(header.options.timestamps, Some((0, 0)));
    assert_eq!(
        server.read(&Ip::parse(packet).expect("a packet")).map(|s| s.tsecr),
        Ok(Time::NEVER)
    );
}

// RFC 9293 3.10.7.3.
#[test]
fn a_refused_syn_is_a_reset() {
    let own = settings(u32::MAX);
    let mut client = Connection::new(own);
    let mut out = [0; 200];
    client.write(&syn(), 0, &[], &mut out).expect("room");
    let mut refusal = |ack| {
        let flags = tcp::RST | tcp::ACK;
        let header =
            tcp::Header { source: 443, destination: 5000, ack, flags, ..tcp::Header::default() };
        let packet = header.write(own.addresses.reversed(), &mut out).expect("room");
        client.read(&Ip::parse(packet).expect("a packet")).err()
    };
    assert_eq!(refusal(0), Some(Unreadable::Reset(0)));
    assert_eq!(refusal(1), Some(Unreadable::NoPeer), "of what was not sent");
}

#[test]
fn an_echo_of_the_future_is_none() {
    let (mut client, mut server) = open(settings(1), peer_of(settings(1)));
    let data = Segment { seq: 1, ack: 1, tsval: Time(7 * TICK), flags: flags("."), ..syn_ack() };
    let got = pass(&mut client, &mut server, &Segment { flags: flags("."), ..data });
    let mut echoed = |ticks: u64| {
        let tsecr = got.tsval + Dur(ticks * TICK);
        let ack = Segment { seq: 1, ack: 1, tsecr, flags: flags("."), ..Segment::default() };
        pass(&mut server, &mut client, &ack).tsecr
    };
    assert_eq!([echoed(0), echoed(1)], [Time(7 * TICK), Time::NEVER]);
}

#[test]
fn zeros_follow_a_short_payload() {
    let (mut client, _) = open(settings(1), peer_of(settings(1)));
    let data = Segment { seq: 1, ack: 1, len: 5, flags: flags("."), ..Segment::default() };
    let mut out = [7; 200];
    for (given, expected) in [(&b"ab"[..], b"ab\0\0\0"), (b"abcdefg", b"abcde")] {
        let packet = client.write(&data, 0, given, &mut out).expect("room");
        assert_eq!(&packet[72..], expected);
    }
}

// Linux ip_queue_xmit, inet_gso_segment: each segment of a super-packet has a number of its own.
#[test]
fn identifications_count_segments() {
    let addresses =
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let own = Settings { addresses, ..settings(1) };
    let (mut client, _) = open(own, peer_of(own));
    let data = Segment { seq: 1, ack: 1, len: 3000, gso_size: 1000, ..Segment::default() };
    let mut out = [0; 4000];
    let mut id = || {
        let packet = client.write(&data, 0, &[], &mut out).expect("room");
        crate::be16(packet, 4)
    };
    assert_eq!([id(), id(), id()], [1, 4, 7], "after the SYN's");
}

// RFC 7323 2.2 and 3.2, RFC 2018 2: what one end does not offer, both do without.
#[test]
fn ends_use_what_both_offer() {
    let client = settings(1);
    let server = Settings {
        window_scale: None,
        timestamps: false,
        sack: false,
        mss: 536,
        ..peer_of(client)
    };
    let (mut client, mut server) = open(client, server);
    let mut sack = SackBlocks::default();
    sack.push((1, 2));
    let segment =
        Segment { ack: 1, seq: 1, window: 1 << 20, flags: flags("."), sack, ..Segment::default() };
    let mut out = [0; 100];
    assert_eq!(client.write(&segment, 0, &[], &mut out).expect("room").len(), 60);
    let got = pass(&mut client, &mut server, &segment);
    assert_eq!((got.window, got.tsecr), (65_535, Time::NEVER));
    assert!(got.sack.is_empty());
}

#[test]
fn windows_are_scaled_but_on_a_syn() {
    let client = Settings { window_scale: Some(15), ..settings(1) };
    let (mut client, mut server) = open(client, peer_of(settings(1)));
    let ack = |window| Segment { seq: 1, ack: 1, window, flags: flags("."), ..Segment::default() };
    assert_eq!(pass(&mut client, &mut server, &ack(1 << 29)).window, 1 << 29, "RFC 7323 2.3");
    assert_eq!(pass(&mut server, &mut client, &ack(130)).window, 128);
}

// RFC 9768 3.2.3: what has changed is there, although the last counter has no room.
#[test]
fn changed_counters_come_first() {
    let (mut client, mut server) = open(settings(1), peer_of(settings(1)));
    let data = Segment { seq: 1, ack: 1, len: 1000, flags: flags("."), ..Segment::default() };
    pass(&mut client, &mut server, &data);
    let mut sack = SackBlocks::default();
    sack.push((500, 600));
    sack.push((700, 800));
    let mut counters = [1, 0, 1];
    for (index, bytes) in [(0, 10), (2, 20), (1, 30), (2, 40)] {
        counters[index] += bytes;
        let accecn = Some(counters);
        let ack = Segment { seq: 1, ack: 1, flags: flags("."), sack, accecn, ..Segment::default() };
        assert_eq!(pass(&mut server, &mut client, &ack).accecn, Some(counters), "{index}");
    }
}

#[test]
fn blocks_of_what_was_never_sent_are_left_out() {
    let (mut client, mut server) = open(settings(1), peer_of(settings(1)));
    let data = Segment { seq: 1, ack: 1, len: 1000, flags: flags("."), ..Segment::default() };
    pass(&mut client, &mut server, &data);
    let mut sack = SackBlocks::default();
    for block in [(1, 101), (901, 1001), (901, 1002)] {
        sack.push(block);
    }
    let ack = Segment { seq: 1, ack: 201, flags: flags("."), sack, ..Segment::default() };
    let got = pass(&mut server, &mut client, &ack).sack;
    assert_eq!((got.as_slice(), got.duplicate), (&[(1, 101), (901, 1001)][..], true));
}

#[test]
fn strangers_resets_and_the_impossible_are_named() {
    let (client, server) = (settings(1), peer_of(settings(1)));
    let ack = Segment { seq: 1, ack: 1, flags: flags("."), ..Segment::default() };
    let mut out = [0; 200];
    let early = Connection::new(client).write(&ack, 0, &[], &mut out).err();
    assert_eq!(early, Some(Unwritable::NoPeer));
    let control = Segment { flags: Flags { control: true, ..Flags::default() }, ..ack };
    let (mut opened, mut listener) = open(client, server);
    let refused =
        |c: &mut Connection, segment: &Segment, out: &mut [u8]| c.write(segment, 0, &[], out).err();
    assert_eq!(refused(&mut opened, &control, &mut out), Some(Unwritable::Unreal));
    let long = Segment { len: 100, ..ack };
    assert_eq!(refused(&mut opened, &long, &mut out[..150]), Some(Unwritable::Room));

    let packet = opened.write(&ack, 0, &[], &mut out).expect("room");
    let answer = |change: fn(&mut [u8]), to: &mut Connection| {
        let mut packet = packet.to_vec();
        change(&mut packet);
        to.read(&Ip::parse(&packet).expect("a packet")).err()
    };
    assert_eq!(answer(|_| {}, &mut listener.clone()), None);
    assert_eq!(answer(|_| {}, &mut Connection::new(server)), Some(Unreadable::NoPeer));
    assert_eq!(answer(|p| p[41] ^= 1, &mut listener), Some(Unreadable::Stranger));
    assert_eq!(answer(|p| p[6] = ip::UDP, &mut listener), Some(Unreadable::Protocol));
    assert_eq!(answer(|p| p[53] |= 4, &mut listener), Some(Unreadable::Reset(1)));
    assert_eq!(answer(|p| p[53] |= 2, &mut listener), Some(Unreadable::Stranger), "another SYN");
    assert_eq!(answer(|p| p[51] += 1, &mut listener), Some(Unreadable::Outside));
    assert_eq!(
        answer(|p| p[44] = 0xf0, &mut listener),
        Some(Unreadable::Outside),
        "before the SYN"
    );
    assert_eq!(
        answer(|p| p[52] = 0x40, &mut listener),
        Some(Unreadable::Header(tcp::Error::Short))
    );
}

/// What is answered to a packet of a stranger: sequence number, acknowledgement, flags.
fn refusal(header: tcp::Header, payload: u32) -> Option<(u32, u32, u16)> {
    let own = settings(0);
    let (mut packet, mut out) = ([0; 200], [0; 200]);
    let segment = Segment { len: payload, seq: 1, ..syn_ack() };
    let len = Connection { sent: 1, ..Connection::new(own) }
        .write(&Segment { flags: Flags::default(), ..segment }, 0, &[], &mut packet)
        .expect("room")
        .len();
    let at = own.addresses.header_len();
    put32(&mut packet[at..], 4, header.seq);
    put32(&mut packet[at..], 8, header.ack);
    packet[at + 13] = header.flags as u8;
    let answer = refuse(&Ip::parse(&packet[..len]).expect("a packet"), &mut out)?;
    let ip = Ip::parse(answer).expect("a packet");
    assert_eq!(ip.has_valid_payload(), Some(true));
    assert_eq!(ip.addresses(), own.addresses.reversed());
    let (header, _) = tcp::Header::parse(ip.payload()).expect("a header");
    assert_eq!((header.source, header.destination), (own.peer_port, own.port));
    Some((header.seq, header.ack, header.flags))
}

// RFC 9293 3.10.7.1.
#[test]
fn what_belongs_to_no_connection_is_reset() {
    let of = |seq, ack, flags| tcp::Header { seq, ack, flags, ..tcp::Header::default() };
    assert_eq!(refusal(of(7, 0, tcp::SYN), 0), Some((0, 8, tcp::RST | tcp::ACK)));
    assert_eq!(refusal(of(u32::MAX, 0, tcp::FIN), 10), Some((0, 10, tcp::RST | tcp::ACK)));
    assert_eq!(refusal(of(7, 99, tcp::ACK), 10), Some((99, 0, tcp::RST)));
    assert_eq!(refusal(of(7, 99, tcp::RST), 0), None);
}

#[test]
fn a_reset_ends_the_peers_connection() {
    let (client, server) = (settings(5), peer_of(settings(5)));
    let (mut client, mut server) = open(client, server);
    let mut out = [0; 200];
    let data = Segment { seq: 1, ack: 1, len: 100, flags: flags("."), ..Segment::default() };
    pass(&mut client, &mut server, &data);
    let reset = client.write_reset(&mut out).expect("there is a peer");
    let read = server.read(&Ip::parse(reset).expect("a packet"));
    assert_eq!(read.err(), Some(Unreadable::Reset(101)));
}

// RFC 9293 3.10.7.3: only the answer to this very SYN opens the connection.
#[test]
fn an_answer_to_another_syn_says_nothing_of_the_peer() {
    let own = settings(5);
    let mut client = Connection::new(own);
    let mut out = [0; 200];
    client.write(&syn(), 0, &[], &mut out).expect("room");
    let mut answer = |ack, flags| {
        let header =
            tcp::Header { source: 443, destination: 5000, ack, flags, ..tcp::Header::default() };
        let packet = header.write(own.addresses.reversed(), &mut out).expect("room");
        client.read(&Ip::parse(packet).expect("a packet")).map(|segment| segment.ack)
    };
    assert_eq!(answer(5, tcp::SYN | tcp::ACK), Err(Unreadable::Outside));
    assert_eq!(answer(6, tcp::SYN), Err(Unreadable::Outside));
    assert_eq!(answer(6, tcp::SYN | tcp::ACK), Ok(1));
}
