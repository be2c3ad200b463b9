//! Of a report: what a path did to packets that were seen at both of its ends.

use serde::Serialize;
use sojourn_core::Ecn;

use super::Codepoints;

impl Codepoints {
    /// The count of a codepoint.
    pub fn slot(&mut self, ecn: Ecn) -> &mut u64 {
        match ecn {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        }
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.not_ect + self.ect0 + self.ect1 + self.ce
    }
}

/// Codepoints at the first point, and what they were at the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Transitions {
    /// Of packets that were Not-ECT at the first.
    pub not_ect: Codepoints,
    /// ECT(0).
    pub ect0: Codepoints,
    /// ECT(1).
    pub ect1: Codepoints,
    /// CE.
    pub ce: Codepoints,
}

impl Transitions {
    fn row(&mut self, from: Ecn) -> &mut Codepoints {
        match from {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        }
    }

    /// Counts a packet.
    pub fn add(&mut self, from: Ecn, to: Ecn) {
        *self.row(from).slot(to) += 1;
    }

    /// Takes a packet back that was counted.
    pub(crate) fn remove(&mut self, from: Ecn, to: Ecn) {
        *self.row(from).slot(to) -= 1;
    }

    /// Packets with ECT to which a queue gave CE (RFC 3168 5).
    pub fn marked(&self) -> u64 {
        self.ect0.ce + self.ect1.ce
    }

    /// Packets that had ECT or CE, and have nothing any more.
    pub fn bleached(&self) -> u64 {
        self.ect0.not_ect + self.ect1.not_ect + self.ce.not_ect
    }

    /// Packets with ECT(0) that became ECT(1): SCE's mark, or a mistake.
    pub fn ect0_to_ect1(&self) -> u64 {
        self.ect0.ect1
    }

    /// Changes that no standard allows: ECT of packets that had none, ECT(1) to ECT(0), and CE that was taken
    /// off but for bleaching.
    pub fn forbidden(&self) -> u64 {
        let to_ect = self.not_ect.ect0 + self.not_ect.ect1 + self.not_ect.ce;
        to_ect + self.ect1.ect0 + self.ce.ect0 + self.ce.ect1
    }

    /// All packets.
    pub fn total(&self) -> u64 {
        [self.not_ect, self.ect0, self.ect1, self.ce].iter().map(Codepoints::total).sum()
    }

    /// The same from the second point to the first.
    #[must_use]
    pub fn reversed(&self) -> Self {
        const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let (mut old, mut new) = (*self, Self::default());
        for from in ALL {
            for to in ALL {
                *new.row(to).slot(from) = *old.row(from).slot(to);
            }
        }
        new
    }
}

/// Two clocks beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Clocks {
    /// The second clock gains this much on the first, 1e-6.
    pub skew_ppm: f64,
    /// Standard error of it: a jackknife over tenths of the capture, and the width of what fits equally well.
    pub skew_error_ppm: f64,
    /// Second clock less first at the first packet, if the empty path takes as long in both directions; absent
    /// where one direction alone was seen.
    pub offset_s: Option<f64>,
    /// The offset is within this, however asymmetric the path: half of the smallest round trip between the points.
    pub offset_error_s: Option<f64>,
    /// The smallest round trip between the points, ms.
    pub base_rtt_ms: Option<f64>,
}
