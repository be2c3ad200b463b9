//! BBR: paces at the bandwidth that the path has shown and keeps about one bandwidth-delay product
//! in flight. One file per version; [`v3`] is the default.
//!
//! Facts: `cc.md` 3.7, 3.8, 3.13.6; the drafts draft-cardwell-iccrg-bbr-congestion-control-00 (v1)
//! and -02 (v2), draft-ietf-ccwg-bbr (v3).

mod model;
mod v1;
mod v2;
mod v3;

use super::Controller;
use crate::legacy::OldEntry;
use sojourn_core::grammar::{Args, GrammarError, Param};

pub(super) const ENTRY: OldEntry = OldEntry {
    name: "bbr",
    summary: "Paces at the measured bandwidth with one bandwidth-delay product in flight.",
    reference: "draft-ietf-ccwg-bbr and google/bbr 001a430b (v3); \
                draft-cardwell-iccrg-bbr-congestion-control-02 (v2) and -00, Linux 4.20 and later \
                (v1)",
    params: PARAMS,
    build,
};

const PARAMS: &[Param] = &[
    Param {
        name: "version",
        value: "v1|v2|v3",
        default: "v3",
        doc: "v1: mainline Linux; v2: loss and ECN bounds; v3: Google's tree and the draft.",
    },
    Param {
        name: "ecn|noecn",
        value: "",
        default: "noecn",
        doc: "v2, v3: the route marks shallow queues (ECN_LOW): send ECT(1) and respond to CE.",
    },
];

const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

fn build(args: &mut Args<'_>) -> Result<Box<dyn Controller>, GrammarError> {
    let (mut version, mut ecn) = (2, false);
    while let Some(key) = args.key() {
        match key {
            "version" => version = args.choice(&VERSIONS)?,
            "ecn" => ecn = true,
            "noecn" => ecn = false,
            _ => return Err(args.unknown()),
        }
    }
    match version {
        0 if ecn => Err(args.invalid("version v1 does not respond to ECN")),
        0 => Ok(Box::new(v1::V1::new())),
        1 => Ok(Box::new(v3::V3::new(v2::PROFILE, ecn))),
        _ => Ok(Box::new(v3::V3::new(v3::PROFILE, ecn))),
    }
}
