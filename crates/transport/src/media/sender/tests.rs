use sojourn_cc as cc;

use super::super::source::tests::PLAIN;
use super::*;
use crate::media::Receiver;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn sender(params: Params, options: &str) -> Sender {
    let cc = cc::build(options).expect("a known controller");
    let mut tx = Sender::new(params, 0, 1500, cc, Rng::named(1, "media"));
    tx.start(Time::ZERO);
    tx
}

/// Lets the sender run to `end`, each packet reported 20 ms later if `answered`; gives the
/// times and IP bytes of what left.
fn run(tx: &mut Sender, end: Time, answered: bool) -> Vec<(Time, u32)> {
    let mut rx = Receiver::new(0, Dur::from_millis(50));
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    loop {
        while let Some(out) = tx.poll(now) {
            left.push((now, out.len - L2_HEADER));
            if answered {
                rx.on_packet(now, &out.body, Ecn::NotEct);
            }
        }
        while let Some(report) = rx.poll(now) {
            tx.on_packet(now, &report.body, Ecn::NotEct);
        }
        now = tx.deadline().min(rx.deadline().max(now)).max(now);
        if now > end {
            return left;
        }
        if tx.deadline() <= now {
            tx.on_timer(now);
        }
    }
}

#[test]
fn frames_leave_at_the_pacing_rate_and_the_target_is_what_is_sent() {
    let mut tx = sender(PLAIN, "gcc init_rate 2Mbit max_rate 2Mbit pacing 2");
    let left = run(&mut tx, ms(999), true);
    let bytes: u64 = left.iter().map(|(_, n)| u64::from(*n)).sum();
    assert_eq!(bytes, 250_000, "2 Mbit/s of IP bytes");
    // A frame of 5000 bytes at 4 Mbit/s in bursts of one packet: 2.4 ms apart.
    let first: Vec<u64> = left[..5].iter().map(|(at, _)| at.0).collect();
    assert_eq!(first, [0, 2_400_000, 4_800_000, 7_200_000, 9_600_000]);
    assert!(left.windows(2).all(|w| w[0].0 <= w[1].0));
    assert_eq!(left[5].0, ms(20));
}

#[test]
fn silence_halves_the_rate_once_per_second() {
    let mut tx = sender(PLAIN, "gcc init_rate 2Mbit max_rate 2Mbit");
    run(&mut tx, ms(990), false);
    assert_eq!((tx.counts.timeouts, tx.target()), (0, Rate(2_000_000)));
    run(&mut tx, ms(1010), false);
    assert_eq!((tx.counts.timeouts, tx.target()), (1, Rate(1_000_000)));
    assert!(tx.history.packets() < 10);
}

#[test]
fn a_queue_that_is_too_old_is_emptied_and_its_packets_are_no_losses() {
    // The encoder learns of the lower rate only after two seconds.
    let delay = Dur::from_secs(2);
    let queue = Dur::from_millis(200);
    let mut tx = sender(Params { delay, queue, ..PLAIN }, "nada rmax 2Mbit");
    // NADA starts at 150 kbit/s with one packet a frame: raise the encoder's rate by hand.
    tx.source.start(Time::ZERO, Rate(1_000_000));
    run(&mut tx, ms(1500), true);
    assert!(tx.counts.discarded > 20, "{:?}", tx.counts);
    assert_eq!(tx.counts.lost, 0);
    let all = tx.counts.packets + tx.counts.discarded + tx.queue.bytes().div_ceil(1200);
    assert!(all.abs_diff(tx.next_seq) <= 30, "{all} of {}", tx.next_seq);
}

#[test]
fn a_stopped_flow_sends_its_queue_and_ends() {
    let mut tx = sender(PLAIN, "gcc init_rate 2Mbit");
    tx.stop(ms(1));
    assert!(tx.is_alive());
    assert_eq!(run(&mut tx, ms(500), true).len(), 5);
    assert!(!tx.is_alive());
    assert_eq!(tx.counts.frames, 1);
}
