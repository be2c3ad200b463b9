use super::*;
use sojourn_core::grammar::{Args, read, table};

const MAX_TH: Dur = Dur::from_micros(1000);

fn make(options: &str) -> QueueProtection {
    let (mut params, lines) = (Params::default(), table::<Params>);
    read(&mut params, &mut Args::of("test", &lines, options)).unwrap();
    QueueProtection::new(params, MAX_TH)
}

fn packet(flow: u32, hash: u32) -> Packet {
    Packet { flow: FlowId(flow), hash, len: 1514, ..Packet::default() }
}

const PACKET: Dur = Dur(1514 * 2048);

// KAT queue-protection 2: 2^19 bytes per 2^30 ns are 2^11 ns per byte.
#[test]
fn score_is_the_congestion_weighted_bytes_over_the_aging_rate() {
    let mut q = make("");
    assert_eq!(q.buckets.len(), 33);
    let t = Time(1_000_000_000);
    assert_eq!(q.fill(7, t, 1514, 1.0), PACKET);
    assert_eq!(q.fill(7, t, 1514, 0.5), PACKET + Dur(PACKET.0 / 2));
    // It drains in real time, and an old score is no credit.
    assert_eq!(q.fill(7, Time(t.0 + 1_000_000), 1514, 0.0), Dur(PACKET.0 * 3 / 2 - 1_000_000));
    assert_eq!(q.fill(7, Time(t.0 * 9), 1514, 1.0), PACKET);
    assert_eq!(make("lg_aging 20").fill(0, t, 1514, 1.0), Dur(PACKET.0 / 2));
    for _ in 0..5000 {
        q.fill(7, t, 1514, 1.0);
    }
    assert_eq!(q.fill(7, t, 1514, 1.0), Dur::from_secs(5));
}

// KAT queue-protection 3: sanction iff the delay exceeds CRITICALqL and delay times score the product.
#[test]
fn sanction_needs_a_critical_delay_and_a_critical_product() {
    let t = Time(1_000_000_000);
    for (delay_us, packets_until) in [(1000, None), (1001, Some(2)), (2000, Some(1)), (400, None)] {
        let mut q = make("");
        let first =
            (0..50).find(|_| q.sanctions(t, &packet(0, 0), 1.0, Dur::from_micros(delay_us)));
        assert_eq!(first, packets_until.map(|n| n - 1), "{delay_us}");
    }
    // At just that product, and at just that delay, nobody is sanctioned.
    let mut q = make("critical_ql_score 6201344ns critical_ql 1ms");
    assert!(!q.sanctions(t, &packet(0, 0), 1.0, Dur::from_millis(2)));
    assert!(q.sanctions(t, &packet(0, 0), 1.0, Dur::from_millis(2)));
    let mut q = make("critical_ql_score 3100672ns critical_ql 1ms max_score 3100672ns");
    assert!(!q.sanctions(t, &packet(0, 0), 1.0, Dur::from_millis(1)));
    assert!(q.sanctions(t, &packet(0, 0), 1.0, Dur(1_000_001)));
}

// KAT queue-protection 4: only congestion-weighted bytes accrue.
#[test]
fn flow_that_never_meets_a_queue_is_never_sanctioned() {
    let mut q = make("");
    for n in 0..10_000 {
        assert!(!q.sanctions(Time(n * 1000), &packet(2, 2), 0.0, Dur::from_millis(5)));
    }
    assert_eq!((q.occupied(Time(10_000_000)), q.defaulted), (0, 0));
}

// KAT queue-protection 5: own bucket, else the first that has expired, else the default one.
#[test]
fn bucket_is_the_own_the_first_free_or_the_default_one() {
    let mut q = make("");
    let t = Time(1_000_000_000);
    let mut charge = |flow, hash, now| {
        let index = q.pick(now, &packet(flow, hash));
        q.fill(index, now, 1514, 1.0);
        index
    };
    // Index 3 first, then 4.
    let hash = 4 << 5 | 3;
    assert_eq!(charge(10, hash, t), 3);
    assert_eq!(charge(12, hash, t), 4);
    assert_eq!(charge(10, hash, t), 3);
    assert_eq!(charge(12, hash, t), 4);
    assert_eq!(charge(14, hash, t), 32);
    // Flow 12 keeps its bucket although the first has drained.
    let later = t + PACKET * 2;
    charge(12, hash, Time(later.0 - 1));
    assert_eq!(charge(12, hash, later), 4);
    assert_eq!(charge(16, hash, later), 3);
    assert_eq!(q.defaulted, 1);
}

// A flow that keeps its rate under AGING times its share drains what it is charged.
#[test]
fn slow_flow_drains_between_its_packets_while_a_fast_one_is_caught() {
    let mut q = make("");
    let (mut slow, mut fast) = (0, 0);
    for n in 0..1000_u64 {
        let now = Time(1_000_000_000 + n * 1_000_000);
        let delay = Dur::from_micros(1200);
        // 8 packets per ms against one in 8 ms.
        for _ in 0..8 {
            fast += u32::from(q.sanctions(now, &packet(2, 1), 0.5, delay));
        }
        if n % 8 == 0 {
            slow += u32::from(q.sanctions(now, &packet(4, 2), 0.5, delay));
        }
    }
    assert!(slow == 0 && fast > 7900, "{slow} {fast}");
}

#[test]
fn single_bucket_is_shared_by_all_flows_in_order() {
    let mut q = make("bi_size 0 attempts 1");
    let t = Time(1);
    assert_eq!(q.pick(t, &packet(2, 9)), 0);
    q.fill(0, t, 100, 1.0);
    assert_eq!((q.pick(t, &packet(4, 5)), q.pick(t, &packet(2, 9))), (1, 0));
}
