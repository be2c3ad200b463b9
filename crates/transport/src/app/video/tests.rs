use std::collections::BTreeMap;

use crate::app::udp::tests::departures;

#[test]
fn frames_have_the_rate_and_key_frames_their_size() {
    let mut frames = BTreeMap::<u64, u64>::new();
    for (at, size) in departures("video rate 4Mbit fps 25 gop 50 key 5", 200) {
        *frames.entry(at).or_default() += u64::from(size) - 28;
    }
    assert_eq!(frames.len(), 5000);
    let rate = frames.values().sum::<u64>() as f64 * 8e-6 / 200.0;
    assert!((rate / 4.0 - 1.0).abs() < 0.01, "{rate} Mbit/s");
    let (mut keys, mut others) = (0.0, 0.0);
    for (n, bytes) in frames.values().enumerate() {
        *(if n % 50 == 0 { &mut keys } else { &mut others }) += *bytes as f64;
    }
    let ratio = (keys / 100.0) / (others / 4900.0);
    assert!((ratio / 5.0 - 1.0).abs() < 0.05, "{ratio}");
}
