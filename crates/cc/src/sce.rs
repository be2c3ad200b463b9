//! What the SCE controllers share: a credit of bytes that moves cwnd by single segments before the
//! state machine runs, and the answer to CE and loss. SCE kernel tree of 2019 and 2020 (chromi/sce).
//!
//! Each ACK adds to or takes from the credit in bytes; every `T = m * cwnd` bytes are one segment of
//! cwnd. `m` should be the MSS. The modules take the *receive* side's estimate instead, which stays
//! at 536 bytes for a one-way sender, so that everything is 1448/536 = 2.7 times as large.

pub(super) mod response;

use super::{Ack, AckEvent, Path, Signal, State, StateChange, Window};
use sojourn_core::grammar::forms::{Form, custom, one_of};
use sojourn_core::grammar::{Args, Given};
use sojourn_core::{choices, parameters};

/// What the modules' receive-side MSS estimate is at a sender of bulk data (`TCP_MSS_DEFAULT`).
const BULK_RCV_MSS: u32 = 536;
pub(super) const MIN_CWND: u32 = 2;

choices! {
    /// Generation of Reno-SCE and DCTCP-SCE.
    pub(super) enum Version { V2 = "v2", V3 = "v3" }
}

parameters! {
    /// Which of the modules' quirks there are. Text forms state each.
    #[derive(Copy)]
    pub(super) struct Mode {
        /// All quirks off as documented, or on as in the modules; other parameters change single
        /// ones.
        pub(super) literal: bool = false =>
            one_of("intended|literal", &[("intended", false), ("literal", true)]), name "mode";
        /// Segment size that the credit counts with: the MSS, or a number (modules: 536).
        rcv_mss: Option<u32> = None => rcv_mss();
    }
    derive follow_mode;
}

parameters! {
    /// The quirks of the credit.
    #[derive(Copy)]
    pub(super) struct Quirks {
        /// CE keeps 3/4, 7/8 soon after SCE; or what module and kernel make of it together.
        pub(super) literal_ce: bool = false =>
            one_of("documented|literal", &[("documented", false), ("literal", true)]), name "ce";
    }
    groups { pub(super) mode: Mode = Mode::default(); }
    derive follow_mode;
}

fn rcv_mss() -> impl Form<Option<u32>> {
    let read = |args: &mut Args<'_>| {
        args.value("`send` or a number of bytes from 1 to 65535", |word| match word {
            "send" => Some(None),
            _ => word.parse().ok().filter(|n| (1..=65_535).contains(n)).map(Some),
        })
    };
    let write = |size: &Option<u32>| size.map_or_else(|| "send".to_owned(), |n| n.to_string());
    custom("send|BYTES", read, write)
}

impl Mode {
    fn follow_mode(&mut self, given: &Given) {
        if self.literal && !given.has("rcv_mss") {
            self.rcv_mss = Some(BULK_RCV_MSS);
        }
    }

    /// Bytes of a segment in the credit.
    pub(super) fn segment(&self, path: &Path) -> u32 {
        self.rcv_mss.unwrap_or(path.mss)
    }
}

impl Quirks {
    fn follow_mode(&mut self, given: &Given) {
        self.literal_ce |= self.mode.literal && !given.has("ce");
    }

    fn segment(&self, path: &Path) -> i64 {
        self.mode.segment(path).into()
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
