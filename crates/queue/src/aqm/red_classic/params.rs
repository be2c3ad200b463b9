//! The parameters of `red_classic`, and Adaptive RED's choices for what is not given.

use sojourn_core::grammar::forms::{custom, decimal, maybe, number, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::math;
use sojourn_core::parameters;
use sojourn_core::units::{Dur, Rate};

parameters! {
    /// Parameters of `red_classic`; what is absent follows from the others.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Link rate, by which the average decays while the queue is empty.
        bandwidth: Rate = Rate(0), default "(required)";
        /// Unit of the average, of both thresholds and of limit; by bytes, long packets are signalled in
        /// proportion more often.
        pub(super) bytes: bool = false, name "bytes|packets";
        /// What may wait, in the unit chosen.
        limit: Option<u64> = None => maybe(number(1..=u32::MAX.into())), default "1000 packets";
        /// Average below which nothing is signalled; the greater of the defaults.
        min_th: Option<f64> = None => maybe(decimal("NUMBER", 0.0..=1e12)),
            default "5 packets or half of target";
        /// Average from which every packet is dropped.
        max_th: Option<f64> = None => maybe(decimal("NUMBER", 0.0..=1e12)), default "3*min_th";
        /// Probability at max_th; where adaptive begins.
        pub(super) max_p: f64 = 0.02 => decimal("PROBABILITY", 0.0..=1.0);
        /// Weight of a sample; auto is 1-exp(-1/C), C in packets per second.
        weight: Option<Weight> = None => maybe(custom("WEIGHT|auto", read_weight, write_weight)),
            name "w", default "0.002, or auto with adaptive";
        /// Mean packet size.
        pub(super) avpkt: u32 = 1000 => whole("BYTES", 1..=1 << 20, "");
        /// Average delay for which thresholds that are not given are made.
        target: Dur = Dur::from_millis(5);
        /// From max_th to twice that the probability rises to 1 in place of a step.
        pub(super) gentle: bool = false, name "gentle|nogentle";
        /// Adapt max_p every half second to keep the average between the thresholds.
        pub(super) adaptive: bool = false, name "adaptive|noadaptive";
        /// Mark ECN-capable packets where the probability is below 1.
        pub(super) ecn: bool = false, name "ecn|noecn";
    }
    settle check;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    Auto,
    Given(f64),
}

fn read_weight(args: &mut Args<'_>) -> Result<Weight, GrammarError> {
    args.value("a weight above 0 up to 1, or `auto`", |word| match word {
        "auto" => Some(Weight::Auto),
        _ => word.parse().ok().filter(|w| *w > 0.0 && *w <= 1.0).map(Weight::Given),
    })
}

fn write_weight(weight: &Weight) -> String {
    match weight {
        Weight::Auto => "auto".to_owned(),
        Weight::Given(weight) => weight.to_string(),
    }
}

/// What the law works with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Derived {
    pub(super) min_th: f64,
    pub(super) max_th: f64,
    pub(super) w: f64,
    /// Packets of the mean size that the link carries.
    pub(super) packets_per_sec: f64,
}

impl Params {
    fn check(&self, _given: &Given) -> Result<(), String> {
        if self.bandwidth == Rate(0) {
            return Err(
                "`bandwidth` is required: the rate of the link, such as `20Mbit`".to_owned()
            );
        }
        let Derived { min_th, max_th, .. } = self.derive();
        if max_th <= min_th {
            return Err(format!("`max_th {max_th}` is not above `min_th {min_th}`"));
        }
        Ok(())
    }

    /// Bytes that count as one in the unit chosen.
    fn unit(&self) -> u32 {
        if self.bytes { self.avpkt } else { 1 }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.unwrap_or_else(|| 1000 * u64::from(self.unit()))
    }

    /// Adaptive RED 2001, section 4: thresholds from the target delay, the weight from the link's rate.
    pub(super) fn derive(&self) -> Derived {
        let packets_per_sec = self.bandwidth.0 as f64 / 8.0 / f64::from(self.avpkt);
        let auto = (self.target.as_secs_f64() * packets_per_sec / 2.0).max(5.0);
        let min_th = self.min_th.unwrap_or_else(|| auto * f64::from(self.unit()));
        let fallback = if self.adaptive { Weight::Auto } else { Weight::Given(0.002) };
        let w = match self.weight.unwrap_or(fallback) {
            Weight::Auto => -math::exp_m1(-1.0 / packets_per_sec),
            Weight::Given(w) => w,
        };
        Derived { min_th, max_th: self.max_th.unwrap_or(3.0 * min_th), w, packets_per_sec }
    }
}
