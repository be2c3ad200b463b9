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
mod tests {
    use super::*;

    #[track_caller]
    fn close(value: Option<f64>, expected: f64, tolerance: f64) {
        let value = value.expect("a value");
        assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
    }

    // KAT fairness 1
    #[test]
    fn jain_index_of_the_published_prague_and_cubic_medians() {
        close(jain(&[44.25, 5.78]), 0.628, 0.001);
    }

    #[test]
    fn jain_index_of_two_flows_depends_on_their_ratio_alone() {
        close(jain(&[30.0, 20.0]), 0.9615, 0.0001);
        for r in [1.0_f64, 2.0, 16.0] {
            close(jain(&[7.0 * r, 7.0]), (1.0 + r).powi(2) / (2.0 * (1.0 + r * r)), 1e-12);
        }
        assert_eq!(jain(&[0.0, 0.0]), None);
        close(jain(&[5.0, 0.0, 0.0, 0.0]), 0.25, 1e-12);
    }

    // KAT fairness 2
    #[test]
    fn harm_of_prague_to_cubic_exceeds_that_of_another_cubic() {
        close(harm(47.8, 5.78, Better::More), 0.879, 0.001);
        close(harm(47.8, 25.0, Better::More), 0.477, 0.001);
    }

    #[test]
    fn harm_to_delay_grows_with_the_competing_delay() {
        close(harm(5.0, 20.0, Better::Less), 0.75, 1e-12);
        close(harm(20.0, 20.0, Better::Less), 0.0, 1e-12);
        assert_eq!(harm(0.0, 3.0, Better::More), None);
    }

    #[test]
    fn ratio_needs_two_flows_that_both_got_something() {
        assert_eq!(max_min_ratio(&[8.0, 2.0, 4.0]), Some(4.0));
        assert_eq!((max_min_ratio(&[3.0]), max_min_ratio(&[3.0, 0.0])), (None, None));
    }

    #[test]
    fn convergence_is_the_first_bin_of_a_stretch_that_lasts() {
        let equal = |n: usize| vec![vec![5.0, 5.0]; n];
        let unequal = || vec![vec![9.0, 1.0]];
        // A short meeting does not count.
        let bins = [unequal(), equal(2), unequal(), equal(5)].concat();
        assert_eq!(convergence(&bins, 0.2, 5), Some(4));
        assert_eq!(convergence(&bins, 0.2, 6), None);
        assert_eq!(convergence(&[vec![6.0, 4.0], vec![6.0, 4.0]], 0.2, 2), Some(0));
        assert_eq!(convergence(&[vec![6.1, 3.9], vec![6.1, 3.9]], 0.2, 2), None);
        // J(6.1, 3.9) = 0.954.
        assert_eq!(jain_convergence(&[vec![9.0, 1.0], vec![6.1, 3.9]], 0.95, 1), Some(1));
    }
}
