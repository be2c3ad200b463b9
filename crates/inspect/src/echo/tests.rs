use super::*;

const MS: u64 = 1_000_000;

fn icmp(kind: u8, seq: u8) -> [u8; 8] {
    [kind, 0, 0, 0, 7, 7, 0, seq]
}

#[test]
fn an_echo_is_answered_by_identifier_and_number() {
    let mut echoes = Echoes::default();
    echoes.on_icmp(0, true, &icmp(8, 1));
    echoes.on_icmp(10 * MS, true, &icmp(8, 2));
    echoes.on_icmp(25 * MS, false, &icmp(0, 2));
    echoes.on_icmp(30 * MS, false, &icmp(0, 1));
    echoes.on_icmp(31 * MS, false, &icmp(0, 1)); // a copy
    echoes.on_icmp(40 * MS, false, &icmp(3, 1)); // no echo
    let [(asked, rtt), (back, _)] = echoes.finish();
    let of = rtt.distribution().expect("two answers");
    assert_eq!((asked, back, of.n, of.min, of.max), (2, 0, 2, 15.0, 30.0));
}

#[test]
fn a_question_asked_twice_has_no_round_trip() {
    let mut echoes = Echoes::default();
    let question = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let answer = [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    for at in [0, 5000 * MS] {
        echoes.on_udp(at, true, [4000, 53], &question);
    }
    echoes.on_udp(5010 * MS, false, [53, 4000], &answer);
    echoes.on_udp(6000 * MS, true, [4000, 53], &question);
    echoes.on_udp(6012 * MS, false, [53, 4000], &answer);
    let [(asked, rtt), _] = echoes.finish();
    assert_eq!((asked, rtt.count(), rtt.mean()), (3, 1, 12.0));
}

#[test]
fn stun_and_ntp_name_what_they_answer() {
    let mut echoes = Echoes::default();
    let mut stun = [0; 20];
    stun[1] = 1;
    stun[4..8].copy_from_slice(&STUN_COOKIE);
    echoes.on_udp(0, false, [1, 2], &stun);
    stun[0] = 1;
    echoes.on_udp(3 * MS, true, [2, 1], &stun);
    let (mut client, mut server) = ([0; 48], [0; 48]);
    (client[0], client[40], server[0], server[24]) = (0x23, 9, 0x24, 9);
    echoes.on_udp(0, true, [123, 123], &client);
    echoes.on_udp(8 * MS, false, [123, 123], &server);
    let [(_, forward), (_, backward)] = echoes.finish();
    assert_eq!((forward.mean(), backward.mean()), (8.0, 3.0));
}

#[test]
fn questions_without_answers_have_a_bound() {
    let mut echoes = Echoes::default();
    for seq in 0..100_000_u32 {
        let [.., a, b] = seq.to_be_bytes();
        echoes.on_icmp(0, true, &[8, 0, 0, 0, 0, 0, a, b]);
    }
    assert_eq!(echoes.open.len(), MOST_OPEN);
}
