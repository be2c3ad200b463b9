//! One TCP connection that always has data to send, as netperf's TCP_STREAM and iperf3, or as much
//! as the flow's `bytes` say.

use sojourn_core::parameters;

use super::application::line;
use super::{App, Application, Entry};

pub(super) const ENTRY: Entry = line::<Params>(
    "bulk",
    "One TCP connection that always has data, or as much as `bytes` say",
    "netperf TCP_STREAM",
);

parameters! {
    /// Parameters of `bulk`, of which there are none.
    struct Params {}
}

impl Application for Params {
    fn build(&self) -> App {
        App::Bulk
    }
}
