//! Constant bit rate: packets of one size at equal distances, like `iperf3 -u`, for unresponsive
//! traffic beside a queue's other flows (RFC 7928 5.3).

use sojourn_core::{Rng, parameters};

use super::application::line;
use super::udp::{Departure, Pacing, Stream};
use super::{App, Application, Entry, Source};

pub(super) const ENTRY: Entry =
    line::<Params>("cbr", "Unresponsive UDP at a constant bit rate", "RFC 7928 5.3");

parameters! {
    /// Parameters of `cbr`.
    #[derive(Copy)]
    struct Params {}
    groups { stream: Stream = Stream::default(); }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Udp(Box::new(Cbr::new(self.stream)))
    }
}

#[derive(Debug)]
struct Cbr {
    stream: Stream,
    pacing: Pacing,
}

impl Cbr {
    fn new(stream: Stream) -> Self {
        Self { stream, pacing: Pacing::default() }
    }
}

impl Source for Cbr {
    fn next(&mut self, _rng: &mut Rng) -> Departure {
        let Stream { rate, size } = self.stream;
        Departure { after: self.pacing.gap(rate, size), size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self::new(self.stream))
    }
}

#[cfg(test)]
mod tests;
