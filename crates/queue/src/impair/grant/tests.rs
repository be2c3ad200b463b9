use super::*;
use crate::aqm::Event;
use crate::qdiscs::{build, change};
use crate::traces::{RateSteps, Traces};

fn env() -> Env {
    let mut traces = Traces::default();
    traces.add("t", RateSteps::parse("0 8000\n0.01 0\n0.02 16000\n").unwrap());
    Env { traces, ..Env::ethernet(Rng::named(1, "t")) }
}

/// 8 Mbit/s: 1000 bytes per slot of 1 ms.
fn link(options: &str) -> Box<dyn Qdisc> {
    build(&format!("grant rate 8Mbit {options}"), env()).unwrap()
}

fn fill(q: &mut dyn Qdisc, now: Time, n: u32, len: u32) {
    for id in 0..n {
        q.enqueue(now, Packet { id, len, ..Packet::default() }, &mut Log::default());
    }
}

#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Packets with the millisecond of their release.
    sent: Vec<(u32, f64)>,
    lost: Vec<u32>,
}

fn run(q: &mut dyn Qdisc, end: Time) -> Seen {
    let (mut log, mut seen) = (Log::default(), Seen::default());
    while q.wake() <= end {
        let now = q.wake();
        q.on_wake(now, &mut log);
        assert!(q.wake() > now);
        while let Some(pkt) = q.dequeue(now, &mut log) {
            seen.sent.push((pkt.id, now.0 as f64 / 1e6));
        }
        for event in log.drain() {
            let Event::Drop(pkt, Reason::Loss) = event else { panic!("{event:?}") };
            seen.lost.push(pkt.id);
        }
    }
    seen
}

fn stat(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

const MS: u64 = 1_000_000;
const LONG: Time = Time(1 << 50);

// KAT grant 1: a block per slot, delivered at its end
#[test]
fn a_slot_carries_its_share_of_the_rate_and_delivers_at_its_end() {
    let mut q = link("");
    fill(&mut *q, Time(MS / 2), 5, 500);
    // Two to a block; the first slot after the arrival is that of 1 ms.
    let sent = run(&mut *q, LONG).sent;
    assert_eq!(sent, [(0, 2.0), (1, 2.0), (2, 3.0), (3, 3.0), (4, 4.0)]);
    assert_eq!((stat(&*q, "blocks"), stat(&*q, "padding_bytes")), (3.0, 500.0));
    let mut q = link("slot 500us");
    fill(&mut *q, Time::ZERO, 2, 750);
    assert_eq!(run(&mut *q, LONG).sent, [(0, 1.0), (1, 1.5)]);
}

#[test]
fn packets_span_blocks_and_blocks_carry_fractions_of_a_byte_over() {
    let mut q = link("");
    fill(&mut *q, Time::ZERO, 3, 1500);
    assert_eq!(run(&mut *q, LONG).sent, [(0, 2.0), (1, 3.0), (2, 5.0)]);
    // 100 bit/s: a byte every 80 slots.
    let mut q = build("grant rate 100bit", env()).unwrap();
    fill(&mut *q, Time::ZERO, 1, 10);
    assert_eq!(run(&mut *q, LONG).sent, [(0, 800.0)]);
}

/// A link whose blocks fail whenever `fails` says so for the n-th conclusion.
fn rigged(options: &str, fails: &[bool]) -> Box<dyn Qdisc> {
    let text = format!("grant rate 8Mbit loss 50% {options}");
    // The draws that follow `seed` are those wanted: below one half fails.
    let wanted = |rng: &mut Rng| fails.iter().all(|fail| (rng.unit() < 0.5) == *fail);
    let seed = (0..1_000_000).find(|seed| wanted(&mut Rng::named(*seed, "rigged"))).unwrap();
    let env = Env { rng: Rng::named(seed, "rigged"), ..env() };
    build(&text, env).unwrap()
}

// KAT grant 2: a failed block is sent again after d, and in-order release delays the others
#[test]
fn a_failed_block_is_sent_again_and_holds_back_what_follows() {
    // Block 0 fails once and is repeated in slot 8; block 8 moves to slot 9.
    let mut q =
        rigged("", &[true, false, false, false, false, false, false, false, false, false, false]);
    fill(&mut *q, Time::ZERO, 10, 1000);
    let sent = run(&mut *q, LONG).sent;
    let expected = [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 10.0, 11.0];
    assert_eq!(sent.iter().map(|s| s.1).collect::<Vec<_>>(), expected);
    assert!(sent.iter().enumerate().all(|(n, (id, _))| *id == n as u32), "{sent:?}");
    assert_eq!((stat(&*q, "failed_blocks"), stat(&*q, "retransmitted_blocks")), (1.0, 1.0));
}

#[test]
fn unacknowledged_mode_releases_what_is_complete_and_drops_what_is_given_up() {
    let once = [true, false, false, false];
    let mut q = rigged("um", &once);
    fill(&mut *q, Time::ZERO, 3, 1000);
    let seen = run(&mut *q, LONG);
    assert_eq!(seen, Seen { sent: vec![(1, 2.0), (2, 3.0), (0, 9.0)], lost: vec![] });
    // With a single attempt the block is lost, and with it both packets that it has a part of.
    let mut q = rigged("um attempts 1", &[false, true, false, false, false, false]);
    fill(&mut *q, Time::ZERO, 4, 800);
    let seen = run(&mut *q, LONG);
    assert_eq!(seen, Seen { sent: vec![(0, 1.0), (3, 4.0)], lost: vec![1, 2] });
    assert_eq!((stat(&*q, "given_up_blocks"), q.backlog()), (1.0, Backlog::default()));
}

#[test]
fn acknowledged_mode_sends_a_block_given_up_as_if_it_were_new() {
    let mut q = rigged("attempts 2 harq 4ms", &[true, true, true, false, false]);
    fill(&mut *q, Time::ZERO, 1, 1000);
    // Slots 0, 4, 8 and 12.
    assert_eq!(run(&mut *q, LONG), Seen { sent: vec![(0, 13.0)], lost: vec![] });
    assert_eq!((stat(&*q, "given_up_blocks"), stat(&*q, "retransmitted_blocks")), (1.0, 3.0));
}

#[test]
fn blocks_fail_with_their_probability_and_cost_capacity_but_no_packet() {
    let mut q = link("loss 10% harq 4ms");
    let n = 20_000;
    fill(&mut *q, Time::ZERO, 1000, 1000);
    let (mut log, mut last, mut id) = (Log::default(), Time::ZERO, 1000);
    let mut received = Vec::new();
    while received.len() < n {
        last = q.wake();
        q.on_wake(last, &mut log);
        while let Some(pkt) = q.dequeue(last, &mut log) {
            received.push(pkt.id);
            q.enqueue(last, Packet { id, len: 1000, ..Packet::default() }, &mut log);
            id += 1;
        }
    }
    assert!(log.is_empty() && received.iter().enumerate().all(|(n, id)| n as u32 == *id));
    // A block needs 1 / 0.9 attempts; four standard errors of n blocks.
    let failed = stat(&*q, "failed_blocks") / stat(&*q, "blocks");
    assert!((failed - 0.1).abs() < 4.0 * (0.09_f64 / n as f64).sqrt(), "{failed}");
    let rate = n as f64 / (last.0 as f64 / 1e6);
    assert!((rate - 0.9).abs() < 0.01, "{rate} blocks per slot");
}

#[test]
fn bytes_wait_for_the_grant_that_they_requested() {
    let mut q = link("request 10ms");
    fill(&mut *q, Time::ZERO, 2, 1000);
    fill(&mut *q, Time(MS), 1, 1000);
    assert_eq!(run(&mut *q, LONG).sent, [(0, 11.0), (1, 12.0), (0, 13.0)]);
    // What arrives later is not granted with what was reported before.
    let mut q = link("request 10ms");
    fill(&mut *q, Time::ZERO, 1, 400);
    fill(&mut *q, Time(5 * MS), 1, 400);
    assert_eq!(run(&mut *q, LONG).sent, [(0, 11.0), (0, 16.0)]);
    assert_eq!(stat(&*q, "padding_bytes"), 1200.0);
}

#[test]
fn a_trace_gives_the_rate_of_each_slot() {
    let mut q = build("grant file t hold", env()).unwrap();
    fill(&mut *q, Time(8 * MS), 5, 1000);
    // 1000 bytes at 8 and 9 ms, none until 20 ms, then 2000.
    assert_eq!(run(&mut *q, LONG).sent, [(0, 9.0), (1, 10.0), (2, 21.0), (3, 21.0), (4, 22.0)]);
}

#[test]
fn a_new_slot_length_begins_with_the_next_slot() {
    let mut q = link("");
    fill(&mut *q, Time::ZERO, 4, 1000);
    let mut seen = run(&mut *q, Time(MS)).sent;
    change(&mut *q, Time(MS + 1), "grant slot 4ms", &mut Log::default()).unwrap();
    seen.extend(run(&mut *q, LONG).sent);
    assert_eq!(seen, [(0, 1.0), (1, 2.0), (2, 6.0), (3, 6.0)]);
}

#[test]
fn rate_and_file_exclude_each_other_and_parameters_are_bounded() {
    let refused = |options: &str| build(&format!("grant {options}"), env()).err().unwrap().0;
    let either = "grant: either `rate`, above zero, or `file` is required";
    assert_eq!(refused(""), either);
    assert_eq!(refused("rate 1Mbit file t"), either);
    assert_eq!(
        refused("rate 1Mbit loss 100%"),
        "grant: `loss 100%`: expected a percentage from 0% to 99%"
    );
    assert_eq!(refused("rate 1Mbit slot 2s"), "grant: `slot 2s`: expected a time from 1us to 1s");
    let mut q = build("grant file t", env()).unwrap();
    assert!(change(&mut *q, Time::ZERO, "grant rate 1Mbit", &mut Log::default()).is_err());
    assert!(change(&mut *q, Time::ZERO, "grant hold", &mut Log::default()).is_err());
}
