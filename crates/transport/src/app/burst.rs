//! Bursts of UDP packets back to back, at equal distances: the unresponsive bursts of the SCE tests.

use sojourn_core::grammar::forms::number;
use sojourn_core::{Dur, Rng, parameters};

use super::application::line;
use super::udp::{Departure, positive_time, size};
use super::{App, Application, Entry, Source};

pub(super) const ENTRY: Entry = line::<Params>(
    "burst",
    "Unresponsive UDP in bursts of packets back to back",
    "sce-l4s-ect1, UDP bursts",
);

parameters! {
    /// Parameters of `burst`.
    #[derive(Copy)]
    struct Params {
        /// Packets of a burst, 1 to 100000.
        packets: u64 = 32 => number(1..=100_000);
        /// IP bytes of a packet, 29 to 65535.
        size: u32 = 1200 => size();
        /// From one burst to the next.
        interval: Dur = Dur::from_millis(100) => positive_time();
    }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Udp(Box::new(Burst { params: *self, sent: 0 }))
    }
}

#[derive(Debug)]
struct Burst {
    params: Params,
    sent: u64,
}

impl Source for Burst {
    fn next(&mut self, _rng: &mut Rng) -> Departure {
        let Params { packets, size, interval } = self.params;
        let first = self.sent > 0 && self.sent.is_multiple_of(packets);
        self.sent += 1;
        Departure { after: if first { interval } else { Dur::ZERO }, size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { sent: 0, ..*self })
    }
}

#[cfg(test)]
mod tests;
