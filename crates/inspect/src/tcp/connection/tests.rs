use proptest::prelude::*;
use sojourn_core::Ecn;
use sojourn_wire::options::{Blocks, Options};

use super::*;
use crate::report::Retransmissions;

const MS: u64 = 1_000_000;
/// A full segment.
const MSS: u32 = 1000;
/// Round trip of the wire, as a capture at the opener sees it.
const RTT: u64 = 20;

/// A connection whose opener sends data; captured at the opener.
struct Wire {
    connection: Connection,
    /// Timestamp of the opener's last segment that the peer echoes.
    echo: u32,
    stamps: bool,
    id: u16,
}

fn segment(at_ms: u64, forward: bool, seq: u32, flags: u16) -> Segment {
    Segment {
        at: at_ms * MS,
        forward,
        ecn: Ecn::NotEct,
        ip_len: 52,
        id: 0,
        seq,
        ack: 0,
        flags,
        window: 1000,
        data: 0,
        timestamps: None,
        is_cut: false,
        has_options: false,
    }
}

fn budget() -> Budget {
    Budget { long: 1, events: 1_000_000 }
}

impl Wire {
    /// Opens it at 0; sequence numbers of both begin with 0, those of the opener's data wrap soon.
    fn new(stamps: bool) -> Self {
        let mut wire = Self { connection: Connection::default(), echo: 0, stamps, id: 0 };
        let offer = |value| Options {
            mss: Some(if stamps { MSS + 12 } else { MSS } as u16),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: stamps.then_some((value, 0)),
            ..Options::default()
        };
        let mut syn = segment(0, true, Self::ISN, SYN);
        syn.timestamps = offer(0).timestamps;
        wire.take_with(&syn, &offer(0));
        let mut answer = segment(RTT, false, 7, SYN | ACK);
        (answer.timestamps, answer.ack) = (offer(0).timestamps, Self::ISN.wrapping_add(1));
        wire.take_with(&answer, &offer(0));
        let mut third = segment(RTT, true, Self::ISN.wrapping_add(1), ACK);
        third.ack = 8;
        third.timestamps = stamps.then_some((RTT as u32, 0));
        wire.take(&third);
        wire
    }

    const ISN: u32 = u32::MAX - 2500;

    fn take(&mut self, segment: &Segment) {
        self.take_with(segment, &Options::default());
    }

    fn take_with(&mut self, segment: &Segment, options: &Options) {
        self.connection.segment(segment, options, &mut budget());
    }

    /// The `n`th segment of data.
    fn data(&mut self, at: u64, n: u32) -> Again {
        self.bytes(at, n * MSS, MSS)
    }

    fn send(&mut self, at: u64, n: u32) {
        self.data(at, n);
    }

    fn bytes(&mut self, at: u64, from: u32, len: u32) -> Again {
        let mut data = segment(at, true, Self::ISN.wrapping_add(1 + from), ACK);
        self.id += 1;
        (data.data, data.ack, data.id, data.ip_len) = (len, 8, self.id, 52 + len);
        data.timestamps = self.stamps.then_some((at as u32, 0));
        self.take(&data);
        *self.connection.events.again.last().expect("an event")
    }

    /// The peer has all before the `n`th segment, and those of the blocks; it echoes `echo`.
    fn ack(&mut self, at: u64, n: u32, blocks: &[(u32, u32)]) {
        let number = |n: u32| Self::ISN.wrapping_add(1 + n * MSS);
        let mut ack = segment(at, false, 8, ACK);
        ack.ack = number(n);
        let mut options = Options::default();
        for &(left, right) in blocks {
            options.sack.push((number(left), number(right)));
        }
        ack.timestamps = self.stamps.then_some((at as u32, self.echo));
        self.take_with(&ack, &options);
    }

    fn counts(&self) -> Retransmissions {
        self.connection.sides[0].losses.counts
    }

    fn opener(&self) -> &Side {
        &self.connection.sides[0]
    }
}

fn counts(all: u64) -> Retransmissions {
    Retransmissions { all, ..Retransmissions::default() }
}

#[test]
fn a_segment_below_sacked_data_is_sent_again_fast() {
    for stamps in [false, true] {
        let mut wire = Wire::new(stamps);
        (0..6).for_each(|n| assert_eq!(wire.data(30, n), Again::New));
        wire.ack(50, 1, &[]);
        for n in 3..=6 {
            wire.ack(50, 1, &[(2, n)]);
        }
        assert_eq!(wire.opener().board.in_flight(), u64::from(MSS));
        assert_eq!(wire.data(51, 1), Again::Fast);
        wire.echo = 51;
        wire.ack(71, 6, &[]);
        assert_eq!(wire.counts(), Retransmissions { fast: 1, ..counts(1) }, "{stamps}");
        // One round trip of the handshake's data, none of what was sent again or SACKed (Karn).
        assert_eq!(wire.opener().rtt_ms.count(), 1);
        assert_eq!((wire.opener().board.missing(), wire.opener().reordered), (0, 0));
    }
}

#[test]
fn three_duplicates_are_evidence_without_sack() {
    let mut wire = Wire::new(false);
    (0..6).for_each(|n| wire.send(30, n));
    wire.ack(50, 1, &[]);
    (0..3).for_each(|_| wire.ack(50, 1, &[]));
    assert_eq!(wire.data(51, 1), Again::Fast);
    // A partial acknowledgement: the next hole, in the same recovery (RFC 6582).
    wire.ack(71, 4, &[]);
    assert_eq!(wire.data(71, 4), Again::Fast);
}

#[test]
fn the_last_segment_after_two_round_trips_is_a_probe_and_then_a_timeout() {
    let mut wire = Wire::new(true);
    (0..4).for_each(|n| wire.send(30, n));
    wire.echo = 30;
    wire.ack(50, 2, &[]);
    assert_eq!(wire.data(92, 3), Again::Tlp);
    assert_eq!(wire.data(320, 2), Again::Rto);
    // What was under way at the timeout goes again in its wake.
    wire.echo = 320;
    wire.ack(340, 3, &[]);
    assert_eq!(wire.data(340, 3), Again::Rto);
    wire.ack(360, 4, &[]);
    assert_eq!(wire.counts(), Retransmissions { tlp: 1, rto: 2, ..counts(3) });
}

#[test]
fn without_sack_there_is_no_probe() {
    let mut wire = Wire::new(true);
    wire.connection = Connection::default();
    let syn = segment(0, true, Wire::ISN, SYN);
    wire.take_with(&syn, &Options { mss: Some(1000), ..Options::default() });
    wire.data(0, 0);
    assert_eq!(wire.data(1000, 0), Again::Rto);
}

#[test]
fn dsack_and_timestamps_each_say_once_that_a_copy_was_needless() {
    let mut wire = Wire::new(true);
    (0..4).for_each(|n| wire.send(30, n));
    wire.ack(50, 1, &[]);
    wire.data(300, 1);
    // The echo is of the first transmission (RFC 3522), then the copy arrives twice (RFC 2883).
    wire.echo = 30;
    wire.ack(310, 4, &[]);
    assert_eq!(wire.counts().spurious, 1);
    wire.ack(320, 4, &[(1, 2)]);
    assert_eq!((wire.counts().spurious, wire.opener().losses.duplicates_reported), (1, 1));
    let mut wire = Wire::new(false);
    (0..4).for_each(|n| wire.send(30, n));
    wire.ack(50, 2, &[(3, 4)]);
    wire.data(51, 2);
    wire.ack(71, 4, &[(2, 3)]);
    assert_eq!(wire.counts(), Retransmissions { fast: 1, spurious: 1, ..counts(1) });
}

#[test]
fn overtaken_data_is_reordered_and_no_retransmission() {
    for stamps in [false, true] {
        let mut wire = Wire::new(stamps);
        for n in [0, 2, 3, 4] {
            wire.data(30, n);
        }
        assert_eq!(wire.data(30, 1), Again::Late, "{stamps}");
        let opener = wire.opener();
        assert_eq!((opener.reordered, opener.depth.mean(), opener.losses.counts.all), (1, 3.0, 0));
        wire.ack(51, 5, &[]);
        assert_eq!(wire.opener().board.missing(), 0);
    }
}

#[test]
fn behind_a_loss_a_copy_fills_the_hole() {
    let mut wire = Wire::new(true);
    for n in [0, 2, 3, 4, 5] {
        wire.data(30, n);
    }
    for n in 3..=6 {
        wire.ack(30, 1, &[(2, n)]);
    }
    assert_eq!(wire.data(52, 1), Again::Fast);
    wire.ack(52, 6, &[]);
    assert_eq!(wire.opener().board.missing(), 0);
}

#[test]
fn what_is_acknowledged_and_never_seen_is_missing() {
    let mut wire = Wire::new(true);
    wire.data(30, 0);
    wire.data(30, 3);
    assert_eq!(wire.opener().board.missing(), 0, "it may be lost");
    wire.ack(50, 2, &[]);
    assert_eq!(wire.opener().board.missing(), u64::from(MSS));
    wire.ack(51, 6, &[]);
    assert_eq!(wire.opener().board.missing(), 4 * u64::from(MSS));
    assert_eq!(wire.counts().all, 0);
}

#[test]
fn keepalives_probes_and_twice_captured_packets_are_not_sent_again() {
    let mut wire = Wire::new(true);
    wire.data(30, 0);
    wire.id -= 1;
    assert_eq!(wire.data(30, 0), Again::Probe);
    wire.ack(50, 1, &[]);
    assert_eq!(wire.bytes(5000, MSS - 1, 1), Again::Probe);
    let mut zero = segment(5050, false, 8, ACK);
    (zero.window, zero.ack) = (0, Wire::ISN.wrapping_add(1 + MSS));
    wire.take(&zero);
    assert_eq!(wire.bytes(5300, MSS, 1), Again::New);
    assert_eq!(wire.bytes(5800, MSS, 1), Again::Probe);
    let opener = wire.opener();
    assert_eq!((opener.probes, opener.captured_twice, opener.losses.counts.all), (2, 1, 0));
    assert_eq!(wire.connection.sides[1].zero_windows, 1);
}

#[test]
fn a_super_packet_is_acknowledged_in_parts() {
    let mut wire = Wire::new(true);
    wire.bytes(30, 0, 10 * MSS);
    assert_eq!(wire.opener().super_packets, 1);
    wire.ack(50, 2, &[]);
    wire.ack(51, 10, &[]);
    let segments: u32 = 10;
    let opener = wire.opener();
    assert_eq!((opener.rtt_ms.count(), opener.board.in_flight()), (2, 0));
    assert_eq!(wire.connection.sides[1].acks.bytes, u64::from(segments * MSS));
}

#[test]
fn an_episode_of_ece_ends_with_cwr_and_acks_sent_before_it_begin_none() {
    let mut wire = Wire::new(true);
    (0..9).for_each(|n| wire.send(30, n));
    let mut ece = segment(50, false, 8, ACK | ECE);
    let mut send = |wire: &mut Wire, at: u64, n: u32| {
        (ece.at, ece.ack) = (at * MS, Wire::ISN.wrapping_add(1 + n * MSS));
        wire.take(&ece);
    };
    send(&mut wire, 50, 2);
    let mut cwr = segment(55, true, Wire::ISN.wrapping_add(1 + 9 * MSS), ACK | CWR);
    (cwr.data, cwr.ack) = (MSS, 8);
    wire.take(&cwr);
    // Under way when CWR was sent.
    send(&mut wire, 60, 4);
    send(&mut wire, 62, 9);
    wire.data(63, 10);
    let peer = &wire.connection.sides[1];
    let episodes = peer.episodes.report().expect("one");
    assert_eq!((episodes.n, episodes.mean, peer.ece), (1, 5.0, 3));
}

#[test]
fn a_capture_that_begins_late_misses_nothing() {
    let mut connection = Connection::default();
    let mut ack = segment(0, false, 900, ACK);
    ack.ack = 5000;
    connection.segment(&ack, &Options::default(), &mut budget());
    for n in 0..4_u32 {
        let mut data = segment(u64::from(n), true, 7000 + n * MSS, ACK);
        (data.data, data.ack) = (MSS, 900);
        connection.segment(&data, &Options::default(), &mut budget());
        ack.at = data.at + MS;
        ack.ack = 6000 + n * MSS;
        connection.segment(&ack, &Options::default(), &mut budget());
    }
    assert_eq!(connection.sides[0].board.missing(), 0);
    assert_eq!(connection.sides[0].losses.counts.all, 0);
    assert_eq!(connection.sides[1].acks.bytes, 4000);
    assert_eq!(connection.sides[0].window.count(), 0, "the scale is not known");
}

#[test]
fn one_direction_gives_its_own_numbers() {
    let mut wire = Wire::new(true);
    wire.connection = Connection::default();
    (0..100).for_each(|n| wire.send(30 + u64::from(n), n));
    wire.data(300, 5);
    let opener = wire.opener();
    assert_eq!(
        (opener.losses.counts.all, opener.board.missing(), opener.rtt_ms.count()),
        (1, 0, 0)
    );
    let mut wire = Wire::new(true);
    wire.connection = Connection::default();
    (0..100).for_each(|n| wire.ack(30 + u64::from(n), n, &[]));
    let [opener, peer] = &wire.connection.sides;
    assert_eq!((opener.board.missing(), peer.acks.bytes), (0, 99 * u64::from(MSS)));
}

proptest! {
    /// Over any number of bytes, wraps included, everything sent is acknowledged and nothing is anything else.
    #[test]
    fn long_transfers_have_no_losses(len in 1..60_000_u32, n in 1..300_u32, every in 1..5_u32) {
        let mut wire = Wire::new(true);
        for i in 0..n {
            wire.bytes(30 + u64::from(i), i.wrapping_mul(len), len);
            if i % every == 0 {
                let mut ack = segment(50 + u64::from(i), false, 8, ACK);
                ack.ack = Wire::ISN.wrapping_add(1).wrapping_add((i + 1).wrapping_mul(len));
                wire.take(&ack);
            }
        }
        let acked = u64::from((n - 1) / every * every + 1) * u64::from(len);
        prop_assert_eq!(wire.connection.sides[1].acks.bytes, acked);
        prop_assert_eq!(wire.counts(), counts(0));
        let left = u64::from(n) * u64::from(len) - acked;
        prop_assert_eq!(wire.opener().board.in_flight(), left);
        let events = &wire.connection.events;
        prop_assert_eq!(events.seq.iter().max(), Some(&(1 + i64::from(n - 1) * i64::from(len))));
    }

    /// Whatever segments come: each is counted once, data is new, again, late or a probe, and memory is bounded.
    #[test]
    fn arbitrary_segments_are_counted(
        parts in prop::collection::vec(
            (any::<bool>(), 0..40_000_u32, 0..40_000_u32, any::<u16>(), 0..3000_u32, any::<(u32, u32)>(), 0..4_usize),
            1..300,
        ),
    ) {
        let mut connection = Connection::default();
        let mut budget = budget();
        let mut data = 0;
        for (at, &(forward, seq, ack, flags, len, other, n)) in parts.iter().enumerate() {
            let mut part = segment(at as u64, forward, seq, flags & 0x1ff);
            let mut blocks = Blocks::default();
            (0..n as u32).for_each(|i| blocks.push((other.0 % 40_000, (other.1 ^ i) % 40_000)));
            (part.data, part.ack, part.id) = (len, ack, other.0 as u16);
            let options = Options { sack: blocks, ..Options::default() };
            part.timestamps = (n > 1).then_some(other);
            connection.segment(&part, &options, &mut budget);
            data += u64::from(len > 0);
        }
        let packets: u64 = connection.sides.iter().map(|side| side.stream.packets).sum();
        prop_assert_eq!(packets, parts.len() as u64);
        let counted: u64 = connection.sides.iter().map(|side| side.stream.data_packets).sum();
        prop_assert_eq!(counted, data);
        for side in &connection.sides {
            let of = side.losses.counts;
            prop_assert_eq!(of.all, of.fast + of.rto + of.tlp + of.other);
            prop_assert!(of.spurious <= of.all);
            prop_assert!(of.all + side.reordered + side.probes + side.captured_twice <= side.stream.data_packets);
        }
        prop_assert_eq!(connection.events.t_ns.len(), parts.len());
    }
}
