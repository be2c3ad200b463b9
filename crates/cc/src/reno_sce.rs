//! Reno-SCE: Reno that leaves a little for every SCE mark, in proportion to the square root of cwnd.
//! SCE kernel tree (chromi/sce) net/ipv4/tcp_reno_sce.c: v2 of 07bbe597 (the 2019 tests), v3 of
//! 63982553.
//!
//! A window of SCE marks costs sqrt(W)/2 segments (v2) or sqrt(W) (v3), against one segment of growth,
//! so that p = 1/(1 + sqrt(W)/2) or 1/(1 + sqrt(W)). `response` puts one of scim's laws in their place.

use super::algorithm::{Algorithm, Entry, entry};
use super::sce::response::{self, Response};
use super::sce::{self, Credit, Quirks, Reductions, Step, Version, half};
use super::{Ack, AckEvent, Controller, Kernel, Needs, Path, StateChange, Window};
use sojourn_core::grammar::Given;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;
use sojourn_core::{choices, parameters};

pub(super) const ENTRY: Entry = entry::<Params>(
    "reno-sce",
    "Reno that answers every SCE mark with a small cut of the square root of cwnd.",
    "chromi/sce tcp_reno_sce.c of 07bbe597 (v2, 2019) and 63982553 (v3); draft-grimes-tcpm-tcpsce",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `reno-sce`.
    #[derive(Copy)]
    struct Params {
        /// v2: half a root per window, SCE ends slow start; v3: a root, and it does not.
        version: Version = Version::V3;
        /// An integer root that follows cwnd, or its own steps alone: after slow start it is still 1;
        /// or the root itself.
        sqrt: Root = Root::Fresh;
    }
    groups {
        quirks: Quirks = Quirks::default();
        response: response::Params = response::Params::new(0.5);
    }
    derive follow_mode;
}

choices! {
    /// The square root of cwnd.
    enum Root {
        /// An integer that moves with single steps of cwnd and is set anew when more than that moves it.
        Fresh = "fresh",
        /// The module's: single steps alone.
        Stale = "stale",
        /// Of the closed forms: it lags nowhere.
        Exact = "exact",
    }
}

impl Params {
    fn follow_mode(&mut self, given: &Given) {
        if self.quirks.mode.literal && !given.has("sqrt") {
            self.sqrt = Root::Stale;
        }
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(RenoSce::new(*self))
    }
}

/// The smallest integer whose square is at least `n`.
fn root_above(n: u32) -> u32 {
    let floor = n.isqrt();
    floor + u32::from(floor * floor < n)
}

#[derive(Debug)]
struct RenoSce {
    params: Params,
    response: Option<Response>,
    credit: Credit,
    reductions: Reductions,
    /// Integer root of cwnd, moved with cwnd's single steps.
    root: u32,
    /// cwnd to which `root` belongs.
    root_of: u32,
}

impl RenoSce {
    fn new(params: Params) -> Self {
        Self {
            params,
            response: Response::new(params.response),
            credit: Credit::default(),
            reductions: Reductions::default(),
            root: 1,
            root_of: 1,
        }
    }

    /// Slow start and reductions change cwnd by more than single steps.
    fn refresh_root(&mut self, win: &Window) {
        if self.params.sqrt != Root::Stale && win.cwnd != self.root_of {
            self.root = root_above(win.cwnd);
            self.root_of = win.cwnd;
        }
    }

    /// Bytes times the root of cwnd.
    fn times_root(&self, bytes: i64, win: &Window) -> i64 {
        if self.params.sqrt == Root::Exact {
            // 16 binary places.
            (bytes * (u64::from(win.cwnd) << 32).isqrt() as i64) >> 16
        } else {
            bytes * i64::from(self.root)
        }
    }

    /// tcp_reno_sce.c, in_ack_event: v2 (07bbe597) takes half a root of cwnd per marked window and
    /// ends slow start; v3 (63982553) a whole root, and leaves an infinite ssthresh alone.
    fn answer_sce(&mut self, now: Time, path: &Path, step: Step, win: &mut Window) {
        self.credit.saw_sce(win);
        self.reductions.loss_cwnd = win.cwnd;
        let whole = self.times_root(step.acked, win);
        let module = match self.params.version {
            Version::V2 => {
                win.ssthresh = half(win.cwnd);
                whole / 2
            }
            Version::V3 => {
                win.ssthresh = win.ssthresh.max(half(win.cwnd));
                whole
            }
        };
        self.credit.bytes -= match &mut self.response {
            Some(response) => response.cut(now, path, win.cwnd, step.window),
            None => module,
        };
    }
}

impl Controller for RenoSce {
    fn needs(&self) -> Needs {
        Needs { feedback: Some(super::Feedback::Sce), ..Needs::default() }
    }

    fn hears_ack_events(&self) -> bool {
        true
    }

    fn on_ack_event(&mut self, now: Time, event: &AckEvent<'_>, win: &mut Window) {
        let Params { version, quirks, .. } = self.params;
        if !quirks.literal_ce && sce::reducing(event.path) {
            return;
        }
        self.refresh_root(win);
        let step = Credit::step(&quirks, event, win);
        if event.esce && (version == Version::V2 || !event.ece) {
            self.answer_sce(now, event.path, step, win);
        } else if event.ece && version == Version::V2 {
            if quirks.literal_ce {
                let divisor = i64::from(self.credit.ce_divisor());
                self.credit.bytes -= step.acked * i64::from(win.cwnd) / divisor;
                self.reductions.loss_cwnd = win.cwnd;
                win.ssthresh = half(win.cwnd);
            }
        } else if !win.in_slow_start() && event.path.cwnd_limited {
            self.credit.bytes += step.acked;
            if version == Version::V2 {
                self.reductions.loss_cwnd = self.reductions.loss_cwnd.max(win.cwnd);
            }
        }
        let root = &mut self.root;
        self.credit.settle(step, win, |cwnd, grew| {
            if grew && *root * *root < cwnd {
                *root += 1;
            } else if !grew && *root * *root >= cwnd {
                *root -= 1;
            }
        });
        self.root_of = win.cwnd;
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.credit.slow_start(&self.params.quirks, ack, 1, win);
    }

    fn ssthresh(&mut self, _now: Time, path: &Path, win: &Window) -> u32 {
        if !self.params.quirks.literal_ce {
            return self.reductions.documented(&self.credit, path, win);
        }
        self.reductions.note_query(win);
        let half = half(self.reductions.loss_cwnd);
        match self.params.version {
            Version::V2 => half,
            Version::V3 => half.max(win.ssthresh),
        }
    }

    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, win: &mut Window) {
        let Params { version, quirks, .. } = self.params;
        match version {
            _ if !quirks.literal_ce => {
                self.reductions.on_state_documented(change, &mut self.credit, win);
            }
            Version::V2 => {
                if let Some(cwnd) = self.reductions.timeout(change) {
                    self.reductions.loss_cwnd = cwnd;
                    self.credit.bytes = 0;
                }
            }
            Version::V3 => self.reductions.on_state_literal(change, &mut self.credit, win),
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        win.cwnd.max(self.reductions.loss_cwnd)
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("credit", "bytes", self.credit.bytes as f64);
        out.put("root", "1", f64::from(self.root));
    }
}

#[cfg(test)]
mod tests;
