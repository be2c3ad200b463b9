//! What a mark takes from cwnd by the laws of scim, the simulator of the SCE team (heistp/scim), instead
//! of the modules' own.
//!
//! MD-scaling divides the reduction for CE, `md`, among `tau` marks: each multiplies cwnd by
//! `md^(1/tau)`. With growth of one segment per round trip it holds `cwnd = sqrt(tau / (p ln(1/md)))`.
//! The other laws scale `tau` with the round-trip time, so that cwnd does: `ratefair` by its square
//! (cwnd in proportion to it, the rate the same for all), `hybrid` in proportion, `mild` by its root.
//! `sqrtp` takes a root of cwnd per mark and holds `cwnd = p^(-2/3)`.

use crate::Path;
use sojourn_core::grammar::Args;
use sojourn_core::grammar::forms::{Form, custom, decimal, whole};
use sojourn_core::math;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

choices! {
    /// What a mark takes.
    enum Law {
        /// The controller's own.
        Module = "module",
        Md = "md",
        RateFair = "ratefair",
        Hybrid = "hybrid",
        Mild = "mild",
        SqrtP = "sqrtp",
    }
}

parameters! {
    /// Parameters of a response.
    #[derive(Copy)]
    pub(crate) struct Params {
        /// What a mark takes: the module's law, or one of scim's.
        law: Law = Law::Module, name "response";
        /// What `tau` marks leave of cwnd, under all of scim's laws but `sqrtp`.
        md: f64 = 0.5 => decimal("FRACTION", 0.01..=0.99);
        /// Marks that cost one `md`; also the most answers per smoothed RTT.
        tau: u32 = 64 => whole("MARKS", 1..=1024, "");
        /// Round-trip time at which `ratefair`, `hybrid` and `mild` are `md`.
        nominal: Dur = Dur::from_millis(20) => nominal();
    }
}

fn nominal() -> impl Form<Dur> {
    let read = |args: &mut Args<'_>| {
        let positive = |word: &str| Dur::parse_tc(word).filter(|t| *t > Dur::ZERO);
        args.value("a time above zero, such as `20ms`", positive)
    };
    custom("TIME", read, Dur::to_string)
}

impl Params {
    /// With this share of cwnd left after CE, or after `tau` marks.
    pub(crate) fn new(md: f64) -> Self {
        Self { md, ..Self::default() }
    }

    /// Number of marks that cost as much as one `md`.
    fn marks(&self, srtt: Dur) -> f64 {
        let tau = f64::from(self.tau);
        // Before the first sample the path counts as nominal.
        let ratio =
            if srtt == Dur::ZERO { 1.0 } else { srtt.as_secs_f64() / self.nominal.as_secs_f64() };
        let scaled = match self.law {
            Law::RateFair => tau * ratio * ratio,
            Law::Hybrid => tau * ratio,
            Law::Mild => tau * ratio.sqrt(),
            Law::Module | Law::Md | Law::SqrtP => tau,
        };
        // On a short path a mark would otherwise cost more than CE does.
        scaled.max(1.0)
    }

    /// What is left of a window of `cwnd` segments after one mark.
    fn kept(&self, cwnd: u32, srtt: Dur) -> f64 {
        match self.law {
            Law::SqrtP => 1.0 - 1.0 / f64::from(cwnd.max(1)).sqrt(),
            _ => math::pow(self.md, 1.0 / self.marks(srtt)),
        }
    }
}

/// Answers marks by one of scim's laws, at most `tau` of them per smoothed RTT.
#[derive(Debug)]
pub(crate) struct Response {
    params: Params,
    /// When the latest `tau` answers were given, in a ring.
    answered: Box<[Option<Time>]>,
    oldest: usize,
}

impl Response {
    /// None if the controller keeps its own law.
    pub(crate) fn new(params: Params) -> Option<Self> {
        (params.law != Law::Module).then(|| Self {
            params,
            answered: vec![None; params.tau as usize].into_boxed_slice(),
            oldest: 0,
        })
    }

    /// Segments, in parts of which there are `segment`, that a mark takes from cwnd now.
    pub(crate) fn cut(&mut self, now: Time, path: &Path, cwnd: u32, segment: i64) -> i64 {
        let last = &mut self.answered[self.oldest];
        if last.is_some_and(|t| now < t + path.srtt) {
            return 0;
        }
        *last = Some(now);
        self.oldest = (self.oldest + 1) % self.answered.len();
        let segments = f64::from(cwnd) * (1.0 - self.params.kept(cwnd, path.srtt));
        (segments * segment as f64) as i64
    }
}

#[cfg(test)]
mod tests;
