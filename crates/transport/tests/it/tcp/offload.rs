//! Super-packets and merged segments between two ends (Linux TSO and GRO).

use std::collections::BTreeMap;

use sojourn_cc::Feedback;
use sojourn_core::{Bytes, Dur, Rate, Time};
use sojourn_transport::Endpoint;
use sojourn_transport::tcp::Config;

use super::pipe::{Fate, MSS, Passing, Pipe, at_ms, config, ms};

fn with(gso: bool, gro: bool) -> Config {
    let hold = Dur::from_micros(500);
    Config { gso, gro, gro_flush_timeout: hold, ..config(Feedback::AccEcn, 2000) }
}

fn finished(config: Config, rule: impl FnMut(&Passing) -> Fate + 'static) -> Pipe {
    let mut pipe = Pipe::new("cubic nohystart", config, ms(10)).rule(rule).start();
    pipe.finish(at_ms(60_000));
    pipe
}

/// The same segments leave at the same times, in fewer packets.
#[test]
fn a_super_packet_is_a_burst() {
    let plain = finished(with(false, false), |_| Fate::Pass);
    let joined = finished(with(true, false), |_| Fate::Pass);
    assert_eq!(plain.total("segments_sent"), joined.total("segments_sent"));
    let first_rounds = |pipe: &Pipe| {
        let mut sent: Vec<(u64, u64)> = vec![];
        for p in pipe.data().filter(|p| p.at < at_ms(41)) {
            for n in 0..p.segment.segments() {
                sent.push((p.at.0, p.segment.split(n).seq));
            }
        }
        sent
    };
    assert_eq!(
        first_rounds(&plain),
        first_rounds(&joined),
        "until the first ACK of a super-packet"
    );
    assert!(joined.data().count() < plain.data().count() / 2);
    assert!(joined.data().all(|p| p.segment.len <= 65_535 && p.segment.segments() <= 45));
    let whole = |p: &&Passing| p.segment.gso_size > 0;
    assert!(joined.data().filter(whole).all(|p| u64::from(p.segment.gso_size) == MSS));
    assert!(joined.acks().count() < plain.acks().count() / 2, "one ACK for each packet");
    assert_eq!((plain.rx.delivered(), joined.rx.delivered()), (2000 * MSS, 2000 * MSS));
}

/// What a mark on a super-packet costs: each of its segments counts.
#[test]
fn a_marked_super_packet_is_as_many_marked_segments() {
    for option in [false, true] {
        let config = Config { accecn_option: option, ..with(true, false) };
        let mut of_the_mark = 0;
        let pipe = finished(config, |p| {
            let size = p.segment.segments();
            if p.data && (3..8).contains(&size) { Fate::Mark } else { Fate::Pass }
        });
        let marked = pipe.data().filter(|p| (3..8).contains(&p.segment.segments()));
        of_the_mark += marked.map(|p| u64::from(p.segment.segments())).sum::<u64>();
        assert!(of_the_mark > 0);
        let received = pipe.rx.totals().0;
        let ce = received.iter().find(|(n, _)| *n == "ce_received").expect("a total").1;
        assert_eq!(ce as u64, of_the_mark);
        // Fewer than eight each: the counter is unambiguous.
        assert_eq!(pipe.total("ce_reported"), of_the_mark);
    }
}

#[test]
fn a_lost_super_packet_comes_again_segment_by_segment() {
    let pipe = finished(with(true, false), {
        let mut lost = false;
        move |p: &Passing| {
            if !lost && p.data && p.segment.segments() >= 4 && p.index > 100 {
                lost = true;
                return Fate::Drop;
            }
            Fate::Pass
        }
    });
    let dropped = pipe.data().find(|p| p.index > 100 && p.segment.segments() >= 4);
    let dropped = dropped.expect("one was dropped").segment;
    assert_eq!(pipe.total("lost"), u64::from(dropped.segments()));
    assert_eq!(pipe.total("retransmits"), u64::from(dropped.segments()));
    assert_eq!(pipe.total("timeouts"), 0);
}

// KAT gro 2: one ACK per merged unit; marks break it up and raise the rate of ACKs
#[test]
fn merged_segments_have_one_ack_and_marks_break_them_up() {
    let acks = |mut config: Config, every: u64| {
        // A window that does not grow is not shown at once.
        config.rmem_max = Bytes(131_072);
        // Nor does the end of a burst end a unit.
        config.push_bursts = false;
        let pipe = finished(config, move |p| {
            let mark = p.data && every > 0 && p.index % every == 0;
            if mark { Fate::Mark } else { Fate::Pass }
        });
        (pipe.acks().count() as f64) / pipe.data().count() as f64
    };
    let (plain, merged) = (acks(with(false, false), 0), acks(with(false, true), 0));
    assert!((0.5..0.56).contains(&plain), "one for two: {plain}");
    assert!(merged < 0.2, "{merged}");
    // Of eight segments one is marked: it and the seven between it and the next are a unit each, at most.
    let broken = acks(with(false, true), 8);
    assert!((0.24..0.4).contains(&broken), "{broken}");
}

/// As the testbed of ect1 shows with a window of three: two segments for each ACK, and a window that does not grow, since
/// small queues and not cwnd are what limits (Linux 5.4 `tcp_small_queue_check`, `skb_orphan_partial`).
#[test]
fn what_small_queues_hold_waits_for_the_next_ack_where_netem_wakes_nobody() {
    let run = |tsq_netem: bool| {
        let config = Config { tsq_netem, ..config(Feedback::AccEcn, 600) };
        let rule = |p: &Passing| match p.index {
            30..=300 if p.data && p.index.is_multiple_of(6) => Fate::Mark,
            _ => Fate::Pass,
        };
        let mut pipe = Pipe::new("cubic nohystart", config, ms(10)).rule(rule);
        pipe = pipe.bottleneck(Rate(50_000_000), 1000).start();
        pipe.finish(at_ms(60_000));
        pipe
    };
    // How many segments leave in an instant, after the last mark.
    let together = |pipe: &Pipe| {
        let mut of: BTreeMap<Time, usize> = BTreeMap::new();
        for p in pipe.data().filter(|p| (302..460).contains(&p.index)) {
            *of.entry(p.at).or_default() += 1;
        }
        of.into_values().collect::<Vec<_>>()
    };
    let (held, free) = (run(true), run(false));
    // The marks leave a window of two or three: two segments leave with each ACK, until the application writes.
    let held_groups = together(&held);
    let more: Vec<_> = (0..held_groups.len()).filter(|&at| held_groups[at] > 2).collect();
    // 45 times two segments: a third of the buffer takes two packets of 45 segments.
    assert_eq!(more, [7, 52]);
    assert!(together(&free)[..15].contains(&3));
    assert!(held.now > free.now + ms(300), "{:?} {:?}", held.now, free.now);
    // The first write is the application's, which nothing holds.
    let first = |pipe: &Pipe| {
        let at = pipe.data().map(|p| p.at).next();
        pipe.data().filter(|p| Some(p.at) == at).count()
    };
    assert_eq!((first(&held), first(&free)), (10, 10));
}
