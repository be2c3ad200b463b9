use super::*;

fn addr(n: u8) -> SocketAddr {
    ([10, 0, 0, n], 5000).into()
}

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

/// A session of address 1 whose last packet is number 99 at 99 ms.
fn session() -> Peer {
    let mut peer = Peer::new(None);
    for n in 0..100 {
        let expected = if n == 0 { Source::Learned } else { Source::Peer };
        assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), expected);
    }
    peer
}

#[test]
fn a_live_session_cannot_be_taken_over() {
    let mut peer = session();
    for n in 100..1000 {
        // Both send, the other with the very numbers that come next.
        assert_eq!(peer.judge(ms(n), addr(2), 100, n as u16), Source::Unknown);
        assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), Source::Peer);
    }
    assert_eq!((peer.addr(), peer.unknown()), (Some(addr(1)), 900));
}

#[test]
fn a_sender_that_moved_goes_on_after_five_packets_and_a_silence() {
    let mut peer = session();
    let took = (100..1000).find(|n| {
        let source = peer.judge(ms(*n), addr(2), 100, *n as u16);
        assert!([Source::Unknown, Source::Moved].contains(&source));
        source == Source::Moved
    });
    assert_eq!(took, Some(99 + 200), "200 ms after the old address's last packet");
    assert!(peer.is(addr(2)) && !peer.is(addr(1)));
}

#[test]
fn a_source_that_does_not_know_the_numbers_has_to_wait_for_the_end() {
    for (ssrc, first) in [(100, 30_000_u16), (100, 50), (7, 100)] {
        let mut peer = session();
        let took = (1..400_u16).find(|n| {
            let now = ms(99 + 10 * u64::from(*n));
            peer.judge(now, addr(2), ssrc, first.wrapping_add(*n)) == Source::Next
        });
        assert_eq!(took, Some(200), "2 s of silence: SSRC {ssrc}, from {first}");
    }
}

#[test]
fn packets_out_of_sequence_prove_nothing() {
    let mut peer = session();
    for n in 0..100_u16 {
        let source = peer.judge(ms(5000 + u64::from(n)), addr(2), 100, n.wrapping_mul(997));
        assert_eq!(source, Source::Unknown);
    }
}

#[test]
fn a_flood_of_invented_sources_neither_wins_nor_keeps_the_sender_out() {
    let mut peer = session();
    let mut took = false;
    for n in 0..100_u16 {
        let now = ms(5000 + u64::from(n));
        for flood in 0..50 {
            let from = SocketAddr::from(([192, 0, 2, flood], 1000 + n));
            assert_eq!(peer.judge(now, from, 100, 100 + n), Source::Unknown);
        }
        took |= peer.judge(now, addr(2), 100, 100 + n) == Source::Moved;
        if took {
            break;
        }
    }
    assert!(took);
}

#[test]
fn one_packet_from_elsewhere_at_the_start_does_not_lock_the_sender_out() {
    let mut peer = Peer::new(None);
    assert_eq!(peer.judge(ms(0), addr(66), 1, 1), Source::Learned);
    let took = (0..10).find(|n| peer.judge(ms(*n), addr(1), 100, *n as u16) == Source::Next);
    assert_eq!(took, Some(4));
}

#[test]
fn a_named_sender_is_the_only_one_but_may_use_any_port() {
    let mut peer = Peer::new(Some(addr(1).ip()));
    assert_eq!(peer.judge(ms(0), addr(2), 100, 0), Source::Unknown);
    let natted = SocketAddr::new(addr(1).ip(), 61_234);
    assert_eq!(peer.judge(ms(1), natted, 100, 0), Source::Learned);
    assert_eq!(peer.addr(), Some(natted));
}

/// When address 2, which sends from 99 ms on every 10 ms, has the session; ms.
fn follows(mut peer: Peer, mut on: impl FnMut(&mut Peer, Time)) -> u64 {
    let mut times = (99..4000).step_by(10);
    let taken = times.find(|n| {
        on(&mut peer, ms(*n));
        peer.judge(ms(*n), addr(2), 100, (n / 10) as u16 + 40_000) == Source::Next
    });
    taken.expect("a session") - 99
}

#[test]
fn a_sender_that_announced_its_end_is_followed_at_once() {
    let mut peer = session();
    peer.ends(addr(1));
    assert_eq!(follows(peer, |_, _| ()), 100);
    // What a stranger says of it does not count.
    let mut peer = session();
    peer.ends(addr(2));
    assert_eq!(follows(peer, |_, _| ()), 2000);
}

#[test]
fn the_same_port_begins_anew_after_the_end_and_stragglers_do_not() {
    let mut peer = session();
    peer.ends(addr(1));
    assert_eq!(peer.judge(ms(120), addr(1), 100, 98), Source::Peer);
    assert_eq!(peer.judge(ms(199), addr(1), 100, 0), Source::Next);
    assert_eq!(peer.judge(ms(200), addr(1), 100, 1), Source::Peer);
}

#[test]
fn a_run_after_a_crash_on_the_same_port_is_another_session() {
    let mut peer = session();
    assert_eq!(peer.judge(ms(100), addr(1), 100, 9000), Source::Peer);
    let next = (0..100).find(|n| {
        let source = peer.judge(ms(150 + 10 * n), addr(1), 100, *n as u16);
        assert!([Source::Peer, Source::Next].contains(&source));
        source == Source::Next
    });
    assert_eq!(next, Some(5), "100 ms after the last packet of the run before");
    // Old packets beside new ones are none.
    for n in 0..1000 {
        assert_eq!(peer.judge(ms(300 + n), addr(1), 100, 5000 + n as u16), Source::Peer);
        assert_eq!(peer.judge(ms(300 + n), addr(1), 100, n as u16), Source::Peer);
    }
}

#[test]
fn a_forged_end_does_not_give_a_live_session_away() {
    let mut peer = session();
    for n in 100..1000 {
        peer.ends(addr(1));
        for burst in 0..10 {
            let seq = (n * 10 + burst) as u16;
            assert_eq!(peer.judge(ms(n), addr(2), 100, seq), Source::Unknown);
        }
        assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), Source::Peer);
    }
}

#[test]
fn who_answers_the_challenge_waits_for_300_ms() {
    let answer = |peer: &mut Peer, now| {
        if let Some(challenge) = peer.challenge(now, addr(2)) {
            peer.answers(addr(2), challenge);
        }
    };
    assert_eq!(follows(session(), answer), 300);
    // From another address, or with another number, it is no answer.
    let wrong = |peer: &mut Peer, now| {
        if let Some(challenge) = peer.challenge(now, addr(2)) {
            peer.answers(addr(3), challenge);
            peer.answers(addr(2), challenge ^ 1);
        }
    };
    assert_eq!(follows(session(), wrong), 2000);
}

#[test]
fn challenges_are_few_however_many_addresses_send() {
    let mut peer = session();
    let mut notified = 0;
    for n in 0..10_000_u16 {
        let now = ms(100 + u64::from(n) / 10);
        let from = SocketAddr::from(([192, 0, 2, n as u8], n));
        assert_eq!(peer.judge(now, addr(1), 100, 100 + n), Source::Peer);
        assert_eq!(peer.judge(now, from, 100, n), Source::Unknown);
        notified += u32::from(peer.challenge(now, from).is_some());
    }
    assert!(notified <= 120, "{notified} in a second: a burst of 100, then 10 a second");
}

#[test]
fn reports_are_never_larger_than_what_came() {
    let mut peer = session();
    assert!(!peer.can_pay(0), "nothing came yet");
    let (mut earned, mut paid) = (0, 0);
    for n in 0..10_000 {
        peer.earn(40);
        earned += 40 + 28;
        if peer.can_pay(964) {
            peer.pay(148 + n % 800);
            paid += 148 + n % 800 + 28;
        }
        assert!(paid <= earned);
    }
    assert!(paid > earned * 9 / 10, "and what came is enough for them: {paid} of {earned}");
}
