//! Whether the sender gets reports of its packets, and since when not.

use sojourn_core::{Dur, Time};

/// Time without an answer to packets after which the receiver is not heard.
const SILENCE: Dur = Dur::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hearing {
    /// When the last report on packets of ours came.
    heard: Option<Time>,
    /// The first packet that left since, and the last one: while nothing is sent, no answer is missing.
    unanswered: Option<(Time, Time)>,
    /// Silences that are over.
    past: Dur,
    /// Nobody listens at the receiver's port, as far as its host reported.
    is_refused: bool,
    /// The receiver answers another sender.
    is_busy: bool,
    /// Packets that the receiver's machine threw away.
    pub(super) overflowed: u32,
}

impl Hearing {
    /// Packets left.
    pub(super) fn sent(&mut self, now: Time) {
        self.unanswered.get_or_insert((now, now)).1 = now;
    }

    /// A report on packets of ours came.
    pub(super) fn heard(&mut self, now: Time) {
        self.past = self.missing(now);
        let (past, overflowed) = (self.past, self.overflowed);
        *self = Self { heard: Some(now), past, overflowed, ..Self::default() };
    }

    /// The receiver's host refused a packet.
    pub(super) fn refused(&mut self) {
        self.is_refused = true;
    }

    /// The receiver reported that it is busy; false if that is known.
    pub(super) fn busy(&mut self) -> bool {
        !std::mem::replace(&mut self.is_busy, true)
    }

    pub(super) fn has_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Whether what is known of the path is of now.
    pub(super) fn is_fresh(&self) -> bool {
        self.heard.is_some() && !self.is_silent()
    }

    /// Whether packets have had no answer for too long.
    pub(super) fn is_silent(&self) -> bool {
        self.unanswered.is_some_and(|(first, last)| last.since(first) >= SILENCE)
    }

    /// How long there was no feedback, all in all. A round trip without it is none.
    pub(super) fn missing(&self, now: Time) -> Dur {
        let first = self.unanswered.filter(|_| self.is_silent()).map(|(first, _)| first);
        self.past + first.map_or(Dur::ZERO, |first| now.since(first))
    }

    /// Why no reports arrive, as far as that is known.
    pub(super) fn reason(&self) -> Option<&'static str> {
        if self.is_busy {
            Some("it is busy with another sender")
        } else if self.is_refused {
            Some("nobody listens there")
        } else {
            None
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused && !self.is_busy
    }
}

#[cfg(test)]
mod tests;
