//! What congestion signals did, from the packets of a capture.
//!
//! An [`Analyser`] gets packets in their order and keeps per flow what it needs; [`Analyser::finish`] makes a
//! [`report::Report`] of it, plain data that is printed as tables, JSON or pages elsewhere.

#![warn(missing_docs)]

pub mod events;
pub mod report;
pub mod samples;

use sojourn_capture::layers::Layers;
use sojourn_core::Time;

use report::Report;

/// What is kept besides counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Every packet's event of each flow, for plots and series.
    pub events: bool,
}

/// Packets in, a report out.
#[derive(Debug, Default)]
pub struct Analyser {
    options: Options,
}

impl Analyser {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Takes the next packet. Times may go back a little, as captures of several processors do.
    pub fn packet(&mut self, time: Time, layers: &Layers<'_>) {
        let _ = (self.options.events, time, layers);
    }

    /// What was seen.
    pub fn finish(self) -> Report {
        Report::default()
    }
}
