use proptest::prelude::*;

use super::super::header::{Packet, Packets};
use super::*;

const DESTINATION: &str = "8394c8f03e515708";

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digit).collect()
}

fn keys(version: u32) -> [Keys; 2] {
    Keys::new(version, &Id::new(&hex(DESTINATION)).expect("eight bytes"))
}

fn long(bytes: &[u8], len: usize) -> Long<'_> {
    match Packets::new(bytes, len).next() {
        Some(Packet::Long(long)) => long,
        other => panic!("{other:?}"),
    }
}

/// Packet number 1: an ACK frame of packet 0, and CRYPTO.
const SERVER_TEXT: &str = "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739\
    88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d\
    1081287c834d5311bcf32bb9da1a002b00020304";
const SERVER_V1: &str = "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a\
    5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7dde\
    b9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456\
    cbc42158407dd074ee";
const SERVER_V2: &str = "dc6b3343cf0008f067a5502a4262b5004075d92faaf16f05d8a4398c47089698\
    baeea26b91eb761d9b89237bbf87263017915358230035f7fd3945d88965cf17f9af6e16886c61bfc703106fbaf3cb\
    4cfa52382dd16a393e42757507698075b2c984c707f0a0812d8cd5a6881eaf21ceda98f4bd23f6fe1a3e2c43edd9ce\
    7ca84bed8521e2e140";

// KAT quic 1
#[test]
fn the_servers_initial_of_rfc_9001_is_opened() {
    let packet = hex(SERVER_V1);
    let opened = keys(V1)[1].open(&long(&packet, packet.len())).expect("its keys");
    let acks = Acks { frames: [1, 0], packets: 1, ecn: None };
    assert_eq!(opened, Opened { number: 1, acks, has_crypto: true });
    let sealed =
        keys(V1)[1].seal(&hex("c1000000010008f067a5502a4262b50040750001"), 2, &hex(SERVER_TEXT));
    assert_eq!(sealed, packet);
    assert_eq!(keys(V1)[0].open(&long(&packet, packet.len())), None, "the client's keys");
    assert_eq!(keys(V2)[1].open(&long(&packet, packet.len())), None, "of another version");
}

// KAT quic 2
#[test]
fn the_servers_initial_of_rfc_9369_is_opened() {
    let packet = hex(SERVER_V2);
    let opened = keys(V2)[1].open(&long(&packet, packet.len())).expect("its keys");
    assert_eq!((opened.number, opened.acks.frames), (1, [1, 0]));
}

/// The client's CRYPTO frame of RFC 9001 A.2, followed by PADDING.
const CLIENT_TEXT: &str = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868\
    04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578616d706c652e636f6dff0100010000\
    0a00080006001d0017001800100007000504616c706e000500050100000000003300260024001d00209370b2c9caa4\
    7fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203\
    080408050806002d00020101001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff080110\
    0104800075300901100f088394c8f03e51570806048000ffff";

fn client() -> Vec<u8> {
    let mut text = hex(CLIENT_TEXT);
    text.resize(1162, 0);
    keys(V1)[0].seal(&hex("c300000001088394c8f03e5157080000449e00000002"), 4, &text)
}

// KAT quic 3
#[test]
fn the_clients_initial_of_rfc_9001_is_opened() {
    let packet = client();
    let begin = hex("c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b");
    assert!(
        packet.starts_with(&begin) && packet.ends_with(&hex("e221af44860018ab0856972e194cd934"))
    );
    let opened = keys(V1)[0].open(&long(&packet, packet.len())).expect("its keys");
    assert_eq!((opened.number, opened.has_crypto), (2, true));
}

#[test]
fn what_a_capture_keeps_of_an_initial_is_read() {
    let (server, client) = (hex(SERVER_V1), client());
    for kept in 45..server.len() {
        let opened = keys(V1)[1].open(&long(&server[..kept], server.len()));
        assert_eq!(opened.map(|it| (it.number, it.acks.frames)), Some((1, [1, 0])), "{kept}");
    }
    let opened = keys(V1)[0].open(&long(&client[..86], client.len()));
    assert!(opened.is_some_and(|it| it.has_crypto));
    assert_eq!(keys(V1)[1].open(&long(&client[..86], client.len())), None);
}

#[test]
fn a_changed_byte_is_noticed() {
    let packet = hex(SERVER_V1);
    for at in 20..packet.len() {
        let mut other = packet.clone();
        other[at] ^= 1;
        assert_eq!(keys(V1)[1].open(&long(&other, other.len())), None, "{at}");
    }
}

// RFC 9000 19.3.
#[test]
fn counts_and_ranges_of_acknowledgements_are_read() {
    // Largest 9, delay 0, two more ranges: 9 to 8, 5, 2 to 0; ECT(0) 1, ECT(1) 3, CE 2.
    let text = [0, 1, 3, 9, 0, 2, 1, 1, 0, 1, 2, 1, 3, 2, 0, 0];
    let frames = Frames::read(&text, true).expect("frames");
    assert_eq!(frames.acks, Acks { frames: [0, 1], packets: 6, ecn: Some([1, 3, 2]) });
    for end in 3..14 {
        assert_eq!(Frames::read(&text[..end], true), None, "{end} bytes");
    }
    assert_eq!(Frames::read(&[0x1e], true), None, "HANDSHAKE_DONE is not for Initial packets");
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), more in 0..1000_usize) {
        let _ = Frames::read(&bytes, more == 0);
        for packet in Packets::new(&bytes, bytes.len() + more) {
            if let Packet::Long(packet) = packet {
                let keys = Keys::new(packet.version, &packet.destination);
                let _ = keys[0].open(&packet);
            }
        }
    }
}
