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
                self.tell(now, seq, Some(received), fate);
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
                self.tell(now, seq, None, fate);
            }
        }
    }

    fn tell(&self, now: Ticks, seq: u16, received: Option<Ticks>, fate: Fate<'_>) {
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
mod tests {
    use sojourn_core::Ecn;

    use super::*;

    fn metrics(received: &[bool]) -> impl ExactSizeIterator<Item = Metric> + '_ {
        received.iter().map(|r| Metric { received: r.then_some(Ticks(9)), ecn: Ecn::Ect1 })
    }

    /// Tells the ledger of a report; numbers that it tells of, and whether they arrived.
    fn report(ledger: &mut Ledger, begin: u16, received: &[bool]) -> Vec<(u16, bool)> {
        let mut told = Vec::new();
        ledger.on_block(Ticks(10), begin, metrics(received), &mut |a| {
            told.push((a.seq, a.received.is_some()));
        });
        told
    }

    #[test]
    fn each_packet_counts_once_however_often_it_is_reported() {
        let mut ledger = Ledger::new(true);
        (0..10).for_each(|seq| ledger.on_sent(seq, Ticks(1)));
        assert_eq!(report(&mut ledger, 0, &[true, false, true]), [(0, true), (2, true)]);
        assert_eq!(report(&mut ledger, 0, &[true, true, true]), [(1, true)]);
        assert_eq!(report(&mut ledger, 20, &[true; 5]), [], "never sent");
        assert_eq!(ledger.arrived().total(), 3);
    }

    #[test]
    fn what_is_a_window_behind_is_given_up_over_the_wrap() {
        let mut ledger = Ledger::new(true);
        let mut lost = Vec::new();
        for seq in (0..=u16::MAX).chain(0..1000) {
            ledger.on_sent(seq, Ticks(1));
            let told = report(&mut ledger, seq, &[seq != 700 && seq != 5]);
            lost.extend(told.into_iter().filter(|(_, arrived)| !arrived).map(|(seq, _)| seq));
        }
        assert_eq!(lost, [5, 700, 5], "the second 5 is of the next round");
    }

    #[test]
    fn a_forged_report_closes_nothing_that_is_far_away() {
        let mut ledger = Ledger::new(true);
        (0..100).for_each(|seq| ledger.on_sent(seq, Ticks(1)));
        assert_eq!(report(&mut ledger, 40_000, &[false; 64]), []);
        assert_eq!(report(&mut ledger, 0, &[true]), [(0, true)]);
    }
}
