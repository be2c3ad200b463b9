//! BBR: paces at the bandwidth that the path has shown and keeps about one bandwidth-delay product
//! in flight. One file per version; [`v3`] is the default.
//!
//! Sources: v1, Linux net/ipv4/tcp_bbr.c and draft-cardwell-iccrg-bbr-congestion-control-00; v2,
//! draft -02 of that name; v3, google/bbr (branch v3, 001a430b) and draft-ietf-ccwg-bbr.

mod model;
mod v1;
mod v2;
mod v3;

use super::algorithm::{Algorithm, Entry, entry};
use super::{Controller, Kernel};
use sojourn_core::grammar::Given;
use sojourn_core::{choices, parameters};

pub(super) const ENTRY: Entry = entry::<Params>(
    "bbr",
    "Paces at the measured bandwidth with one bandwidth-delay product in flight.",
    "draft-ietf-ccwg-bbr and google/bbr 001a430b (v3); draft-cardwell-iccrg-bbr-congestion-control-02 \
     (v2) and -00, Linux 4.20 and later (v1)",
    Kernel::Mainline("4.9"),
);

parameters! {
    /// Parameters of `bbr`.
    #[derive(Copy)]
    struct Params {
        /// v1: mainline Linux; v2: loss and ECN bounds; v3: Google's tree and the draft.
        version: Version = Version::V3;
        /// v2, v3: the route marks shallow queues (ECN_LOW): send ECT(1) and respond to CE.
        ecn: bool = false, name "ecn|noecn";
    }
    settle knows_ecn;
}

choices! {
    enum Version { V1 = "v1", V2 = "v2", V3 = "v3" }
}

impl Params {
    fn knows_ecn(self, _: &Given) -> Result<(), String> {
        if self.ecn && self.version == Version::V1 {
            return Err("version v1 does not respond to ECN".to_owned());
        }
        Ok(())
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        match self.version {
            Version::V1 => Box::new(v1::V1::new()),
            Version::V2 => Box::new(v3::V3::new(v2::PROFILE, self.ecn)),
            Version::V3 => Box::new(v3::V3::new(v3::PROFILE, self.ecn)),
        }
    }
}
