use std::collections::VecDeque;

use sojourn_cc as cc;
use sojourn_cc::scream::Version;

use super::super::scream_rx::{self, REPORT_BYTES, Receiver};
use super::*;

const SSRC: u32 = 7;
const DELAY: Dur = Dur::from_millis(20);

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn front(options: &str) -> Front {
    let spec = cc::read(options).expect("valid");
    let mut front = Front::new(spec.scream().expect("SCReAM"), Time::ZERO);
    let stream = Stream { ssrc: SSRC, ..front.template() };
    front.add_stream(stream).expect("a place");
    front
}

fn packet(seq: u16, marker: bool, payload: usize) -> Vec<u8> {
    let header = Header {
        marker,
        payload_type: 96,
        seq,
        timestamp: u32::from(seq) * 1800,
        ssrc: SSRC,
        payload: payload as u32,
    };
    [&header.write()[..], &vec![0; payload]].concat()
}

/// An encoder of 50 frames per second behind which a link of `rate` has a queue that marks above
/// 1 ms; gives the target at each second and the greatest queue.
fn run(front: &mut Front, rate: impl Fn(Time) -> Rate, seconds: u64) -> (Vec<Rate>, Dur) {
    let mut rx = Receiver::new(scream_rx::Params::new(Version::V2026, false), Time::ZERO);
    let mut reports: VecDeque<(Time, Vec<u8>)> = VecDeque::new();
    let (mut seq, mut frame, mut free) = (0_u16, Time::ZERO, Time::ZERO);
    let (mut targets, mut longest) = (Vec::new(), Dur::ZERO);
    let (mut now, mut wake) = (Time::ZERO, Time::ZERO);
    let mut out = [0; REPORT_BYTES];
    while now < ms(seconds * 1000) {
        if frame <= now {
            let target = front.target(now, SSRC).expect("known").rate;
            if frame.0.is_multiple_of(1_000_000_000) {
                targets.push(target);
            }
            let mut left = (target.0 / 8 / 50) as usize;
            while left > 0 {
                let payload = left.min(1200);
                left -= payload;
                let _ = front.push(now, &packet(seq, left == 0, payload)); // full: left out
                seq = seq.wrapping_add(1);
            }
            frame += Dur::from_millis(20);
        }
        while let Some((_, bytes)) = reports.pop_front_if(|(at, _)| *at <= now) {
            front.on_feedback(now, &bytes).expect("a report");
        }
        wake = loop {
            match front.next(now) {
                Next::Packet(_, bytes) => {
                    let start = now.max(free);
                    longest = longest.max(start.since(now));
                    let ce = start.since(now) > Dur::from_millis(1);
                    let ecn = if ce { Ecn::Ce } else { Ecn::Ect1 };
                    free = start + rate(now).time_for(bytes.len() as u64 + 28);
                    let header = Header::parse(&bytes).expect("RTP");
                    rx.on_rtp(free, &header, bytes.len() as u32, ecn);
                    while let Some(len) = rx.next_report(free, &mut out) {
                        reports.push_back((free + DELAY, out[..len].to_vec()));
                    }
                }
                Next::At(at) => break at,
                Next::Idle => break Time::NEVER,
            }
        };
        let report = reports.front().map_or(Time::NEVER, |(at, _)| *at);
        now = frame.min(report).min(wake).max(now + Dur(1));
    }
    let _ = wake;
    (targets, longest)
}

#[test]
fn the_target_follows_a_bottleneck_and_its_queue_stays_short() {
    let mut front = front("scream max_rate 50Mbit");
    let (high, low) = (Rate(20_000_000), Rate(5_000_000));
    let (targets, _) = run(&mut front, |now| if now < ms(10_000) { high } else { low }, 20);
    let (before, after) = (targets[9], targets[19]);
    assert!((10_000_000..high.0).contains(&before.0), "{targets:?}");
    assert!((2_000_000..low.0).contains(&after.0), "{targets:?}");
    let (_, queue) = run(&mut self::front("scream max_rate 50Mbit"), |_| high, 10);
    assert!(queue < Dur::from_millis(60), "{queue:?}");
    let counts = front.counts();
    assert!(counts.packets + counts.discarded <= counts.pushed);
    let kept = front.packets.places.len() - front.packets.free.len();
    assert_eq!(kept as u64, counts.pushed - counts.packets - counts.discarded);
}

#[test]
fn what_is_no_packet_of_a_stream_is_refused() {
    let mut front = front("scream");
    let refused = |front: &mut Front, bytes: &[u8]| front.push(ms(1), bytes).unwrap_err();
    assert_eq!(refused(&mut front, &[0x80; 5]), Refusal::Rtp(rtp::Error::Short));
    let mut other = packet(0, true, 10);
    other[11] = 8;
    assert_eq!(refused(&mut front, &other).to_string(), "SSRC 8: no such stream");
    assert_eq!(refused(&mut front, &packet(0, true, 65_500)), Refusal::Long(65_512));
    assert_eq!(front.next(ms(1)), Next::Idle);
    assert!(front.on_feedback(ms(1), b"no report").is_err());
    assert_eq!(front.target(ms(1), 8), Err(Refusal::Unknown(8)));
}

#[test]
fn streams_have_rates_in_order_and_are_ten() {
    let mut front = front("scream");
    let template = front.template();
    let again = front.add_stream(Stream { ssrc: SSRC, ..template });
    assert_eq!(again, Err(Refusal::Known(SSRC)));
    for ssrc in 100..109 {
        front.add_stream(Stream { ssrc, ..template }).expect("a place");
    }
    assert_eq!(front.add_stream(Stream { ssrc: 200, ..template }), Err(Refusal::Streams));
    let mut front = self::front("scream");
    for bad in [
        Stream { min_rate: 0.0, ..template },
        Stream { max_rate: f32::NAN, ..template },
        Stream { init_rate: 1e12, ..template },
        Stream { priority: 0.0, ..template },
    ] {
        assert!(matches!(front.add_stream(bad), Err(Refusal::Stream(_))), "{bad:?}");
    }
}

#[test]
fn an_encoder_that_ignores_its_target_fills_no_memory() {
    let mut front = front("scream");
    let mut refused = 0;
    for n in 0..200_000_u64 {
        let now = Time(n * 10_000);
        refused += u64::from(front.push(now, &packet(n as u16, true, 100)).is_err());
        while let Next::Packet(..) = front.next(now) {}
    }
    assert!(front.packets.places.len() <= 20_000, "{}", front.packets.places.len());
    let counts = front.counts();
    assert_eq!(counts.pushed + refused, 200_000);
}
