//! HyStart as Linux's CUBIC runs it (Ha and Rhee 2011, not RFC 9406): leaves slow start when an
//! ACK train spans the path's delay or when the delay rises. Linux
//! net/ipv4/tcp_cubic.c hystart_update().

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Path, Window};
use sojourn_core::grammar::forms::{one_of, whole};
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

/// RTT samples of a round before its minimum is compared.
const MIN_SAMPLES: u8 = 8;

/// Kernel generation of Linux's HyStart: units and thresholds differ.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "Hystart")]
pub enum Era {
    /// Up to 5.5, so 5.3 and 5.4 too: millisecond clock, delays in eighths of a millisecond, train
    /// threshold half of the minimum delay, rounds advance only while cwnd limits.
    #[serde(rename = "2020")]
    Until2020,
    /// From 5.8 to 5.15: microseconds, train threshold the whole minimum delay if the flow is
    /// paced, plus an allowance for ACK aggregation; rounds as before.
    #[serde(rename = "5.15")]
    Until5_15,
    /// From 5.16: rounds advance whatever limits.
    #[default]
    #[serde(rename = "newer")]
    Newer,
}

impl Era {
    /// `rtt` in this era's delay unit, at least 1.
    #[inline]
    pub(super) fn delay(self, rtt: Dur) -> u32 {
        let us = rtt.as_micros();
        let delay = match self {
            Self::Until2020 => (us << 3) / 1000,
            Self::Until5_15 | Self::Newer => us,
        };
        (delay as u32).max(1)
    }

    /// This era's delay unit in jiffies, rounded up.
    #[inline]
    pub(super) fn delay_jiffies(self, delay: u32, hz: u32) -> u32 {
        let (ticks, per_second) = match self {
            Self::Until2020 => (delay >> 3, 1_000),
            Self::Until5_15 | Self::Newer => (delay, 1_000_000),
        };
        (u64::from(ticks) * u64::from(hz)).div_ceil(per_second) as u32
    }

    fn clock(self, now: Time) -> u64 {
        match self {
            Self::Until2020 => now.0 / 1_000_000,
            Self::Until5_15 | Self::Newer => now.0 / 1_000,
        }
    }

    /// Rise over the minimum delay that ends slow start: an eighth of it, from 4 to 16 ms (Linux
    /// HYSTART_DELAY_THRESH()).
    fn delay_threshold(self, delay_min: u32) -> u32 {
        let ms = match self {
            Self::Until2020 => 8,
            Self::Until5_15 | Self::Newer => 1_000,
        };
        (delay_min >> 3).clamp(4 * ms, 16 * ms)
    }
}

parameters! {
    /// What may be configured.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// What HyStart looks at.
        detect: Detect = Detect::Both, name "hystart_detect";
        /// Smallest cwnd at which HyStart acts.
        low_window: u32 = 16 => whole("SEGMENTS", 0..=1 << 30, ""), name "hystart_low_window";
        /// Largest gap between the ACKs of one train.
        ack_delta: Dur = Dur::from_millis(2), name "hystart_ack_delta";
        /// The endpoint's era, or kernels up to 5.5 (milliseconds, half the delay), up to 5.15
        /// (microseconds), from 5.16 (rounds advance whatever limits).
        pub(super) era: Option<Era> = None => one_of("kernel|2020|5.15|newer", ERAS),
            name "hystart_era";
    }
}

const ERAS: &[(&str, Option<Era>)] = &[
    ("kernel", None),
    ("2020", Some(Era::Until2020)),
    ("5.15", Some(Era::Until5_15)),
    ("newer", Some(Era::Newer)),
];

choices! {
    /// Which signs end slow start.
    enum Detect { Train = "train", Delay = "delay", Both = "both" }
}

/// Detection state; a round is one window of data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    params: Params,
    era: Era,
    found: bool,
    round_start: u64,
    last_ack: u64,
    end_seq: u64,
    curr_rtt: u32,
    samples: u8,
}

impl Hystart {
    pub(super) fn new(params: Params, era: Era) -> Self {
        Self { params, era, curr_rtt: u32::MAX, ..Self::default() }
    }

    /// Whether it has ended a slow start since the last [`Hystart::reset`].
    pub(super) const fn found(&self) -> bool {
        self.found
    }

    /// Forgets that it has found the exit and starts a round.
    pub(super) fn reset(&mut self, now: Time, snd_nxt: u64) {
        self.found = false;
        self.start_round(now, snd_nxt);
    }

    /// The growth step in slow start: up to 5.15 a round ends only here.
    #[inline]
    pub(super) fn on_growth(&mut self, now: Time, path: &Path) {
        if self.era != Era::Newer && path.snd_una > self.end_seq {
            self.start_round(now, path.snd_nxt);
        }
    }

    /// An RTT sample in slow start, `delay` and `delay_min` in the era's unit. Sets ssthresh to
    /// cwnd on the exit.
    pub(super) fn on_sample(
        &mut self,
        now: Time,
        delay: u32,
        delay_min: u32,
        path: &Path,
        win: &mut Window,
    ) {
        let (Params { detect, low_window, .. }, era) = (self.params, self.era);
        if self.found {
            return;
        }
        if era == Era::Newer && path.snd_una > self.end_seq {
            self.start_round(now, path.snd_nxt);
        }
        if win.cwnd < low_window {
            return;
        }
        let by_train = detect != Detect::Delay && self.train_is_long(now, delay_min, path, win);
        if by_train | (detect != Detect::Train && self.delay_rose(delay, delay_min)) {
            self.found = true;
            win.ssthresh = win.cwnd;
        }
    }

    fn start_round(&mut self, now: Time, snd_nxt: u64) {
        self.round_start = self.era.clock(now);
        self.last_ack = self.round_start;
        self.end_seq = snd_nxt;
        self.curr_rtt = u32::MAX;
        self.samples = 0;
    }

    /// Linux hystart_update(), HYSTART_ACK_TRAIN: ACKs without gaps that last as long as the path's
    /// delay say that the window fills it. A sender that is not paced bursts, and its train of ACKs
    /// covers half of that (from 5.8 on; before, always half).
    fn train_is_long(&mut self, now: Time, delay_min: u32, path: &Path, win: &Window) -> bool {
        let era = self.era;
        let now = era.clock(now);
        let ack_delta = era.clock(Time(self.params.ack_delta.0));
        if now.saturating_sub(self.last_ack) > ack_delta {
            return false;
        }
        self.last_ack = now;
        let threshold = match era {
            Era::Until2020 => delay_min >> 4,
            Era::Until5_15 | Era::Newer => {
                (delay_min + ack_allowance(path, win)) >> u32::from(!path.paced)
            }
        };
        now.saturating_sub(self.round_start) > u64::from(threshold)
    }

    /// Linux hystart_update(), HYSTART_DELAY: the least RTT of the round against the least of all.
    fn delay_rose(&mut self, delay: u32, delay_min: u32) -> bool {
        let era = self.era;
        // The minimum is frozen after eight samples up to 5.7, and follows the round later.
        if era != Era::Until2020 || self.samples < MIN_SAMPLES {
            self.curr_rtt = self.curr_rtt.min(delay);
        }
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.curr_rtt > delay_min + era.delay_threshold(delay_min)
    }
}

/// Microseconds that four 64 KiB aggregates take at the pacing rate, at most 1 ms (Linux
/// hystart_ack_delay()): ACKs of aggregates come that much later.
fn ack_allowance(path: &Path, win: &Window) -> u32 {
    const AGGREGATES: u64 = 4 * 65_536 * 1_000_000;
    let rate = path.linux_pacing_rate(win).bytes_per_sec();
    AGGREGATES.checked_div(rate).map_or(0, |us| us.min(1_000) as u32)
}

#[cfg(test)]
mod tests;
