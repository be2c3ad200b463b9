//! The end point of a flow that runs elsewhere.

use sojourn_core::{Ecn, Time};
use sojourn_transport::{Body, Endpoint, Transmit};

/// It sends nothing, and nothing is recorded of it.
pub(crate) struct Absent;

impl Endpoint for Absent {
    fn on_packet(&mut self, _now: Time, _body: &Body, _ecn: Ecn) {}

    fn poll(&mut self, _now: Time) -> Option<Transmit> {
        None
    }
}
