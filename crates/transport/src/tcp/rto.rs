//! Round-trip time estimation and the retransmission timeout: RFC 6298 with Linux's gains
//! (`tcp_rtt_estimator`, Linux 5.4), in its scaled integers.

use sojourn_core::jiffies::Jiffies;
use sojourn_core::{Dur, Time};

const RTO_MIN_US: i64 = 200_000;
const RTO_MAX_S: u64 = 120;
const MIN_RTT_WINDOW_US: i64 = 300_000_000;

/// Smoothed RTT, deviation, minimum and the timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT, µs << 3; zero before the first sample.
    srtt: i64,
    /// Mean deviation, µs << 2.
    mdev: i64,
    /// Largest mdev of the running window.
    mdev_max: i64,
    /// The deviation that enters the timeout, µs.
    rttvar: i64,
    /// The window of `mdev_max` ends here.
    rtt_seq: u64,
    min_rtt: i64,
    min_rtt_at: i64,
    backoff: u32,
    jiffies: Jiffies,
    /// The timeout without back-off, jiffies.
    base_rto: u64,
    /// Twice the smoothed RTT, jiffies: the tail-loss probe's delay.
    double_srtt: u64,
}

impl RttEstimator {
    /// No samples yet; `hz` quantises the timeout as jiffies do.
    pub fn new(hz: u32) -> Self {
        let jiffies = Jiffies::new(hz);
        Self {
            srtt: 0,
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            rtt_seq: 0,
            min_rtt: 0,
            min_rtt_at: 0,
            backoff: 0,
            jiffies,
            base_rto: jiffies.second(),
            double_srtt: jiffies.second(),
        }
    }

    /// Feeds one sample; `snd_una` and `snd_nxt` delimit windows. RFC 6298 2.2 and 2.3 with Linux's
    /// changes (`tcp_rtt_estimator`): the deviation is the greatest of the window, at least 200 ms, and
    /// falls by a quarter per window.
    pub fn sample(&mut self, rtt: Dur, snd_una: u64, snd_nxt: u64) {
        let mut m = (rtt.as_micros() as i64).max(1);
        if self.srtt == 0 {
            self.srtt = m << 3;
            self.mdev = m << 1;
            self.rttvar = self.mdev.max(RTO_MIN_US);
            self.mdev_max = self.rttvar;
            self.rtt_seq = snd_nxt;
        } else {
            m -= self.srtt >> 3;
            self.srtt += m;
            if m < 0 {
                m = -m - (self.mdev >> 2);
                // A falling RTT must not raise the timeout: a quarter of a quarter.
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= self.mdev >> 2;
            }
            self.mdev += m;
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if snd_una > self.rtt_seq {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.rtt_seq = snd_nxt;
                self.mdev_max = RTO_MIN_US;
            }
        }
        self.srtt = self.srtt.max(1);
        self.backoff = 0;
        self.base_rto = self.jiffies.of(Dur::from_micros(((self.srtt >> 3) + self.rttvar) as u64));
        self.double_srtt = self.jiffies.of(self.srtt() * 2);
    }

    /// Feeds the windowed minimum (300 s; Linux tcp_update_rtt_min()).
    pub fn sample_min(&mut self, rtt: Dur, now_us: u64) {
        let (m, now) = ((rtt.as_micros() as i64).max(1), now_us as i64);
        if self.min_rtt == 0 || m <= self.min_rtt || now - self.min_rtt_at > MIN_RTT_WINDOW_US {
            self.min_rtt = m;
            self.min_rtt_at = now;
        }
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Dur {
        Dur((self.srtt as u64 * 1000) >> 3)
    }

    /// Mean deviation.
    pub fn mdev(&self) -> Dur {
        Dur((self.mdev as u64 * 1000) >> 2)
    }

    /// Windowed minimum, zero before the first sample.
    pub fn min_rtt(&self) -> Dur {
        Dur::from_micros(self.min_rtt as u64)
    }

    /// The timeout with back-off, rounded up to jiffies (RFC 6298 2.3, 2.5 and 5.5).
    pub fn rto(&self) -> Dur {
        self.jiffies.dur(self.rto_jiffies())
    }

    /// The same in jiffies.
    pub fn rto_jiffies(&self) -> u64 {
        (self.base_rto << self.backoff).min(RTO_MAX_S * self.jiffies.second())
    }

    /// Doubles the timeout after it fired.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// The kernel's tick.
    pub fn jiffies(&self) -> Jiffies {
        self.jiffies
    }

    /// When a timer set at `now` fires.
    pub fn expiry(&self, now: Time, jiffies: u64) -> Time {
        self.jiffies.expiry(now, jiffies)
    }

    /// Twice the smoothed RTT, jiffies; a second before the first sample.
    pub fn double_srtt(&self) -> u64 {
        self.double_srtt
    }
}

#[cfg(test)]
mod tests;
