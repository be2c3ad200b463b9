//! BBRv2 is the procedure of [`super::v3`] with these constants and differences:
//! draft-cardwell-iccrg-bbr-congestion-control-02.

use super::model::UNIT;
use super::v3::{Profile, Rules};

pub(super) const PROFILE: Profile = Profile {
    startup_pacing: UNIT * 2885 / 1000 + 1,
    startup_cwnd: UNIT * 2885 / 1000 + 1,
    down_pacing: UNIT * 3 / 4,
    up_cwnd: 2 * UNIT,
    startup_losses: 8,
    ecn_reprobe: 0,
    rules: Rules::V2,
};
