//! Version 1 in the models: there are no logs of the tool of 2020, so these are the behaviour that
//! RFC 8298 and the published slides of 2020 state.

use sojourn_cc::scream::Version::{Rfc8298, V2020};
use sojourn_cc::scream::{AckLine, Config, Version};
use sojourn_core::Ecn;

use super::model::{Model, Outcome, model, run};

/// Both modes of a model.
fn modes(name: char, version: Version, seconds: u32) -> [Outcome; 2] {
    [true, false].map(|parity| {
        let model = model(name, version);
        run(&Model { seconds, config: Config { parity, ..model.config.clone() }, ..model })
    })
}

/// Mean on the log's lines between two times, s.
fn mean(out: &Outcome, (from, to): (f32, f32), value: fn(&AckLine) -> f32) -> f32 {
    let lines = out.lines.iter().filter(|line| (from..to).contains(&line.time.as_secs()));
    let (sum, count) = lines.fold((0.0, 0), |(sum, n), line| (sum + value(line), n + 1));
    sum / count as f32
}

fn mbps(out: &Outcome, span: (f32, f32)) -> f32 {
    mean(out, span, |line| line.sent_rate) / 1e6
}

fn queue_delay(out: &Outcome, span: (f32, f32)) -> f32 {
    mean(out, span, |line| line.queue_delay)
}

/// Without marks: all of 20 Mbit/s (97.7 % of it is RTP), and a queue below the target of 60 ms.
#[test]
fn the_tool_of_2020_fills_a_link_up_to_its_delay_target() {
    for out in modes('B', V2020, 60) {
        let span = (15.0, 60.0);
        assert!(mbps(&out, span) > 0.97 * 20.0 * 1212.0 / 1240.0, "{}", mbps(&out, span));
        let delay = queue_delay(&out, span);
        assert!((0.02..0.06).contains(&delay), "{delay}");
    }
}

/// 10 Mbit/s with 24 ms of buffer: losses lower the rate, and it is back at once.
#[test]
fn the_tool_of_2020_recovers_from_losses() {
    for out in modes('E', V2020, 60) {
        assert!(out.drops > 0 && out.summary.loss.all > 0.0);
        assert!(out.drops < out.received / 100, "{} of {}", out.drops, out.received);
        let rate = mbps(&out, (10.0, 60.0));
        assert!((8.5..10.0).contains(&rate), "{rate}");
    }
}

/// L4S marks above 1 ms: the queue stays below, and the rate is what alpha and bursts of frames allow.
#[test]
fn the_tool_of_2020_keeps_an_l4s_queue_short() {
    for out in modes('A', V2020, 60) {
        let span = (10.0, 60.0);
        assert!(queue_delay(&out, span) < 0.0015, "{}", queue_delay(&out, span));
        let rate = mbps(&out, span);
        assert!((15.0..35.0).contains(&rate), "{rate}");
        assert!(out.summary.ce.all > 0.2, "{:?}", out.summary);
        assert_eq!(out.drops, 0);
    }
}

/// From 50 to 10 Mbit/s and back.
#[test]
fn the_tool_of_2020_follows_a_rate_that_changes() {
    for out in modes('D', V2020, 40) {
        let narrow = mbps(&out, (12.0, 20.0));
        assert!((3.0..10.0).contains(&narrow), "{narrow}");
        assert!(queue_delay(&out, (12.0, 20.0)) < 0.01);
        assert!(mbps(&out, (28.0, 40.0)) > 1.5 * narrow);
    }
}

/// Classic marks above 5 ms: frames leave unpaced while the window's updates see an empty queue, and a
/// frame of more than twelve packets is longer than that: 5.5 Mbit/s.
#[test]
fn classic_marks_lower_window_and_rate() {
    for out in modes('C', V2020, 30) {
        let span = (10.0, 30.0);
        assert!(out.summary.ce.all > 0.1 && out.summary.loss.all == 0.0, "{:?}", out.summary);
        let rate = mbps(&out, span);
        assert!((4.5..6.5).contains(&rate), "{rate}");
        let marked = out.lines.windows(2).find(|pair| {
            let [before, after] = pair else { unreachable!() };
            after.cwnd < before.cwnd && after.ce_rate > 0.0
        });
        let [before, after] = marked.expect("a reaction") else { unreachable!() };
        assert!((after.cwnd as f32 / before.cwnd as f32 - 0.9).abs() < 0.01);
        assert!(!after.fast_increase);
    }
}

/// RAMP_UP_SPEED is 200 kbit/s per second, whatever the link.
#[test]
fn rfc_8298_grows_by_its_ramp() {
    for name in ['A', 'B', 'C'] {
        for out in modes(name, Rfc8298, 20) {
            let [early, late] = [(5.0, 6.0), (15.0, 16.0)].map(|span| mbps(&out, span));
            assert!((late - early - 2.0).abs() < 0.25, "{name}: {early} {late}");
            assert!(queue_delay(&out, (5.0, 20.0)) < 0.002);
            assert_eq!(out.drops, 0);
        }
    }
}

/// On 2 Mbit/s RFC 8298 is at the link's rate after a few seconds and holds the queue near its 100 ms.
#[test]
fn rfc_8298_fills_a_slow_link() {
    for parity in [true, false] {
        let model = model('B', Rfc8298);
        let config = Config { parity, ..model.config.clone() };
        let out = run(&Model { seconds: 60, rates: vec![(0, 2e6)], config, ..model });
        let (rate, delay) = (mbps(&out, (20.0, 60.0)), queue_delay(&out, (20.0, 60.0)));
        assert!((1.7..2.0).contains(&rate) && (0.01..0.11).contains(&delay), "{rate} {delay}");
        assert_eq!(out.drops, 0);
    }
}

/// The slides of 2020: an LTE-like link of 22 to 23 Mbit/s with an RTT above 60 ms. Theirs is a radio
/// link, so this is its shape: as fast, all of it, no losses.
// KAT scream-model 1: 2020 slides
#[test]
fn the_slides_of_2020_are_of_this_shape() {
    let printed = [652.0, 2087.0, 5575.0, 13_093.0, 17_277.0, 18_941.0, 20_192.0, 21_269.0];
    for (n, theirs) in (1..).zip(printed) {
        let model = model('B', V2020);
        let model = Model { ecn: Ecn::NotEct, rates: vec![(0, 22.7e6)], back: 2293, ..model };
        let out = run(&Model { seconds: 2 * n, ..model });
        let (rate, delay) = (out.summary.rate / 1e3, out.summary.queue_delay);
        assert!((rate / theirs - 1.0).abs() < 0.25, "{} s: {rate} beside {theirs}", 2 * n);
        assert_eq!(out.drops, 0);
        assert!(delay < 0.06);
    }
}
