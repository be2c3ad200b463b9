//! Unresponsive UDP whose packets leave at exponentially distributed distances.

use sojourn_core::{Dur, Rng, parameters};

use super::application::line;
use super::udp::{Departure, Stream, exponential};
use super::{App, Application, Entry, Source};

pub(super) const ENTRY: Entry = line::<Params>(
    "poisson",
    "Unresponsive UDP at exponentially distributed distances",
    "Poisson process",
);

parameters! {
    /// Parameters of `poisson`.
    #[derive(Copy)]
    struct Params {}
    groups { stream: Stream = Stream::default(); }
}

impl Application for Params {
    fn build(&self) -> App {
        let Stream { rate, size } = self.stream;
        let gap = Dur((u128::from(size) * 8_000_000_000 / u128::from(rate.0)) as u64);
        App::Udp(Box::new(Poisson { gap, size }))
    }
}

#[derive(Clone, Debug)]
struct Poisson {
    gap: Dur,
    size: u32,
}

impl Source for Poisson {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        Departure { after: exponential(self.gap, rng), size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
