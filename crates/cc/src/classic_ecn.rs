//! Prague's detector of a classic ECN AQM (Briscoe and Ahmed, arXiv 1911.00710, as in the kernel
//! modules of 2020, 20-bit scale): RTT that varies or stays far above its minimum raises a score,
//! and a high score asks for a classic response.

use sojourn_core::probe::Probe;
use sojourn_core::units::Dur;

/// Fraction bits of the score and of alpha.
pub(super) const BITS: u32 = 20;
const ONE: i64 = 1 << BITS;

/// Scores up to here are certainly L4S, from [`CLASSIC`] certainly classic.
const L_STICKY: i64 = 8 * ONE;
const CLASSIC: i64 = 9 * ONE;
const MAX_SCORE: i64 = 17 * ONE;

/// Half of lg(750 us), the mean deviation that leaves the score as it is.
const HALF_LG_V0: i64 = 10_014_683 >> 1;
/// Half of lg(2000 us), the queue depth from which the score rises.
const HALF_LG_D0: i64 = 11_498_458 >> 1;
const D0_US: u64 = 2_000;

/// Filter shift while ssthresh is infinite.
const MAX_SHIFT: u32 = 18;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detector {
    /// Shift `g` of the smoothed RTT's gain; the deviation's gain is `g + 1`.
    shift: u32,
    /// Smoothed RTT, us << g; 0 before the first sample.
    srtt: i64,
    /// Mean deviation, us << (g + 1).
    mdev: i64,
    mdev_log: CarryLog,
    depth_log: CarryLog,
    /// 0 is -8 on the published scale.
    score: i64,
    /// Whether the path is taken for a classic one: since the score has reached [`CLASSIC`], until it is
    /// down at [`L_STICKY`]. Between the two the response is a mixture, and the mode the last one.
    is_classic: bool,
    /// Changes of that.
    flips: u32,
}

impl Detector {
    pub(super) fn new() -> Self {
        Self {
            shift: MAX_SHIFT,
            mdev: 1 << (MAX_SHIFT + 1),
            mdev_log: CarryLog(741_455),
            depth_log: CarryLog(741_455 >> 1),
            ..Self::default()
        }
    }

    /// An RTT sample; `srtt` is the endpoint's, the filter's first value.
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: Dur, srtt: Dur) {
        if self.srtt == 0 {
            let first = if srtt == Dur::ZERO { rtt } else { srtt };
            self.srtt = (first.as_micros() as i64) << self.shift;
        }
        let error = rtt.as_micros() as i64 - (self.srtt >> self.shift);
        self.srtt += error;
        self.mdev += error.abs() - (self.mdev >> (self.shift + 1));
    }

    /// Adapts the filters to the sawtooth that `ssthresh` stands for.
    /// arXiv 1911.00710: filters slower than a sawtooth, whose length follows from ssthresh.
    pub(super) fn on_ssthresh(&mut self, ssthresh: u32) {
        let lg = ssthresh.max(1).ilog2();
        let shift = (lg + lg / 2 + 1).min(MAX_SHIFT);
        let rescale = |value: i64| {
            if shift < self.shift {
                value >> (self.shift - shift)
            } else {
                value << (shift - self.shift)
            }
        };
        self.srtt = rescale(self.srtt);
        self.mdev = rescale(self.mdev);
        self.mdev_log.0 = rescale(self.mdev_log.0 as i64) as u64;
        self.depth_log.0 = rescale(self.depth_log.0 as i64) as u64;
        self.shift = shift;
    }

    /// One round: moves the score by what the filters show.
    /// arXiv 1911.00710: half the logarithms of the deviation over V0 and of the depth over D0.
    pub(super) fn on_round(&mut self, min_rtt: Dur) {
        let mdev = (self.mdev >> (self.shift + 1)) as u64;
        let mut score = self.score + self.mdev_log.half_lg(mdev, self.shift + 1) - HALF_LG_V0;
        let depth = ((self.srtt >> self.shift) as u64).saturating_sub(min_rtt.as_micros());
        // A shallow queue is no evidence either way: the depth can only raise the score.
        if depth > D0_US {
            score += (self.depth_log.half_lg(depth, self.shift) - HALF_LG_D0).max(0);
        }
        self.score = score.clamp(0, MAX_SCORE);
        let turns = if self.is_classic { self.score <= L_STICKY } else { self.score >= CLASSIC };
        self.is_classic ^= turns;
        self.flips += u32::from(turns);
    }

    /// The least alpha for the response to CE, in 2^-20: 0 for an L4S path, up to 0.625 (a cut by
    /// 0.3125, about CUBIC's) for a classic one.
    #[inline]
    pub(super) fn alpha_floor(&self) -> u64 {
        let classic = (self.score.min(CLASSIC) - L_STICKY).max(0) as u64;
        classic * 5 / 8
    }

    /// The score on the published scale: L4S from -8 to 0, classic from 1 to 9.
    fn published_score(&self) -> f64 {
        (self.score - L_STICKY) as f64 / ONE as f64
    }

    /// The detector's series.
    pub(super) fn probe(&self, out: &mut Probe<'_>) {
        out.put("classic_score", "1", self.published_score());
        out.put("classic_mdev", "ms", (self.mdev >> (self.shift + 1)) as f64 / 1000.0);
        out.put("classic_mode", "1", f64::from(u8::from(self.is_classic)));
        out.put("classic_flips", "1", f64::from(self.flips));
    }
}

/// A base-2 logarithm that returns whole numbers and carries the remainder, so that the mean over
/// rounds is exact. Between rounds it lies in `[2^bits, 2^(bits+1))`.
#[derive(Clone, Copy, Debug, Default)]
struct CarryLog(u64);

impl CarryLog {
    /// Half of lg(`us`) in 2^-20.
    fn half_lg(&mut self, us: u64, bits: u32) -> i64 {
        let half_unit = (1_u64 << bits) >> 1;
        let product = us * self.0 + half_unit;
        let lg = product.max(1).ilog2().max(bits) - bits;
        self.0 = product >> lg;
        (i64::from(lg) << BITS) >> 1
    }
}

#[cfg(test)]
mod tests;
