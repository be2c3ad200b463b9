//! What limited a run and what the bottleneck looked like, in one line.

use serde_json::{Value, json};
use sojourn_core::{Dur, Ecn};

use super::ecn_path::Arrived;

/// Samples before there is a diagnosis: 2 s.
const ENOUGH: u32 = 40;
/// A target that reaches this share of the greatest rate is the encoder's limit.
const AT_MOST: f32 = 0.95;
/// A queue that is a bottleneck's, s.
const QUEUE: f32 = 0.01;
/// Marks that come with less queue than this on average are those of an L4S queue, whose threshold is
/// near 1 ms; classic AQMs let 5 ms and more wait (RFC 8289 4.2, RFC 8033 4.2). s.
const SHALLOW: f32 = 0.0035;
/// Share of the samples, or of the time, that is no accident.
const SHARE: f32 = 0.1;
/// Share of the time that this machine was late.
const LATE: f64 = 0.02;
/// Delay of the end of a wait that counts as a missed deadline.
const MISSED: Dur = Dur::from_millis(5);

/// What is known at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    pub(super) target_kbps: f32,
    pub(super) greatest_kbps: f32,
    pub(super) queue_delay_s: f32,
    pub(super) lost_kbps: f32,
    /// Marked packets so far.
    pub(super) marked: u64,
}

/// What else the verdict needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) sent_as: Ecn,
    pub(super) arrived: &'a Arrived,
    /// The rate does not adapt.
    pub(super) is_fixed: bool,
    pub(super) run: Dur,
    pub(super) without_feedback: Dur,
    /// Packets that the receiver's machine threw away, as it says.
    pub(super) overflowed: u32,
    /// Packets that this machine's network refused.
    pub(super) refused: u64,
}

/// Gathers moments and missed deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Diagnosis {
    samples: u32,
    at_most: u32,
    congested: u32,
    queued: u32,
    greatest_queue: f32,
    marked: u64,
    /// Moments with new marks, and the sum of their queue delays, s.
    with_marks: (u32, f32),
    missed: u32,
    late: Dur,
}

/// Who or what limited the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Unknown,
    Machine,
    Receiver,
    Encoder,
    Path,
    /// It was still rising.
    Nothing,
}

impl Limit {
    /// In the line, and in JSON.
    fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Unknown => ("too short to tell what limits the rate", None),
            Self::Machine => ("limited by this machine", Some("machine")),
            Self::Receiver => ("limited by the receiver", Some("receiver")),
            Self::Encoder => ("limited by the encoder", Some("encoder")),
            Self::Path => ("limited by the path", Some("path")),
            Self::Nothing => ("limited by nothing yet, the rate was still rising", Some("nothing")),
        }
    }
}

impl Diagnosis {
    /// A moment with feedback.
    pub(super) fn sample(&mut self, m: Moment) {
        self.samples += 1;
        self.at_most += u32::from(m.target_kbps >= AT_MOST * m.greatest_kbps);
        let is_queued = m.queue_delay_s >= QUEUE;
        let has_marks = m.marked > self.marked;
        self.marked = m.marked;
        self.queued += u32::from(is_queued);
        self.congested += u32::from(is_queued || has_marks || m.lost_kbps > 0.0);
        self.greatest_queue = self.greatest_queue.max(m.queue_delay_s);
        if has_marks {
            self.with_marks.0 += 1;
            self.with_marks.1 += m.queue_delay_s;
        }
    }

    /// A wait ended this much later than it should.
    pub(super) fn woke(&mut self, late: Dur) {
        if late >= MISSED {
            self.missed += 1;
            self.late += late;
        }
    }

    pub(super) fn missed(&self) -> u32 {
        self.missed
    }

    fn limit(&self, f: &Facts<'_>) -> Limit {
        let often = |samples: u32| samples as f32 >= SHARE * self.samples as f32;
        let run = f.run.as_secs_f64();
        if f.refused > 0 || self.late.as_secs_f64() > LATE * run {
            return Limit::Machine;
        }
        if f.overflowed > 0 || f.without_feedback.as_secs_f64() > f64::from(SHARE) * run {
            return Limit::Receiver;
        }
        if self.samples < ENOUGH {
            return Limit::Unknown;
        }
        let is_encoder =
            if f.is_fixed { !often(self.congested) } else { 2 * self.at_most >= self.samples };
        if is_encoder {
            Limit::Encoder
        } else if often(self.congested) {
            Limit::Path
        } else {
            Limit::Nothing
        }
    }

    /// What kind of queue was seen: for the line, and for JSON.
    fn queue(&self, f: &Facts<'_>) -> (String, Option<&'static str>) {
        let ms = |s: f32| s * 1e3;
        let (moments, sum) = self.with_marks;
        if moments > 0 && f.sent_as != Ecn::Ce {
            let mean = sum / moments as f32;
            let [.., ce] = f.arrived.percent();
            let (what, name) = match f.sent_as {
                Ecn::Ect1 if mean < SHALLOW => ("L4S queue seen", "l4s"),
                _ => ("classic ECN seen", "classic"),
            };
            return (format!("{what} ({ce:.2} % marked, at {:.1} ms)", ms(mean)), Some(name));
        }
        if self.samples < ENOUGH {
            return ("no queue seen".into(), None);
        }
        if self.queued as f32 >= SHARE * self.samples as f32 {
            let most = ms(self.greatest_queue);
            return (
                format!("a bottleneck without ECN (queue grew to {most:.0} ms, no marks)"),
                Some("no-ecn"),
            );
        }
        ("no queue seen".into(), Some("none"))
    }

    /// One line.
    pub(super) fn line(&self, f: &Facts<'_>) -> String {
        let (limit, _) = self.limit(f).names();
        let why = match self.limit(f) {
            Limit::Machine => format!(
                " ({} missed deadlines, {:.1} s late)",
                self.missed,
                self.late.as_secs_f64()
            ),
            Limit::Receiver if f.overflowed > 0 => {
                format!(" ({} packets overflowed its buffer)", f.overflowed)
            }
            Limit::Receiver => {
                format!(" (no feedback for {:.1} s)", f.without_feedback.as_secs_f64())
            }
            _ => String::new(),
        };
        let ecn = f.arrived.fate(f.sent_as).unwrap_or("unknown");
        let (queue, _) = self.queue(f);
        format!("{limit}{why}; ECN {ecn}; {queue}")
    }

    /// The same as an object.
    pub(super) fn object(&self, f: &Facts<'_>) -> Value {
        json!({
            "limited_by": self.limit(f).names().1, "ecn": f.arrived.fate(f.sent_as),
            "queue": self.queue(f).1, "missed_deadlines": self.missed,
            "late_s": self.late.as_secs_f64(), "receiver_overflows": f.overflowed,
        })
    }
}

#[cfg(test)]
mod tests;
