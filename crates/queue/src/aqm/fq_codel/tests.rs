use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::packet::FlowId;
use sojourn_core::rng::Rng;

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

/// A packet of flow `flow`, which falls into the bucket of that number out of 1024.
fn packet(flow: u32, id: u32, len: u32) -> Packet {
    Packet { id, flow: FlowId(flow), hash: flow << 22, len, ..Packet::default() }
}

fn stat(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

// KAT fq_codel 1
#[test]
fn overflow_drops_a_batch_or_half_from_the_head_of_the_fattest_flow() {
    for (fat, thin, limit, lost) in [(200, 10, 209, 64), (100, 10, 109, 50)] {
        let (mut q, mut log) = (make(&format!("fq_codel limit {limit}")), Log::default());
        for id in 0..fat {
            q.enqueue(Time::ZERO, packet(1, id, 1514), &mut log);
        }
        for id in 0..thin {
            q.enqueue(Time::ZERO, packet(2, id, 1514), &mut log);
        }
        let victims: Vec<(u32, u32)> = log
            .drain()
            .map(|event| match event {
                Event::Drop(p, Reason::FlowOverlimit) => (p.flow.0, p.id),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(victims, (0..lost).map(|id| (1, id)).collect::<Vec<_>>());
        assert_eq!(stat(&*q, "drop_overlimit"), f64::from(lost));
        assert_eq!(q.backlog().packets, fat + thin - lost);
    }
}

// KAT fq_codel 2
#[test]
fn flows_get_equal_bytes_whatever_their_packet_size() {
    let (mut q, mut log) = (make("fq_codel quantum 1514"), Log::default());
    for id in 0..1000 {
        q.enqueue(Time::ZERO, packet(1, id, 1514), &mut log);
        q.enqueue(Time::ZERO, packet(2, id, 757), &mut log);
    }
    let mut bytes = [0; 3];
    for _ in 0..900 {
        let pkt = q.dequeue(Time::ZERO, &mut log).unwrap();
        bytes[pkt.flow.0 as usize] += pkt.len;
    }
    assert_eq!(bytes[1], bytes[2]);
}

#[test]
fn sparse_flow_overtakes_backlogged_ones_but_only_while_sparse() {
    let (mut q, mut log) = (make("fq_codel"), Log::default());
    for id in 0..10 {
        q.enqueue(Time::ZERO, packet(1, id, 1514), &mut log);
    }
    assert_eq!(q.dequeue(Time::ZERO, &mut log).unwrap().flow.0, 1);
    q.enqueue(Time::ZERO, packet(2, 0, 100), &mut log);
    q.enqueue(Time::ZERO, packet(2, 1, 1514), &mut log);
    q.enqueue(Time::ZERO, packet(2, 2, 1514), &mut log);
    let order: Vec<u32> = (0..5).map(|_| q.dequeue(Time::ZERO, &mut log).unwrap().flow.0).collect();
    assert_eq!(order, [2, 2, 1, 2, 1]);
    assert_eq!((stat(&*q, "new_flow_count"), stat(&*q, "new_flows_len")), (2.0, 0.0));
}

#[test]
fn emptied_new_flow_goes_behind_the_old_ones_before_it_may_be_new_again() {
    let (mut q, mut log) = (make("fq_codel"), Log::default());
    for id in 0..10 {
        q.enqueue(Time::ZERO, packet(1, id, 1514), &mut log);
    }
    q.dequeue(Time::ZERO, &mut log);
    q.enqueue(Time::ZERO, packet(2, 0, 100), &mut log);
    q.dequeue(Time::ZERO, &mut log);
    q.dequeue(Time::ZERO, &mut log);
    assert_eq!(stat(&*q, "old_flows_len"), 2.0);
    q.enqueue(Time::ZERO, packet(2, 1, 100), &mut log);
    assert_eq!(stat(&*q, "new_flow_count"), 2.0);
}

#[test]
fn memory_limit_counts_as_overflow() {
    let (mut q, mut log) = (make("fq_codel memory_limit 10kb"), Log::default());
    for id in 0..5 {
        q.enqueue(Time::ZERO, packet(1, id, 1514), &mut log);
    }
    // 5 * 2304 > 10240: half of five packets are dropped, rounded up.
    assert!(matches!(log.events()[0], Event::Drop(_, Reason::MemoryLimit)));
    assert_eq!((log.events().len(), stat(&*q, "drop_overmemory")), (3, 3.0));
    assert_eq!(stat(&*q, "memory_used"), 2.0 * 2304.0);
}

#[test]
fn one_flow_is_one_codel_queue() {
    let (mut one, mut codel) = (make("fq_codel flows 1"), make("codel ecn limit 10240"));
    let (mut log_one, mut log_codel) = (Log::default(), Log::default());
    let (mut rng, mut now) = (Rng::named(3, "t"), 0);
    for id in 0..20_000_u32 {
        now += u64::from(rng.below(400_000));
        let mut pkt = packet(rng.below(1024), id, 100 + rng.below(1414));
        pkt.tos = rng.below(4) as u8;
        one.enqueue(Time(now), pkt, &mut log_one);
        codel.enqueue(Time(now), pkt, &mut log_codel);
        if rng.below(100) < 98 {
            let a = one.dequeue(Time(now), &mut log_one).map(|p| (p.id, p.tos));
            let b = codel.dequeue(Time(now), &mut log_codel).map(|p| (p.id, p.tos));
            assert_eq!(a, b);
        }
    }
    assert_eq!(log_one.events().len(), log_codel.events().len());
    assert!(log_one.events().len() > 100);
}

#[test]
fn selector_restricts_ce_threshold_to_l4s() {
    let text = "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3";
    let (mut q, mut log) = (make(text), Log::default());
    for tos in 0..4 {
        q.enqueue(Time::ZERO, Packet { tos, ..packet(1, tos.into(), 100) }, &mut log);
    }
    let after: Vec<u8> =
        (0..4).map(|_| q.dequeue(Time(2_000_000), &mut log).unwrap().tos).collect();
    assert_eq!(after, [0, 3, 2, 3]);
    assert_eq!(stat(&*q, "ce_mark"), 1.0);
}

#[test]
fn number_of_flows_cannot_change() {
    let mut q = make("fq_codel flows 16");
    assert!(change(&mut *q, Time::ZERO, "fq_codel flows 32", &mut Log::default()).is_err());
    change(&mut *q, Time::ZERO, "fq_codel limit 5 noecn quantum 100", &mut Log::default()).unwrap();
    assert!(q.describe().starts_with("fq_codel limit 5p flows 16 quantum 256 "));
}

// fq_codel_fast, codel_impl.h: strictly longer than the threshold, in units of 1024 ns, and ECT(0) only.
#[test]
fn sce_threshold_marks_every_ect0_packet_that_waited_longer() {
    use sojourn_core::ecn::Ecn;
    let (mut q, mut log) = (make("fq_codel sce_threshold 1ms"), Log::default());
    for (id, ecn) in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce, Ecn::Ect0].into_iter().enumerate()
    {
        let pkt = Packet { tos: ecn as u8, ..packet(1, id as u32, 1514) };
        q.enqueue(Time::ZERO, pkt, &mut log);
    }
    let mut at = |micros: u64| q.dequeue(Time(micros * 1000), &mut log).unwrap().ecn();
    assert_eq!(at(999), Ecn::Ect0, "not before");
    assert_eq!([at(1100), at(1100), at(1100)], [Ecn::NotEct, Ecn::Ect1, Ecn::Ce], "nothing else");
    assert_eq!(at(1100), Ecn::Ect1);
    assert_eq!(stat(&*q, "sce_mark"), 1.0);
    assert!(q.splits(&packet(1, 0, 1514)) && !make("fq_codel").splits(&packet(1, 0, 1514)));
}

#[test]
fn codel_s_ce_comes_before_sce() {
    use sojourn_core::ecn::Ecn;
    let (mut q, mut log) = (make("fq_codel sce_threshold 2500us"), Log::default());
    for id in 0..1000 {
        let pkt = Packet { tos: Ecn::Ect0 as u8, ..packet(1, id, 1514) };
        q.enqueue(Time::ZERO, pkt, &mut log);
    }
    let left: Vec<Ecn> =
        (1..=500).map(|n| q.dequeue(Time(n * 1_000_000), &mut log).unwrap().ecn()).collect();
    assert!(left[..2].iter().all(|ecn| *ecn == Ecn::Ect0), "2 ms at most");
    let ce = left.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    assert_eq!(stat(&*q, "ecn_mark"), ce as f64);
    assert!(ce > 5 && left.iter().skip(2).all(|ecn| *ecn != Ecn::Ect0));
    assert_eq!(stat(&*q, "sce_mark"), (498 - ce) as f64);
}
