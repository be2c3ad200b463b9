use super::*;
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;

fn make(options: &str) -> JudgedFifo<Deltic> {
    JudgedFifo::read(options)
}

/// Counts of codepoints that leave a queue with 60 ms of standing delay, and drops.
fn outcome(options: &str, ecn: Ecn) -> ([usize; 4], usize) {
    let (mut q, mut log) = (make(options), Log::default());
    let mut counts = [0; 4];
    for i in 0..1060 {
        let now = Time(i * MS);
        q.enqueue(now, Packet { len: 1514, tos: ecn as u8, ..Packet::default() }, &mut log);
        if i >= 60
            && let Some(pkt) = q.dequeue(now, &mut log)
        {
            counts[usize::from(pkt.tos & 3)] += 1;
        }
    }
    let drops = log.events().iter().filter(|e| matches!(e, super::super::Event::Drop(..))).count();
    (counts, drops)
}

// chromi/sce 2022 sch_deltic.
#[test]
fn three_controllers_act_by_the_codepoint() {
    let (counts, drops) = outcome("", Ecn::Ect0);
    assert!(counts[3] > 60 && counts[1] > 300 && drops == 0, "{counts:?} {drops}");
    let (counts, drops) = outcome("", Ecn::NotEct);
    assert!(counts[1..] == [0; 3] && drops > 20, "{counts:?} {drops}");
    let (counts, drops) = outcome("no-sce no-ecn", Ecn::Ect0);
    assert_eq!((counts[1], counts[3], drops), (0, 0, 0));
}

#[test]
fn limit_is_none_unless_given() {
    for (options, held) in [("", 20_000), ("limit 100", 100)] {
        let (mut q, mut log) = (make(options), Log::default());
        for _ in 0..20_000 {
            q.enqueue(Time::ZERO, Packet { len: 100, ..Packet::default() }, &mut log);
        }
        assert_eq!(q.backlog().packets, held);
    }
}
