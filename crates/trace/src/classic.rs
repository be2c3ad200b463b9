//! What a controller that distinguishes classic queues from L4S ones (Prague's modules of 2020 and 2021) took its path for.

use serde::{Deserialize, Serialize};
use sojourn_core::Time;

use crate::record::Column;

/// The path as the detector of a flow saw it, from its series `cc.classic_mode` and `cc.classic_flips`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct ClassicDetection {
    /// Share of the window in which it was taken for classic.
    pub share: f64,
    /// Changes of mind in the whole run.
    pub flips: u64,
    /// Seconds from the start of the flow until it was first taken for classic.
    pub after_s: Option<f64>,
}

impl ClassicDetection {
    /// From the columns of a flow's group; `None` if nothing looked within the window.
    pub fn of(columns: &[Column], (from, to): (Time, Time), start: Time) -> Option<Self> {
        let column = |name| columns.iter().find(|c: &&Column| c.name.ends_with(name));
        let (mode, flips) = (column(".cc.classic_mode")?, column(".cc.classic_flips")?);
        let samples = || mode.t.iter().zip(&mode.v);
        let window = from.as_secs_f64()..=to.as_secs_f64();
        let (mut seen, mut classic) = (0_u32, 0.0);
        for (_, is_classic) in samples().filter(|(t, _)| window.contains(t)) {
            seen += 1;
            classic += is_classic;
        }
        let first = samples().find(|(_, is_classic)| **is_classic > 0.0).map(|(t, _)| *t);
        (seen > 0).then(|| Self {
            share: classic / f64::from(seen),
            flips: flips.v.last().map_or(0, |n| *n as u64),
            after_s: first.map(|t| t - start.as_secs_f64()),
        })
    }
}

#[cfg(test)]
mod tests;
