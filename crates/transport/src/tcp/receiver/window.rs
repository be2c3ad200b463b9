//! The receive window.

use sojourn_core::{Bytes, Dur, Time};

use crate::tcp::Config;
use crate::tcp::segment::Segment;

/// Dynamic right-sizing (Linux 5.4 `tcp_rcv_space_adjust`): the advertised window follows twice
/// what the application reads per RTT, at most the share of the receive buffer that counts as
/// payload.
#[derive(Clone, Debug, Default)]
pub(super) struct DynamicWindow {
    mss: u64,
    /// Window that is advertised now, bytes.
    pub(super) advertised: u64,
    /// Right edge advertised last; a window never shrinks.
    pub(super) edge: u64,
    /// `rcv_ssthresh`: what segments' truesize has earned so far.
    ssthresh: u64,
    /// `window_clamp`: half of the receive buffer.
    clamp: u64,
    clamp_max: u64,
    /// Receiver's own RTT estimate, from timestamps.
    pub(super) rtt: Dur,
    rtt_echo: Time,
    measured_from: Time,
    measured_seq: u64,
    space: u64,
    is_exact: bool,
    slack: u64,
    rcv_nxt: u64,
}

impl DynamicWindow {
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        let mss = u64::from(mss);
        let held = |buffer: Bytes| buffer.0 * u64::from(config.window_share) / 256;
        let clamp = held(config.rmem_default);
        let initial = clamp.min(65_535) / mss * mss;
        Self {
            mss,
            advertised: initial,
            edge: 1 + initial,
            ssthresh: initial,
            clamp,
            clamp_max: held(config.rmem_max),
            rtt_echo: Time::NEVER,
            measured_seq: 1,
            space: 10 * mss,
            is_exact: config.drs_exact,
            slack: if config.drs_exact { 0 } else { 16 * mss },
            rcv_nxt: 1,
            ..Self::default()
        }
    }

    /// Linux `tcp_rcv_rtt_measure_ts` and `tcp_rcv_rtt_update`.
    pub(super) fn measure_rtt(&mut self, now: Time, segment: &Segment) {
        if segment.tsecr == Time::NEVER || segment.tsecr == self.rtt_echo {
            return;
        }
        self.rtt_echo = segment.tsecr;
        // Timestamps count milliseconds, and a sample of none is one.
        let sample = if self.is_exact {
            let ms = |t: Time| t.0 / 1_000_000;
            Dur::from_millis(ms(now).saturating_sub(ms(segment.tsecr)).max(1))
        } else {
            Dur(now.since(segment.tsecr).0.div_ceil(1_000_000) * 1_000_000)
        };
        self.rtt = if self.rtt == Dur::ZERO || (self.is_exact && sample < self.rtt) {
            sample
        } else {
            Dur(self.rtt.0 - self.rtt.0 / 8 + sample.0 / 8)
        };
    }

    /// In-order data up to `rcv_nxt` was read, the last `len` bytes of one packet. Returns whether
    /// the window grew. Linux `tcp_grow_window`, and once per RTT `tcp_rcv_space_adjust`: a sender in slow
    /// start doubles, so twice what was read in the last RTT has to fit, and more while that grows.
    pub(super) fn on_data(&mut self, now: Time, rcv_nxt: u64, len: u32) -> bool {
        self.rcv_nxt = rcv_nxt;
        let grows = self.ssthresh < self.clamp;
        let earned = 2 * self.mss.max(u64::from(len));
        self.ssthresh = (self.ssthresh + earned).min(self.clamp);
        if self.rtt == Dur::ZERO || now.since(self.measured_from) < self.rtt {
            return grows;
        }
        let copied = rcv_nxt - self.measured_seq;
        if copied > self.space {
            let window = 2 * copied + self.slack;
            let grow = window * (copied - self.space) / self.space;
            self.clamp = self.clamp.max((window + 2 * grow).min(self.clamp_max));
            self.space = copied;
        }
        self.measured_seq = rcv_nxt;
        self.measured_from = now;
        grows
    }

    /// The window of an ACK that leaves now (Linux `tcp_select_window`): it never shrinks, RFC 9293
    /// 3.8.6.
    pub(super) fn advertise(&mut self) -> u32 {
        self.edge = self.edge.max(self.rcv_nxt + self.ssthresh);
        self.advertised = self.edge - self.rcv_nxt;
        self.shown()
    }

    /// The advertised window as a header holds it.
    pub(super) fn shown(&self) -> u32 {
        self.advertised.try_into().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
