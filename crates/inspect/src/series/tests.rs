use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

/// Packets of one flow: time in ms, backward, sequence number, length, acknowledgement.
fn events(packets: &[(u64, bool, i64, u32, i64)]) -> Events {
    let n = packets.len();
    Events {
        t_ns: packets.iter().map(|packet| packet.0 * MS).collect(),
        backward: packets.iter().map(|packet| packet.1).collect(),
        ecn: (0..n).map(|i| i as u8 % 4).collect(),
        flags: vec![AE; n],
        seq: packets.iter().map(|packet| packet.2).collect(),
        len: packets.iter().map(|packet| packet.3).collect(),
        ack: packets.iter().map(|packet| packet.4).collect(),
        window: vec![0; n],
        again: vec![Again::New; n],
        rtt_ns: packets.iter().map(|packet| if packet.1 { 20 * MS } else { 0 }).collect(),
        ce_reported: vec![1; n],
        in_flight: vec![500; n],
        ..Events::default()
    }
}

#[test]
fn intervals_without_packets_have_no_row() {
    let flow = events(&[
        (10, false, 1, 1000, -1),
        (30, true, 1, 0, 1001),
        (109, false, 1001, 1000, -1),
        (1210, true, 1, 0, 2001),
    ]);
    let series = Series::of(&flow, false, Window::Interval(100 * MS));
    assert_eq!(series.t_ns, [10 * MS, 1210 * MS]);
    assert_eq!((series.sent, series.acked), (vec![2000, 0], vec![0, 1000]));
    assert_eq!((series.ae_acked, series.rtt_ms), (vec![0, 1000], vec![20.0, 20.0]));
    assert_eq!((series.packets, series.ce_reported), (vec![2, 0], vec![1, 1]));
    assert_eq!(series.in_flight, [500.0, 500.0]);
}

#[test]
fn a_round_trip_ends_with_the_acknowledgement_of_what_was_sent_when_it_began() {
    let flow = events(&[
        (0, false, 1, 1000, -1),
        (20, true, 1, 0, 1001),
        (21, false, 1001, 1000, -1),
        (22, false, 2001, 1000, -1),
        (41, true, 1, 0, 2001),
        (42, true, 1, 0, 3001),
        (62, true, 1, 0, 3001),
    ]);
    let series = Series::of(&flow, false, Window::RoundTrip);
    assert_eq!(series.packets, [1, 2, 0, 0]);
    assert_eq!(series.t_ns, [0, 20 * MS, 41 * MS, 42 * MS]);
}

proptest! {
    #[test]
    fn rows_add_up_to_the_packets(
        packets in prop::collection::vec((0..20_u64, any::<bool>(), 0..9000_i64, 0..1500_u32, -1..9000_i64), 1..200),
        ms in 1..50_u64,
    ) {
        let flow = events(&packets);
        for window in [Window::Interval(ms * MS), Window::RoundTrip] {
            for backward in [false, true] {
                let series = Series::of(&flow, backward, window);
                let sent: u64 = packets.iter().filter(|p| p.1 == backward).map(|p| u64::from(p.3)).sum();
                prop_assert_eq!(series.sent.iter().sum::<u64>(), sent);
                prop_assert!(series.t_ns.len() <= packets.len());
                prop_assert_eq!(series.t_ns.len(), series.in_flight.len());
            }
        }
    }
}
