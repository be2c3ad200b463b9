//! Of datagrams without known feedback: what a constant rate shows.

use super::sender;
use crate::report::{Answer, Family, Flow};

/// Rate of a scalable sender at a probability of marks of 1/2: 2 segments of 1500 bytes for each 25 ms
/// (draft-briscoe-iccrg-prague-congestion-control 2.4.4), Mbit/s.
const PRAGUE_MBPS: f64 = 0.96;
/// Times that rate from which on it is no such sender.
const FAR_ABOVE: f64 = 3.0;
/// Standard deviation of a constant rate over 100 ms, of its mean.
const STEADY: f64 = 0.1;
/// Intervals of 100 ms.
const LEAST_INTERVALS: u64 = 30;

/// Intervals of a rate that is constant although nobody answers: five seconds.
const LEAST_UNANSWERED: u64 = 50;

/// A constant rate far above that of a controller at this share of marks, or one whose receiver says nothing.
pub(super) fn answer(flow: &Flow) -> Option<Answer> {
    let direction = sender(flow);
    let rate = direction.rate_mbps.filter(|rate| rate.n >= LEAST_INTERVALS)?;
    if rate.stddev > STEADY * rate.mean {
        return None;
    }
    let spread = 100.0 * rate.stddev / rate.mean;
    let answers = flow.forward.packets.min(flow.backward.packets);
    let marked = direction.ce_percent.unwrap_or(0.0) / 100.0;
    let lawful = PRAGUE_MBPS * (1.0 - marked) / marked;
    let evidence = if marked > 0.0 && rate.mean >= FAR_ABOVE * lawful {
        format!(
            "{:.2} Mbit/s within {spread:.1} % with {:.1} % CE, of which Prague would send {lawful:.2}",
            rate.mean,
            100.0 * marked
        )
    } else if answers == 0 && rate.n >= LEAST_UNANSWERED {
        format!(
            "{:.2} Mbit/s within {spread:.1} % for {:.0} s, and not one packet back from which it could know of congestion",
            rate.mean,
            flow.end_s - flow.start_s
        )
    } else {
        return None;
    };
    Some(Answer { family: Family::Unresponsive, kept: None, evidence })
}
