use super::super::Event;
use super::*;
use crate::qdiscs::build;
use sojourn_core::rng::Rng;

fn make() -> Box<dyn Qdisc> {
    build("pfifo_fast", Env::ethernet(Rng::named(1, "t"))).unwrap()
}

fn packet(id: u32, tos: u8) -> Packet {
    Packet { id, tos, len: 100, ..Packet::default() }
}

// KAT fifo 4
#[test]
fn interactive_packet_overtakes_an_ordinary_one() {
    let (mut q, mut log) = (make(), Log::default());
    for (id, tos) in [(0, 0x08), (1, 0x00), (2, 0x10), (3, 0x00)] {
        q.enqueue(Time::ZERO, packet(id, tos), &mut log);
    }
    assert_eq!(q.next_len(), Some(100));
    let order: Vec<u32> =
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log).map(|p| p.id)).collect();
    assert_eq!(order, [2, 1, 3, 0]);
}

// Linux 6.12 sch_generic.c (default prio2band), route.c ip_tos2prio.
#[test]
fn ecn_never_changes_the_band() {
    for tos in (0..=255_u8).step_by(4) {
        let bands = [0, 1, 2, 3].map(|ecn| PfifoFast::band(&packet(0, tos | ecn)));
        assert_eq!(bands, [bands[0]; 4], "{tos:#x}");
    }
}

#[test]
fn each_band_has_room_of_its_own() {
    let (mut q, mut log) = (make(), Log::default());
    for id in 0..1001 {
        q.enqueue(Time::ZERO, packet(id, 0x00), &mut log);
    }
    for id in 0..1000 {
        q.enqueue(Time::ZERO, packet(2000 + id, 0x10), &mut log);
    }
    assert_eq!(q.backlog().packets, 2000);
    assert!(matches!(log.events(), [Event::Drop(p, Reason::TailLimit)] if p.id == 1000));
}

#[test]
fn nothing_can_be_configured() {
    let error = build("pfifo_fast limit 3", Env::ethernet(Rng::named(1, "t"))).err().unwrap();
    assert_eq!(error.0, "pfifo_fast: unknown parameter `limit`; it takes none");
}
