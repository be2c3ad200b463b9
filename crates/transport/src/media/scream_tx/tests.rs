use proptest::prelude::*;
use sojourn_core::wire::ccfb::Count;
use sojourn_core::{Ecn, Rng};

use super::*;
use crate::media::scream_rx::{self, REPORT_BYTES, Receiver};

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn params(version: Version, parity: bool, rate: f32, tool: Tool) -> Params {
    let rates = Stream { min_rate: rate, init_rate: rate, max_rate: rate, ..Stream::new(100) };
    Params {
        config: Config { parity, ..Config::new(version) },
        streams: vec![(rates, Encoder::Tool(tool))],
        microburst: Dur::from_micros(500),
        host: Host::default(),
        counting: Counting::default(),
    }
}

fn session(params: Params) -> Session {
    let mut session = Session::new(params, Rng::named(1, "session"));
    session.start(Time::ZERO);
    session
}

/// Lets the session run to `end` before a receiver 5 ms away; gives when which packets left.
fn run(session: &mut Session, end: Time) -> Vec<(Time, Outgoing)> {
    let mut rx = Receiver::new(scream_rx::Params::new(Version::V2026, false), Time::ZERO);
    let (mut sent, mut arrived) = (Vec::<(Time, Outgoing)>::new(), 0);
    let mut reports = std::collections::VecDeque::new();
    let mut out = [0; REPORT_BYTES];
    let way = Dur::from_millis(5);
    let mut now = Time::ZERO;
    while now <= end {
        session.on_timer(now);
        while let Some(packet) = session.poll(now) {
            sent.push((now, packet));
        }
        while let Some((at, packet)) = sent.get(arrived).filter(|(at, _)| *at + way <= now) {
            rx.on_rtp(*at + way, &packet.header(), packet.rtp.bytes, Ecn::Ect1);
            arrived += 1;
        }
        while let Some(len) = rx.next_report(now, &mut out) {
            reports.push_back((now + way, out[..len].to_vec()));
        }
        while reports.front().is_some_and(|(due, _)| *due <= now) {
            let (_, bytes) = reports.pop_front().expect("it is due");
            session.on_feedback(now, &bytes, false, &mut |_| {}).expect("own report");
        }
        let mut next = session.deadline().min(rx.deadline());
        next = next.min(sent.get(arrived).map_or(Time::NEVER, |(at, _)| *at + way));
        next = next.min(reports.front().map_or(Time::NEVER, |(due, _)| *due));
        now = next.max(Time(now.0 + 1));
    }
    sent
}

/// Payload bytes of each frame that left whole.
fn frames(sent: &[(Time, Outgoing)]) -> Vec<u64> {
    let mut frames = Vec::new();
    let mut bytes = 0;
    for (_, packet) in sent {
        bytes += u64::from(packet.header().payload);
        if packet.rtp.marker {
            frames.push(bytes);
            bytes = 0;
        }
    }
    frames
}

// KAT scream-tx 5: frames of rate / fps, packets of 1200 bytes, one timestamp, a marker
#[test]
fn a_frame_is_the_rate_over_the_frame_rate_in_packets() {
    let mut session = session(params(Version::V2026, false, 2e6, Tool::default()));
    let sent = run(&mut session, ms(999));
    let sizes = frames(&sent);
    assert!(sizes[10..].iter().all(|bytes| *bytes == 5000), "{sizes:?}");
    let frame: Vec<Header> = sent.iter().rev().take(5).map(|(_, p)| p.header()).collect();
    let payloads: Vec<u32> = frame.iter().rev().map(|h| h.payload).collect();
    assert_eq!(payloads, [1200, 1200, 1200, 1200, 200]);
    assert!(frame.iter().all(|h| h.timestamp == frame[0].timestamp && h.payload_type == 98));
    assert!(frame[0].marker && !frame[1].marker);
    let numbers: Vec<u16> = sent.iter().map(|(_, p)| p.rtp.seq).collect();
    assert!(numbers.iter().zip(0..).all(|(seq, n)| *seq == n), "from 0 on");
    // 20 ms of 90 kHz, to within a tick of the clock of 1/65536 s.
    let stamps: Vec<u32> =
        sent.iter().filter(|(_, p)| p.rtp.marker).map(|(_, p)| p.rtp.timestamp).collect();
    assert!(stamps.windows(2).all(|w| (1798..=1802).contains(&(w[1] - w[0]))), "{stamps:?}");
    let last = &sent.last().expect("packets").1;
    assert_eq!((last.frame.packets, last.frame.captured), (5, ms(980)));
}

// KAT scream-tx 6: -rand 50 is plus or minus 25 percent
#[test]
fn in_parity_frames_vary_by_half_of_what_is_asked() {
    for (parity, low, high) in [(true, 3750, 6250), (false, 2500, 7500)] {
        let tool = Tool { rand: 50.0, ..Tool::default() };
        let mut session = session(params(Version::V2026, parity, 2e6, tool));
        let sizes = &frames(&run(&mut session, ms(8000)))[10..];
        let (least, most) =
            (sizes.iter().min().expect("frames"), sizes.iter().max().expect("frames"));
        assert!(low <= *least && *most <= high, "{parity}: {least} {most}");
        assert!(*least < low + 150 && *most > high - 150, "{parity}: {least} {most}");
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((mean / 5000.0 - 1.0).abs() < 0.05, "{parity}: {mean}");
    }
}

// KAT scream-tx 3: -key
#[test]
fn a_key_frame_comes_after_its_time_and_others_keep_their_size() {
    let key = Key { every: Dur::from_millis(500), times: 3.0 };
    let mut session =
        session(params(Version::V2026, false, 2e6, Tool { key: Some(key), ..Tool::default() }));
    let sent = run(&mut session, ms(2200));
    let mut large: Vec<Time> = Vec::new();
    for (_, packet) in sent.iter().filter(|(_, p)| p.rtp.marker && p.frame.packets > 5) {
        assert_eq!(packet.frame.packets, 13, "15000 bytes");
        large.push(packet.frame.captured);
    }
    assert_eq!(large, [ms(500), ms(1000), ms(1500), ms(2000)]);
}

// KAT scream-tx 4: -burst
#[test]
fn media_come_and_go() {
    let burst = OnOff { on: Dur::from_millis(300), off: Dur::from_millis(200) };
    let tool = Tool { burst: Some(burst), ..Tool::default() };
    let mut session = session(params(Version::V2026, false, 2e6, tool));
    let sent = run(&mut session, ms(1450));
    let on = |at: Time| at.0 % 500_000_000 < 300_000_000;
    assert!(sent.iter().all(|(_, packet)| on(packet.frame.captured)));
    let halves = sent.iter().filter(|(_, p)| p.rtp.marker).count();
    assert_eq!(halves, 3 * 15);
}

// KAT scream-tx 9: bursts of 0.5 ms at 1.5 times the rate
#[test]
fn bursts_leave_back_to_back_and_the_next_when_their_time_is_over() {
    let mut session = session(params(Version::V2026, false, 20e6, Tool::default()));
    let sent = run(&mut session, ms(3000));
    let late: Vec<Time> = sent.iter().map(|(at, _)| *at).filter(|at| *at > ms(2000)).collect();
    let mut bursts: Vec<(Time, u32)> = Vec::new();
    for at in late {
        match bursts.last_mut() {
            Some((begin, packets)) if *begin == at => *packets += 1,
            _ => bursts.push((at, 1)),
        }
    }
    // 1212 bytes at 30 Mbit/s take 0.32 ms: two of them exceed 0.5 ms.
    let whole: Vec<_> =
        bursts.windows(2).filter(|w| w[1].0.since(w[0].0) < Dur::from_millis(2)).collect();
    assert!(whole.len() > 500);
    for pair in &whole {
        assert_eq!(pair[0].1, 2, "{pair:?}");
        let gap = pair[1].0.since(pair[0].0).as_millis_f64();
        assert!((0.60..0.70).contains(&gap), "{gap}");
    }
}

// KAT scream-tx 10: a sleep is shorter by 100 us and longer by the slack
#[test]
fn a_modelled_machine_steps_in_ticks_and_sleeps_with_slack() {
    let host = Host::MODEL;
    let fixed = params(Version::V2026, true, 20e6, Tool::default());
    let mut session = session(Params { host, ..fixed });
    let sent = run(&mut session, ms(3000));
    let late: Vec<Time> = sent.iter().map(|(at, _)| *at).filter(|at| *at > ms(2000)).collect();
    for at in &late {
        let ticks = Ticks::count(*at, Time::ZERO);
        assert_eq!(Ticks::reached(ticks, Time::ZERO), *at, "at a tick");
    }
    // Two packets a tick apart, then 0.65 - 0.1 + 0.06 ms and up to two ticks.
    let gaps: Vec<u64> = late.windows(2).map(|w| w[1].since(w[0]).0 / 1000).collect();
    let (mut single, mut sleeps) = (0, 0);
    for gap in gaps.into_iter().filter(|gap| *gap < 2000) {
        match gap {
            15..=16 => single += 1,
            600..=660 => sleeps += 1,
            other => panic!("{other} us"),
        }
    }
    assert!(single > 500 && sleeps > 500, "{single} {sleeps}");
}

#[test]
fn the_receivers_count_is_found_out_and_what_is_no_report_is_refused() {
    let mut session = session(params(Version::V2026, false, 2e6, Tool::default()));
    run(&mut session, ms(500));
    assert_eq!(session.counting().known(), Some(Count::Exact));
    let reports = session.counts().reports;
    let read = session.on_feedback(ms(501), &[0; 40], false, &mut |_| {});
    assert_eq!(read, Err(ccfb::Error::Version(0)));
    assert_eq!((session.counts().refused, session.counts().reports), (1, reports));
}

#[test]
fn a_stopped_session_sends_its_queue_and_rests() {
    let mut session = session(params(Version::V2026, false, 20e6, Tool::default()));
    session.stop();
    assert!(session.is_alive());
    let sent = run(&mut session, ms(1000));
    assert!(!session.is_alive());
    assert_eq!(sent.len() as u64 + session.counts().discarded, 42, "one frame of 50000 bytes");
    assert_eq!(session.deadline(), Time::NEVER);
}

#[test]
fn without_reports_the_queue_is_bounded_and_the_session_goes_on() {
    let mut session = session(params(Version::V2026, false, 5e6, Tool::default()));
    let mut now = Time::ZERO;
    let mut packets = 0;
    while now < ms(20_000) {
        session.on_timer(now);
        while session.poll(now).is_some() {
            packets += 1;
        }
        assert!(session.queued < 1100, "{}", session.queued);
        assert!(session.deadline() > now && session.deadline() <= now + Dur::from_millis(50));
        now = session.deadline();
    }
    let counts = session.counts();
    assert_eq!(counts.packets, packets);
    assert!(counts.discarded > 1000 && packets > 1000, "{counts:?}");
    let made = counts.packets + counts.discarded + session.queued;
    assert_eq!(made, session.next_handle, "every packet has a fate");
}

#[test]
fn streams_have_numbers_of_their_own() {
    let mut two = params(Version::V2026, false, 2e6, Tool::default());
    let (stream, media) = two.streams[0];
    two.streams.push((Stream { ssrc: 101, ..stream }, media));
    let mut session = session(two);
    let sent = run(&mut session, ms(2000));
    for (index, ssrc) in [(0, 100), (1, 101)] {
        let own: Vec<u16> =
            sent.iter().filter(|(_, p)| p.stream == index).map(|(_, p)| p.rtp.seq).collect();
        assert!(own.len() > 300 && own.iter().zip(0..).all(|(seq, n)| *seq == n), "{index}");
        assert!(sent.iter().filter(|(_, p)| p.stream == index).all(|(_, p)| p.ssrc == ssrc));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Whatever a receiver writes, the session goes on, and every packet has one fate.
    #[test]
    fn any_reports_leave_a_session_that_goes_on(
        bodies in prop::collection::vec(
            prop::collection::vec(prop_oneof![Just(0_u8), 0..=0x40_u8, any::<u8>()], 12..240), 1..60),
        version in prop::sample::select(vec![Version::V2024, Version::V2024b, Version::V2026]),
        parity: bool,
        model: bool,
    ) {
        let host = if model { Host::MODEL } else { Host::default() };
        let mut session = session(Params { host, ..params(version, parity, 3e6, Tool::default()) });
        let (mut now, mut polls) = (Time::ZERO, 0);
        let mut bodies = bodies.into_iter();
        while now < ms(1500) {
            session.on_timer(now);
            if polls % 16 == 0 && let Some(body) = bodies.next() {
                // A right header, and the SSRC of the stream.
                let words = body.len() / 4;
                let mut bytes = vec![0x8b, 205, 0, words as u8];
                bytes.extend(&body[..4 * words]);
                bytes[8..12].copy_from_slice(&100_u32.to_be_bytes());
                let _ = session.on_feedback(now, &bytes, true, &mut |_| {});
            }
            while session.poll(now).is_some() {}
            polls += 1;
            prop_assert!(session.deadline() > now);
            now = session.deadline();
        }
        let counts = *session.counts();
        prop_assert_eq!(counts.packets + counts.discarded + session.queued, session.next_handle);
        prop_assert!(counts.frames + counts.skipped >= 70);
    }
}

// KAT scream-tx 7: v2020 drops every 30 s, frames of 10 bytes for 100 ms
#[test]
fn the_tool_of_2020_makes_tiny_frames_once_in_thirty_seconds() {
    for (drain, tiny) in [(Some(30.0), 10), (None, 0)] {
        let mut params = params(Version::V2020, false, 1e6, Tool::default());
        params.config.drain_interval = drain;
        params.streams[0].1 = Encoder::Tool(Tool { fps: 50.0, ..Tool::default() });
        let mut session = session(params);
        let sent = run(&mut session, ms(60_050));
        let small = sent.iter().filter(|(_, packet)| packet.rtp.bytes == 22);
        let at: Vec<u64> = small.map(|(_, packet)| packet.frame.captured.0 / 100_000_000).collect();
        assert_eq!(at.len(), tiny);
        assert!(at.iter().all(|slot| slot % 300 == 299), "{at:?}");
    }
}

// KAT scream-tx 8: v2020's frame clock sleeps
#[test]
fn the_frame_clock_of_2020_loses_what_its_sleeps_take_longer() {
    for (version, interval) in [(Version::V2020, 20_060_000), (Version::V2024, 20_000_000)] {
        let host = Host::MODEL;
        let mut session = session(Params { host, ..params(version, false, 1e6, Tool::default()) });
        let sent = run(&mut session, ms(1000));
        let frames: Vec<u64> = sent.iter().map(|(_, packet)| packet.frame.captured.0).collect();
        assert!(frames.len() > 40);
        assert!(frames.iter().all(|at| at % interval == 0), "{version:?}: {frames:?}");
    }
}

// KAT scream-tx 11: v2020 adds up what isOkToTransmit says, to 1 ms
#[test]
fn the_tool_of_2020_bursts_for_a_millisecond() {
    let mut params = params(Version::V2020, false, 10e6, Tool::default());
    params.config.l4s = true; // paced always
    let mut session = session(params);
    let sent = run(&mut session, ms(5000));
    let mut gaps = Vec::new();
    for pair in sent.windows(2).filter(|pair| pair[0].0 >= ms(2000)) {
        let gap = pair[1].0.since(pair[0].0).0;
        if gap > 0 && pair[0].1.frame.number == pair[1].1.frame.number {
            gaps.push(gap as f64 / 1e6);
        }
    }
    // Beyond 1 ms by less than the time of the packet that ends it.
    assert!(gaps.len() > 20, "{gaps:?}");
    assert!(gaps.iter().all(|gap| (1.0..1.2).contains(gap)), "{gaps:?}");
}
