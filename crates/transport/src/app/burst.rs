//! Bursts of UDP packets back to back, at equal distances: the unresponsive bursts of the SCE tests.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rng};

use super::udp::{Departure, SIZE, positive_time, size};
use super::{App, Entry, Source};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "burst",
    summary: "Unresponsive UDP in bursts of packets back to back",
    reference: "sce-l4s-ect1, UDP bursts",
    params: &[
        Param {
            name: "packets",
            value: "NUMBER",
            default: "32",
            doc: "Packets of a burst, 1 to 100000.",
        },
        SIZE,
        Param {
            name: "interval",
            value: "TIME",
            default: "100ms",
            doc: "From one burst to the next.",
        },
    ],
    build,
};

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut packets, mut bytes, mut interval) = (32, 1200, Dur::from_millis(100));
    while let Some(key) = args.key() {
        match key {
            "packets" => packets = args.number(1..=100_000)?,
            "size" => bytes = size(args)?,
            "interval" => interval = positive_time(args)?,
            _ => return Err(args.unknown()),
        }
    }
    Ok(App::Udp(Box::new(Burst { packets, size: bytes, interval, sent: 0 })))
}

#[derive(Debug)]
struct Burst {
    packets: u64,
    size: u32,
    interval: Dur,
    sent: u64,
}

impl Source for Burst {
    fn next(&mut self, _rng: &mut Rng) -> Departure {
        let first = self.sent > 0 && self.sent.is_multiple_of(self.packets);
        self.sent += 1;
        Departure { after: if first { self.interval } else { Dur::ZERO }, size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { sent: 0, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use crate::app::udp::tests::departures;

    #[test]
    fn a_burst_leaves_at_one_instant() {
        let all = departures("burst packets 3 interval 20ms size 500", 1);
        assert_eq!(all.len(), 150);
        let times: Vec<u64> = all.iter().take(5).map(|p| p.0 / 1_000_000).collect();
        assert_eq!(times, [0, 0, 0, 20, 20]);
    }
}
