use super::*;

pub(in crate::media) const PLAIN: Params = Params {
    fps: 50.0,
    gop: 1,
    key: 1.0,
    sigma: 0.0,
    packet: 1200,
    delay: Dur::ZERO,
    queue: Dur::from_secs(1),
    least: Rate(0),
    most: Rate(u64::MAX),
};

fn source(params: Params) -> Source {
    let mut source = Source::new(params, 1500, Rng::named(1, "source"));
    source.start(Time(7), Rate(2_000_000));
    source
}

#[test]
fn frames_are_the_rate_over_the_frame_rate_and_split_into_packets() {
    let mut s = source(PLAIN);
    let frame = s.frame();
    assert_eq!(frame, Frame { number: 0, captured: Time(7), bytes: 5000, packets: 5 });
    let sizes: Vec<u32> = (0..5).map(|i| s.packet_size(&frame, i)).collect();
    assert_eq!(sizes, [1200, 1200, 1200, 1200, 200]);
    assert_eq!(s.due(), Time(20_000_007));
    let mut small = Source::new(PLAIN, 576, Rng::named(1, "source"));
    small.start(Time::ZERO, Rate(2_000_000));
    assert_eq!(small.frame().packets, 9, "the MTU bounds packets");
}

#[test]
fn a_last_packet_has_its_headers_and_a_byte() {
    for rate in [1, 480_500, 480_001, 496_000] {
        let mut s = Source::new(PLAIN, 1500, Rng::named(1, "source"));
        s.start(Time::ZERO, Rate(rate));
        let frame = s.frame();
        assert!(s.packet_size(&frame, frame.packets - 1) > HEADERS, "{rate}");
    }
}

#[test]
fn frames_follow_the_target_after_the_encoders_delay() {
    let mut s = source(Params { delay: Dur::from_millis(50), ..PLAIN });
    let mut bytes = vec![];
    for n in 0..6 {
        if n == 1 {
            s.set_target(s.due(), Rate(1_000_000)); // at 20 ms: from 70 ms on
            s.set_target(s.due(), Rate(1_000_000));
        }
        bytes.push(s.frame().bytes);
    }
    assert_eq!(bytes, [5000, 5000, 5000, 5000, 2500, 2500]);
    assert_eq!(s.rate(), Rate(1_000_000));
}

#[test]
fn an_encoder_stays_between_its_least_and_greatest_rate() {
    let mut s = source(Params { least: Rate(400_000), most: Rate(800_000), ..PLAIN });
    assert_eq!(s.frame().bytes, 2000, "2 Mbit/s are asked for");
    s.set_target(s.due(), Rate(1));
    assert_eq!(s.frame().bytes, 1000);
    s.set_target(s.due(), Rate(600_000));
    assert_eq!(s.frame().bytes, 1500);
}

#[test]
fn key_frames_and_noise_keep_the_mean() {
    let mut s = source(Params { gop: 50, key: 5.0, sigma: 0.15, ..PLAIN });
    let frames: Vec<Frame> = (0..5000).map(|_| s.frame()).collect();
    let mean = frames.iter().map(|f| f.bytes).sum::<u64>() as f64 / 5000.0;
    assert!((mean / 5000.0 - 1.0).abs() < 0.01, "{mean}");
    let keys = frames.iter().step_by(50).map(|f| f.bytes).sum::<u64>() as f64 / 100.0;
    let ratio = keys / ((mean * 50.0 - keys) / 49.0);
    assert!((ratio / 5.0 - 1.0).abs() < 0.05, "{ratio}");
}
