//! A congestion controller in Python: each hook of the core's interface that the class has is
//! called with light objects, and the GIL is held in these calls alone.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use sojourn_cc::{
    self as cc, Algorithm, Controller, Feedback, Needs, Output, Signal, State, StateChange,
};
use sojourn_core::grammar::{Args, Given, GrammarError, Written};
use sojourn_core::spec::Held;
use sojourn_core::{Dur, Ecn, Probe, Rate, Rng, Time};

use super::{
    Arguments, CONTROLLERS, Definition, Method, Part, instant, known, named, seconds, values,
};

/// The most segments that a window may have: far above any path, far below an overflow.
const MOST: u32 = 1 << 30;

/// What the end point knows of the path.
#[pyclass(frozen, module = "sojourn")]
pub(crate) struct Path(cc::Path);

#[pymethods]
impl Path {
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }
    #[getter]
    fn mtu(&self) -> u32 {
        self.0.mtu
    }
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        known(self.0.srtt)
    }
    #[getter]
    fn mdev_s(&self) -> Option<f64> {
        known(self.0.mdev)
    }
    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        known(self.0.min_rtt)
    }
    #[getter]
    fn packets_out(&self) -> u32 {
        self.0.packets_out
    }
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.0.delivered_ce
    }
    #[getter]
    fn state(&self) -> &'static str {
        state(self.0.state)
    }
    #[getter]
    fn feedback(&self) -> Option<&'static str> {
        FEEDBACK.iter().find(|(_, feedback)| *feedback == self.0.feedback).map(|(name, _)| *name)
    }
    #[getter]
    fn signal(&self) -> &'static str {
        match self.0.signal {
            Signal::Loss => "loss",
            Signal::Mark => "mark",
        }
    }
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }
    #[getter]
    fn backlogged(&self) -> bool {
        self.0.backlogged
    }
    #[getter]
    fn paced(&self) -> bool {
        self.0.paced
    }
    #[getter]
    fn departure_s(&self) -> f64 {
        seconds(self.0.departure)
    }
    #[getter]
    fn pacing_ss_ratio(&self) -> u32 {
        self.0.pacing_ss_ratio
    }
    #[getter]
    fn pacing_ca_ratio(&self) -> u32 {
        self.0.pacing_ca_ratio
    }
    #[getter]
    fn hz(&self) -> u32 {
        self.0.hz
    }
}

/// Feedback by the name that scenarios give it.
const FEEDBACK: [(&str, Feedback); 4] = [
    ("rfc3168", Feedback::Rfc3168),
    ("accecn", Feedback::AccEcn),
    ("dctcp", Feedback::Dctcp),
    ("sce", Feedback::Sce),
];

fn state(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::Disorder => "disorder",
        State::Cwr => "cwr",
        State::Recovery => "recovery",
        State::Loss => "loss",
    }
}

/// The window that end point and controller share.
#[pyclass(module = "sojourn")]
pub(crate) struct Window(cc::Window);

/// A whole number; a fraction is refused by its name, since how to round is the controller's choice.
fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value.extract().map_err(|_| {
        let hint = "expected a whole number of segments, such as int(...)";
        PyTypeError::new_err(format!("{name} = {value}: {hint}"))
    })
}

/// `segments` within what a window may have.
fn segments(name: &str, segments: i64, least: u32) -> PyResult<u32> {
    let fits = u32::try_from(segments).ok().filter(|n| (least..=MOST).contains(n));
    let message = || format!("{name} = {segments}: expected {least} to {MOST} segments");
    fits.ok_or_else(|| PyValueError::new_err(message()))
}

/// A threshold; it may be infinite.
fn threshold(wanted: i64) -> PyResult<u32> {
    if wanted == i64::from(cc::Window::INFINITE) {
        return Ok(cc::Window::INFINITE);
    }
    segments("ssthresh", wanted, 1)
}

#[pymethods]
impl Window {
    #[classattr]
    #[pyo3(name = "INFINITE")]
    const INFINITE: u32 = cc::Window::INFINITE;

    #[getter]
    fn cwnd(&self) -> u32 {
        self.0.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, cwnd: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.cwnd = segments("cwnd", whole("cwnd", cwnd)?, 1)?;
        Ok(())
    }
    #[getter]
    fn cwnd_cnt(&self) -> u32 {
        self.0.cwnd_cnt
    }
    #[setter]
    fn set_cwnd_cnt(&mut self, count: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.cwnd_cnt = segments("cwnd_cnt", whole("cwnd_cnt", count)?, 0)?;
        Ok(())
    }
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.0.ssthresh
    }
    #[setter]
    fn set_ssthresh(&mut self, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.ssthresh = threshold(whole("ssthresh", ssthresh)?)?;
        Ok(())
    }
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.0.prior_cwnd
    }
    #[getter]
    fn prior_ssthresh(&self) -> u32 {
        self.0.prior_ssthresh
    }
    #[getter]
    fn clamp(&self) -> u32 {
        self.0.clamp
    }
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    /// Linux `tcp_slow_start`: grows up to ssthresh and returns the segments left over.
    fn slow_start(&mut self, acked: &Bound<'_, PyAny>) -> PyResult<u32> {
        let acked = segments("acked", whole("acked", acked)?, 0)?;
        Ok(if self.0.in_slow_start() { self.0.slow_start(acked) } else { acked })
    }

    /// Linux `tcp_cong_avoid_ai`: one segment per `w` acknowledged, with carry.
    fn additive_increase(
        &mut self,
        w: &Bound<'_, PyAny>,
        acked: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (w, acked) = (whole("w", w)?, whole("acked", acked)?);
        let (w, acked) = (segments("w", w, 1)?, segments("acked", acked, 0)?);
        let mut grown = self.0;
        grown.additive_increase(w, acked);
        segments("cwnd", i64::from(grown.cwnd), 1)?;
        self.0 = grown;
        Ok(())
    }

    fn __repr__(&self) -> String {
        let cc::Window { cwnd, cwnd_cnt, ssthresh, .. } = self.0;
        format!("Window(cwnd={cwnd}, cwnd_cnt={cwnd_cnt}, ssthresh={ssthresh})")
    }
}

/// A transmission.
#[pyclass(frozen, get_all, module = "sojourn")]
pub(crate) struct Sent {
    bytes: u32,
    segments: u32,
    retransmit: bool,
    from_idle: bool,
}

/// A transmission that was given up for lost.
#[pyclass(frozen, get_all, module = "sojourn")]
#[expect(clippy::struct_field_names, reason = "a count that is called so in the core, too")]
pub(crate) struct Lost {
    tx_in_flight: u32,
    lost: u32,
    app_limited: bool,
    delivered: u64,
}

/// A delivery-rate sample.
#[pyclass(frozen, get_all, module = "sojourn")]
pub(crate) struct RateSample {
    delivered: u32,
    delivered_ce: u32,
    interval_s: f64,
    prior_delivered: u64,
    tx_in_flight: u32,
    lost: u32,
    app_limited: bool,
    ack_delayed: bool,
}

/// What an acknowledgement says at first sight.
#[pyclass(frozen, module = "sojourn")]
pub(crate) struct AckEvent {
    path: cc::Path,
    #[pyo3(get)]
    acked_bytes: u64,
    #[pyo3(get)]
    window_update: bool,
    #[pyo3(get)]
    ece: bool,
    #[pyo3(get)]
    esce: bool,
}

#[pymethods]
impl AckEvent {
    #[getter]
    fn path(&self) -> Path {
        Path(self.path)
    }
}

/// Facts of one acknowledgement.
#[pyclass(frozen, module = "sojourn")]
pub(crate) struct Ack {
    path: cc::Path,
    rate: Option<cc::RateSample>,
    #[pyo3(get)]
    acked: u32,
    #[pyo3(get)]
    sacked: u32,
    #[pyo3(get)]
    acked_bytes: u64,
    #[pyo3(get)]
    lost: u32,
    #[pyo3(get)]
    ce: u32,
    #[pyo3(get)]
    ect1: u32,
    #[pyo3(get)]
    ece: bool,
    #[pyo3(get)]
    esce: bool,
    #[pyo3(get)]
    rtt_s: Option<f64>,
    #[pyo3(get)]
    prior_in_flight: u32,
    #[pyo3(get)]
    may_raise: bool,
    #[pyo3(get)]
    app_limited: bool,
}

impl Ack {
    fn new(ack: &cc::Ack<'_>) -> Self {
        Self {
            path: *ack.path,
            rate: ack.rate,
            acked: ack.acked,
            sacked: ack.sacked,
            acked_bytes: ack.acked_bytes,
            lost: ack.lost,
            ce: ack.ce,
            ect1: ack.ect1,
            ece: ack.ece,
            esce: ack.esce,
            rtt_s: ack.rtt.map(Dur::as_secs_f64),
            prior_in_flight: ack.prior_in_flight,
            may_raise: ack.may_raise,
            app_limited: ack.app_limited,
        }
    }
}

#[pymethods]
impl Ack {
    #[getter]
    fn path(&self) -> Path {
        Path(self.path)
    }

    /// Segments newly delivered, cumulatively or by SACK.
    #[getter]
    fn delivered(&self) -> u32 {
        self.acked + self.sacked
    }

    #[getter]
    fn rate(&self) -> Option<RateSample> {
        let rate = self.rate?;
        Some(RateSample {
            delivered: rate.delivered,
            delivered_ce: rate.delivered_ce,
            interval_s: rate.interval.as_secs_f64(),
            prior_delivered: rate.prior_delivered,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
            app_limited: rate.app_limited,
            ack_delayed: rate.ack_delayed,
        })
    }
}

/// A controller whose hooks are Python's.
struct PyController {
    part: Part,
    needs: Needs,
    /// One object for all calls; what it holds between them is of no account.
    window: Py<Window>,
    on_established: Method,
    on_send: Method,
    on_ack_event: Method,
    on_ack: Method,
    on_loss: Method,
    ssthresh: Method,
    on_state: Method,
    undo_cwnd: Method,
    on_restart: Method,
    wake: Method,
    on_wake: Method,
    pacing_rate: Method,
    burst: Method,
    probe: Method,
}

/// A class with its parameters.
#[derive(Clone)]
pub(super) struct External {
    definition: Arc<Definition>,
    arguments: Arguments,
    /// Found by the check.
    needs: Needs,
}

impl External {
    /// The class that a line names, without parameters.
    pub(super) fn default(name: &str) -> Box<dyn Held<dyn Algorithm>> {
        let definition = named(&CONTROLLERS, name);
        Box::new(Self {
            arguments: Arguments::none(definition.name),
            definition,
            needs: Needs::default(),
        })
    }

    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.definition.instance(py, &self.arguments, 0)
    }
}

impl Held<dyn Algorithm> for External {
    fn get(&self) -> &(dyn Algorithm + 'static) {
        self
    }

    fn get_mut(&mut self) -> &mut (dyn Algorithm + 'static) {
        self
    }

    fn copy(&self) -> Box<dyn Held<dyn Algorithm>> {
        Box::new(self.clone())
    }

    fn written(&self) -> Vec<Written> {
        self.arguments.written()
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<Given, GrammarError> {
        let fresh = Arguments::read(args, &self.definition)?;
        self.arguments = self.arguments.changed_by(&fresh);
        Ok(fresh.given())
    }
}

impl Algorithm for External {
    fn check(&mut self) -> Result<(), String> {
        let name = self.arguments.name();
        self.needs = Python::attach(|py| {
            let object = self.object(py);
            let object = object.map_err(|e| self.definition.line(py, name, "__init__", &e))?;
            needs(&object).map_err(|e| format!("{name}: {e}"))
        })?;
        Ok(())
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn build(&self) -> Box<dyn Controller> {
        let place = self.arguments.name().to_owned();
        let (object, needs, window) = Python::attach(|py| {
            let made = self.object(py).and_then(|object| Ok((needs(&object)?, object.unbind())));
            let made = made.map_err(|e| self.definition.fail(py, &place, "__init__", e)).ok();
            let (needs, object) = made.unzip();
            let window = Py::new(py, Window(cc::Window::new(1))).expect("memory for a window");
            (object, needs.unwrap_or_default(), window)
        });
        let part = Part { definition: Arc::clone(&self.definition), place, object };
        let method = |name| part.method(name);
        Box::new(PyController {
            needs,
            window,
            on_established: method("on_established"),
            on_send: method("on_send"),
            on_ack_event: method("on_ack_event"),
            on_ack: method("on_ack"),
            on_loss: method("on_loss"),
            ssthresh: method("ssthresh"),
            on_state: method("on_state"),
            undo_cwnd: method("undo_cwnd"),
            on_restart: method("on_restart"),
            wake: method("wake"),
            on_wake: method("on_wake"),
            pacing_rate: method("pacing_rate"),
            burst: method("burst"),
            probe: method("probe"),
            part,
        })
    }
}

/// What the object asks of its end point, by its attributes.
fn needs(object: &Bound<'_, PyAny>) -> PyResult<Needs> {
    let attribute = |name: &str| object.getattr_opt(name);
    let flag = |name| attribute(name)?.map_or(Ok(false), |value| value.extract::<bool>());
    let word = |name| attribute(name)?.map_or(Ok(None), |value| value.extract::<Option<String>>());
    let feedback = word("feedback")?.map(|wanted| {
        let found = FEEDBACK.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, feedback)| *feedback).ok_or_else(|| {
            let names = FEEDBACK.map(|(name, _)| name).join(", ");
            PyValueError::new_err(format!("feedback {wanted:?}: expected one of {names}"))
        })
    });
    let codepoint = word("codepoint")?.map(|wanted| match wanted.as_str() {
        "ect0" => Ok(Ecn::Ect0),
        "ect1" => Ok(Ecn::Ect1),
        _ => Err(PyValueError::new_err(format!("codepoint {wanted:?}: expected ect0 or ect1"))),
    });
    Ok(Needs {
        owns_cwnd: flag("owns_cwnd")?,
        pacing: flag("pacing")?,
        feedback: feedback.transpose()?,
        accecn_only: flag("accecn_only")?,
        codepoint: codepoint.transpose()?,
        ect_on_control: flag("ect_on_control")?,
    })
}

impl PyController {
    /// Calls a hook that may change the window.
    fn change(
        &self,
        method: &Method,
        win: &mut cc::Window,
        call: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, Window>) -> PyResult<Py<PyAny>>,
    ) {
        let changed = self.part.call(method, |bound| {
            let window = self.window.bind(bound.py());
            window.borrow_mut().0 = *win;
            call(bound, window)?;
            Ok(window.borrow().0)
        });
        if let Some(changed) = changed {
            *win = changed;
        }
    }

    /// Calls a hook that looks at the window and answers.
    fn ask<T>(
        &self,
        method: &Method,
        win: &cc::Window,
        call: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, Window>) -> PyResult<T>,
    ) -> Option<T> {
        self.part.call(method, |bound| {
            let window = self.window.bind(bound.py());
            window.borrow_mut().0 = *win;
            let answer = call(bound, window)?;
            if window.borrow().0 != *win {
                let message = "the window cannot be changed here, only in on_... methods";
                return Err(PyValueError::new_err(message));
            }
            Ok(answer)
        })
    }
}

impl Controller for PyController {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn named(&mut self, flow: &str) {
        flow.clone_into(&mut self.part.place);
    }

    fn seed(&mut self, mut rng: Rng) {
        let Some(object) = &self.part.object else { return };
        Python::attach(|py| {
            // A class with slots has chosen to do without.
            if let Ok(random) = object.bind(py).getattr(intern!(py, "random")) {
                let _ = random.call_method1(intern!(py, "seed"), (rng.u64(),));
            }
        });
    }

    fn on_established(&mut self, now: Time, path: &cc::Path, win: &mut cc::Window) {
        self.change(&self.on_established, win, |hook, win| {
            hook.call1((seconds(now), Path(*path), win)).map(Bound::unbind)
        });
        // Here a controller may give up a wish that the peer refused.
        if self.on_established.exists()
            && let Some(object) = &self.part.object
        {
            let answer = Python::attach(|py| needs(object.bind(py)).map_err(|e| e.to_string()));
            match answer {
                Ok(needs) => self.needs = needs,
                Err(why) => self.part.refuse(&self.on_established, &why),
            }
        }
    }

    fn on_send(&mut self, now: Time, sent: &cc::Sent, win: &mut cc::Window) {
        self.change(&self.on_send, win, |hook, win| {
            let cc::Sent { bytes, segments, retransmit, from_idle } = *sent;
            let sent = Sent { bytes, segments, retransmit, from_idle };
            hook.call1((seconds(now), sent, win)).map(Bound::unbind)
        });
    }

    fn on_ack_event(&mut self, now: Time, event: &cc::AckEvent<'_>, win: &mut cc::Window) {
        self.change(&self.on_ack_event, win, |hook, win| {
            let cc::AckEvent { path, acked_bytes, window_update, ece, esce } = *event;
            let event = AckEvent { path: *path, acked_bytes, window_update, ece, esce };
            hook.call1((seconds(now), event, win)).map(Bound::unbind)
        });
    }

    fn hears_ack_events(&self) -> bool {
        self.on_ack_event.exists()
    }

    fn on_ack(&mut self, now: Time, ack: &cc::Ack<'_>, win: &mut cc::Window) {
        self.change(&self.on_ack, win, |hook, win| {
            hook.call1((seconds(now), Ack::new(ack), win)).map(Bound::unbind)
        });
    }

    fn on_lost(&mut self, now: Time, lost: &cc::Lost, win: &cc::Window) {
        self.ask(&self.on_loss, win, |hook, win| {
            let cc::Lost { tx_in_flight, lost, app_limited, delivered } = *lost;
            let lost = Lost { tx_in_flight, lost, app_limited, delivered };
            hook.call1((seconds(now), lost, win)).map(|_| ())
        });
    }

    fn ssthresh(&mut self, now: Time, path: &cc::Path, win: &cc::Window) -> u32 {
        let answer = self.ask(&self.ssthresh, win, |hook, win| {
            threshold(whole("the result", &hook.call1((seconds(now), Path(*path), win))?)?)
        });
        // Without an answer Reno's.
        answer.unwrap_or_else(|| (win.cwnd / 2).max(2))
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &cc::Path, win: &mut cc::Window) {
        self.change(&self.on_state, win, |hook, win| {
            let (from, to) = (state(change.from), state(change.to));
            hook.call1((seconds(now), from, to, Path(*path), win)).map(Bound::unbind)
        });
    }

    fn undo_cwnd(&mut self, win: &cc::Window) -> u32 {
        let answer = self.ask(&self.undo_cwnd, win, |hook, win| {
            segments("cwnd", whole("the result", &hook.call1((win,))?)?, 1)
        });
        answer.unwrap_or_else(|| win.cwnd.max(win.prior_cwnd))
    }

    fn on_restart(&mut self, now: Time, idle: Dur, win: &mut cc::Window) {
        self.change(&self.on_restart, win, |hook, win| {
            hook.call1((seconds(now), idle.as_secs_f64(), win)).map(Bound::unbind)
        });
    }

    fn wake(&self) -> Time {
        let answer = self.part.call(&self.wake, |hook| instant(hook.call0()?.extract()?));
        answer.unwrap_or(Time::NEVER)
    }

    fn on_wake(&mut self, now: Time, win: &mut cc::Window) {
        self.change(&self.on_wake, win, |hook, win| {
            hook.call1((seconds(now), win)).map(Bound::unbind)
        });
        if self.wake() <= now {
            self.part.refuse(&self.wake, "the instant is still due after on_wake");
        }
    }

    fn output(&self, path: &cc::Path, win: &cc::Window) -> Output {
        let pacing_rate = self.ask(&self.pacing_rate, win, |hook, win| {
            let rate: Option<f64> = hook.call1((Path(*path), win))?.extract()?;
            let message = |rate| format!("expected more than 0 bit/s or None, found {rate}");
            match rate {
                Some(rate) if rate >= 1.0 => Ok(Some(Rate(rate as u64))),
                Some(rate) => Err(PyValueError::new_err(message(rate))),
                None => Ok(None),
            }
        });
        let burst = self.ask(&self.burst, win, |hook, win| {
            let burst: Option<Bound<'_, PyAny>> = hook.call1((Path(*path), win))?.extract()?;
            let whole = burst.map(|burst| whole("the result", &burst)).transpose()?;
            whole.map(|burst| segments("burst", burst, 1)).transpose()
        });
        Output { pacing_rate: pacing_rate.flatten(), burst: burst.flatten(), ..Output::default() }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let put = self.part.call(&self.probe, |hook| values(&hook.call0()?));
        for (name, unit, value) in put.into_iter().flatten() {
            out.put(&name, unit, value);
        }
    }
}
