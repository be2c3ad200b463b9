//! A network interface that is analysed while packets pass.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sojourn_capture::LinkType;
use sojourn_core::Dur;
use sojourn_inspect::files::{self, Analysis};
use sojourn_inspect::filter::Filter;
use sojourn_inspect::{Analyser, Options};
use sojourn_live::listener::Listener;

use crate::inspect::{Inspection, parsed};

/// Bytes that are kept of a frame: all headers and options.
const SNAP_LEN: u32 = 256;
/// How often it looks whether its time is over.
const LOOK: Dur = Dur::from_millis(100);

struct Live {
    name: String,
    listener: Listener,
    filter: Option<Filter>,
    analyser: Analyser,
    lost: u64,
}

/// What passes an interface from now on.
#[pyclass(frozen)]
pub(crate) struct InspectLive(Mutex<Live>);

#[pymethods]
impl InspectLive {
    #[new]
    fn new(name: &str, expression: Option<&str>, events: bool) -> PyResult<Self> {
        let filter = expression.map(parsed).transpose()?;
        let listener = Listener::open(name, SNAP_LEN)
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        let analyser = Analyser::new(Options { events, ..Options::default() });
        Ok(Self(Mutex::new(Live { name: name.to_owned(), listener, filter, analyser, lost: 0 })))
    }

    /// Takes packets for so long.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).advance(seconds))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// What was seen so far.
    fn report(&self, py: Python<'_>) -> Inspection {
        py.detach(|| {
            let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let warnings = (live.lost > 0)
                .then(|| format!("{}: {} packets were too many to be read", live.name, live.lost));
            Inspection(Analysis {
                report: live.analyser.clone().finish(),
                facts: Vec::new(),
                warnings: warnings.into_iter().collect(),
            })
        })
    }
}

impl Live {
    #[expect(clippy::disallowed_methods, reason = "when a look at the interface ends is no result")]
    fn advance(&mut self, seconds: f64) -> std::io::Result<()> {
        let start = Instant::now();
        let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let link = if self.listener.is_ethernet() { LinkType::ETHERNET } else { LinkType::RAW };
        while start.elapsed() < whole {
            if let Some(frame) = self.listener.next(LOOK)? {
                let filter = self.filter.as_ref();
                files::take(&mut self.analyser, filter, frame.time, link, frame.bytes);
            }
        }
        self.lost += self.listener.overflowed()?;
        Ok(())
    }
}
