#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

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
