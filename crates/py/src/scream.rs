//! SCReAM for Python programs that have an encoder and sockets: `sojourn.scream`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_cc::{self as cc, scream};
use sojourn_core::wire::rtp::Header;
use sojourn_core::{Ecn, Time};
use sojourn_transport::media::scream_front::{Front, Next, Refusal, State};
use sojourn_transport::media::scream_rx::{Params, REPORT_BYTES, Receiver};

fn setup<T>(parameters: &str, make: impl FnOnce(&scream::Setup) -> T) -> PyResult<T> {
    let spec = cc::read(&format!("scream {parameters}")).map_err(super::refuse)?;
    let setup = spec.scream().ok_or_else(|| super::refuse("parameters: not SCReAM's"))?;
    Ok(make(setup))
}

fn bad(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A packet, and when to ask again in ns; at most one of them.
type Leaves<'py> = (Option<Bound<'py, PyBytes>>, Option<u64>);

fn wake(at: Time) -> Option<u64> {
    (at != Time::NEVER).then_some(at.0)
}

#[pyclass(name = "ScreamSender")]
pub(crate) struct PySender(Front);

#[pymethods]
impl PySender {
    #[new]
    fn new(parameters: &str, now_ns: u64) -> PyResult<Self> {
        setup(parameters, |setup| Self(Front::new(setup, Time(now_ns))))
    }

    fn add_stream(
        &mut self,
        ssrc: u32,
        priority: f32,
        min_rate: f32,
        init_rate: f32,
        max_rate: f32,
    ) -> PyResult<()> {
        let template = self.0.template();
        let stream = scream::Stream { ssrc, priority, min_rate, init_rate, max_rate, ..template };
        self.0.add_stream(stream).map_err(bad)
    }

    /// False: the queue is full.
    fn push(&mut self, now_ns: u64, packet: &[u8]) -> PyResult<bool> {
        match self.0.push(Time(now_ns), packet) {
            Err(Refusal::Full) => Ok(false),
            other => other.map(|()| true).map_err(bad),
        }
    }

    fn target(&mut self, now_ns: u64, ssrc: u32) -> PyResult<(u64, bool)> {
        let target = self.0.target(Time(now_ns), ssrc).map_err(bad)?;
        Ok((target.rate.0, target.lost))
    }

    fn next<'py>(&mut self, py: Python<'py>, now_ns: u64) -> Leaves<'py> {
        match self.0.next(Time(now_ns)) {
            Next::Packet(_, bytes) => (Some(PyBytes::new(py, &bytes)), None),
            Next::At(at) => (None, wake(at)),
            Next::Idle => (None, None),
        }
    }

    fn feedback(&mut self, now_ns: u64, datagram: &[u8]) -> PyResult<()> {
        self.0.on_feedback(Time(now_ns), datagram).map_err(bad)
    }

    #[getter]
    fn ecn(&self) -> u8 {
        self.0.ecn().on_tos(0)
    }

    /// Names and values; NaN for what no feedback has reported yet.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let State { counts, lost, ce_percent, now } = self.0.state();
        vec![
            ("pushed", counts.pushed as f64),
            ("packets", counts.packets as f64),
            ("bytes", counts.bytes as f64),
            ("discarded", counts.discarded as f64),
            ("reports", counts.reports as f64),
            ("lost", lost as f64),
            ("cwnd", f64::from(now.cwnd)),
            ("in_flight", f64::from(now.in_flight)),
            ("queue_delay_s", now.measured_rtt.map_or(f64::NAN, |_| now.queue_delay.into())),
            ("srtt_s", now.measured_rtt.map_or(f64::NAN, f64::from)),
            ("sent_rate_bps", f64::from(now.rates.sent)),
            ("ce_percent", f64::from(ce_percent)),
        ]
    }
}

#[pyclass(name = "ScreamReceiver")]
pub(crate) struct PyReceiver(Receiver);

#[pymethods]
impl PyReceiver {
    #[new]
    fn new(parameters: &str, now_ns: u64) -> PyResult<Self> {
        setup(parameters, |setup| {
            let params = Params {
                ackdiff: setup.ackdiff,
                reported: setup.reported,
                count: setup.count,
                ..Params::new(setup.config.version, setup.config.parity)
            };
            Self(Receiver::new(params, Time(now_ns)))
        })
    }

    fn arrived(&mut self, now_ns: u64, packet: &[u8], tos: u8) -> PyResult<()> {
        let header = Header::parse(packet).map_err(bad)?;
        self.0.on_rtp(Time(now_ns), &header, packet.len() as u32, Ecn::from_tos(tos));
        Ok(())
    }

    fn report<'py>(&mut self, py: Python<'py>, now_ns: u64) -> Leaves<'py> {
        let mut out = [0; REPORT_BYTES];
        match self.0.next_report(Time(now_ns), &mut out) {
            Some(len) => (Some(PyBytes::new(py, &out[..len])), None),
            None => (None, wake(self.0.deadline())),
        }
    }
}
