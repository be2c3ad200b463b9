//! Generic receive offload: the host merges what arrives in order within one poll of its network
//! device, and TCP sees one packet (Linux `tcp_gro_receive`).
//!
//! A poll takes no time here, so a timeout takes its place: what was merged waits that long from its
//! first segment on, as interrupt moderation or `gro_flush_timeout` makes it wait.

use sojourn_core::{Dur, Ecn, Time};

use super::segment::Segment;

/// Payload of the largest merged packet: 64 KiB less 60 bytes of headers.
const MAX_BYTES: u32 = 65_535 - 60;
/// TCP's timestamps count milliseconds; ours do so where they are compared.
const TIMESTAMP_TICK: u64 = 1_000_000;

/// A packet for TCP, and when it is due.
#[derive(Clone, Copy, Debug)]
struct Held {
    segment: Segment,
    ecn: Ecn,
    due: Time,
}

/// What one connection's host holds back.
#[derive(Clone, Debug)]
pub(crate) struct Gro {
    timeout: Dur,
    /// Segments carry the timestamps option.
    timestamps: bool,
    /// Something that does not continue it has arrived: goes first.
    closed: Option<Held>,
    open: Option<Held>,
    due: Time,
}

impl Gro {
    pub(crate) fn new(timeout: Dur, timestamps: bool) -> Self {
        Self { timeout, timestamps, closed: None, open: None, due: Time::NEVER }
    }

    /// When [`Gro::flush`] has something.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// A segment with payload or FIN arrives. What it closes is to be flushed before the next one.
    pub(crate) fn receive(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        debug_assert!(self.closed.is_none(), "flushed after each arrival");
        if let Some(held) = self
            .open
            .as_mut()
            .filter(|h| h.ecn == ecn && h.is_continued_by(segment, self.timestamps))
        {
            held.append(segment);
            if held.is_complete() {
                held.due = now;
                self.due = now;
            }
            return;
        }
        let fresh = Held { segment: *segment, ecn, due: now + self.timeout };
        // A super-packet of the sender comes as one and is not merged again.
        let whole = segment.gso_size > 0 || fresh.is_complete();
        let due = if whole { now } else { fresh.due };
        self.closed = self.open.replace(Held { due, ..fresh });
        self.due = if self.closed.is_some() { now } else { due };
    }

    /// The next packet for TCP.
    pub(crate) fn flush(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        if self.due > now {
            return None;
        }
        let first = self.closed.take().or_else(|| self.open.take_if(|held| held.due <= now));
        self.due = self.open.as_ref().map_or(Time::NEVER, |held| held.due);
        first.map(|held| (held.segment, held.ecn))
    }
}

impl Held {
    /// Same flags and options, next in sequence, no larger than the first, and room for it (Linux
    /// `tcp_gro_receive`); a change of the ECN codepoint or of ACE ends a merge, so no mark is lost.
    fn is_continued_by(&self, next: &Segment, timestamps: bool) -> bool {
        let tick = |t: Time| if t == Time::NEVER { u64::MAX } else { t.0 / TIMESTAMP_TICK };
        let held = &self.segment;
        next.gso_size == 0
            && next.seq == held.end()
            && next.len <= self.size()
            && next.len > 0
            && held.len + next.len <= MAX_BYTES
            && (next.ace, next.ack) == (held.ace, held.ack)
            && (!timestamps
                || (tick(next.tsval), tick(next.tsecr)) == (tick(held.tsval), tick(held.tsecr)))
    }

    fn append(&mut self, next: &Segment) {
        self.segment.gso_size = self.size();
        self.segment.len += next.len;
        self.segment.flags.fin |= next.flags.fin;
        self.segment.flags.psh |= next.flags.psh;
    }

    /// Payload of its full segments.
    fn size(&self) -> u32 {
        if self.segment.gso_size == 0 { self.segment.len } else { self.segment.gso_size }
    }

    /// Nothing may follow: after a FIN or PSH, after a segment that is shorter than the others (which ends a
    /// write), or in a packet that has reached its greatest size.
    fn is_complete(&self) -> bool {
        let Segment { len, flags, gso_size, .. } = self.segment;
        let short = gso_size > 0 && !len.is_multiple_of(gso_size);
        flags.fin || flags.psh || short || len + self.size() > MAX_BYTES
    }
}

#[cfg(test)]
mod tests;
