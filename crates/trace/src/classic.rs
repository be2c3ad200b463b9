//! What a controller that tells classic queues from L4S ones (Prague's modules of 2020 and 2021) took its path for.

use serde::Serialize;
use sojourn_core::Time;

use crate::record::Column;

/// The path as the detector of a flow saw it, from its series `cc.classic_mode` and `cc.classic_flips`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
mod tests {
    use super::*;

    fn columns(mode: &[f64], flips: f64) -> [Column; 2] {
        let t: Vec<f64> = (0..mode.len()).map(|n| n as f64).collect();
        let column = |name: &str, v| Column { name: name.into(), unit: "1", t: t.clone(), v };
        [
            column("flow.p.cc.classic_mode", mode.to_vec()),
            column("flow.p.cc.classic_flips", vec![flips; mode.len()]),
        ]
    }

    fn over(columns: &[Column], from: u64, to: u64) -> Option<ClassicDetection> {
        let at = |seconds: u64| Time(seconds * 1_000_000_000);
        ClassicDetection::of(columns, (at(from), at(to)), at(1))
    }

    #[test]
    fn the_share_is_of_the_window_and_the_first_detection_of_the_flow() {
        let seen = columns(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], 2.0);
        let expected = ClassicDetection { share: 0.25, flips: 2, after_s: Some(2.0) };
        assert_eq!(over(&seen, 4, 7), Some(expected));
        let never = ClassicDetection { share: 0.0, flips: 0, after_s: None };
        assert_eq!(over(&columns(&[0.0; 4], 0.0), 0, 3), Some(never));
    }

    #[test]
    fn without_a_detector_in_the_window_nothing_was_detected() {
        assert_eq!(over(&columns(&[0.0; 4], 0.0), 5, 9), None);
        assert_eq!(over(&[], 0, 9), None);
    }
}
