use proptest::prelude::*;
use sojourn_core::Rng;

use super::*;

const MS: u64 = 1_000_000;

/// A client and a server that send a packet each `gap` ms, `half` ms apart (RFC 9000 17.4), seen at the client;
/// every `late`th packet of the server arrives with the next one.
fn connection(half: u64, gap: u64, late: u64) -> Spinning {
    let mut spinning = Spinning::default();
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let (mut client, mut server, mut held) = (false, false, None);
    for now in 0..3000 {
        let arrived: Vec<_> = to_server.extract_if(.., |(at, _)| *at == now).collect();
        if let Some((_, spin)) = arrived.last() {
            server = *spin;
        }
        let arrived: Vec<_> = to_client.extract_if(.., |(at, _)| *at == now).collect();
        for (_, spin) in arrived {
            if late > 0 && held.is_none() && (now / gap).is_multiple_of(late) {
                held = Some(spin);
                continue;
            }
            spinning.on_packet(now * MS, false, spin);
            client = !spin;
            if let Some(held) = held.take() {
                spinning.on_packet(now * MS + 1, false, held);
            }
        }
        if now % gap == 0 {
            spinning.on_packet(now * MS + 2, true, client);
            to_server.push((now + half, client));
            to_client.push((now + half, server));
        }
    }
    spinning
}

// RFC 9000 17.4.
#[test]
fn a_bit_that_spins_shows_the_round_trip() {
    for (half, gap) in [(20, 1), (20, 4), (5, 2)] {
        let spinning = connection(half, gap, 0);
        assert_eq!(spinning.spin(), Spin::Spinning);
        let rtt = spinning.rtt().distribution().expect("turns");
        let most = (2 * (half + gap)) as f64;
        assert!(rtt.p50 >= 0.99 * (2 * half) as f64 && rtt.p50 <= 1.01 * most, "{rtt:?}");
    }
}

// RFC 9312 4.2.
#[test]
fn packets_out_of_order_are_no_turns() {
    let spinning = connection(20, 1, 5);
    assert_eq!(spinning.spin(), Spin::Spinning);
    let rtt = spinning.rtt().distribution().expect("turns");
    assert!(rtt.min >= 30.0 && rtt.max <= 50.0, "{rtt:?}");
}

#[test]
fn a_bit_that_never_turns_is_still() {
    let mut spinning = Spinning::default();
    (0..10).for_each(|at| spinning.on_packet(at * MS, true, true));
    assert_eq!(spinning.spin(), Spin::Unknown);
    (10..40).for_each(|at| spinning.on_packet(at * MS, at % 2 == 0, true));
    assert_eq!(spinning.spin(), Spin::Still);
}

proptest! {
    #[test]
    fn a_random_bit_is_no_round_trip(seed in any::<u64>(), both in any::<bool>()) {
        let mut rng = Rng::named(seed, "spin");
        let mut spinning = Spinning::default();
        for at in 0..2000 {
            let forward = !both || rng.below(2) == 0;
            spinning.on_packet(at * MS, forward, rng.below(2) == 0);
        }
        prop_assert_eq!(spinning.spin(), Spin::Random);
    }
}
