use super::*;
use crate::aqm::{Env, Event};
use crate::qdiscs::build;
use sojourn_core::packet::Kind;
use sojourn_core::units::Time;

/// Numbers from 1 of those of `packets` that the element drops.
fn dropped(options: &str, packets: impl IntoIterator<Item = Packet>) -> Vec<usize> {
    let mut q = build(&format!("drop {options}"), Env::ethernet(Rng::named(1, "t"))).unwrap();
    let (mut log, mut gone) = (Log::default(), Vec::new());
    for (n, pkt) in (1..).zip(packets) {
        q.enqueue(Time::ZERO, pkt, &mut log);
        match (q.dequeue(Time::ZERO, &mut log), log.drain().next()) {
            (Some(_), None) => {}
            (None, Some(Event::Drop(_, Reason::Loss))) => gone.push(n),
            other => panic!("{other:?}"),
        }
    }
    gone
}

fn data(n: usize) -> impl Iterator<Item = Packet> {
    std::iter::repeat_n(Packet { len: 1514, tos: 2, ..Packet::default() }, n)
}

// Periodic, Nth packet, list, burst.
#[test]
fn numbered_drops_hit_exactly_the_packets_that_they_name() {
    assert_eq!(dropped("every 4", data(13)), [4, 8, 12]);
    assert_eq!(dropped("every 1", data(3)), [1, 2, 3]);
    assert_eq!(dropped("every 4 burst 2", data(13)), [4, 5, 8, 9, 12, 13]);
    assert_eq!(dropped("nth 7", data(20)), [7]);
    assert_eq!(dropped("nth 7 burst 3", data(20)), [7, 8, 9]);
    assert_eq!(dropped("list 9,2,3,2", data(20)), [2, 3, 9]);
    assert_eq!(dropped("all", data(3)), [1, 2, 3]);
}

// Bernoulli.
#[test]
fn random_drops_meet_their_probability_and_are_independent() {
    let gone = dropped("percent 10%", data(50_000));
    // Six standard deviations of 67.
    assert!(gone.len().abs_diff(5000) < 403, "{}", gone.len());
    let pairs = gone.windows(2).filter(|w| w[1] == w[0] + 1).count();
    assert!(pairs.abs_diff(500) < 135, "{pairs} follow one another");
    assert_eq!(dropped("percent 0%", data(1000)), [0_usize; 0]);
    assert_eq!(dropped("percent 100%", data(9)).len(), 9);
}

// Selectable by codepoint and payload.
#[test]
fn only_selected_packets_are_counted_and_dropped() {
    let kinds = [Kind::TcpAck, Kind::TcpData, Kind::Icmp, Kind::TcpControl, Kind::Udp];
    let mixed = || {
        (0..40_u8).map(|i| Packet {
            kind: kinds[usize::from(i) % 5],
            tos: i / 10,
            ..data(1).next().unwrap()
        })
    };
    // Data are 2, 5, 7, 10, 12 ...
    assert_eq!(dropped("data nth 3", mixed()), [7]);
    assert_eq!(dropped("no-data nth 3", mixed()), [4]);
    assert_eq!(dropped("proto icmp ect1", mixed()), [13, 18]);
    assert_eq!(dropped("ect1 ect0 ack list 1,4", mixed()), [11, 26]);
    assert_eq!(dropped("ce every 5", mixed()), [35, 40]);
    assert_eq!(dropped("proto udp not-ect rule proto tcp data ce", mixed()), [5, 10, 32, 37]);
}

#[test]
fn a_packet_that_one_rule_drops_is_not_counted_by_the_next() {
    assert_eq!(dropped("rule every 2 rule nth 3", data(8)), [2, 4, 5, 6, 8]);
}

#[test]
fn nothing_to_drop_is_a_mistake() {
    let error = build("drop", Env::ethernet(Rng::named(1, "t"))).err().unwrap();
    assert_eq!(error.0, "drop: expected what to drop, such as `percent 1%` or `all`");
}
