//! How late this machine wakes a thread.

use pyo3::prelude::*;

/// JSON of `sojourn_live::trial::Trial`.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn timer_trial(
    py: Python<'_>,
    real_time: bool,
    spin_us: u64,
    period_us: u64,
    departures: u32,
) -> PyResult<String> {
    use pyo3::exceptions::PyRuntimeError;
    use sojourn_core::Dur;
    use sojourn_live::realtime::Measures;
    use sojourn_live::trial::Plan;

    let measures =
        Measures { fifo: true, exact_timers: true, no_idle: true, ..Measures::default() };
    let wanted = if real_time { measures } else { Measures::default() };
    let (spin, period) = (Dur::from_micros(spin_us), Dur::from_micros(period_us));
    let trial = py.detach(|| Plan { wanted, spin, period, departures }.carry_out())?;
    serde_json::to_string(&trial).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// There is no live mode.
#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub(crate) fn timer_trial(_: bool, _: u64, _: u64, _: u32) -> PyResult<String> {
    Err(pyo3::exceptions::PyRuntimeError::new_err("expected Linux"))
}
