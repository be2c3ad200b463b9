use sojourn_core::{Dur, Ecn, Time};

use super::*;
use crate::clock::Clock;
use crate::wait::{Interest, wait};

/// A receiver and a sender that is connected to it.
fn pair(is_v6: bool, tos: u8, gro: bool) -> (Socket, Socket) {
    let opening = Opening { is_v6, ..Opening::default() };
    let rx = Socket::open(&Opening { gro, ..opening.clone() }).expect("a receiver");
    let tx = Socket::open(&Opening { tos, ..opening }).expect("a sender");
    let port = rx.local_addr().expect("bound").port();
    let host = if is_v6 { "::1" } else { "127.0.0.1" };
    tx.connect(look_up(host, port, None).expect("an address")).expect("loopback");
    (rx, tx)
}

/// Waits for `wanted` datagrams: codepoint, first byte, length of each.
fn take(rx: &Socket, clock: Clock, wanted: usize) -> Vec<(Ecn, u8, usize)> {
    let mut inbox = Inbox::new(8, 65_536);
    let mut taken = Vec::new();
    while taken.len() < wanted {
        let until = Some(clock.now() + Dur::from_secs(5));
        wait(rx.as_fd(), None, Interest::Reading, until, clock).expect("poll");
        let n = inbox.receive(rx.as_fd(), clock).expect("a socket");
        assert!(n > 0, "nothing more within 5 s after {taken:?}");
        for d in inbox.datagrams() {
            assert!(d.at <= clock.now() && d.at > Time(0));
            taken.push((d.ecn, d.bytes[0], d.bytes.len()));
        }
    }
    taken
}

fn codepoints_arrive(is_v6: bool) {
    for gso in [1, 8] {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let clock = Clock::start();
            let (rx, tx) = pair(is_v6, ecn.on_tos(0), true);
            let mut outbox = Outbox::new(64, 1500);
            for n in 0..20 {
                // Nineteen of one size and a short one.
                outbox.push([n; 12], if n == 19 { 100 } else { 1200 });
            }
            outbox.send(tx.as_fd(), gso).expect("sent");
            assert!(outbox.is_empty());
            let wanted: Vec<_> =
                (0..20).map(|n| (ecn, n, if n == 19 { 112 } else { 1212 })).collect();
            assert_eq!(take(&rx, clock, 20), wanted, "{gso} at once");
        }
    }
}

#[test]
fn each_codepoint_arrives_as_it_was_sent_in_bundles_or_not() {
    codepoints_arrive(false);
}

#[test]
#[cfg_attr(not(ipv6), ignore = "no IPv6 on loopback")]
fn each_codepoint_arrives_as_it_was_sent_over_ipv6() {
    codepoints_arrive(true);
}

#[test]
fn a_socket_of_both_families_reads_the_codepoint_of_ipv4() {
    let clock = Clock::start();
    let both = Opening { is_v6: true, ..Opening::default() };
    let rx = Socket::open(&both).expect("a receiver");
    let port = rx.local_addr().expect("bound").port();
    let tx = Socket::open(&Opening { tos: 1, ..Opening::default() }).expect("a sender");
    tx.connect((Ipv4Addr::LOCALHOST, port).into()).expect("loopback");
    tx.send(&[7; 30]).expect("sent");
    assert_eq!(take(&rx, clock, 1), [(Ecn::Ect1, 7, 30)]);
}

fn goes_where_it_is_addressed(host: &str) {
    let clock = Clock::start();
    let opening = Opening { is_v6: host == "::1", ..Opening::default() };
    let rx = Socket::open(&opening).expect("a receiver");
    let tx = Socket::open(&opening).expect("a sender");
    let port = rx.local_addr().expect("bound").port();
    let mut outbox = Outbox::new(4, 1500);
    outbox.address(look_up(host, port, None).expect("an address"));
    outbox.push([5; 12], 8);
    assert_eq!(outbox.send(tx.as_fd(), 1).ok(), Some(true));
    assert_eq!(take(&rx, clock, 1), [(Ecn::NotEct, 5, 20)]);
}

#[test]
fn packets_of_an_unconnected_socket_go_where_they_are_addressed() {
    goes_where_it_is_addressed("127.0.0.1");
}

#[test]
#[cfg_attr(not(ipv6), ignore = "no IPv6 on loopback")]
fn packets_of_an_unconnected_socket_go_where_they_are_addressed_over_ipv6() {
    goes_where_it_is_addressed("::1");
}

#[test]
fn own_addresses_are_known() {
    assert!(is_own("127.0.0.1:9".parse().unwrap()));
    assert_eq!(is_own("[::1]:9".parse().unwrap()), cfg!(ipv6));
    assert!(!is_own("192.0.2.1:9".parse().unwrap()));
}

#[test]
fn names_and_addresses_are_looked_up() {
    assert_eq!(look_up("127.0.0.1", 5, None).unwrap().to_string(), "127.0.0.1:5");
    assert_eq!(look_up("[::1]", 5, None).unwrap().to_string(), "[::1]:5");
    assert!(look_up("localhost", 5, Some(false)).unwrap().is_ipv4());
    assert_eq!(look_up("::1", 5, Some(false)).unwrap_err(), "::1: has no IPv4 address");
    assert!(
        look_up("no.such.name.invalid", 5, None).unwrap_err().starts_with("no.such.name.invalid: ")
    );
}
