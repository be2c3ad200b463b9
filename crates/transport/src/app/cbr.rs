//! Constant bit rate: packets of one size at equal distances, like `iperf3 -u`, for unresponsive
//! traffic beside a queue's other flows (RFC 7928 5.3).

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Rate, Rng};

use super::udp::{Departure, Pacing, SIZE, gaps, positive_rate, size};
use super::{App, Entry, Source};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "cbr",
    summary: "Unresponsive UDP at a constant bit rate",
    reference: "RFC 7928 5.3",
    params: &[
        Param {
            name: "rate",
            value: "RATE",
            default: "none, required",
            doc: "Bits of IP packets per second.",
        },
        SIZE,
    ],
    build,
};

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut rate, mut bytes) = (None, 1200);
    while let Some(key) = args.key() {
        match key {
            "rate" => rate = Some(positive_rate(args)?),
            "size" => bytes = size(args)?,
            _ => return Err(args.unknown()),
        }
    }
    let rate = rate.ok_or_else(|| args.invalid("`rate` is missing"))?;
    gaps(args, rate, bytes)?;
    Ok(App::Udp(Box::new(Cbr { rate, size: bytes, pacing: Pacing::default() })))
}

#[derive(Debug)]
struct Cbr {
    rate: Rate,
    size: u32,
    pacing: Pacing,
}

impl Source for Cbr {
    fn next(&mut self, _rng: &mut Rng) -> Departure {
        Departure { after: self.pacing.gap(self.rate, self.size), size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { pacing: Pacing::default(), ..*self })
    }
}

#[cfg(test)]
mod tests {
    use crate::app::udp::tests::departures;

    #[test]
    fn packets_leave_at_multiples_of_size_over_rate_without_drift() {
        let all = departures("cbr rate 7Mbit size 1000", 60);
        assert_eq!(all.len(), 60 * 875);
        assert!(all.iter().enumerate().all(|(n, p)| *p == (n as u64 * 8_000_000 / 7, 1000)));
    }
}
