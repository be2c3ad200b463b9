//! CoDel's control law in the integers of Linux, for CoDel, COBALT and COBALT2: the next signal comes
//! an interval divided by the square root of the signals' number later. RFC 8289 section 5
//! (`control_law`); Linux 6.12 `codel_Newton_step`, `codel_control_law`, `cobalt_invsqrt`.

/// Counts whose reciprocal square root is tabled (`REC_INV_SQRT_CACHE`).
pub(super) type Roots = [u32; 16];

/// The rounded exact values: recent Linux.
#[rustfmt::skip]
pub(super) const EXACT: Roots = [
    u32::MAX, u32::MAX, 3037000500, 2479700525, 2147483647, 1920767767, 1753413056, 1623345051,
    1518500250, 1431655765, 1358187914, 1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
];

/// Four Newton steps per entry from its predecessor: older Linux, and all trees with SCE. Differs at
/// 2, 3 and 6.
pub(super) const NEWTON: Roots = {
    let mut table = [u32::MAX; 16];
    let (mut root, mut count) = (u32::MAX, 1);
    while count < table.len() {
        let mut step = 0;
        while step < 4 {
            root = newton_step(root, count as u32);
            step += 1;
        }
        table[count] = root;
        count += 1;
    }
    table
};

/// One step towards `1 / sqrt(count)`, Q0.32. Linux 6.12 `codel_Newton_step`, `cobalt_newton_step`.
#[inline]
pub(super) const fn newton_step(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let square = (root * root) >> 32;
    let factor = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (factor.wrapping_mul(root) >> 31) as u32
}

/// The root for a `count` that has moved by one. Linux 6.12 `cobalt_invsqrt`.
#[inline]
pub(super) fn refreshed(roots: &Roots, root: u32, count: u32) -> u32 {
    roots.get(count as usize).copied().unwrap_or_else(|| newton_step(root, count))
}

/// Distance to the next signal. Both factors have 32 bits, so that an interval in nanoseconds wraps at
/// 4.3 s. Linux 6.12 `reciprocal_scale`.
#[inline]
pub(super) const fn distance(interval: u64, root: u32) -> u64 {
    ((interval as u32 as u64) * (root as u64)) >> 32
}
