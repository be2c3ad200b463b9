//! CUBIC-SCE: CUBIC whose curve turns flat at every SCE mark and whose window leaves a little, in
//! proportion to its square root. SCE kernel tree (chromi/sce) net/ipv4/tcp_cubic_sce.c of 0139ea04, on
//! the CUBIC of Linux 5.x with HyStart of that time.
//!
//! A mark moves the curve's plateau towards the present: the time to it, or since it, shrinks by the
//! share `A/sqrt(W)` that the ACK has of a root of cwnd; the height is kept. `literal` takes A in bytes
//! against a root in segments, as the module does, so that one mark moves the plateau all the way, and
//! cubes a negative time before the plateau as an unsigned number: growth then runs at its limit.
//! `response` puts one of scim's laws in place of the root; the curve turns as before.

use super::algorithm::{Algorithm, Entry, entry};
use super::cubic::{self, Cubic, Exit};
use super::hystart::Era;
use super::sce::response::{self, Response};
use super::sce::{self, MIN_CWND, Mode, half};
use super::{Ack, AckEvent, Controller, Kernel, Needs, Path, StateChange, Window};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::one_of;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "cubic-sce",
    "CUBIC that turns flat and leaves a root of cwnd per window of SCE marks.",
    "chromi/sce tcp_cubic_sce.c of 0139ea04; draft-grimes-tcpm-tcpsce",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `cubic-sce`.
    #[derive(Copy)]
    struct Params {
        /// Move the plateau by the ACK's share of a root, or all the way as the module does.
        literal_curve: bool = false =>
            one_of("intended|literal", &[("intended", false), ("literal", true)]), name "curve";
        /// Leave slow start before the first loss, as in Linux 5.4.
        hystart: bool = true, name "hystart|nohystart";
    }
    groups {
        mode: Mode = Mode::default();
        response: response::Params = response::Params::new(0.7);
    }
    derive follow_mode;
}

impl Params {
    fn follow_mode(&mut self, given: &Given) {
        self.literal_curve |= self.mode.literal && !given.has("curve");
    }

    fn cubic(&self) -> cubic::Params {
        let mut p = cubic::Params::default();
        p.hystart = if self.hystart { Exit::Linux } else { Exit::Off };
        p.detect.era = Some(Era::Until2020);
        p
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(CubicSce::new(*self))
    }
}

#[derive(Debug)]
struct CubicSce {
    params: Params,
    response: Option<Response>,
    cubic: Cubic,
    /// Integer root of cwnd as of the last growth step.
    root: u32,
    /// ACKs for which the last SCE counts as recent.
    recent: u32,
}

impl CubicSce {
    fn new(params: Params) -> Self {
        let response = Response::new(params.response);
        Self { params, response, cubic: Cubic::new(params.cubic()), root: 1, recent: 0 }
    }

    /// Bytes of a segment in the count of ACKs.
    fn segment(&self, path: &Path) -> u32 {
        self.params.mode.segment(path).max(1)
    }

    /// Height of the curve above its plateau after 1/1024 s times `offset`, in segments.
    fn height(&self, offset: u64) -> u64 {
        let scale = u64::from(self.cubic.params.bic_scale * 10);
        scale.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset) >> 40
    }

    /// Moves the plateau towards the present by `acked` parts of a root; the height now stays
    /// (tcp_cubic_sce.c of 0139ea04).
    fn flatten(&mut self, now: Time, acked: u64) {
        let now = self.cubic.jiffies(now);
        let hz = u64::from(self.cubic.hz);
        let curve = self.cubic.curve;
        let Some(epoch) = curve.epoch else { return };
        let root = u64::from(self.root);
        let (t, k) = ((u64::from(now.wrapping_sub(epoch)) << 10) / hz, u64::from(curve.k));
        let (epoch, k, up, down) = if t < k {
            let left = k - t;
            let rest = left * root.saturating_sub(acked) / root;
            // The module forgets that its clock starts anew.
            let after = if self.params.literal_curve { rest.wrapping_sub(t) } else { rest };
            (now, rest, self.height(after), self.height(left))
        } else {
            let since = t - k;
            let moved = since * acked.min(root) / root;
            let plateau = epoch.wrapping_add(((k * hz) >> 10) as u32);
            (plateau, moved, self.height(since), self.height(since - moved))
        };
        let curve = &mut self.cubic.curve;
        curve.epoch = Some(epoch);
        curve.k = k as u32;
        if self.params.literal_curve {
            curve.origin = curve.origin.wrapping_add(up as u32).wrapping_sub(down as u32);
        } else {
            curve.origin = curve.origin.saturating_add(up as u32).saturating_sub(down as u32);
        }
    }

    /// SCE has taken a segment. TCP-friendly growth gives it back to the window and not to the
    /// plateau, which sinks: as intended down to nothing, in the module below.
    fn sink(&mut self) {
        let origin = &mut self.cubic.curve.origin;
        *origin = if self.params.literal_curve {
            origin.wrapping_sub(1)
        } else {
            origin.saturating_sub(1)
        };
    }

    /// tcp_cubic_sce.c, in_ack_event: a mark flattens the curve and takes a root of cwnd per
    /// window.
    fn answer_sce(&mut self, now: Time, event: &AckEvent<'_>, win: &mut Window) {
        win.ssthresh = half(win.cwnd);
        if self.cubic.curve.epoch.is_none() {
            return;
        }
        let segment = self.segment(event.path);
        let acked = match event.acked_bytes {
            0 if !event.window_update => u64::from(segment),
            bytes => bytes,
        };
        let share = if self.params.literal_curve { acked } else { acked / u64::from(segment) };
        self.flatten(now, share);
        let window = i64::from(segment) * i64::from(win.cwnd);
        self.cubic.curve.ack_cnt -= match &mut self.response {
            Some(response) => response.cut(now, event.path, win.cwnd, window),
            None => acked as i64 * i64::from(self.root),
        };
        while self.cubic.curve.ack_cnt <= -window {
            self.cubic.curve.ack_cnt += window;
            if win.cwnd > MIN_CWND {
                win.cwnd -= 1;
                self.sink();
            }
        }
        self.recent = win.cwnd + 1;
        win.ssthresh = half(win.cwnd);
    }
}

impl Controller for CubicSce {
    fn needs(&self) -> Needs {
        Needs { feedback: Some(super::Feedback::Sce), ..Needs::default() }
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.cubic.unit = i64::from(self.segment(path));
        self.cubic.on_established(now, path, win);
    }

    fn hears_ack_events(&self) -> bool {
        true
    }

    fn on_ack_event(&mut self, now: Time, event: &AckEvent<'_>, win: &mut Window) {
        if event.esce && (self.params.literal_curve || !sce::reducing(event.path)) {
            self.answer_sce(now, event, win);
        }
        self.recent = self.recent.saturating_sub(1);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        self.cubic.on_ack(now, ack, win);
        self.root = win.cwnd.isqrt().max(1);
    }

    fn ssthresh(&mut self, now: Time, path: &Path, win: &Window) -> u32 {
        // tcp_cubic_sce.c: 7/8 of cwnd for CE or loss soon after SCE, else CUBIC's share.
        let kept = self.cubic.ssthresh(now, path, win);
        if self.recent > 0 { (win.cwnd - win.cwnd.div_ceil(8)).max(MIN_CWND) } else { kept }
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        self.cubic.on_state(now, change, path, win);
    }

    fn on_restart(&mut self, now: Time, idle: Dur, win: &mut Window) {
        self.cubic.on_restart(now, idle, win);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.cubic.probe(out);
        out.put("root", "1", f64::from(self.root));
    }
}

#[cfg(test)]
mod tests;
