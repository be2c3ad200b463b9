//! CE marks of a flow: what its receiver got, and what its sender believes.

use serde::{Deserialize, Serialize};
use sojourn_cc::Feedback;

use crate::summary::Totals;

/// Share of the marks by which the two counts may differ without a note.
const TOLERANCE: f64 = 0.01;

/// CE marks of a flow over the whole run, in packets; segments of merged ones count each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Marks {
    /// That reached the receiver.
    pub received_packets: u64,
    /// That the sender counted from the feedback, if it counts packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_believes_packets: Option<u64>,
    /// Why the two differ, if they do by more than 1 % and what was under way at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Marks {
    /// From the totals of both ends; `under_way` packets had not been reported yet.
    pub fn of(ends: [&Totals; 2], feedback: Feedback, under_way: f64) -> Option<Self> {
        let total = |wanted: &str| {
            let mut all = ends.iter().flat_map(|totals| &totals.0);
            all.find(|(name, _)| name == wanted).map(|(_, value)| *value)
        };
        let received = total("ce_received")?;
        let believed = total("ce_reported");
        let differs = |believed: &f64| {
            let (most, least) = (believed.max(received), believed.min(received));
            let reports = if *believed < received { under_way } else { 0.0 };
            most - least - reports > TOLERANCE * received
        };
        let why = |believed: f64| {
            let reason = reason(feedback, believed > received);
            format!("the sender believes {believed} marks, the receiver got {received}{reason}")
        };
        Some(Self {
            received_packets: received as u64,
            sender_believes_packets: believed.map(|n| n as u64),
            note: believed.filter(differs).map(why),
        })
    }
}

/// What is known of the cause.
fn reason(feedback: Feedback, is_more: bool) -> &'static str {
    match (feedback, is_more) {
        (Feedback::AccEcn, true) => {
            ": an ACK of more than 7 segments leaves the 3-bit ACE counter ambiguous, and the sender \
             takes the most marks that it can mean (RFC 9768 3.2.2.5.2)"
        }
        (Feedback::Rfc3168 | Feedback::Sce, true) => {
            ": every segment acknowledged with ECE counts until CWR arrives (RFC 3168 6.1.3)"
        }
        (Feedback::Rfc3168 | Feedback::Sce, false) => {
            ": ECE tells that there were marks, not how many (RFC 3168 6.1.3)"
        }
        (Feedback::Dctcp, _) => {
            ": each ACK tells one state for all that it acknowledges (RFC 8257 3.2)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
