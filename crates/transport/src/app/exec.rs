//! Programs of the user's own in the place of end points, which only a live run has. What they send is not
//! known here.

use sojourn_core::{Ecn, Time, parameters};

use super::application::line;
use super::{App, Application, Entry};
use crate::endpoint::{Body, Endpoint, Transmit};

pub(super) const ENTRY: Entry = line::<Params>(
    "exec",
    "Programs of one's own, which `exec` of the flow names; live runs only",
    "iperf3, curl, a browser",
);

parameters! {
    /// Parameters of `exec`.
    #[derive(Copy)]
    struct Params {
        /// The client receives the data, as in a download; else it sends them.
        pulls: bool = false;
    }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Exec { pulls: self.pulls }
    }
}

/// An end point that neither sends nor receives, where the program is elsewhere.
#[derive(Debug)]
pub struct Absent;

impl Endpoint for Absent {
    fn on_packet(&mut self, _now: Time, _body: &Body, _ecn: Ecn) {}

    fn poll(&mut self, _now: Time) -> Option<Transmit> {
        None
    }

    fn is_alive(&self) -> bool {
        false
    }
}
