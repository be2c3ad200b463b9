use super::*;
use crate::tcp::segment::{CWR, Flags};

const TIMEOUT: Dur = Dur::from_micros(20);
const MSS: u32 = 1448;

fn data(index: u64) -> Segment {
    Segment { seq: 1 + index * u64::from(MSS), len: MSS, ack: 1, ..Segment::default() }
}

/// Takes these in, one per microsecond; gives the lengths that TCP sees, and when.
fn seen(arrivals: &[(Segment, Ecn)]) -> Vec<(u64, u32)> {
    let (mut gro, mut seen) = (Gro::new(TIMEOUT, true), vec![]);
    for us in 0..1000 {
        let now = Time(us * 1000);
        if let Some((segment, ecn)) = arrivals.get(us as usize) {
            gro.receive(now, segment, *ecn);
        }
        while let Some((segment, _)) = gro.flush(now) {
            seen.push((us, segment.len));
        }
        assert!(gro.due() > now);
    }
    assert_eq!(gro.due(), Time::NEVER);
    seen
}

fn all(segments: &[Segment]) -> Vec<(Segment, Ecn)> {
    segments.iter().map(|s| (*s, Ecn::Ect1)).collect()
}

#[test]
fn segments_in_order_are_one_packet_from_the_first_until_the_timeout() {
    assert_eq!(seen(&all(&[data(0), data(1), data(2)])), [(20, 3 * MSS)]);
    let thirty: Vec<Segment> = (0..30).map(data).collect();
    assert_eq!(seen(&all(&thirty)), [(20, 21 * MSS), (41, 9 * MSS)]);
}

// KAT gro 1: what ends a merged packet
#[test]
fn marks_flags_options_gaps_and_short_segments_flush() {
    let plain = [data(0), data(1), data(2), data(3)];
    let merged = |change: &dyn Fn(&mut (Segment, Ecn))| {
        let mut arrivals = all(&plain);
        change(&mut arrivals[2]);
        seen(&arrivals).into_iter().map(|(_, len)| len / MSS).collect::<Vec<_>>()
    };
    assert_eq!(merged(&|_| ()), [4]);
    assert_eq!(merged(&|(_, ecn)| *ecn = Ecn::Ce), [2, 1, 1]);
    assert_eq!(merged(&|(s, _)| s.ace = CWR), [2, 1, 1]);
    assert_eq!(merged(&|(s, _)| s.tsval = Time(1_000_000)), [2, 1, 1]);
    assert_eq!(merged(&|(s, _)| s.tsval = Time(999_999)), [4], "the same millisecond");
    assert_eq!(merged(&|(s, _)| s.ack = 2), [2, 1, 1]);
    assert_eq!(merged(&|(s, _)| s.seq += 1), [2, 1, 1]);
    assert_eq!(seen(&all(&[data(0), Segment { len: 10, ..data(1) }])), [(1, MSS + 10)]);
    let fin = Segment { flags: Flags { fin: true, ..Flags::default() }, ..data(1) };
    assert_eq!(seen(&all(&[data(0), fin])), [(1, 2 * MSS)]);
}

#[test]
fn a_merged_packet_has_at_most_64_kib_and_a_super_packet_is_not_merged_again() {
    let mut gro = Gro::new(Dur::from_millis(1), true);
    let mut sizes = vec![];
    for index in 0..100 {
        gro.receive(Time(index), &data(index), Ecn::Ect0);
        sizes.extend(gro.flush(Time(index)).map(|(s, _)| s.segments()));
    }
    assert_eq!(sizes, [45, 45]);
    let super_packet = Segment { len: 2 * MSS, gso_size: MSS, ..data(1) };
    let lengths: Vec<u32> =
        seen(&all(&[data(0), super_packet, data(3)])).iter().map(|(_, len)| len / MSS).collect();
    assert_eq!(lengths, [1, 2, 1]);
}
