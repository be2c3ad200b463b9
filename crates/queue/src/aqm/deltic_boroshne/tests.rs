use super::*;
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;

fn make(options: &str) -> DelticBoroshne {
    let spec: Spec = format!("deltic_boroshne {options}").parse().unwrap();
    DelticBoroshne::new(*spec.params().unwrap())
}

fn packet(id: u32, flow: u32) -> Packet {
    Packet { id, hash: flow, len: 1514, tos: Ecn::Ect0 as u8, ..Packet::default() }
}

// chromi/sce 2024 sch_deltic-boroshne.
#[test]
fn flow_without_bytes_is_sparse_and_overtakes() {
    let (mut q, mut log) = (make(""), Log::default());
    for (id, flow) in [(1, 7), (2, 7), (3, 7), (11, 8)] {
        q.enqueue(Time::ZERO, packet(id, flow), &mut log);
    }
    for (sent, from) in [(1, SPARSE), (11, SPARSE), (2, QUICK), (3, QUICK)] {
        let (pkt, queue) = q.select().unwrap();
        assert_eq!((pkt.id, queue), (sent, from));
    }
    assert!(q.queues.iter().all(|queue| (queue.bytes, queue.flows) == (0, 0)));
}

// chromi/sce 2024 sch_deltic-boroshne.
#[test]
fn flows_migrate_by_their_delay() {
    // SCE's target is 5 ms, CE's 25 ms. Delays in us that still keep a flow where it is.
    for (version, from_quick, to_hog, to_quick, from_hog) in
        [("early", 7_500, 37_500, 6_250, 31_250), ("later", 10_000, 50_000, 5_000, 25_000)]
    {
        let mut q = make(&format!("version {version}"));
        let mut step = |target, sojourn_us: u64| {
            q.flows[0].target = target;
            q.migrate(0, sojourn_us * 1000);
            q.flows[0].target
        };
        assert_eq!([step(QUICK, from_quick), step(QUICK, from_quick + 1)], [QUICK, BULK]);
        assert_eq!([step(BULK, to_hog), step(BULK, to_hog + 1)], [BULK, HOG]);
        assert_eq!([step(BULK, to_quick), step(BULK, to_quick - 1)], [BULK, QUICK]);
        assert_eq!([step(HOG, from_hog), step(HOG, from_hog - 1)], [HOG, BULK]);
        // Both tests of one direction apply to one packet.
        assert_eq!([step(HOG, 1_000), step(QUICK, 60_000)], [QUICK, HOG]);
    }
}

// chromi/sce 2024 sch_deltic-boroshne.
#[test]
fn replenishing_takes_all_that_wait_out_of_debt() {
    for (version, rounds) in [("early", 128), ("later", 100)] {
        let mut q = make(&format!("version {version}"));
        for (queue, bytes, flows, deficit) in
            [(QUICK, 1514, 3, -10), (BULK, 1514, 1, -100), (HOG, 0, 0, -5)]
        {
            (q.queues[queue].bytes, q.queues[queue].flows) = (bytes, flows);
            q.queues[queue].deficit = deficit;
        }
        q.replenish();
        let expected = [0, 3 * rounds - 10, rounds - 100, -5];
        assert_eq!(q.queues.each_ref().map(|q| q.deficit), expected, "{version}");
        q.replenish();
        assert_eq!(q.queues[BULK].deficit, rounds - 100, "nobody is in debt");
    }
}

// chromi/sce 2024 sch_deltic-boroshne.
#[test]
fn delay_counts_by_the_share_in_every_queue_that_holds_bytes() {
    let mut q = make("");
    q.flows[5].bytes = [0, 1000, 3000, 0];
    (q.queues[QUICK].bytes, q.queues[QUICK].flows, q.queues[QUICK].sojourn) = (4000, 2, 8 * MS);
    (q.queues[BULK].bytes, q.queues[BULK].flows, q.queues[BULK].sojourn) = (3000, 1, 20 * MS);
    q.queues[HOG].sojourn = 1000 * MS;
    assert_eq!(q.fair_sojourn(5), 4 * MS + 20 * MS);
    assert_eq!(q.fair_sojourn(6), 0, "nothing left to wait for");
}

/// Packets served of a flow that keeps 200 waiting and of three that keep 4, over 8 s at 1 ms per
/// packet; and where the first ends.
fn contest(version: &str) -> ([u32; 4], usize) {
    let options = format!("bandwidth 12112kbit no-drop version {version}");
    let (mut q, mut log) = (make(&options), Log::default());
    for flow in 0..4 {
        for _ in 0..[200, 4, 4, 4][flow as usize] {
            q.enqueue(Time::ZERO, packet(0, flow), &mut log);
        }
    }
    let mut served = [0; 4];
    for ms in 0..8000 {
        let sent = q.dequeue(Time(ms * MS), &mut log).unwrap();
        served[sent.hash as usize] += 1;
        q.enqueue(Time(ms * MS), packet(0, sent.hash), &mut log);
    }
    (served, q.flows[0].target)
}

#[test]
fn greedy_flow_becomes_a_hog_and_gets_its_share() {
    for (version, _) in Version::ALL {
        let (served, target) = contest(version);
        assert_eq!(target, HOG);
        for share in served {
            assert!((1500..2700).contains(&share), "{version}: {served:?}");
        }
    }
}

// chromi/sce 2024 sch_deltic-boroshne.
#[test]
fn shaper_is_not_charged_for_drops_and_last_packets_stay() {
    let (mut q, mut log) = (make("bandwidth 50Mbit drop-resonance 1000"), Log::default());
    for id in 0..300 {
        q.enqueue(Time::ZERO, Packet { tos: 0, ..packet(id, 7) }, &mut log);
    }
    let (mut now, mut sent, mut last) = (Time::ZERO, 0, 0);
    while q.backlog().packets > 0 {
        let pkt = q.dequeue(now, &mut log).unwrap();
        (sent, last) = (sent + 1, pkt.id);
        assert!(q.dequeue(now, &mut log).is_none());
        assert_eq!(q.wake(), Time(sent * 242_240));
        now = q.wake();
        q.on_wake(now, &mut log);
    }
    assert_eq!((sent as usize + log.events().len(), last), (300, 299));
    assert!(log.events().len() > 10, "{}", log.events().len());
}
