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
mod tests {
    use super::*;
    use Ecn::{Ce, Ect0, Ect1, NotEct};

    fn warning(sent: Ecn, arrived: &[(Ecn, u64)]) -> Option<String> {
        let mut counts = Arrived::default();
        for (ecn, n) in arrived {
            (0..*n).for_each(|_| counts.add(*ecn));
        }
        counts.warning(sent)
    }

    #[test]
    fn what_arrives_as_sent_or_marked_is_fine() {
        assert_eq!(warning(Ect1, &[(Ect1, 900), (Ce, 100)]), None);
        assert_eq!(warning(Ect0, &[(Ect0, 950), (Ce, 50)]), None);
        assert_eq!(warning(NotEct, &[(NotEct, 1000)]), None);
        assert_eq!(warning(Ce, &[(Ce, 1000)]), None);
        assert_eq!(warning(Ect1, &[(NotEct, 199)]), None, "too few to tell");
    }

    #[test]
    fn the_fate_of_the_field_is_a_word() {
        let fate = |sent, arrived, n| {
            let mut counts = Arrived::default();
            (0..n).for_each(|_| counts.add(arrived));
            counts.fate(sent)
        };
        assert_eq!(fate(Ect1, Ect1, 199), None);
        assert_eq!(fate(Ect1, Ce, 200), Some("intact"));
        assert_eq!(fate(Ect1, NotEct, 200), Some("bleached"));
        assert_eq!(fate(Ect1, Ect0, 200), Some("re-marked"));
        assert_eq!(fate(NotEct, NotEct, 200), Some("off"));
    }

    #[test]
    fn each_way_to_lose_the_field_is_named() {
        for (sent, arrived, said) in [
            (
                Ect1,
                NotEct,
                "the path bleaches the ECN field, so that no mark comes back: of the packets sent as ECT(1) 100 % arrive as Not-ECT",
            ),
            (
                Ect0,
                NotEct,
                "the path bleaches the ECN field, so that no mark comes back: of the packets sent as ECT(0) 100 % arrive as Not-ECT",
            ),
            (
                Ect1,
                Ect0,
                "the path changes the ECN field: no L4S queue sees these packets: of the packets sent as ECT(1) 100 % arrive as ECT(0)",
            ),
            (
                Ect0,
                Ect1,
                "the path changes the ECN field: of the packets sent as ECT(0) 100 % arrive as ECT(1)",
            ),
            (
                NotEct,
                Ect1,
                "the path changes the ECN field: of the packets sent as Not-ECT 100 % arrive as ECT(1)",
            ),
            (
                NotEct,
                Ce,
                "something marks packets that are not ECN-capable: of the packets sent as Not-ECT 100 % arrive as CE",
            ),
            (
                Ect1,
                Ce,
                "something marks every packet, which tells nothing of congestion: of the packets sent as ECT(1) 100 % arrive as CE",
            ),
        ] {
            assert_eq!(warning(sent, &[(arrived, 500)]).as_deref(), Some(said));
        }
        let half = warning(Ect1, &[(Ect1, 500), (NotEct, 500)]).expect("a warning");
        assert!(half.ends_with("50 % arrive as Not-ECT"), "{half}");
    }
}
