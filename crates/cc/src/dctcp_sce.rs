//! DCTCP-SCE: half a segment less for every SCE mark, so that a fully marked window halves and two
//! marks per window hold it. SCE kernel tree (chromi/sce) net/ipv4/tcp_dctcp_sce.c of 09cf5620.
//! Facts: `cc.md` 3.6, 3.13.4.

use super::sce::{self, Credit, Quirks, Reductions, half};
use super::{Ack, AckEvent, Controller, Needs, Output, Path, StateChange, Window};
use crate::legacy::OldEntry;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

pub(super) const ENTRY: OldEntry = OldEntry {
    name: "dctcp-sce",
    summary: "Half a segment less for every SCE mark, a quarter of cwnd for CE.",
    reference: "chromi/sce tcp_dctcp_sce.c of 09cf5620; draft-grimes-tcpm-tcpsce",
    params: PARAMS,
    build: |args| Ok(Box::new(DctcpSce::new(Params::parse(args)?))),
};

const PARAMS: &[Param] = &[
    Param {
        name: "version",
        value: "v2|v3",
        default: "v3",
        doc: "v2: SCE ends slow start, by inference from reno-sce v2 of the same tree; v3: it does not.",
    },
    sce::MODE,
    sce::RCV_MSS,
    sce::CE,
    Param {
        name: "pacing|nopacing",
        value: "",
        default: "nopacing",
        doc: "Ask for pacing (the module's sysctl tcp_sce_pacing).",
    },
];

const VERSIONS: [&str; 2] = ["v2", "v3"];

/// The part of a segment left over from slow start that becomes credit is 1/5.
const LEFT_OVER_SHARE: i64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V2,
    V3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Params {
    version: Version,
    quirks: Quirks,
    pacing: bool,
}

impl Params {
    const DEFAULT: Self = Self { version: Version::V3, quirks: Quirks::INTENDED, pacing: false };

    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut p = Self::DEFAULT;
        while let Some(key) = args.key() {
            match key {
                "version" => p.version = [Version::V2, Version::V3][args.choice(&VERSIONS)?],
                "mode" => {
                    let literal = Quirks::read_mode(args)?;
                    p.quirks = if literal { Quirks::LITERAL } else { Quirks::INTENDED };
                }
                "rcv_mss" => p.quirks.rcv_mss = Quirks::read_rcv_mss(args)?,
                "ce" => p.quirks.literal_ce = Quirks::read_ce(args)?,
                "pacing" => p.pacing = true,
                "nopacing" => p.pacing = false,
                _ => return Err(args.unknown()),
            }
        }
        Ok(p)
    }
}

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

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }

    fn describe(&self) -> String {
        let no = if self.params.pacing { "" } else { "no" };
        let version = VERSIONS[self.params.version as usize];
        format!("dctcp-sce version {version} {} {no}pacing", self.params.quirks.describe())
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("credit", "bytes", self.credit.bytes as f64);
    }
}
