//! What the versions share: the units of their fixed point, the filters, and recovery.

use crate::{Ack, Path, RateSample, State, Window};
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

/// 1 in the fixed point of gains and shares.
pub(super) const UNIT: u32 = 1 << SCALE;
pub(super) const SCALE: u32 = 8;

/// The least window that keeps ACKs coming.
pub(super) const MIN_CWND: u32 = 4;
/// How long PROBE_RTT holds its flight.
const PROBE_RTT_TIME: Dur = Dur::from_millis(200);
/// Age at which the minimum RTT gives way to a higher sample.
pub(super) const MIN_RTT_AGE: Dur = Dur::from_secs(10);
/// Growth of bandwidth that shows a pipe not yet full, 1.25.
pub(super) const FULL_BW_GROWTH: u32 = UNIT * 5 / 4;
/// Rounds without it until the pipe counts as full.
pub(super) const FULL_BW_ROUNDS: u32 = 3;
/// Payload of the largest GSO packet: 64 KiB less headers.
const GSO_BYTES: u64 = 65_536 - 1 - 320;
/// Share of the pacing rate that is left out, so that queues drain.
const PACING_MARGIN_PERCENT: u128 = 1;
/// Largest burst that the window makes room for.
const MAX_GOAL: u32 = 0x7f;

/// The random stream of the flow, and a fixed one until the flow hands it over.
#[derive(Debug)]
pub(super) struct Dice(pub(super) Rng);

impl Default for Dice {
    fn default() -> Self {
        Self(Rng::named(0, "bbr"))
    }
}

/// Bandwidth in 2^-24 segments per microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bw(pub(super) u64);

impl Bw {
    pub(super) const SCALE: u32 = 24;
    pub(super) const MAX: Self = Self(u64::MAX);

    /// `segments` in `time`, rounded down.
    pub(super) fn of(segments: u32, time: Dur) -> Self {
        Self((u64::from(segments) << Self::SCALE) / time.as_micros().max(1))
    }

    /// The same, rounded up.
    pub(super) fn of_up(segments: u32, time: Dur) -> Self {
        Self((u64::from(segments) << Self::SCALE).div_ceil(time.as_micros().max(1)))
    }

    /// Whole segments in `time`.
    pub(super) fn segments_in(self, time: Dur) -> u32 {
        let segments = (u128::from(self.0) * u128::from(time.as_micros())) >> Self::SCALE;
        segments.min(u128::from(u32::MAX)) as u32
    }

    /// Segments of `gain` bandwidth-delay products, rounded up: rounded down, a short pipe would
    /// measure less in each round.
    pub(super) fn bdp(self, rtt: Dur, gain: u32) -> u32 {
        let wide = (u128::from(self.0) * u128::from(rtt.as_micros()) * u128::from(gain)) >> SCALE;
        let segments = (wide + (1 << Self::SCALE) - 1) >> Self::SCALE;
        segments.min(u128::from(u32::MAX)) as u32
    }

    pub(super) fn times(self, gain: u32) -> Self {
        let wide = (u128::from(self.0) * u128::from(gain)) >> SCALE;
        Self(wide.min(u128::from(u64::MAX)) as u64)
    }

    /// The rate of segments of `mss` bytes at `gain`, less the margin.
    /// Linux bbr_rate_bytes_per_sec().
    pub(super) fn pacing_rate(self, mss: u32, gain: u32) -> Rate {
        let bytes = (u128::from(self.0) * u128::from(mss) * u128::from(gain)) >> SCALE;
        let per_sec = (bytes * (10_000 * (100 - PACING_MARGIN_PERCENT))) >> Self::SCALE;
        Rate((per_sec * 8).min(u128::from(u64::MAX)) as u64)
    }

    pub(super) fn as_mbps(self, mss: u32) -> f64 {
        self.0 as f64 / (1_u64 << Self::SCALE) as f64 * f64::from(mss) * 8.0
    }
}

/// Segments of one TSO packet at a pacing rate: about a millisecond, and at least `least`. `extra`
/// bytes are the allowance of short paths.
pub(super) fn tso_segments(rate: Rate, extra: u64, mss: u32, least: u32) -> u32 {
    let bytes = ((rate.bytes_per_sec() >> 10) + extra).min(GSO_BYTES);
    ((bytes / u64::from(mss.max(1))) as u32).max(least)
}

/// The same as the window's goal.
pub(super) fn tso_goal(segments: u32) -> u32 {
    segments.min(MAX_GOAL)
}

/// What will be in flight when the pacer lets the next burst go: segments are delivered while it
/// waits, and a burst that speeds up is counted in already (Linux bbr_packets_in_net_at_edt()).
pub(super) fn in_flight_at_departure(
    now: Time,
    path: &Path,
    in_flight: u32,
    bw: Bw,
    burst: Option<u32>,
) -> u32 {
    let delivered = bw.segments_in(path.departure.since(now));
    (in_flight + burst.unwrap_or(0)).saturating_sub(delivered)
}

/// The best three samples of a window: Kathleen Nichols' running maximum (Linux
/// lib/win_minmax.c). Time counts rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningMax([(u32, Bw); 3]);

impl RunningMax {
    pub(super) fn get(&self) -> Bw {
        self.0[0].1
    }

    pub(super) fn update(&mut self, window: u32, now: u32, bw: Bw) {
        let sample = (now, bw);
        let age = |s: &(u32, Bw)| now.wrapping_sub(s.0);
        let s = &mut self.0;
        if bw >= s[0].1 || age(&s[2]) > window {
            *s = [sample; 3];
            return;
        }
        if bw >= s[1].1 {
            s[1] = sample;
            s[2] = sample;
        } else if bw >= s[2].1 {
            s[2] = sample;
        }
        if age(&s[0]) > window {
            *s = [s[1], s[2], sample];
            if age(&s[0]) > window {
                *s = [s[1], s[2], sample];
            }
        } else if s[1].0 == s[0].0 && age(&s[0]) > window / 4 {
            s[1] = sample;
            s[2] = sample;
        } else if s[2].0 == s[1].0 && age(&s[0]) > window / 2 {
            s[2] = sample;
        }
    }
}

/// How many more segments than the bandwidth explains an aggregate of ACKs reports (Linux
/// bbr_update_ack_aggregation()).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// Maxima of the running and the previous window of rounds.
    extra: [u32; 2],
    at: usize,
    rounds: u32,
    epoch: Time,
    acked: u32,
}

impl Aggregation {
    /// Aggregates longer than this do not count.
    const LIMIT: Dur = Dur::from_millis(100);
    const EPOCH_ACKED_MAX: u32 = 1 << 20;
    pub(super) const ROUNDS: u32 = 5;

    pub(super) fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0;
    }

    pub(super) fn update(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        bw: Bw,
        (round_start, window): (bool, u32),
        cwnd: u32,
    ) {
        let acked = ack.delivered();
        if acked == 0 || ack.rate.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= window {
                self.rounds = 0;
                self.at ^= 1;
                self.extra[self.at] = 0;
            }
        }
        let mut expected = bw.segments_in(now.since(self.epoch));
        if self.acked <= expected || self.acked + acked >= Self::EPOCH_ACKED_MAX {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(Self::EPOCH_ACKED_MAX - 1);
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.extra[self.at] = self.extra[self.at].max(extra);
    }

    /// Segments that cwnd allows for it.
    pub(super) fn allowance(&self, bw: Bw) -> u32 {
        self.extra[0].max(self.extra[1]).min(bw.segments_in(Self::LIMIT))
    }
}

/// Rounds of packets: one ends when a segment is delivered that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Delivered count that ends the running round.
    end: u64,
    pub(super) count: u32,
    /// This acknowledgement began one.
    pub(super) started: bool,
}

impl Rounds {
    pub(super) fn update(&mut self, sample: Option<&RateSample>, delivered: u64) {
        self.started = sample.is_some_and(|s| s.prior_delivered >= self.end);
        if self.started {
            self.end = delivered;
            self.count = self.count.wrapping_add(1);
        }
    }

    /// A round of its own begins now.
    pub(super) fn begin(&mut self, delivered: u64) {
        self.end = delivered;
    }
}

/// The stay in PROBE_RTT: its time and a round, both from when the flight is down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    until: Option<Time>,
    round_done: bool,
}

impl ProbeRtt {
    /// An acknowledgement within it; whether the round is over.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        in_flight: u32,
        target: u32,
        rounds: &mut Rounds,
        delivered: u64,
    ) -> bool {
        if self.until.is_some() {
            self.round_done |= rounds.started;
            return self.round_done;
        }
        if in_flight <= target {
            *self = Self { until: Some(now + PROBE_RTT_TIME), round_done: false };
            rounds.begin(delivered);
        }
        false
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

/// Recovery of versions 1 and 2: one round sends what was delivered; the window returns at the
/// end (Linux bbr_set_cwnd_to_recover_or_restore()).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conservation {
    pub(super) active: bool,
    previous: State,
}

impl Conservation {
    pub(super) fn previous(self) -> State {
        self.previous
    }

    pub(super) fn timeout(&mut self) {
        self.previous = State::Loss;
    }

    /// Moves cwnd on the way into and out of recovery; whether it is settled for this ACK.
    pub(super) fn adjust(
        &mut self,
        ack: &Ack<'_>,
        prior_cwnd: u32,
        rounds: &mut Rounds,
        win: &mut Window,
    ) -> bool {
        let (state, previous) = (ack.path.state, self.previous);
        let conserved = ack.path.in_flight + ack.delivered();
        if ack.lost > 0 {
            win.cwnd = win.cwnd.saturating_sub(ack.lost).max(1);
        }
        if state == State::Recovery && previous != State::Recovery {
            self.active = true;
            rounds.begin(ack.path.delivered);
            win.cwnd = conserved;
        } else if previous >= State::Recovery && state < State::Recovery {
            self.active = false;
            win.cwnd = win.cwnd.max(prior_cwnd);
        }
        self.previous = state;
        if self.active {
            win.cwnd = win.cwnd.max(conserved);
        }
        self.active
    }
}

/// What [`Controller::ssthresh`](crate::Controller::ssthresh) and PROBE_RTT remember of cwnd.
pub(super) fn saved_cwnd(previous: State, in_probe_rtt: bool, saved: u32, cwnd: u32) -> u32 {
    if previous < State::Recovery && !in_probe_rtt { cwnd } else { saved.max(cwnd) }
}
