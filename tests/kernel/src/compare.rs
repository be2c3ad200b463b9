//! Two ways to compare: packet by packet, and by distributions over runs.

#![allow(clippy::disallowed_methods, reason = "no result of a run")]

use crate::Passage;
use crate::train::Offered;

/// Where two passages of one train part, packet by packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parting {
    /// Packets that only one of them dropped.
    pub fates: usize,
    /// Packets that left with another TOS byte.
    pub codepoints: usize,
    /// Places in the order of departure with another packet.
    pub order: usize,
    /// The largest difference of departure times, in nanoseconds.
    pub time_ns: u64,
    /// The first packet that differs (in time: by more than the tolerance).
    pub first: Option<u32>,
}

impl Parting {
    /// Of two passages; times may differ by `tolerance_ns`.
    pub fn of(linux: &Passage, ours: &Passage, packets: usize, tolerance_ns: u64) -> Self {
        let by_seq = |passage: &Passage| {
            let mut table = vec![Vec::new(); packets];
            for a in &passage.left {
                table[a.seq as usize].push(*a);
            }
            table
        };
        let mut parting = Self::default();
        for ((a, b), seq) in by_seq(linux).iter().zip(&by_seq(ours)).zip(0..) {
            let fate = a.len() != b.len();
            let both = a.iter().zip(b);
            let late = both.clone().map(|(a, b)| a.time_ns.abs_diff(b.time_ns)).max().unwrap_or(0);
            let codepoint = both.clone().any(|(a, b)| a.tos != b.tos);
            parting.fates += usize::from(fate);
            parting.codepoints += usize::from(codepoint);
            parting.time_ns = parting.time_ns.max(late);
            if fate || codepoint || late > tolerance_ns {
                parting.first = parting.first.or(Some(seq));
            }
        }
        let order = linux.left.iter().zip(&ours.left);
        parting.order = order.filter(|(a, b)| a.seq != b.seq).count();
        parting
    }

    /// Whether everything is equal, and times within the tolerance that was given.
    pub fn is_none(&self) -> bool {
        self.first.is_none() && self.order == 0
    }
}

/// A number per run, by name.
pub type Measures = Vec<(String, f64)>;

/// Resolution of sojourn times in [`measures`].
const STEP_NS: u64 = 10_000;

/// What is compared over runs: for each TOS byte the share dropped and the share marked, the mean
/// and the 95th percentile of the sojourn in milliseconds; duplicates; packets overtaken.
pub fn measures(offered: &[Offered], passage: &Passage) -> Measures {
    let mut out = Vec::new();
    let mut copies = vec![0_u32; offered.len()];
    for a in &passage.left {
        copies[a.seq as usize] += 1;
    }
    let mut codepoints: Vec<u8> = offered.iter().map(|p| p.tos).collect();
    codepoints.sort_unstable();
    codepoints.dedup();
    for tos in codepoints {
        let name = match tos {
            0..4 => ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(tos)].to_string(),
            _ => format!("TOS {tos:#04x}"),
        };
        let is = |t: u8| t == tos;
        let seqs = || (0..offered.len()).filter(|&i| is(offered[i].tos));
        let all = seqs().count();
        let left = || passage.left.iter().filter(|a| is(offered[a.seq as usize].tos));
        // The clocks differ by some hundreds of nanoseconds, which is no matter of distributions.
        let in_steps = |ns: u64| (ns + STEP_NS / 2) / STEP_NS;
        let mut sojourns: Vec<f64> = left()
            .map(|a| in_steps(a.time_ns.saturating_sub(offered[a.seq as usize].time_ns)))
            .map(|steps| (steps * STEP_NS) as f64 / 1e6)
            .collect();
        sojourns.sort_by(f64::total_cmp);
        let dropped = seqs().filter(|&i| copies[i] == 0).count();
        let marked = left().filter(|a| (a.tos ^ offered[a.seq as usize].tos) & 3 != 0).count();
        out.push((format!("{name} dropped %"), dropped as f64 * 100.0 / all as f64));
        out.push((format!("{name} marked %"), marked as f64 * 100.0 / all as f64));
        if !sojourns.is_empty() {
            let mean = sojourns.iter().sum::<f64>() / sojourns.len() as f64;
            out.push((format!("{name} mean sojourn ms"), mean));
            out.push((format!("{name} p95 sojourn ms"), sojourns[sojourns.len() * 95 / 100]));
        }
    }
    let twice = copies.iter().filter(|&&n| n > 1).count();
    let overtaken = passage.left.windows(2).filter(|w| w[1].seq < w[0].seq).count();
    for (name, count) in [("duplicated %", twice), ("overtaken %", overtaken)] {
        out.push((name.into(), count as f64 * 100.0 / offered.len() as f64));
    }
    out
}

/// The two-sample Kolmogorov-Smirnov test: the largest distance of the empirical distributions, and
/// the probability of that distance or a larger one if both samples have one law (Stephens'
/// approximation; with ties the true probability is larger).
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> (f64, f64) {
    let below = |sample: &[f64], x: f64| {
        sample.iter().filter(|&&y| y <= x).count() as f64 / sample.len() as f64
    };
    let distance =
        a.iter().chain(b).map(|&x| (below(a, x) - below(b, x)).abs()).fold(0.0, f64::max);
    let n = (a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64).sqrt();
    let lambda = (n + 0.12 + 0.11 / n) * distance;
    if lambda < 0.2 {
        return (distance, 1.0);
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (distance, (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0))
}

/// How one measure compares over runs.
#[derive(Clone, Debug)]
pub struct Law {
    /// Name of the measure.
    pub name: String,
    /// Mean over the runs of Linux.
    pub linux: f64,
    /// Mean over our runs.
    pub ours: f64,
    /// Kolmogorov-Smirnov probability, times the number of measures (Bonferroni).
    pub p: f64,
    /// Distance of the means in standard errors, by the spread of our runs.
    pub z: f64,
}

/// Least spread of a measure from run to run, of its unit (a percentage, or milliseconds): finer
/// differences are those of the clocks.
const LEAST_SPREAD: f64 = 0.01;

/// Compares runs of Linux with ours, measure by measure, the farthest first. The runs are the
/// sample: packets of one run depend on each other.
pub fn laws(linux: &[Measures], ours: &[Measures]) -> Vec<Law> {
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let mut names: Vec<&String> = linux.iter().chain(ours).flatten().map(|(n, _)| n).collect();
    names.sort();
    names.dedup();
    let of = |runs: &[Measures], name: &String| -> Vec<f64> {
        // Absent where nothing left the queue: beyond every real sojourn.
        let value = |run: &Measures| run.iter().find(|(n, _)| n == name).map_or(1e9, |(_, v)| *v);
        runs.iter().map(value).collect()
    };
    let count = names.len() as f64;
    let mut laws: Vec<Law> = names
        .into_iter()
        .map(|name| {
            let (a, b) = (of(linux, name), of(ours, name));
            let p = (kolmogorov_smirnov(&a, &b).1 * count).min(1.0);
            let (linux, ours) = (mean(&a), mean(&b));
            let squares = b.iter().map(|x| (x - ours).powi(2)).sum::<f64>();
            let spread = (squares / (b.len() - 1) as f64).sqrt().max(LEAST_SPREAD);
            let error = spread * (1.0 / a.len() as f64 + 1.0 / b.len() as f64).sqrt();
            Law { name: name.clone(), linux, ours, p, z: (linux - ours) / error }
        })
        .collect();
    laws.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()));
    laws
}

#[cfg(test)]
mod tests;
