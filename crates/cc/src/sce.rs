//! What the SCE controllers share: a credit of bytes that moves cwnd by single segments before the
//! state machine runs, and the answer to CE and loss. SCE kernel tree of 2019 and 2020 (chromi/sce).
//! Facts: `cc.md` 3.6.
//!
//! Each ACK adds to or takes from the credit in bytes; every `T = m * cwnd` bytes are one segment of
//! cwnd. `m` should be the MSS. The modules take the *receive* side's estimate instead, which stays
//! at 536 bytes for a one-way sender, so that everything is 1448/536 = 2.7 times as large.

pub(super) mod response;

use super::{Ack, AckEvent, Path, Signal, State, StateChange, Window};
use sojourn_core::grammar::{Args, GrammarError, Param};

/// What the modules' receive-side MSS estimate is at a sender of bulk data (`TCP_MSS_DEFAULT`).
pub(super) const BULK_RCV_MSS: u32 = 536;
pub(super) const MIN_CWND: u32 = 2;

pub(super) const MODE: Param = Param {
    name: "mode",
    value: "intended|literal",
    default: "intended",
    doc: "All quirks off as documented, or on as in the modules; later words change single ones.",
};
pub(super) const RCV_MSS: Param = Param {
    name: "rcv_mss",
    value: "send|BYTES",
    default: "send",
    doc: "Segment size that the credit counts with: the MSS, or a number (modules: 536).",
};
pub(super) const CE: Param = Param {
    name: "ce",
    value: "documented|literal",
    default: "documented",
    doc: "CE keeps 3/4, 7/8 soon after SCE; or what module and kernel make of it together.",
};

const MODES: [&str; 2] = ["intended", "literal"];
const CE_PATHS: [&str; 2] = ["documented", "literal"];

/// The quirks of the credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Bytes of a segment in the credit; `None` is the MSS.
    pub(super) rcv_mss: Option<u32>,
    pub(super) literal_ce: bool,
}

impl Quirks {
    pub(super) const INTENDED: Self = Self { rcv_mss: None, literal_ce: false };
    pub(super) const LITERAL: Self = Self { rcv_mss: Some(BULK_RCV_MSS), literal_ce: true };

    /// Whether `mode` names the modules as they are.
    pub(super) fn read_mode(args: &mut Args<'_>) -> Result<bool, GrammarError> {
        Ok(args.choice(&MODES)? == 1)
    }

    pub(super) fn read_rcv_mss(args: &mut Args<'_>) -> Result<Option<u32>, GrammarError> {
        args.value("`send` or a number of bytes from 1 to 65535", |word| match word {
            "send" => Some(None),
            _ => word.parse().ok().filter(|n| (1..=65_535).contains(n)).map(Some),
        })
    }

    pub(super) fn read_ce(args: &mut Args<'_>) -> Result<bool, GrammarError> {
        Ok(args.choice(&CE_PATHS)? == 1)
    }

    pub(super) fn describe_rcv_mss(rcv_mss: Option<u32>) -> String {
        rcv_mss.map_or_else(|| "rcv_mss send".into(), |n| format!("rcv_mss {n}"))
    }

    pub(super) fn describe(&self) -> String {
        let ce = CE_PATHS[usize::from(self.literal_ce)];
        format!("{} ce {ce}", Self::describe_rcv_mss(self.rcv_mss))
    }

    /// Bytes of a segment in the credit.
    pub(super) fn segment(&self, path: &Path) -> i64 {
        i64::from(self.rcv_mss.unwrap_or(path.mss))
    }
}

/// What one ACK brings into the credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Bytes that it acknowledges; a duplicate counts as one segment.
    pub(super) acked: i64,
    /// Bytes that are one segment of cwnd, fixed when the ACK arrives.
    pub(super) window: i64,
}

/// Bytes that cwnd has not taken yet, and whether SCE was seen lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    pub(super) bytes: i64,
    /// ACKs for which the last SCE counts as recent.
    recent: u32,
}

impl Credit {
    pub(super) fn step(quirks: &Quirks, event: &AckEvent<'_>, win: &Window) -> Step {
        let segment = quirks.segment(event.path);
        let acked = match event.acked_bytes {
            0 if !event.window_update => segment,
            bytes => bytes as i64,
        };
        Step { acked, window: (segment * i64::from(win.cwnd)).max(1) }
    }

    /// SCE counts as recent for a window of ACKs.
    pub(super) fn saw_sce(&mut self, win: &Window) {
        self.recent = win.cwnd + 1;
    }

    /// The part of cwnd that CE costs: a quarter, an eighth soon after SCE.
    pub(super) const fn ce_divisor(&self) -> u32 {
        if self.recent > 0 { 8 } else { 4 }
    }

    /// Moves whole segments into cwnd; `moved` is told cwnd after each and whether it grew.
    pub(super) fn settle(
        &mut self,
        step: Step,
        win: &mut Window,
        mut moved: impl FnMut(u32, bool),
    ) {
        while self.bytes <= -step.window {
            self.bytes += step.window;
            if win.cwnd > MIN_CWND {
                win.cwnd -= 1;
                moved(win.cwnd, false);
            }
        }
        while self.bytes >= step.window {
            self.bytes -= step.window;
            if win.cwnd < win.clamp {
                win.cwnd += 1;
                moved(win.cwnd, true);
            }
        }
        self.recent = self.recent.saturating_sub(1);
    }

    /// The `cong_avoid` hook: slow start only; what is left becomes credit, divided by `share`.
    pub(super) fn slow_start(
        &mut self,
        quirks: &Quirks,
        ack: &Ack<'_>,
        share: i64,
        win: &mut Window,
    ) {
        if ack.may_raise && ack.path.cwnd_limited && win.in_slow_start() {
            let left = win.slow_start(ack.delivered());
            self.bytes += i64::from(left) * quirks.segment(ack.path) / share;
        }
    }
}

/// Whether PRR owns cwnd, so that documented behaviour has no room for a second answer.
pub(super) fn reducing(path: &Path) -> bool {
    matches!(path.state, State::Cwr | State::Recovery)
}

/// cwnd after a loss, and the threshold that follows every reduction.
pub(super) fn half(cwnd: u32) -> u32 {
    (cwnd / 2).max(MIN_CWND)
}

/// Answers to CE and loss, apart from what the modules do at each ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reductions {
    /// cwnd when the last signal came.
    pub(super) loss_cwnd: u32,
    /// cwnd at the last query that no state change has used.
    asked: Option<u32>,
}

impl Reductions {
    /// The documented answer: 3/4 or 7/8 for CE, half for loss.
    pub(super) fn documented(&mut self, credit: &Credit, path: &Path, win: &Window) -> u32 {
        self.note_query(win);
        self.loss_cwnd = win.cwnd;
        match path.signal {
            Signal::Mark => (win.cwnd - win.cwnd / credit.ce_divisor()).max(MIN_CWND),
            Signal::Loss => half(win.cwnd),
        }
    }

    pub(super) fn note_query(&mut self, win: &Window) {
        self.asked = Some(win.cwnd);
    }

    /// cwnd before a timeout that this change reports, if it is the first of its episode.
    pub(super) fn timeout(&mut self, change: StateChange) -> Option<u32> {
        self.asked.take().filter(|_| change.to == State::Loss)
    }

    /// Whether this change ends a reduction (Linux `CA_EVENT_COMPLETE_CWR`).
    pub(super) fn ended(change: StateChange) -> bool {
        change.from == State::Cwr && change.to < State::Cwr
            || change.from == State::Recovery && change.to < State::Recovery
    }

    /// After a documented reduction: growth goes on in congestion avoidance.
    pub(super) fn on_state_documented(
        &mut self,
        change: StateChange,
        credit: &mut Credit,
        win: &mut Window,
    ) {
        let timeout = self.timeout(change).is_some();
        if timeout || Self::ended(change) {
            credit.bytes = 0;
            win.ssthresh = half(self.loss_cwnd);
        }
    }

    /// What Reno-SCE v3 and DCTCP-SCE do at the end of a reduction and after a timeout: their own cut
    /// on top of the kernel's.
    pub(super) fn on_state_literal(
        &mut self,
        change: StateChange,
        credit: &mut Credit,
        win: &mut Window,
    ) {
        if let Some(cwnd) = self.timeout(change) {
            // The kernel has set cwnd for the timeout.
            self.loss_cwnd = cwnd;
        } else if Self::ended(change) {
            self.loss_cwnd = win.cwnd;
            win.cwnd =
                win.cwnd.saturating_sub((win.cwnd / credit.ce_divisor()).max(1)).max(MIN_CWND);
        } else {
            return;
        }
        credit.bytes = 0;
        win.ssthresh = half(self.loss_cwnd);
    }
}
