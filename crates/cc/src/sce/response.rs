//! What a mark takes from cwnd by the laws of scim, the simulator of the SCE team (heistp/scim), instead
//! of the modules' own. Facts: `cc.md` 5.
//!
//! MD-scaling divides the reduction for CE, `md`, among `tau` marks: each multiplies cwnd by
//! `md^(1/tau)`. With growth of one segment per round trip it holds `cwnd = sqrt(tau / (p ln(1/md)))`.
//! The other words scale `tau` with the round-trip time, so that cwnd does: `ratefair` by its square
//! (cwnd in proportion to it, the rate the same for all), `hybrid` in proportion, `mild` by its root.
//! `sqrtp` takes a root of cwnd per mark and holds `cwnd = p^(-2/3)`.

use crate::Path;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Dur, Time};

pub(crate) const RESPONSE: Param = Param {
    name: "response",
    value: "module|md|ratefair|hybrid|mild|sqrtp",
    default: "module",
    doc: "What a mark takes: the module's law, or one of scim's.",
};
pub(crate) const fn md(default: &'static str) -> Param {
    Param {
        name: "md",
        value: "FRACTION",
        default,
        doc: "What `tau` marks leave of cwnd, under all of scim's laws but `sqrtp`.",
    }
}
pub(crate) const TAU: Param = Param {
    name: "tau",
    value: "MARKS",
    default: "64",
    doc: "Marks that cost one `md`; also the most answers per smoothed RTT.",
};
pub(crate) const NOMINAL: Param = Param {
    name: "nominal",
    value: "TIME",
    default: "20ms",
    doc: "Round-trip time at which `ratefair`, `hybrid` and `mild` are `md`.",
};

const NAMES: [&str; 6] = ["module", "md", "ratefair", "hybrid", "mild", "sqrtp"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// The controller's own.
    Module,
    Md,
    RateFair,
    Hybrid,
    Mild,
    SqrtP,
}

const LAWS: [Law; 6] = [Law::Module, Law::Md, Law::RateFair, Law::Hybrid, Law::Mild, Law::SqrtP];

/// The words of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Params {
    law: Law,
    /// What is left of cwnd after CE, or after `tau` marks.
    md: f64,
    tau: u32,
    nominal: Dur,
}

impl Params {
    pub(crate) const fn new(md: f64) -> Self {
        Self { law: Law::Module, md, tau: 64, nominal: Dur::from_millis(20) }
    }

    /// Reads the value of `key` if it is one of a response's words.
    pub(crate) fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        match key {
            "response" => self.law = LAWS[args.choice(&NAMES)?],
            "md" => self.md = args.decimal(0.01..=0.99)?,
            "tau" => self.tau = args.number(1..=1024)? as u32,
            "nominal" => {
                let positive = |word: &str| Dur::parse_tc(word).filter(|t| *t > Dur::ZERO);
                self.nominal = args.value("a time above zero, such as `20ms`", positive)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The words behind the controller's others; none for its own law.
    pub(crate) fn describe(&self) -> String {
        if self.law == Law::Module {
            return String::new();
        }
        let Self { law, md, tau, nominal } = self;
        let law = NAMES[*law as usize];
        format!(" response {law} md {md} tau {tau} nominal {nominal}")
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
            _ => self.md.powf(1.0 / self.marks(srtt)),
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
#[path = "response_tests.rs"]
mod tests;
