//! One stream's arrivals: what is known of the last numbers, and which of them a report covers.

use sojourn_cc::scream::{Metric, Ticks};
use sojourn_core::Ecn;
use sojourn_core::wire::ccfb::Writer;

use super::{Params, Rules};

/// How far behind the newest a late packet may be to have a report of its own.
const LATE: u16 = 479;
/// Numbers in such a report.
const LATE_WORDS: u16 = 32;
/// Parity: a greater difference of numbers is a wrap.
const WRAP: i32 = 16_384;
/// RFC 3550 A.1: a jump of more numbers needs a second packet to be believed.
const DROPOUT: i16 = 3000;

/// What a packet brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Fresh,
    Copy,
    Ignored,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    seq: u16,
    known: bool,
    /// It came behind a newer one, and no report has covered it.
    late: bool,
    ecn: Ecn,
    at: Ticks,
}

const EMPTY: Slot = Slot { seq: 0, known: false, late: false, ecn: Ecn::NotEct, at: Ticks(0) };

/// The numbers that a block covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) begin: u16,
    pub(super) words: u16,
}

impl Window {
    const fn end(self) -> u16 {
        self.begin.wrapping_add(self.words - 1)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) ssrc: u32,
    /// Ticks of the last packet.
    pub(super) arrived: u64,
    /// Packets since the last report.
    pub(super) fresh: u32,
    /// A frame ended since the last report, or that did not reach the newest packet.
    pub(super) flush: bool,
    parity: bool,
    skips: bool,
    most: u16,
    ring: Box<[Slot]>,
    /// Newest number; none before the first packet.
    highest: Option<u16>,
    /// Newest number that a report covered.
    reported: u16,
    /// Numbers from the first packet to the newest, as far as they are remembered.
    span: u16,
    late: u32,
    /// The number that would confirm a jump.
    astray: Option<u16>,
}

impl Stream {
    pub(super) fn new(ssrc: u32, params: &Params) -> Self {
        Self {
            ssrc,
            parity: params.parity,
            skips: params.rules() == Rules::V2020,
            most: params.reported,
            ring: vec![EMPTY; usize::from(params.history())].into_boxed_slice(),
            ..Self::default()
        }
    }

    fn slot(&self, seq: u16) -> usize {
        usize::from(seq) % self.ring.len()
    }

    /// A packet came.
    pub(super) fn receive(&mut self, ticks: u64, seq: u16, ecn: Ecn) -> News {
        let history = self.ring.len() as u16;
        let before = seq.wrapping_sub(1);
        if self.highest.is_none() {
            // DEVIATION: the tool reports all numbers from 1 on, whether they were sent or not.
            self.reported = if self.parity { 0 } else { before };
        }
        let highest = self.highest.unwrap_or(before);
        if !self.parity && self.highest.is_some() && self.is_astray(seq, highest) {
            let confirms = |expected| seq.wrapping_sub(expected) < DROPOUT as u16;
            if !self.astray.is_some_and(confirms) {
                self.astray = Some(seq.wrapping_add(1));
                return News::Ignored;
            }
            self.ring.fill(EMPTY);
            (self.highest, self.span, self.late) = (None, 0, 0);
            (self.fresh, self.flush, self.astray) = (0, false, None);
            return self.receive(ticks, seq, ecn);
        }
        self.arrived = ticks;
        self.astray = None;
        let ahead = self.is_ahead(seq, highest);
        if ahead {
            let step = seq.wrapping_sub(highest);
            self.span = self.span.saturating_add(step).min(history);
            self.highest = Some(seq);
        } else {
            self.highest = Some(highest);
            let behind = highest.wrapping_sub(seq);
            self.span = self.span.max(behind.saturating_add(1).min(history));
        }
        let behind = self.highest.unwrap_or(seq).wrapping_sub(seq);
        let is_late = !self.skips && (1..=LATE).contains(&behind);
        self.store(Ticks(ticks as u32), seq, ecn, is_late)
    }

    fn store(&mut self, at: Ticks, seq: u16, ecn: Ecn, is_late: bool) -> News {
        let index = self.slot(seq);
        let slot = &mut self.ring[index];
        let copy = slot.known && slot.seq == seq;
        if copy && !self.parity {
            // RFC 8888 3.1: of copies the first counts, and a mark on any of them.
            if ecn != Ecn::Ce || slot.ecn == Ecn::Ce {
                return News::Copy;
            }
            slot.ecn = ecn;
        } else {
            self.late -= u32::from(slot.late);
            *slot = Slot { seq, known: true, late: false, ecn, at };
        }
        if is_late && !slot.late {
            slot.late = true;
            self.late += 1;
        }
        self.fresh += 1;
        if copy { News::Copy } else { News::Fresh }
    }

    fn is_ahead(&self, seq: u16, highest: u16) -> bool {
        if !self.parity {
            return (seq.wrapping_sub(highest) as i16) > 0;
        }
        let step = i32::from(seq) - i32::from(highest);
        if step > 0 { step <= WRAP } else { step < -WRAP }
    }

    fn is_astray(&self, seq: u16, highest: u16) -> bool {
        let step = seq.wrapping_sub(highest) as i16;
        step > DROPOUT || i32::from(step) <= -(self.ring.len() as i32)
    }

    /// Numbers that no report has covered; in parity less than none behind the numbers' wrap.
    fn unreported(&self) -> i32 {
        let Some(highest) = self.highest else { return 0 };
        if self.parity {
            i32::from(highest) - i32::from(self.reported)
        } else {
            i32::from(highest.wrapping_sub(self.reported))
        }
    }

    /// Whether the next report should not wait.
    pub(super) fn wants(&self, ackdiff: u16) -> bool {
        // The tool's difference has no sign here: behind the numbers' wrap it is far ahead.
        ackdiff == 1 || self.unreported() as u32 >= u32::from(ackdiff) || self.flush
    }

    /// Whether reports have reached the newest packet.
    pub(super) fn is_reported(&self) -> bool {
        self.highest == Some(self.reported)
    }

    /// What the next block covers: the newest packets, or the next part of the way there.
    pub(super) fn window(&self) -> Window {
        let highest = self.highest.unwrap_or(self.reported);
        let history = self.ring.len() as i32;
        let mut unreported = self.unreported();
        if !self.parity {
            unreported = unreported.min(history); // older ones are forgotten
        }
        let on = !self.skips && unreported > i32::from(self.most);
        let short = if on { (unreported - i32::from(self.most)) as u16 } else { 0 };
        let end = highest.wrapping_sub(short);
        let known = if self.parity { self.most } else { self.span.saturating_sub(short).max(1) };
        let words = self.most.min(known);
        Window { begin: end.wrapping_sub(words - 1), words }
    }

    /// Writes a block; false, without effect, if there is no room.
    pub(super) fn write_block(&mut self, window: Window, writer: &mut Writer<'_>) -> bool {
        let size = self.ring.len();
        let ring = &self.ring;
        let metrics = (0..window.words).map(|n| {
            let seq = window.begin.wrapping_add(n);
            let slot = &ring[usize::from(seq) % size];
            if slot.known && slot.seq == seq {
                Metric { received: Some(slot.at), ecn: slot.ecn }
            } else {
                Metric { received: None, ecn: Ecn::NotEct }
            }
        });
        if !writer.block(self.ssrc, window.begin, metrics) {
            return false;
        }
        for n in 0..window.words {
            let seq = window.begin.wrapping_add(n);
            let slot = &mut self.ring[usize::from(seq) % size];
            if slot.seq == seq && slot.late {
                slot.late = false;
                self.late -= 1;
            }
        }
        true
    }

    /// Reports have covered all up to the end of this window.
    pub(super) fn mark_reported(&mut self, window: Window) {
        self.reported = window.end();
        self.flush = !self.is_reported();
    }

    /// Whether there are packets that came late and that no report has covered.
    pub(super) fn has_late(&self) -> bool {
        self.late > 0
    }

    /// The first of the late packets, and those that fit into a block with it.
    pub(super) fn late_window(&mut self) -> Option<Window> {
        let highest = self.highest?;
        let size = self.ring.len() as u16;
        let is_late = |seq: u16| {
            let slot = &self.ring[usize::from(seq) % usize::from(size)];
            slot.late && slot.seq == seq
        };
        let mut numbers = (0..size).rev().map(|back| highest.wrapping_sub(back));
        let Some(begin) = numbers.find(|seq| is_late(*seq)) else {
            // They were forgotten meanwhile.
            for slot in &mut self.ring {
                slot.late = false;
            }
            self.late = 0;
            return None;
        };
        let last = (0..LATE_WORDS.min(size)).rev().find(|n| is_late(begin.wrapping_add(*n)))?;
        Some(Window { begin, words: last + 1 })
    }
}
