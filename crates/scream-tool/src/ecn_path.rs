//! What the path does to the ECN field: the sender knows what it sent, the reports say what arrived.

use sojourn_core::Ecn;

/// Packets before the path is judged.
const ENOUGH: u64 = 200;
/// A share of packets that is no accident, percent.
const SHARE: u64 = 10;

/// Counts of what arrived, by codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived([u64; 4]);

impl Arrived {
    pub(super) fn add(&mut self, ecn: Ecn) {
        self.0[ecn as usize] += 1;
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn marked(&self) -> u64 {
        self.0[Ecn::Ce as usize]
    }

    /// Shares as Not-ECT, ECT(0), ECT(1), CE, percent: the original's order.
    pub(super) fn percent(&self) -> [f32; 4] {
        let total = self.total().max(1) as f32;
        [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
            .map(|e| self.0[e as usize] as f32 * 100.0 / total)
    }

    /// The codepoint that the path writes over the one that was sent.
    fn changed(&self, sent: Ecn) -> Option<Ecn> {
        let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].into_iter();
        all.filter(|ecn| *ecn != sent).find(|ecn| self.whole_percent(*ecn) >= SHARE)
    }

    fn whole_percent(&self, ecn: Ecn) -> u64 {
        self.0[ecn as usize] * 100 / self.total().max(1)
    }

    /// What became of the field, in a word; none: too few packets to tell.
    pub(super) fn fate(&self, sent: Ecn) -> Option<&'static str> {
        (self.total() >= ENOUGH).then(|| match (sent, self.changed(sent)) {
            (Ecn::NotEct, None) => "off",
            (_, None) => "intact",
            (_, Some(Ecn::NotEct)) => "bleached",
            (_, Some(_)) => "re-marked",
        })
    }

    /// A warning, if the field does not arrive as it was sent.
    pub(super) fn warning(&self, sent: Ecn) -> Option<String> {
        if self.total() < ENOUGH {
            return None;
        }
        let percent = |ecn| self.whole_percent(ecn);
        let changed = self.changed(sent);
        let meaning = match (sent, changed) {
            (_, Some(Ecn::NotEct)) => "the path bleaches the ECN field, so that no mark comes back",
            (Ecn::Ect1, Some(_)) => {
                "the path changes the ECN field: no L4S queue sees these packets"
            }
            (_, Some(_)) => "the path changes the ECN field",
            (Ecn::NotEct, None) if percent(Ecn::Ce) >= SHARE => {
                "something marks packets that are not ECN-capable"
            }
            (Ecn::Ect0 | Ecn::Ect1, None) if percent(Ecn::Ce) >= 99 => {
                "something marks every packet, which tells nothing of congestion"
            }
            _ => return None,
        };
        let as_what = changed.unwrap_or(Ecn::Ce);
        let share = percent(as_what);
        Some(format!(
            "{meaning}: of the packets sent as {} {share} % arrive as {}",
            sent.name(),
            as_what.name()
        ))
    }
}

#[cfg(test)]
mod tests;
