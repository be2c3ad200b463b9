//! Which packets are still to be heard of: reports overlap, and each packet counts once. From it
//! come the shares of codepoints that arrived, and the log of sending and arrival.

use sojourn_cc::scream::{AckLine, Metric, Ticks};

use super::ecn_path::Arrived;

/// Packets behind the highest reported that are given up.
const WINDOW: u16 = 512;
const NUMBERS: usize = 1 << 16;

pub(super) struct Ledger {
    /// One bit a sequence number.
    open: Box<[u64]>,
    /// When each was sent; only for the log.
    sent: Option<Box<[Ticks]>>,
    /// Packets before this number are settled.
    settled: u16,
    arrived: Arrived,
}

/// A packet's fate: a line with its number, time of sending and of arrival.
pub(super) type Fate<'a> = &'a mut dyn FnMut(&AckLine);

impl Ledger {
    /// `with_times` for the log.
    pub(super) fn new(with_times: bool) -> Self {
        Self {
            open: vec![0; NUMBERS / 64].into(),
            sent: with_times.then(|| vec![Ticks::default(); NUMBERS].into()),
            settled: 0,
            arrived: Arrived::default(),
        }
    }

    pub(super) fn on_sent(&mut self, seq: u16, at: Ticks) {
        let at_index = usize::from(seq);
        self.open[at_index / 64] |= 1 << (at_index % 64);
        if let Some(sent) = &mut self.sent {
            sent[at_index] = at;
        }
    }

    /// Takes a number out; whether it was there.
    fn close(&mut self, seq: u16) -> bool {
        let (word, bit) = (&mut self.open[usize::from(seq) / 64], 1 << (seq % 64));
        let was_open = *word & bit != 0;
        *word &= !bit;
        was_open
    }

    /// A block of a report, at `now`; `fate` is called for each packet with a log.
    pub(super) fn on_block(
        &mut self,
        now: Ticks,
        begin: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
        fate: Fate<'_>,
    ) {
        let words = metrics.len() as u16;
        for (seq, metric) in (0..).map(|n| begin.wrapping_add(n)).zip(metrics) {
            let Some(received) = metric.received else { continue };
            if self.close(seq) {
                self.arrived.add(metric.ecn);
                self.pass_on(now, seq, Some(received), fate);
            }
        }
        if self.sent.is_none() {
            return;
        }
        // A forged report may name any number: no more than one window at a time is given up.
        let newest = begin.wrapping_add(words).wrapping_sub(1);
        let end = newest.wrapping_sub(WINDOW);
        if end.wrapping_sub(self.settled) > 1 << 14 {
            return;
        }
        while self.settled != end {
            let seq = self.settled;
            self.settled = seq.wrapping_add(1);
            if self.close(seq) {
                self.pass_on(now, seq, None, fate);
            }
        }
    }

    fn pass_on(&self, now: Ticks, seq: u16, received: Option<Ticks>, fate: Fate<'_>) {
        if let Some(sent) = &self.sent {
            let sent = sent[usize::from(seq)];
            fate(&AckLine { time: now, seq, sent, received, ..AckLine::default() });
        }
    }

    /// What arrived, each packet once.
    pub(super) fn arrived(&self) -> &Arrived {
        &self.arrived
    }
}

#[cfg(test)]
mod tests;
