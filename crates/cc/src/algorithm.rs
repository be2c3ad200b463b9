//! What is known of a controller from its parameters, before and without a connection.

use super::{Controller, Feedback, Needs, scream};

/// The parameters of a congestion controller.
pub trait Algorithm {
    /// What can only be found by trying, as the constructor of a class in Python: tried once, when
    /// a scenario is read. After it [`Algorithm::build`] cannot fail.
    fn check(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// A controller for a new connection.
    fn build(&self) -> Box<dyn Controller>;

    /// What the end points must negotiate and run for it.
    fn needs(&self) -> Needs {
        self.build().needs()
    }

    /// SCReAM's parameters, if it is SCReAM, which end points of its own run.
    fn scream(&self) -> Option<&scream::Setup> {
        None
    }

    /// Whether it follows the HyStart of the end point's kernel ([`Path::hystart`](super::Path)).
    fn follows_hystart(&self) -> bool {
        false
    }

    /// Whether it reads reports of each packet, which receivers of media send.
    fn controls_media(&self) -> bool {
        self.needs().feedback == Some(Feedback::Ccfb)
    }

    /// Whether its feedback is not TCP's.
    fn over_udp(&self) -> bool {
        matches!(self.needs().feedback, Some(Feedback::Ccfb | Feedback::Counters))
    }
}

sojourn_core::family!(Algorithm, super::LINES);
