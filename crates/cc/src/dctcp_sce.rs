//! DCTCP-SCE: half a segment less for every SCE mark, so that a fully marked window halves and two
//! marks per window hold it. SCE kernel tree (chromi/sce) net/ipv4/tcp_dctcp_sce.c of 09cf5620.

use super::algorithm::{Algorithm, Entry, entry};
use super::sce::{self, Credit, Quirks, Reductions, Version, half};
use super::{Ack, AckEvent, Controller, Kernel, Needs, Path, StateChange, Window};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

pub(super) const ENTRY: Entry = entry::<Params>(
    "dctcp-sce",
    "Half a segment less for every SCE mark, a quarter of cwnd for CE.",
    "chromi/sce tcp_dctcp_sce.c of 09cf5620; draft-grimes-tcpm-tcpsce",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `dctcp-sce`.
    #[derive(Copy)]
    struct Params {
        /// v2: SCE ends slow start, by inference from reno-sce v2 of the same tree; v3: it does not.
        version: Version = Version::V3;
        /// Ask for pacing (the module's sysctl tcp_sce_pacing).
        pacing: bool = false, name "pacing|nopacing";
    }
    groups { quirks: Quirks = Quirks::default(); }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(DctcpSce::new(*self))
    }
}

/// The part of a segment left over from slow start that becomes credit is 1/5.
const LEFT_OVER_SHARE: i64 = 5;

#[derive(Debug)]
struct DctcpSce {
    params: Params,
    credit: Credit,
    reductions: Reductions,
}

impl DctcpSce {
    fn new(params: Params) -> Self {
        Self { params, credit: Credit::default(), reductions: Reductions::default() }
    }
}

impl Controller for DctcpSce {
    fn needs(&self) -> Needs {
        let feedback = Some(super::Feedback::Sce);
        Needs { feedback, pacing: self.params.pacing, ..Needs::default() }
    }

    fn hears_ack_events(&self) -> bool {
        true
    }

    fn on_ack_event(&mut self, _now: Time, event: &AckEvent<'_>, win: &mut Window) {
        let quirks = self.params.quirks;
        if !quirks.literal_ce && sce::reducing(event.path) {
            return;
        }
        let step = Credit::step(&quirks, event, win);
        if event.esce && !event.ece {
            // tcp_dctcp_sce.c, in_ack_event: half a segment per marked segment.
            self.credit.bytes -= step.acked * i64::from(win.cwnd) / 2;
            self.credit.saw_sce(win);
            self.reductions.loss_cwnd = win.cwnd;
            win.ssthresh = match self.params.version {
                Version::V2 => half(win.cwnd),
                Version::V3 => win.ssthresh.max(half(win.cwnd)),
            };
        } else if !win.in_slow_start() && event.path.cwnd_limited {
            self.credit.bytes += step.acked;
        }
        self.credit.settle(step, win, |_, _| {});
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.credit.slow_start(&self.params.quirks, ack, LEFT_OVER_SHARE, win);
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
        if self.params.quirks.literal_ce {
            self.reductions.on_state_literal(change, &mut self.credit, win);
        } else {
            self.reductions.on_state_documented(change, &mut self.credit, win);
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        win.cwnd.max(self.reductions.loss_cwnd)
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("credit", "bytes", self.credit.bytes as f64);
    }
}
