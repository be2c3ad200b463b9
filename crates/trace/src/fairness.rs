//! How flows share a link: Jain's index, the ratio of extremes, harm, and the time to converge.

/// Jain's fairness index `(sum x)^2 / (n sum x^2)`: 1 if all are equal, `1/n` if one has all.
/// Jain, Chiu and Hawe, DEC-TR-301, 1984. `None` if there is nothing to share.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The largest share over the smallest; `None` without two shares, or if the smallest is zero.
pub fn max_min_ratio(shares: &[f64]) -> Option<f64> {
    let max = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = shares.iter().copied().fold(f64::INFINITY, f64::min);
    (shares.len() > 1 && min > 0.0).then(|| max / min)
}

/// Whether more or less of a quantity is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    More,
    /// Delay, loss, completion time.
    Less,
}

/// Harm that competition does, from 0 (none) to 1: the share of its solo performance that a flow
/// loses. Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's fairness index", HotNets 2019. Negative
/// if competition helps; `None` if the quantity that divides is not positive.
pub fn harm(solo: f64, competing: f64, better: Better) -> Option<f64> {
    let (lost, whole) = match better {
        Better::More => (solo - competing, solo),
        Better::Less => (competing - solo, competing),
    };
    (whole > 0.0).then(|| lost / whole)
}

/// The first bin from which on, for at least `hold` bins, every flow has between `1 - tolerance`
/// and `1 + tolerance` of the mean of that bin. `bins[n]` holds the rates of all flows in bin `n`.
pub fn convergence(bins: &[Vec<f64>], tolerance: f64, hold: usize) -> Option<usize> {
    first_held(bins, hold, |rates| {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        mean > 0.0 && rates.iter().all(|x| (x / mean - 1.0).abs() <= tolerance)
    })
}

/// The first bin from which on, for at least `hold` bins, Jain's index is at least `index`.
pub fn jain_convergence(bins: &[Vec<f64>], index: f64, hold: usize) -> Option<usize> {
    first_held(bins, hold, |rates| jain(rates).is_some_and(|j| j >= index))
}

fn first_held(bins: &[Vec<f64>], hold: usize, good: impl Fn(&[f64]) -> bool) -> Option<usize> {
    let mut run = 0;
    for (n, rates) in bins.iter().enumerate() {
        run = if good(rates) { run + 1 } else { 0 };
        if run == hold {
            return Some(n + 1 - hold);
        }
    }
    None
}

#[cfg(test)]
mod tests;
