use super::*;
use crate::aqm::Event;
use crate::qdiscs::{build, change};
use sojourn_core::rng::Rng;

fn make(options: &str) -> Box<dyn Qdisc> {
    build(&format!("ackthin {options}"), crate::aqm::Env::ethernet(Rng::named(1, "t"))).unwrap()
}

/// ACK number `id` of flow 1, which acknowledges 1000 bytes more than the one before.
fn ack(id: u32) -> Packet {
    let flow = FlowId(1);
    Packet { id, flow, hash: 7, len: 66, kind: Kind::TcpAck, ack: id * 1000, ..Packet::default() }
}

/// Gives `pkt` at `now`: ids that leave at once.
fn give(q: &mut dyn Qdisc, now: Time, pkt: Packet) -> Vec<u32> {
    let mut log = Log::default();
    q.enqueue(now, pkt, &mut log);
    for event in log.drain() {
        assert!(matches!(event, Event::Drop(p, Reason::AckFilter) if p.kind == Kind::TcpAck));
    }
    take(q, now)
}

fn take(q: &mut dyn Qdisc, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| q.dequeue(now, &mut Log::default())).map(|p| p.id).collect()
}

fn wake(q: &mut dyn Qdisc) -> (u64, Vec<u32>) {
    let now = q.wake();
    q.on_wake(now, &mut Log::default());
    assert!(q.wake() > now);
    (now.0 / 1_000_000, take(q, now))
}

fn all(q: &mut dyn Qdisc, acks: impl IntoIterator<Item = Packet>) -> Vec<u32> {
    acks.into_iter().flat_map(|pkt| give(q, Time::ZERO, pkt)).collect()
}

#[test]
fn one_in_n_passes_and_the_first_of_a_flow() {
    assert_eq!(all(&mut *make(""), (0..6).map(ack)), [0, 2, 4]);
    assert_eq!(all(&mut *make("every 4"), (0..13).map(ack)), [0, 4, 8, 12]);
    assert_eq!(all(&mut *make("every 2 careless"), (0..6).map(ack)), [1, 3, 5]);
    assert_eq!(all(&mut *make("every 1"), (0..3).map(ack)), [0, 1, 2]);
    let mut q = make("every 3");
    all(&mut *q, (0..8).map(ack));
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!((stats.value("acks"), stats.value("ack_drops")), (Some(8.0), Some(5.0)));
}

#[test]
fn the_newest_ack_takes_the_place_of_the_held_one() {
    let mut q = make("hold 5ms");
    let at = |us: u64| Time(us * 1000);
    assert_eq!(give(&mut *q, at(0), ack(0)), [0]);
    for (us, id) in [(1000, 1), (3000, 2), (5999, 3)] {
        assert_eq!(give(&mut *q, at(us), ack(id)), [0_u32; 0]);
        assert_eq!(q.backlog(), Backlog { packets: 1, bytes: 66 });
    }
    assert_eq!(wake(&mut *q), (6, vec![3]), "5 ms after the first that was held");
    assert_eq!((q.wake(), q.backlog().packets), (Time::NEVER, 0));
    assert_eq!(give(&mut *q, at(7000), ack(4)), [0_u32; 0]);
    assert_eq!(wake(&mut *q), (12, vec![4]));
}

#[test]
fn every_and_hold_together_release_at_whichever_comes_first() {
    let mut q = make("every 3 hold 5ms");
    assert_eq!(all(&mut *q, (0..9).map(ack)), [0, 3, 6]);
    assert_eq!(wake(&mut *q), (5, vec![8]), "the two after the last that passed");
    assert_eq!(q.backlog().packets, 0);
}

#[test]
fn changed_feedback_passes_at_once_behind_what_was_held() {
    let ace = |mut p: Packet, ace| {
        p.ace = ace;
        p
    };
    let mut q = make("hold 5ms");
    let acks = [ack(0), ack(1), ace(ack(2), 1), ace(ack(3), 1), ace(ack(4), 1), ack(5)];
    assert_eq!(all(&mut *q, acks), [0, 1, 2, 4, 5]);
    let mut careless = make("hold 5ms careless");
    assert_eq!(all(&mut *careless, acks), [0_u32; 0]);
    assert_eq!(wake(&mut *careless), (5, vec![5]));
}

#[test]
fn sack_news_duplicates_and_marks_pass_at_once() {
    let mut sacked = ack(2);
    sacked.sacked = 1448;
    let repeated = Packet { id: 3, ..sacked };
    let mut marked = ack(4);
    (marked.sacked, marked.tos) = (1448, 3);
    let acks = [ack(0), ack(1), sacked, repeated, marked];
    assert_eq!(all(&mut *make("hold 5ms"), acks), [0, 1, 2, 3, 4]);
    assert_eq!(all(&mut *make("every 5 careless"), acks), [4]);
    let wrapped = Packet { ack: u32::MAX - 10, ..ack(0) };
    assert_eq!(all(&mut *make("every 3"), [wrapped, ack(1), ack(2), ack(3)]), [0, 3]);
}

#[test]
fn only_pure_acks_are_thinned_and_none_is_overtaken() {
    for kind in [Kind::TcpData, Kind::TcpControl, Kind::Udp, Kind::Icmp] {
        let mut q = make("hold 5ms");
        let other = Packet { kind, ..ack(2) };
        assert_eq!(all(&mut *q, [ack(0), ack(1), other, other]), [0, 1, 2, 2]);
    }
    let mut corrupt = ack(2);
    corrupt.set_corrupt();
    assert_eq!(all(&mut *make("every 9 hold 5ms"), [ack(0), ack(1), corrupt]), [0, 1, 2]);
}

#[test]
fn flows_are_thinned_apart_and_one_takes_over_anothers_place() {
    let of = |flow, hash, id| Packet { flow: FlowId(flow), hash, ..ack(id) };
    let mut q = make("hold 5ms");
    let apart = [of(1, 7, 0), of(3, 8, 1), of(1, 7, 2), of(3, 8, 3)];
    assert_eq!(all(&mut *q, apart), [0, 1]);
    assert_eq!(all(&mut *q, [of(5, 7 + BUCKETS as u32, 4)]), [2, 4]);
    assert_eq!(wake(&mut *q), (5, vec![3]));
}

#[test]
fn another_hold_releases_what_is_held_and_purge_drops_it() {
    let mut q = make("hold 5ms");
    assert_eq!(all(&mut *q, [ack(0), ack(1)]), [0]);
    change(&mut *q, Time(1_000_000), "ackthin hold 1ms", &mut Log::default()).unwrap();
    assert_eq!(wake(&mut *q), (1, vec![1]));
    assert_eq!(give(&mut *q, Time(2_000_000), ack(2)), [0_u32; 0]);
    let mut log = Log::default();
    q.purge(&mut log);
    assert!(matches!(log.events(), [Event::Drop(_, Reason::Purge)]));
    assert_eq!(q.backlog().packets, 0);
}
