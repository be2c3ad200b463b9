//! Series of a group of flows: of what each of them would have, quantiles and the sum over those that are open.

use sojourn_core::Time;

use crate::record::{GroupId, Recorder};

/// Statistics of each series: what is added to its name.
const QUANTILES: [(&str, f64); 5] =
    [("min", 0.0), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("max", 1.0)];
const SUM: &str = "sum";

/// Series that only grow: what flows had when they ended stays in the sum.
const COUNTERS: [&str; 6] =
    ["goodput_bytes", "retransmits", "ce", "ce_received", "sce", "completed"];

/// Series of one sort of a group, such as those of its controllers.
#[derive(Debug)]
pub struct Crowd {
    group: GroupId,
    series: Vec<Series>,
    /// Place at which the next value of the member that is sampled is expected.
    place: usize,
}

#[derive(Debug)]
struct Series {
    name: String,
    unit: &'static str,
    /// Of this instant.
    values: Vec<f64>,
    /// Of a counter, what members had that have ended; `None` for what is no counter.
    ended: Option<f64>,
    /// Names of the columns: those of the quantiles, then that of the sum if it means anything.
    columns: Vec<String>,
}

impl Series {
    fn new(name: &str, unit: &'static str) -> Self {
        let adds = !matches!(unit, "ms" | "1");
        let quantiles = QUANTILES.iter().map(|(suffix, _)| *suffix);
        let suffixes = quantiles.chain(adds.then_some(SUM));
        Self {
            name: name.to_owned(),
            unit,
            values: Vec::new(),
            ended: COUNTERS.contains(&name).then_some(0.0),
            columns: suffixes.map(|suffix| format!("{name}.{suffix}")).collect(),
        }
    }
}

impl Crowd {
    /// The series of `group` will be those of this crowd.
    pub fn new(group: GroupId) -> Self {
        Self { group, series: Vec::new(), place: 0 }
    }

    /// Another member is sampled.
    pub fn next(&mut self) {
        self.place = 0;
    }

    /// A value of the member that is sampled; `ends` if this is its last sample. Members put the same names
    /// in the same order, though some may leave some out.
    pub fn put(&mut self, name: &str, unit: &'static str, value: f64, ends: bool) {
        if self.series.get(self.place).is_none_or(|series| series.name != name) {
            let found = self.series.iter().position(|series| series.name == name);
            self.place = found.unwrap_or_else(|| {
                self.series.push(Series::new(name, unit));
                self.series.len() - 1
            });
        }
        let series = &mut self.series[self.place];
        self.place += 1;
        if !value.is_finite() {
            return;
        }
        match &mut series.ended {
            Some(ended) if ends => *ended += value,
            _ => series.values.push(value),
        }
    }

    /// All members have been sampled: records what they amount to.
    pub fn close(&mut self, now: Time, recorder: &mut Recorder) {
        let series = &mut self.series;
        recorder.sample(self.group, now, |probe| {
            for Series { unit, values, ended, columns, .. } in series {
                let sum: f64 = values.iter().sum();
                let any = if values.is_empty() { &[][..] } else { &QUANTILES };
                for ((_, share), column) in any.iter().zip(&*columns) {
                    probe.put(column, unit, quantile(values, *share));
                }
                if let Some(column) = columns.get(QUANTILES.len()) {
                    probe.put(column, unit, sum + ended.unwrap_or_default());
                }
                values.clear();
            }
        });
    }
}

/// The quantile by linear interpolation between closest ranks, as everywhere; changes the order.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    let rank = share * (values.len() - 1) as f64;
    let (place, part) = (rank.floor() as usize, rank.fract());
    let (_, below, above) = values.select_nth_unstable_by(place, f64::total_cmp);
    let below = *below;
    match above.iter().copied().reduce(f64::min) {
        Some(above) if part > 0.0 => below + (above - below) * part,
        _ => below,
    }
}

#[cfg(test)]
mod tests;
