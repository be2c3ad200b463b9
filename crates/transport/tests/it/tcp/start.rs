//! Opening, slow start, acknowledgement policy, windows and closing.

use sojourn_cc::Feedback;
use sojourn_core::{Bytes, Ecn, Rate, Time};
use sojourn_transport::Endpoint;
use sojourn_transport::tcp::{Config, Era};

use super::pipe::{Fate, MSS, Pipe, at_ms, config, ms};

/// Segments sent in each round trip of `rtt` after the handshake.
fn per_round(pipe: &Pipe, rtt: u64) -> Vec<usize> {
    let mut rounds = Vec::new();
    for sent in pipe.data() {
        let round = (sent.at.since(at_ms(rtt)).0 / ms(rtt).0) as usize;
        rounds.resize(rounds.len().max(round + 1), 0);
        rounds[round] += 1;
    }
    rounds
}

// KAT reno 6
#[test]
fn slow_start_doubles_from_ten_segments_each_round_trip() {
    for cc in [
        "reno",
        "cubic nohystart",
        "prague",
        "prague version p1",
        "prague version p2a",
        "prague version p2b",
    ] {
        let feedback = Feedback::AccEcn;
        let mut pipe = Pipe::new(cc, config(feedback, None), ms(50)).start();
        pipe.run_until(Time(699_999_999));
        assert_eq!(per_round(&pipe, 100), [10, 20, 40, 80, 160, 320], "{cc}");
    }
}

// KAT completion 1: handshake and four rounds of data carry 150 segments.
#[test]
fn a_hundred_and_fifty_segments_take_five_round_trips() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 150), ms(50)).start();
    pipe.finish(at_ms(1000));
    assert_eq!(per_round(&pipe, 100), [10, 20, 40, 80]);
    assert_eq!(pipe.now, at_ms(500));
}

#[test]
fn sixteen_quick_acks_then_one_ack_for_two_segments() {
    let config = Config { rmem_max: Bytes(131_072), ..config(Feedback::None, None) };
    let mut pipe = Pipe::new("reno", config, ms(50)).start();
    pipe.run_until(at_ms(690));
    let acked: Vec<u64> = pipe.acks().map(|a| (a.segment.ack - 1) / MSS).collect();
    let steps: Vec<u64> = acked.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!((acked[0], &steps[..15]), (1, &[1; 15][..]));
    assert_eq!(steps[15..56], [2; 41]);
}

#[test]
fn a_growing_window_is_shown_with_every_segment() {
    // Linux tcp_grow_window asks for a quick ACK each time.
    let mut pipe = Pipe::new("reno", config(Feedback::None, None), ms(50)).start();
    pipe.run_until(at_ms(690));
    let edges: Vec<u64> =
        pipe.acks().map(|a| a.segment.ack + u64::from(a.segment.window)).collect();
    let wider = edges.windows(2).filter(|w| w[1] - w[0] > 2 * MSS).count();
    assert!(wider > 50, "{wider} of {}", edges.len());
}

#[test]
fn every_ack_carries_the_advertised_window_and_its_edge_never_recedes() {
    let mut pipe = Pipe::new("cubic", config(Feedback::None, None), ms(20)).start();
    pipe.run_until(at_ms(2000));
    let edges: Vec<u64> =
        pipe.acks().map(|a| a.segment.ack + u64::from(a.segment.window)).collect();
    assert!(edges.len() > 1000);
    assert!(edges.windows(2).all(|w| w[0] <= w[1]));
}

/// Half of it, but one segment, is a window of 65,536 bytes.
const BUFFER: Bytes = Bytes(2 * (65_536 + MSS));

#[test]
fn a_small_receive_buffer_limits_the_flight_and_freezes_cwnd() {
    let small = Config { rmem_default: BUFFER, rmem_max: BUFFER, ..config(Feedback::None, None) };
    let mut pipe = Pipe::new("reno", small, ms(50)).start();
    pipe.run_until(at_ms(1000));
    let cwnd = pipe.tx.window().cwnd;
    pipe.run_until(at_ms(10_000));
    assert_eq!(pipe.probe("in_flight"), 46.0, "65536 bytes hold 45 segments and a short one");
    assert_eq!(pipe.tx.window().cwnd, cwnd);
    assert!((80..=92).contains(&cwnd), "slow start stops at twice what was used: {cwnd}");
}

// Linux tcp_mss_split_point, tcp_minshall_check; 7.2 does the same (a 65160-byte window at 9 Mbit/s, packet for packet).
#[test]
fn a_window_that_ends_within_a_segment_is_filled_with_a_short_one_unless_one_is_outstanding() {
    let small = Config { rmem_default: BUFFER, rmem_max: BUFFER, ..config(Feedback::None, None) };
    let mut pipe = Pipe::new("reno", small, ms(50)).start();
    pipe.run_until(at_ms(3000));
    let acks: Vec<_> = pipe.acks().map(|a| (a.at + ms(50), a.segment)).collect();
    let mut last: Option<u64> = None;
    let mut count = 0;
    for sent in pipe.data().filter(|sent| u64::from(sent.segment.len) < MSS) {
        let known = acks.iter().take_while(|(at, _)| *at <= sent.at).last().expect("an ACK").1;
        assert_eq!(sent.segment.end(), known.ack + u64::from(known.window), "it fills the window");
        assert!(last.is_none_or(|end| end <= known.ack), "no second one is outstanding");
        last = Some(sent.segment.end());
        count += 1;
    }
    assert!((10..=30).contains(&count), "about one in each round trip: {count}");
}

// Linux tcp_nagle_test with tcp_minshall_check: each call of the application, 128 KiB, ends with a short segment.
#[test]
fn the_short_end_of_a_write_waits_while_another_is_under_way() {
    let small = Config { wmem_max: Bytes(65_200), ..Config::of(Era::E7) };
    let mut pipe = Pipe::new("reno", small, ms(7)).bottleneck(Rate(104_000_000), 1000).start();
    pipe.run_until(at_ms(3000));
    let acks: Vec<_> = pipe.acks().map(|a| (a.at + ms(7), a.segment.ack)).collect();
    let short: Vec<_> = pipe.data().filter(|p| u64::from(p.segment.len) < MSS).collect();
    assert!(short.len() > 10, "{}", short.len());
    for two in short.windows(2) {
        let known = acks.iter().take_while(|(at, _)| *at <= two[1].at).last().expect("an ACK").1;
        assert!(two[0].segment.end() <= known, "{} at {:?}", two[0].segment.end(), two[1].at);
    }
}

// Linux tcp_cong_avoid sets snd_cwnd_stamp: RFC 2861's decay is for windows that do not grow.
#[test]
fn a_window_that_the_send_buffer_limits_does_not_decay() {
    let small = Config { wmem_max: Bytes(89_300), ..Config::of(Era::E7) };
    let mut pipe =
        Pipe::new("reno hystart off", small, ms(6)).bottleneck(Rate(25_900_000), 1000).start();
    pipe.run_until(at_ms(300));
    let cwnd = pipe.tx.window().cwnd;
    pipe.run_until(at_ms(5000));
    assert_eq!(pipe.tx.window().cwnd, cwnd);
    assert!(cwnd > 100, "{cwnd}");
}

#[test]
fn the_send_buffer_limits_the_flight_too() {
    let small = Config { wmem_max: Bytes(30 * MSS), ..config(Feedback::None, None) };
    let mut pipe = Pipe::new("reno", small, ms(50)).start();
    pipe.run_until(at_ms(5000));
    let flights = per_round(&pipe, 100);
    assert_eq!(flights[3..].iter().max(), Some(&30));
    assert!(pipe.tx.window().cwnd <= 60);
}

#[test]
fn fin_follows_the_last_byte_and_ends_the_flow() {
    for (bytes, segments) in [(0, 1), (1, 1), (MSS, 1), (10 * MSS + 100, 11)] {
        let config = Config { bytes: Some(bytes), ..config(Feedback::None, None) };
        let mut pipe = Pipe::new("reno", config, ms(10)).start();
        pipe.finish(at_ms(500));
        let fins: Vec<_> = pipe.data().filter(|p| p.segment.flags.fin).collect();
        assert_eq!((fins.len(), fins[0].segment.end()), (1, bytes + 2));
        assert_eq!(pipe.data().count(), segments);
        assert!(!pipe.tx.is_alive());
        assert_eq!(pipe.total("acked_bytes"), bytes);
        assert_eq!(pipe.tx.deadline(), Time::NEVER, "no timer outlives the flow");
    }
}

#[test]
fn stopping_ends_with_what_has_been_sent() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, None), ms(10)).start();
    pipe.run_until(at_ms(95));
    pipe.tx.stop(pipe.now);
    pipe.run_until(at_ms(400));
    assert!(!pipe.tx.is_alive());
    assert_eq!(pipe.rx.delivered(), pipe.total("acked_bytes"));
    assert_eq!(pipe.data().filter(|p| p.segment.flags.fin).count(), 1);
}

#[test]
fn a_lost_syn_is_sent_again_after_one_second_then_two() {
    let mut pipe = Pipe::new("reno", config(Feedback::AccEcn, 20), ms(10))
        .rule(|p| if p.at < at_ms(2500) && p.forward { Fate::Drop } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(5000));
    let syns: Vec<u64> =
        pipe.log.iter().filter(|p| p.forward && p.segment.flags.syn).map(|p| p.at.0).collect();
    assert_eq!(syns, [0, 1_056_000_000, 3_104_000_000]);
}

#[test]
fn a_late_copy_of_the_syn_does_not_disturb_an_open_connection() {
    let mut pipe = Pipe::new("reno", config(Feedback::AccEcn, 200), ms(10))
        .rule(|p| if p.forward && p.segment.flags.syn { Fate::Twice(ms(55)) } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(1000));
    assert_eq!(pipe.total("timeouts"), 0);
}

#[test]
fn the_control_connection_takes_its_round_trips_whatever_is_duplicated() {
    let config = Config { control_rtts: 2, ..config(Feedback::AccEcn, 200) };
    let mut pipe = Pipe::new("reno", config, ms(10))
        .rule(|p| if p.segment.flags.control { Fate::Twice(ms(5)) } else { Fate::Pass })
        .start();
    pipe.finish(at_ms(1000));
    let syns: Vec<u64> =
        pipe.log.iter().filter(|p| p.forward && p.segment.flags.syn).map(|p| p.at.0).collect();
    assert_eq!(syns, [40_000_000]);
}

/// ECN of both directions for each combination of `tcp_ecn` at the ends (RFC 9768 table 2).
#[test]
fn ends_of_different_ability_send_what_both_understand() {
    use Feedback::{AccEcn, None, Rfc3168};
    for (cc, client, server, data, ack) in [
        ("prague", AccEcn, AccEcn, Ecn::Ect1, Ecn::Ect1),
        ("prague", AccEcn, Rfc3168, Ecn::NotEct, Ecn::NotEct),
        ("prague version p3", AccEcn, Rfc3168, Ecn::Ect0, Ecn::NotEct),
        ("prague", AccEcn, None, Ecn::NotEct, Ecn::NotEct),
        ("cubic", AccEcn, AccEcn, Ecn::Ect0, Ecn::Ect0),
        ("cubic", AccEcn, Rfc3168, Ecn::Ect0, Ecn::NotEct),
        ("cubic", Rfc3168, AccEcn, Ecn::Ect0, Ecn::NotEct),
        ("cubic", Rfc3168, Rfc3168, Ecn::Ect0, Ecn::NotEct),
        ("reno", Rfc3168, None, Ecn::NotEct, Ecn::NotEct),
        ("reno", None, AccEcn, Ecn::NotEct, Ecn::NotEct),
    ] {
        let (client, server) = (config(client, 50), config(server, 50));
        let mut pipe = Pipe::between(cc, client, server, ms(10)).start();
        pipe.finish(at_ms(1000));
        let combination = format!("{cc} {:?}", (data, ack));
        assert!(pipe.data().all(|p| p.ecn == data), "{combination}");
        assert!(pipe.acks().all(|p| p.ecn == ack), "{combination}");
        let synack = pipe.log.iter().find(|p| !p.forward).expect("a SYN/ACK");
        assert_eq!(synack.ecn, Ecn::NotEct, "{combination}");
    }
}

#[test]
fn frames_have_their_size_on_ethernet() {
    let mut pipe = Pipe::new("reno", config(Feedback::None, 50), ms(10)).start();
    pipe.finish(at_ms(1000));
    let full = pipe.data().next().expect("data");
    assert_eq!(full.segment.frame_len(true), 1514);
    let ack = pipe.acks().next().expect("an ACK");
    assert_eq!(ack.segment.frame_len(true), 66);
}

/// Era 7.x without ECN.
fn newest(bytes: Option<u64>) -> Config {
    Config { ecn: Feedback::None, bytes, ..Config::of(Era::E7) }
}

#[test]
fn what_the_send_buffer_holds_is_sent_after_the_stop_of_7_x() {
    let stopped = |config| {
        let mut pipe = Pipe::new("reno", config, ms(10)).start();
        pipe.run_until(at_ms(95));
        pipe.tx.stop(pipe.now);
        let sent = pipe.data().count();
        pipe.run_until(at_ms(2000));
        assert!(!pipe.tx.is_alive());
        assert_eq!(pipe.rx.delivered(), pipe.total("acked_bytes"));
        assert_eq!(pipe.data().filter(|p| p.segment.flags.fin).count(), 1);
        pipe.data().count() - sent
    };
    assert_eq!(stopped(Config { tso_buffers: false, ..newest(None) }), 1, "the FIN");
    assert!(stopped(newest(None)) > 40);
}

// `tcp_send_fin`: what was sent as it was written is gone when the application closes.
#[test]
fn the_fin_of_7_x_rides_only_on_what_still_waits() {
    for (segments, apart) in [(3, true), (10, true), (11, false), (40, false)] {
        let mut pipe = Pipe::new("reno", newest(Some(segments * MSS)), ms(10)).start();
        pipe.finish(at_ms(500));
        let fin = pipe.data().find(|p| p.segment.flags.fin).map(|p| p.segment.len == 0);
        assert_eq!(fin, Some(apart), "{segments}");
        assert!(!pipe.tx.is_alive());
    }
}
