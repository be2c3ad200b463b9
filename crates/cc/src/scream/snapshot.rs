//! What a sender shows of itself.

use super::rates::Rates;
use super::ticks::seconds;
use super::transmitter::{Policy, Transmitter};
use super::{Summary, Ticks};

/// State of a sender, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Of the last packet acknowledged, s.
    pub queue_delay: f32,
    /// Averaged, without the standing part, s.
    pub queue_delay_mean: f32,
    /// Its target, s.
    pub delay_target: f32,
    /// Smoothed RTT, s: before the first feedback what the sender assumes.
    pub srtt: f32,
    /// The same for whoever looks on: absent before the first feedback, and within what was
    /// measured while the average still holds the assumed value (in parity).
    pub measured_rtt: Option<f32>,
    /// Window, bytes.
    pub cwnd: u32,
    /// Window at the last congestion, bytes.
    pub cwnd_i: u32,
    /// Bytes in flight.
    pub in_flight: u32,
    /// Greatest since [`Sender::take_max_in_flight`](super::Sender::take_max_in_flight).
    pub max_in_flight: u32,
    /// Largest packet of the last seconds, bytes.
    pub mss: u32,
    /// Time between packets, s.
    pub pace: f32,
    /// Smoothed share of marked packets.
    pub alpha: f32,
    /// Smoothed share of lost packets.
    pub loss_rate: f32,
    /// Rates.
    pub rates: StreamRates,
}

/// Rates, bit/s: the last window's, unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamRates {
    /// Target.
    pub target: f32,
    /// Queued by the encoder, mean of four windows.
    pub media: f32,
    /// Transmitted, smoothed.
    pub sent: f32,
    /// Acknowledged.
    pub acked: f32,
    /// Lost.
    pub lost: f32,
    /// Acknowledged with CE.
    pub ce: f32,
}

/// State of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamSnapshot {
    /// Packets in the RTP queue.
    pub queue_packets: u32,
    /// Bytes in the RTP queue.
    pub queue_bytes: u32,
    /// Delay of the oldest packet there, s.
    pub queue_delay: f32,
    /// Packets lost.
    pub packets_lost: u64,
    /// Packets thrown away before they left.
    pub packets_discarded: u64,
    /// Rates.
    pub rates: StreamRates,
}

impl<C, S> Transmitter<C, S>
where
    Self: Policy<S>,
{
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            queue_delay: self.queue_delay,
            delay_target: self.delay_target,
            srtt: self.srtt,
            measured_rtt: self
                .measured
                .map(|(least, greatest)| self.srtt.clamp(seconds(least), seconds(greatest))),
            cwnd: self.cwnd as u32,
            in_flight: self.in_flight as u32,
            max_in_flight: self.in_flight_peak as u32,
            mss: self.packet_bytes() as u32,
            pace: self.pace,
            rates: StreamRates {
                target: self.sum(|media| media.target),
                media: self.sum(|media| media.rates.media),
                sent: self.sum(|media| media.rates.sent),
                acked: self.sum(|media| media.rates.acked),
                lost: self.sum(|media| media.rates.lost),
                ce: self.sum(|media| media.rates.ce),
            },
            ..self.state()
        }
    }

    pub(super) fn stream_snapshot(&self, now: Ticks, stream: usize) -> Option<StreamSnapshot> {
        let media = self.streams.get(stream)?;
        let Rates { media: made, sent, acked, lost, ce } = media.rates;
        Some(StreamSnapshot {
            queue_packets: media.queue.len() as u32,
            queue_bytes: media.queue.bytes(),
            queue_delay: media.queue.delay(now),
            packets_lost: media.packets_lost,
            packets_discarded: media.packets_discarded,
            rates: StreamRates { target: media.steady_target, media: made, sent, acked, lost, ce },
        })
    }

    pub(super) fn summary(&self) -> Summary {
        self.stats.summary(self.payload())
    }
}
