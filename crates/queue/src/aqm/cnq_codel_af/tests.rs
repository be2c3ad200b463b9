use super::super::Event;
use super::super::Qdisc;
use super::super::sce_shell::InShell;
use super::*;
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;

fn make(options: &str) -> InShell<CnqCodelAf> {
    InShell::read(options)
}

fn packet(id: u32, flow: u32, ecn: Ecn) -> Packet {
    Packet { id, hash: flow, len: 1514, tos: ecn as u8, ..Packet::default() }
}

/// A queue with this many bulk packets of each flow, after the sparse ones and dummies are gone.
fn bulk(backlogs: &[u32]) -> Cnq {
    let mut queue = Cnq::new();
    for (flow, backlog) in backlogs.iter().enumerate() {
        for id in 0..=*backlog {
            queue.enqueue(packet(id, flow as u32, Ecn::Ect0));
        }
    }
    queue
}

// chromi/sce 2020 sch_cnq_codel_af.
#[test]
fn delay_weighs_as_it_is_for_a_fair_share_and_in_proportion_beyond() {
    let mut queue = bulk(&[10, 10]);
    for _ in 0..3 {
        queue.pop().unwrap();
    }
    // Flow 0: nine in the bulk. Flow 1: its dummy is still queued before its ten packets.
    assert_eq!((queue.count(0), queue.count(1), queue.busy_flows()), (9, 11, 1));
    assert_eq!(weight(&queue, 0, 19), (10, 20));
    let mut queue = bulk(&[30, 1]);
    for _ in 0..32 {
        queue.pop().unwrap();
    }
    assert_eq!((queue.count(0), queue.count(1), queue.busy_flows()), (0, 2, 0));
    // The last packet of the last flow: no flow is busy, weight zero.
    queue.pop().unwrap();
    assert_eq!(weight(&queue, 1, 0), (0, 1));
}

/// CE marks of flow 0, which always has `fat` packets in the queue, and of flow 1, which has two.
fn marks(fat: u32) -> [u32; 2] {
    let (mut q, mut log) = (make(""), Log::default());
    for id in 0..fat {
        q.enqueue(Time::ZERO, packet(id, 0, Ecn::Ect0), &mut log);
    }
    for id in 0..2 {
        q.enqueue(Time::ZERO, packet(id, 1, Ecn::Ect0), &mut log);
    }
    let mut marks = [0; 2];
    for i in 0..4000 {
        let now = Time(i * MS / 4);
        let sent = q.dequeue(now, &mut log).unwrap();
        marks[sent.hash as usize] += u32::from(sent.ecn() == Ecn::Ce);
        q.enqueue(now, packet(0, sent.hash, Ecn::Ect0), &mut log);
    }
    marks
}

#[test]
fn only_the_flow_beyond_its_share_is_marked() {
    let [fat, thin] = marks(28);
    assert!(fat > 20 && thin == 0, "{fat} {thin}");
}

// chromi/sce 2020 sch_cnq_codel_af.
#[test]
fn last_packet_of_a_flow_is_not_dropped() {
    let (mut q, mut log) = (make("target 1ms rtt 1ms"), Log::default());
    for id in 0..200 {
        q.enqueue(Time::ZERO, packet(id, 0, Ecn::NotEct), &mut log);
    }
    let (mut sent, mut last) = (0, 0);
    for i in 1.. {
        let Some(pkt) = q.dequeue(Time(i * MS), &mut log) else {
            break;
        };
        (sent, last) = (sent + 1, pkt.id);
    }
    let dropped = log.events().iter().filter(|e| matches!(e, Event::Drop(..))).count();
    assert_eq!((sent + dropped, last), (200, 199));
    assert!(dropped > 20, "{dropped}");
}

// KAT sce-queues 1
#[test]
fn twenty_thousand_packets_wait() {
    let (mut q, mut log) = (make(""), Log::default());
    for id in 0..20_000 {
        q.enqueue(Time::ZERO, packet(id, id % 3, Ecn::Ect0), &mut log);
    }
    assert_eq!(q.backlog().packets, 20_000);
}
