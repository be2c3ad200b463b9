//! One synchronisation source: its numbers (RFC 3550 A.1), jitter (A.8), frames, and the packets that feedback
//! may still speak of.

use std::collections::VecDeque;

use sojourn_core::wire::rtp::Header;
use sojourn_core::{Ecn, Time};

use super::{Arrival, PROBATION};
use crate::report::{self, Codepoints};
use crate::samples::Samples;

/// RFC 3550 A.1: a step of this and more is a new beginning of the numbers, if the next packet confirms it.
const MAX_DROPOUT: i64 = 3000;
/// Packets that are remembered for feedback and late arrivals: an eighth of the numbers, 30 bytes each.
const HISTORY: usize = 8192;
/// Ticks per second that audio and video use (RFC 3551 4.1, 6; RFC 7587 4.1).
const RATES: [u32; 9] = [8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000];
/// The clock must have been watched for this long before it is believed, s.
const CLOCK_WATCH: f64 = 0.5;
/// It is one of the above within this share.
const CLOCK_ERROR: f64 = 0.03;
/// Payload types that are listed.
const MOST_PAYLOAD_TYPES: usize = 16;

/// What is known of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// When it passed; none: it did not.
    pub(super) seen: Option<(Time, Ecn)>,
    pub(super) marker: bool,
    pub(super) verdict: Verdict,
}

/// What reports say of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    Unreported,
    Lost,
    /// With which codepoint, and which it had in the capture when that was first reported.
    Received {
        ecn: Ecn,
        here: Option<Ecn>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    ssrc: u32,
    /// Packets in sequence so far; [`PROBATION`] and more: it is a source.
    in_sequence: u32,
    /// Numbers without their wrap: the highest, and that of `history[0]`.
    highest: i64,
    oldest: i64,
    history: VecDeque<Sent>,
    /// What the next number would be if the sender had begun anew.
    restart: Option<u16>,
    restarts: u64,
    packets: u64,
    bytes: u64,
    duplicates: u64,
    reordered: u64,
    missing: u64,
    ecn: Codepoints,
    payload_types: Vec<u8>,
    clock: Clock,
    frame: Frame,
    frames: u64,
    frame_bytes: Samples,
    frame_packets: Samples,
    frame_spread: Samples,
    /// Bits of frames, and ticks until the next one began: their ratio is a rate once the clock is known.
    frame_bits_per_tick: Samples,
}

/// Frame in the making.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    timestamp: u32,
    packets: u32,
    bytes: u32,
    first: Time,
    last: Time,
}

impl Source {
    pub(super) fn new(header: &Header) -> Self {
        let seq = i64::from(header.seq);
        Self {
            ssrc: header.ssrc,
            in_sequence: 0,
            highest: seq - 1,
            oldest: seq,
            history: VecDeque::new(),
            restart: None,
            restarts: 0,
            packets: 0,
            bytes: 0,
            duplicates: 0,
            reordered: 0,
            missing: 0,
            ecn: Codepoints::default(),
            payload_types: Vec::new(),
            clock: Clock::default(),
            frame: Frame::default(),
            frames: 0,
            frame_bytes: Samples::default(),
            frame_packets: Samples::default(),
            frame_spread: Samples::default(),
            frame_bits_per_tick: Samples::default(),
        }
    }

    pub(super) fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Whether it is past its probation.
    pub(super) fn is_known(&self) -> bool {
        self.in_sequence >= PROBATION
    }

    /// Whether it sent this payload type.
    pub(super) fn has_payload_type(&self, kind: u8) -> bool {
        self.payload_types.contains(&kind)
    }

    pub(super) fn clock_rate(&self) -> Option<u32> {
        let of_type = self.payload_types.first().and_then(|kind| static_rate(*kind));
        of_type.or_else(|| self.clock.rate())
    }

    pub(super) fn on_packet(&mut self, arrival: &Arrival<'_>, header: &Header) {
        let step = i64::from(header.seq.wrapping_sub(self.highest as u16) as i16);
        if !self.is_known() {
            // In probation every packet follows the last one; and a frame is no hour long.
            let ticks = header.timestamp.wrapping_sub(self.clock.timestamp) as i32;
            if step != 1 || (self.packets > 0 && ticks.unsigned_abs() > 1 << 24) {
                *self = Self::new(header);
            }
            self.in_sequence += 1;
        } else if step.abs() >= MAX_DROPOUT {
            if self.restart != Some(header.seq) {
                self.restart = Some(header.seq.wrapping_add(1));
                return;
            }
            self.begin_anew(header.seq);
        }
        self.restart = None;
        let step = i64::from(header.seq.wrapping_sub(self.highest as u16) as i16);
        self.file(step, arrival, header);
    }

    /// Forgets the numbers, not the counters.
    fn begin_anew(&mut self, seq: u16) {
        self.restarts += 1;
        self.missing += self.holes();
        self.history.clear();
        self.oldest = i64::from(seq);
        self.highest = self.oldest - 1;
        self.frame = Frame::default();
        self.clock.begin_anew();
    }

    /// A packet `step` numbers ahead of the highest.
    fn file(&mut self, step: i64, arrival: &Arrival<'_>, header: &Header) {
        let sent = Sent {
            seen: Some((arrival.time, arrival.ecn)),
            marker: header.marker,
            verdict: Verdict::Unreported,
        };
        if step > 0 {
            for _ in 1..step {
                self.push(Sent::default());
            }
            self.push(sent);
        } else {
            let at = self.highest + step - self.oldest;
            match usize::try_from(at).ok().and_then(|at| self.history.get_mut(at)) {
                Some(known) if known.seen.is_some() => {
                    self.duplicates += 1;
                    return;
                }
                Some(hole) => {
                    (hole.seen, hole.marker) = (sent.seen, sent.marker);
                    self.reordered += 1;
                }
                // Older than all that is known: before the first packet, or long given up.
                None => {
                    self.reordered += 1;
                    self.missing = self.missing.saturating_sub(1);
                }
            }
        }
        self.packets += 1;
        self.bytes += arrival.len as u64;
        *self.ecn.slot(arrival.ecn) += 1;
        if !self.has_payload_type(header.payload_type)
            && self.payload_types.len() < MOST_PAYLOAD_TYPES
        {
            self.payload_types.push(header.payload_type);
        }
        self.clock.on_packet(arrival.time, header.timestamp);
        self.on_frame(arrival, header);
    }

    fn push(&mut self, sent: Sent) {
        if self.history.len() == HISTORY {
            let gone = self.history.pop_front();
            self.missing += u64::from(gone.is_some_and(|gone| gone.seen.is_none()));
            self.oldest += 1;
        }
        self.history.push_back(sent);
        self.highest += 1;
    }

    fn holes(&self) -> u64 {
        self.history.iter().filter(|sent| sent.seen.is_none()).count() as u64
    }

    fn on_frame(&mut self, arrival: &Arrival<'_>, header: &Header) {
        let Arrival { time, len, .. } = *arrival;
        let ticks = header.timestamp.wrapping_sub(self.frame.timestamp) as i32;
        if self.frame.packets == 0 || ticks > 0 {
            self.end_frame(Some(ticks));
            let timestamp = header.timestamp;
            self.frame = Frame { timestamp, first: time, ..Frame::default() };
            self.frames += 1;
        } else if ticks < 0 {
            // A late packet of an earlier frame, or a picture that is shown earlier than it is sent.
            return;
        }
        self.frame.packets += 1;
        self.frame.bytes = self.frame.bytes.saturating_add(len as u32);
        self.frame.last = time;
    }

    fn end_frame(&mut self, ticks: Option<i32>) {
        let Frame { packets, bytes, first, last, .. } = self.frame;
        if packets == 0 {
            return;
        }
        self.frame_bytes.record(f64::from(bytes));
        self.frame_packets.record(f64::from(packets));
        self.frame_spread.record(last.since(first).as_millis_f64());
        if let Some(ticks) = ticks {
            self.frame_bits_per_tick.record(f64::from(bytes) * 8.0 / f64::from(ticks));
        }
    }

    /// The packets from the number `begin` on that are known, with their numbers.
    pub(super) fn known_mut(
        &mut self,
        begin: u16,
        len: usize,
    ) -> impl Iterator<Item = (usize, &mut Sent)> {
        let first = self.highest + i64::from(begin.wrapping_sub(self.highest as u16) as i16);
        let skip = usize::try_from(self.oldest - first).unwrap_or(0);
        let from = usize::try_from(first - self.oldest).unwrap_or(0).min(self.history.len());
        self.history.range_mut(from..).zip(skip..len).map(|(sent, at)| (at, sent))
    }

    pub(super) fn finish(mut self, forward: bool) -> report::Source {
        self.end_frame(None);
        let rate = self.clock_rate();
        let per_mbps = rate.map(|rate| f64::from(rate) / 1e6);
        self.payload_types.sort_unstable();
        report::Source {
            ssrc: self.ssrc,
            forward,
            packets: self.packets,
            bytes: self.bytes,
            missing: self.missing + self.holes(),
            duplicates: self.duplicates,
            reordered: self.reordered,
            restarts: self.restarts,
            ecn: self.ecn,
            clock_rate_hz: rate,
            jitter_ms: rate.and_then(|rate| self.clock.jitter_ms(rate)),
            frames: self.frames,
            frame_bytes: self.frame_bytes.distribution(),
            frame_packets: self.frame_packets.distribution(),
            frame_spread_ms: self.frame_spread.distribution(),
            frame_mbps: self
                .frame_bits_per_tick
                .distribution()
                .zip(per_mbps)
                .map(|(of, by)| of.scaled(by)),
            payload_types: self.payload_types,
        }
    }
}

/// The RTP clock beside that of the capture.
#[derive(Clone, Debug, Default)]
struct Clock {
    packets: u64,
    time: Time,
    timestamp: u32,
    /// Since the first packet.
    passed_s: f64,
    ticks: i64,
    /// Jitter by each of [`RATES`], s: which of them it is shows only later.
    jitter: [f64; RATES.len()],
    largest: [f64; RATES.len()],
}

impl Clock {
    /// Differences begin with the next packet.
    fn begin_anew(&mut self) {
        self.packets = 0;
    }

    fn on_packet(&mut self, time: Time, timestamp: u32) {
        if self.packets > 0 {
            let passed = time.0.wrapping_sub(self.time.0) as i64 as f64 / 1e9;
            let ticks = timestamp.wrapping_sub(self.timestamp) as i32;
            self.passed_s += passed;
            self.ticks += i64::from(ticks);
            let of_rates = self.jitter.iter_mut().zip(&mut self.largest).zip(RATES);
            for ((jitter, largest), rate) in of_rates {
                // RFC 3550 A.8.
                let difference = (passed - f64::from(ticks) / f64::from(rate)).abs();
                *jitter += (difference - *jitter) / 16.0;
                *largest = jitter.max(*largest);
            }
        }
        self.packets += 1;
        (self.time, self.timestamp) = (time, timestamp);
    }

    /// The usual rate that the clock runs at.
    fn rate(&self) -> Option<u32> {
        if self.passed_s < CLOCK_WATCH {
            return None;
        }
        let measured = self.ticks as f64 / self.passed_s;
        RATES.into_iter().find(|rate| {
            let rate = f64::from(*rate);
            (measured - rate).abs() < CLOCK_ERROR * rate
        })
    }

    fn jitter_ms(&self, rate: u32) -> Option<report::Jitter> {
        let at = RATES.iter().position(|other| *other == rate)?;
        (self.packets > 1)
            .then(|| report::Jitter { last: self.jitter[at] * 1e3, max: self.largest[at] * 1e3 })
    }
}

/// Clock rates that payload types imply (RFC 3551 6).
fn static_rate(payload_type: u8) -> Option<u32> {
    Some(match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => 8000,
        6 => 16_000,
        10 | 11 => 44_100,
        16 => 11_025,
        17 => 22_050,
        14 | 25 | 26 | 28 | 31..=34 => 90_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
