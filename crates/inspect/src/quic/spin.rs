//! Round trips by the spin bit (RFC 9000 17.4), with the caution that RFC 9312 3.8 and 4.2 ask for.
//!
//! The client sends the opposite of what it received, the server the same: seen from between, the bit of one
//! direction turns once per round trip, and the directions turn in turn. Packets that overtake others make turns
//! that are none, and an end may send a fixed or random bit instead.

use crate::report::Spin;
use crate::samples::Samples;

/// A turn that follows another within this share of a round trip is a packet out of order (RFC 9312 4.2).
const EARLIEST: f64 = 0.125;
/// Gain of the round trip that this refers to.
const GAIN: f64 = 0.125;
/// Fewer turns than this tell nothing.
const LEAST_TURNS: u64 = 4;
/// Fewer packets than this tell not that the bit is still.
const LEAST_PACKETS: u64 = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Spinning {
    ways: [Way; 2],
    /// Which direction turned last.
    last: Option<usize>,
    turns: u64,
    /// Turns behind one of the other direction.
    in_turn: u64,
    rtt: Samples,
}

#[derive(Clone, Debug, Default)]
struct Way {
    packets: u64,
    value: bool,
    /// When it turned, ns.
    turned: Option<u64>,
    rtt: Option<f64>,
    flips: u64,
    last_value: bool,
}

impl Spinning {
    pub(super) fn on_packet(&mut self, at: u64, forward: bool, spin: bool) {
        let index = usize::from(!forward);
        let way = &mut self.ways[index];
        way.packets += 1;
        if way.packets == 1 {
            (way.value, way.last_value) = (spin, spin);
            return;
        }
        way.flips += u64::from(spin != way.last_value);
        way.last_value = spin;
        if spin == way.value {
            return;
        }
        if let Some(turned) = way.turned {
            let passed = at.saturating_sub(turned) as f64 / 1e6;
            match &mut way.rtt {
                // Nothing says whether the first one is a round trip.
                None => way.rtt = Some(passed),
                Some(rtt) if passed < EARLIEST * *rtt => return,
                // It was none.
                Some(rtt) if *rtt < EARLIEST * passed => *rtt = passed,
                Some(rtt) => {
                    *rtt += GAIN * (passed - *rtt);
                    self.rtt.record(passed);
                }
            }
        }
        (way.value, way.turned) = (spin, Some(at));
        self.turns += 1;
        self.in_turn += u64::from(self.last.is_some_and(|last| last != index));
        self.last = Some(index);
    }

    pub(super) fn spin(&self) -> Spin {
        let [forward, backward] = &self.ways;
        let packets = forward.packets + backward.packets;
        if self.turns < LEAST_TURNS {
            let is_still = self.turns == 0 && packets >= LEAST_PACKETS;
            return if is_still { Spin::Still } else { Spin::Unknown };
        }
        let is_spinning = if forward.packets.min(backward.packets) > 0 {
            // Of random bits every second turn is by the other direction.
            5 * self.in_turn >= 4 * (self.turns - 1)
        } else {
            // Of one direction alone: a random bit turns with every second packet.
            4 * (forward.flips + backward.flips) <= packets
        };
        if is_spinning { Spin::Spinning } else { Spin::Random }
    }

    pub(super) fn rtt(&self) -> &Samples {
        &self.rtt
    }
}

#[cfg(test)]
mod tests;
