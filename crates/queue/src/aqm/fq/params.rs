//! The parameters of `fq`.

use super::super::PSCHED_MTU;
use super::super::pfifo_fast::BAND_OF_PRIORITY;
use super::BANDS;
use sojourn_core::grammar::forms::{bytes, custom, number, packets};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::parameters;
use sojourn_core::units::{Dur, Rate};

parameters! {
    /// Parameters of `fq`.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Params {
        /// Packets in each band.
        pub(super) limit: u32 = 10_000 => packets(0..=u32::MAX.into());
        /// Packets that one flow may have waiting.
        pub(super) flow_limit: u32 = 100 => packets(0..=u32::MAX.into());
        /// Bytes per flow and round; clamped to 256 bytes to 1 MB.
        pub(super) quantum: u32 = 2 * PSCHED_MTU => bytes(0..=i32::MAX as u32);
        /// Bytes that a flow never seen before may send at once.
        pub(super) initial_quantum: u32 = 10 * PSCHED_MTU => bytes(0..=i32::MAX as u32);
        /// Rate at which each flow is paced.
        pub(super) max_rate: Option<Rate> = None, name "maxrate", default "unlimited";
        /// Up to this rate every packet is paced by itself, above it a quantum at a time.
        pub(super) low_rate_threshold: Rate = Rate(550_000);
        /// Whether maxrate is in force.
        pub(super) paces: bool = true, name "pacing|nopacing";
        /// A flow off the lists for longer gets a quantum.
        pub(super) refill_delay: Dur = Dur::from_millis(40);
        /// Band, 0 to 2, of each of the sixteen priorities.
        pub(super) band_of: [u8; 16] = BAND_OF_PRIORITY =>
            custom("3 priomap P0 ... P15", read_bands, |map| format!("3 priomap {}", listed(map))),
            name "bands";
        /// Bytes per band and round, at least 16384.
        pub(super) weights: [u32; BANDS] = [589_824, 196_608, 65_536] =>
            custom("W0 W1 W2", read_weights, |weights| listed(weights));
        /// Bits of the hash that tell flows apart, 0 to 65535.
        pub(super) orphan_mask: u32 = 1023 => custom("MASK", read_mask, u32::to_string);
        /// Width of the kernel's table, 2 to 262144, up to a power of two; without effect here.
        buckets: u32 = 1024 => number(2..=262_144);
        /// How late the timer of a paced flow fires.
        pub(super) timer_slack: Dur = Dur::from_micros(10) =>
            custom("TIME", read_slack, Dur::to_string);
        /// Mark packets that leave later than this after they were due.
        pub(super) ce_threshold: Option<Dur> = None;
        /// How far ahead a departure time may lie; without effect here.
        horizon: Dur = Dur::from_secs(10);
        /// What happens to a packet beyond the horizon; without effect here.
        drops: bool = true, name "horizon_drop|horizon_cap";
    }
    derive round;
}

impl Params {
    /// To what the kernel can hold (Linux 7.2, `fq_change`).
    fn round(&mut self, _given: &Given) {
        self.quantum = self.quantum.clamp(256, 1 << 20);
        self.max_rate = self.max_rate.map(whole_bytes);
        self.low_rate_threshold = whole_bytes(self.low_rate_threshold);
        self.buckets = self.buckets.next_power_of_two();
    }
}

/// Rates are whole bytes per second in the kernel.
const fn whole_bytes(rate: Rate) -> Rate {
    Rate(rate.bytes_per_sec() * 8)
}

fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

fn read_bands(args: &mut Args<'_>) -> Result<[u8; 16], GrammarError> {
    args.number(BANDS as u64..=BANDS as u64)?;
    args.choice(&["priomap"])?;
    let mut map = [0; 16];
    for band in &mut map {
        *band = args.number(0..=BANDS as u64 - 1)? as u8;
    }
    Ok(map)
}

fn read_weights(args: &mut Args<'_>) -> Result<[u32; BANDS], GrammarError> {
    let mut weights = [0; BANDS];
    for weight in &mut weights {
        *weight = args.number(16_384..=i32::MAX as u64)? as u32;
    }
    Ok(weights)
}

fn read_mask(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a mask from 0 to 65535 such as `1023` or `0x3ff`", |word| {
        let hex = word.strip_prefix("0x").map(|hex| u16::from_str_radix(hex, 16));
        hex.unwrap_or_else(|| word.parse()).ok().map(u32::from)
    })
}

fn read_slack(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time up to 4.29s such as `10us`", |word| {
        Dur::parse_tc64(word).filter(|slack| u32::try_from(slack.0).is_ok())
    })
}
