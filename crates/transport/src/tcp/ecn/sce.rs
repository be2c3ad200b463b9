//! SCE at the receiver: when an ACK carries ESCE (draft-grimes-tcpm-tcpsce; SCE kernel of 2019).
//!
//! SCE is ECT(1) on a packet that was sent with ECT(0). ESCE is the AE bit, formerly NS. CE is
//! RFC 3168's business and leaves all of this alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_core::Ecn;

/// How the receiver chooses the ACKs that carry ESCE.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SceFeedback {
    /// An ACK at once where marked and unmarked segments meet, so that each covers one kind only.
    #[default]
    Advanced,
    /// ACKs as without SCE, with ESCE so often that its bytes are those marked.
    Dithered,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sce {
    feedback: SceFeedback,
    /// Advanced: the next ACK carries ESCE (QUEUE_ESCE). One ACK; its loss loses the signal.
    queued: bool,
    /// Advanced: the last segment that was not CE was marked (PRIOR_ESCE).
    prior: bool,
    /// Dithered: marked bytes less those acknowledged with ESCE.
    owed: i64,
}

impl Sce {
    pub(super) fn new(feedback: SceFeedback) -> Self {
        Self { feedback, ..Self::default() }
    }

    /// Whether what arrived before this segment must be acknowledged by itself.
    pub(super) fn divides(&self, ecn: Ecn) -> bool {
        self.feedback == SceFeedback::Advanced && ecn != Ecn::Ce && (ecn == Ecn::Ect1) != self.prior
    }

    pub(super) fn on_data(&mut self, ecn: Ecn, payload: u32) {
        match ecn {
            Ecn::Ce => {}
            Ecn::Ect1 => {
                self.owed += i64::from(payload);
                self.queued = true;
                self.prior = true;
            }
            Ecn::NotEct | Ecn::Ect0 => {
                self.queued = false;
                self.prior = false;
            }
        }
    }

    /// ESCE of an ACK that leaves now and covers this many new bytes.
    pub(super) fn esce(&mut self, covered: u64) -> bool {
        match self.feedback {
            SceFeedback::Advanced => std::mem::take(&mut self.queued),
            SceFeedback::Dithered => {
                // The choice that leaves the smaller difference.
                let covered = covered as i64;
                let esce = covered > 0 && 2 * self.owed >= covered;
                if esce {
                    self.owed -= covered;
                }
                esce
            }
        }
    }
}
