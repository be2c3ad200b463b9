//! Reno for peers that refuse the feedback without which a controller cannot work.

use super::{Ack, AckEvent, Controller, Feedback, Needs, Output, Path, StateChange, Window, reno};
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

/// A controller as long as the peer gives the feedback that it takes; else everything is Reno.
#[derive(Debug)]
pub(super) struct OrReno<C> {
    pub(super) inner: C,
    takes: fn(Feedback) -> bool,
    is_reno: bool,
}

impl<C> OrReno<C> {
    /// `takes` says what feedback the controller can work with.
    pub(super) fn new(inner: C, takes: fn(Feedback) -> bool) -> Self {
        Self { inner, takes, is_reno: false }
    }
}

impl<C: Controller> Controller for OrReno<C> {
    fn needs(&self) -> Needs {
        if self.is_reno { Needs::default() } else { self.inner.needs() }
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.is_reno = !(self.takes)(path.feedback);
        self.inner.on_established(now, path, win);
    }

    fn hears_ack_events(&self) -> bool {
        self.inner.hears_ack_events()
    }

    fn on_ack_event(&mut self, now: Time, event: &AckEvent<'_>, win: &mut Window) {
        if !self.is_reno {
            self.inner.on_ack_event(now, event, win);
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if !self.is_reno {
            self.inner.on_ack(now, ack, win);
        } else if ack.may_raise {
            reno::cong_avoid(ack, win);
        }
    }

    fn ssthresh(&mut self, now: Time, path: &Path, win: &Window) -> u32 {
        if self.is_reno { reno::ssthresh(win) } else { self.inner.ssthresh(now, path, win) }
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        if !self.is_reno {
            self.inner.on_state(now, change, path, win);
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        if self.is_reno { win.cwnd.max(win.prior_cwnd) } else { self.inner.undo_cwnd(win) }
    }

    fn output(&self, path: &Path, win: &Window) -> Output {
        if self.is_reno { Output::default() } else { self.inner.output(path, win) }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.inner.probe(out);
    }
}
