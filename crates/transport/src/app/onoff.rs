//! Unresponsive UDP that sends at a constant rate while it is on, and nothing while it is off.

use sojourn_core::{Dur, Rng, parameters};

use super::application::line;
use super::udp::{Departure, Pacing, Stream, exponential, positive_time};
use super::{App, Application, Entry, Source};

pub(super) const ENTRY: Entry = line::<Params>(
    "onoff",
    "Unresponsive UDP that alternates between a constant rate and silence",
    "RFC 7928 5.3",
);

parameters! {
    /// Parameters of `onoff`.
    #[derive(Copy)]
    struct Params {
        /// Length of an on period.
        on: Dur = Dur::from_millis(1000) => positive_time();
        /// Length of an off period.
        off: Dur = Dur::from_millis(1000) => positive_time();
        /// Whether the periods have these lengths, or these means.
        fixed: bool = true, name "fixed|exponential";
    }
    groups { stream: Stream = Stream::default(); }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Udp(Box::new(OnOff::new(*self)))
    }
}

#[derive(Debug)]
struct OnOff {
    params: Params,
    pacing: Pacing,
    /// Since the start of this on period.
    at: Dur,
    /// Length of this on period; zero before the first.
    length: Dur,
}

impl OnOff {
    fn new(params: Params) -> Self {
        Self { params, pacing: Pacing::default(), at: Dur::ZERO, length: Dur::ZERO }
    }

    fn period(&self, mean: Dur, rng: &mut Rng) -> Dur {
        if self.params.fixed { mean } else { exponential(mean, rng) }
    }
}

impl Source for OnOff {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        let Stream { rate, size } = self.params.stream;
        let gap = self.pacing.gap(rate, size);
        if self.length > Dur::ZERO && self.at + gap < self.length {
            self.at += gap;
            return Departure { after: gap, size };
        }
        // The rest of this on period, silence, and the first packet of the next on period.
        let mut after = Dur::ZERO;
        if self.length > Dur::ZERO {
            after = self.length.saturating_sub(self.at) + self.period(self.params.off, rng);
        }
        self.length = self.period(self.params.on, rng).max(Dur(1));
        (self.pacing, self.at) = (Pacing::default(), Dur::ZERO);
        self.pacing.gap(rate, size);
        Departure { after, size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self::new(self.params))
    }
}

#[cfg(test)]
mod tests;
