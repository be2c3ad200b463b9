use proptest::prelude::*;

use super::*;

const CLIENT: [u8; 4] = [1, 2, 3, 4];
const SERVER: [u8; 3] = [9, 9, 9];
const FIRST: [u8; 8] = [7; 8];

/// An Initial packet of version 1 with the keys of the client's first connection ID.
fn initial(by_client: bool, number: u8, first: &[u8], frames: &[u8]) -> Vec<u8> {
    let keys = Keys::new(header::V1, &Id::new(first).expect("short"));
    let (destination, source) =
        if by_client { (first, &CLIENT[..]) } else { (&CLIENT[..], &SERVER[..]) };
    let mut text = frames.to_vec();
    text.resize(text.len().max(20), 0);
    let mut header = vec![0xc0, 0, 0, 0, 1];
    for id in [destination, source] {
        header.push(id.len() as u8);
        header.extend(id);
    }
    header.extend([0, 0x40, (1 + text.len() + 16) as u8, number]);
    keys[usize::from(!by_client)].seal(&header, 1, &text)
}

/// An ACK frame of `packets` packets from 0 on with these counts.
fn ack(packets: u8, counts: Option<[u8; 3]>) -> Vec<u8> {
    let head = [if counts.is_some() { 3 } else { 2 }, packets - 1, 0, 0, packets - 1];
    [&head[..], &counts.map_or(Vec::new(), |counts| counts.to_vec())].concat()
}

const CRYPTO: [u8; 8] = [6, 0, 5, 1, 2, 3, 4, 5];

/// What is found of a client that sends three Initial packets with this codepoint, of which the server says so.
fn handshake(sent: Ecn, counts: Option<[u8; 3]>) -> Quic {
    let mut connection = Connection::default();
    let mut see =
        |at, forward, bytes: &[u8], ecn| connection.on_packet(at, forward, bytes, bytes.len(), ecn);
    assert!(
        see(1_000_000, true, &initial(true, 0, &FIRST, &CRYPTO), sent),
        "known by its first packet"
    );
    see(2_000_000, true, &initial(true, 1, &FIRST, &CRYPTO), sent);
    see(2_000_000, true, &initial(true, 2, &FIRST, &CRYPTO), sent);
    let answer = [ack(3, counts), CRYPTO.to_vec()].concat();
    see(21_000_000, false, &initial(false, 0, &FIRST, &answer), Ecn::NotEct);
    connection.finish().expect("QUIC")
}

// RFC 9000 13.4.2.1.
#[test]
fn counts_in_initial_packets_say_what_the_path_does() {
    let cases = [
        (Ecn::Ect1, Some([0, 3, 0]), Some(EcnValidation::Confirmed)),
        (Ecn::Ect1, Some([0, 1, 2]), Some(EcnValidation::Marked)),
        (Ecn::Ect0, None, Some(EcnValidation::Uncounted)),
        (Ecn::Ect0, Some([1, 0, 1]), Some(EcnValidation::Uncounted)),
        (Ecn::Ect1, Some([3, 0, 0]), Some(EcnValidation::Remarked)),
        (Ecn::NotEct, Some([0, 1, 0]), Some(EcnValidation::Remarked)),
        (Ecn::NotEct, None, None),
    ];
    for (sent, counts, expected) in cases {
        let quic = handshake(sent, counts);
        assert_eq!(quic.validation, [expected, None], "{sent:?} {counts:?}");
        assert_eq!(quic.initial_ecn, [None, counts.map(|counts| counts.map(u64::from))]);
    }
}

#[test]
fn a_handshake_shows_ids_and_a_round_trip() {
    let quic = handshake(Ecn::NotEct, None);
    assert_eq!(quic.original_connection_id.as_deref(), Some("0707070707070707"));
    assert_eq!(quic.connection_ids, [vec!["01020304".to_owned()], vec!["090909".to_owned()]]);
    assert_eq!((quic.version, quic.handshake_rtt_ms), (1, Some(20.0)));
    assert_eq!((quic.initials_opened, quic.long_types), (4, [4, 0, 0, 0]));
}

// RFC 9001 5.2: keys after a Retry are those of its connection ID.
#[test]
fn a_retry_changes_the_keys() {
    let mut connection = Connection::default();
    let mut see =
        |forward, bytes: &[u8]| connection.on_packet(0, forward, bytes, bytes.len(), Ecn::NotEct);
    see(true, &initial(true, 0, &FIRST, &CRYPTO));
    let retry = [&[0xf0, 0, 0, 0, 1, 4][..], &CLIENT, &[3], &SERVER, &[5; 30]].concat();
    see(false, &retry);
    see(true, &initial(true, 1, &SERVER, &CRYPTO));
    see(false, &initial(false, 0, &SERVER, &ack(1, None)));
    let quic = connection.finish().expect("QUIC");
    assert_eq!(
        (quic.initials_opened, quic.initials_unopened, quic.long_types),
        (3, 0, [3, 0, 0, 1])
    );
}

#[test]
fn ends_that_answer_each_others_ids_are_recognised_without_keys() {
    let mut connection = Connection::default();
    let packet = |to: &[u8], from: &[u8]| {
        let mut bytes = vec![0xe0, 0, 0, 0, 1];
        for id in [to, from] {
            bytes.push(id.len() as u8);
            bytes.extend(id);
        }
        bytes.extend([0x40, 100]);
        bytes.resize(bytes.len() + 100, 1);
        bytes
    };
    let (first, second) = (packet(&SERVER, &CLIENT), packet(&CLIENT, &SERVER));
    assert!(!connection.on_packet(0, true, &first, first.len(), Ecn::NotEct));
    assert!(connection.on_packet(1, false, &second, second.len(), Ecn::NotEct));
}

proptest! {
    #[test]
    fn random_datagrams_are_not_quic(packets in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..100), 1..50),
    ) {
        let mut connection = Connection::default();
        for (at, mut bytes) in packets.into_iter().enumerate() {
            if let [first, a, b, c, d, ..] = &mut bytes[..] {
                // As near to it as chance comes.
                (*first, *a, *b, *c, *d) = (*first | 0xc0, 0, 0, 0, 1);
            }
            connection.on_packet(at as u64, at % 2 == 0, &bytes, bytes.len(), Ecn::NotEct);
        }
        prop_assert!(!connection.is_recognised());
    }
}
