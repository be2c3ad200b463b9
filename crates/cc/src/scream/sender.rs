//! The sender of any version.

use super::transmitter::Policy as _;
use super::v1::V1;
use super::v2::V2;
use super::{AckLine, Config, Departure, Metric, Permit, Rtp, Snapshot, Stream, StreamSnapshot};
use super::{Summary, Ticks};

/// A sender: no clock, no socket, no encoder. Its driver queues each packet with [`Sender::push`], asks
/// [`Sender::may_transmit`] and takes it with [`Sender::transmit`], hands over reports with
/// [`Sender::on_block`], and asks for the encoder's [`Sender::target`] before each frame.
#[derive(Debug)]
pub struct Sender {
    law: Law,
}

#[derive(Debug)]
enum Law {
    V1(Box<V1>),
    V2(Box<V2>),
}

/// The same call on either version.
macro_rules! law {
    ($sender:expr, $law:ident => $result:expr) => {
        match &$sender.law {
            Law::V1($law) => $result,
            Law::V2($law) => $result,
        }
    };
    (mut $sender:expr, $law:ident => $result:expr) => {
        match &mut $sender.law {
            Law::V1($law) => $result,
            Law::V2($law) => $result,
        }
    };
}

impl Sender {
    /// A sender without streams, at `now`.
    ///
    /// # Panics
    ///
    /// If `config` fails [`Config::check`].
    pub fn new(config: Config, now: Ticks) -> Self {
        if let Err(fault) = config.check() {
            panic!("{fault}");
        }
        let law = if config.version.is_v2() {
            Law::V2(Box::new(V2::new(config, now)))
        } else {
            Law::V1(Box::new(V1::new(config, now)))
        };
        Self { law }
    }

    /// Adds a stream and gives its index; `None`: there are ten already.
    ///
    /// # Panics
    ///
    /// If `stream` fails [`Stream::check`].
    pub fn add_stream(&mut self, stream: Stream) -> Option<usize> {
        if let Err(fault) = stream.check() {
            panic!("{fault}");
        }
        law!(mut self, law => law.add_stream(stream))
    }

    /// The payload rate for the stream's next frame, bit/s. `None`: the original's source skips this
    /// frame, since packets were lost or discarded (with `parity` only), or there is no such stream.
    pub fn target(&mut self, now: Ticks, stream: usize) -> Option<f32> {
        law!(mut self, law => law.target(now, stream))
    }

    /// Bytes of RTP payload that packets should have now.
    pub fn payload(&self) -> u32 {
        law!(self, law => law.payload())
    }

    /// Queues a packet. False: the queue is full or the packet larger than UDP allows, and the packet
    /// stays the driver's.
    pub fn push(&mut self, now: Ticks, stream: usize, packet: Rtp) -> bool {
        law!(mut self, law => law.push(now, stream, packet))
    }

    /// Whether and when a packet may leave, and of which stream.
    pub fn may_transmit(&mut self, now: Ticks) -> Permit {
        law!(mut self, law => law.may_transmit(now))
    }

    /// Takes the stream's oldest packet, which leaves at `now`.
    pub fn transmit(&mut self, now: Ticks, stream: usize) -> Option<Departure> {
        law!(mut self, law => law.transmit(now, stream))
    }

    /// A block of a report (RFC 8888): `metrics` are of the packets from `begin` on. Writes to `log` a
    /// line for the last packet of the block and for the last of each frame, with `detailed` for each
    /// packet, if that was not known to have arrived.
    pub fn on_block(
        &mut self,
        now: Ticks,
        ssrc: u32,
        begin: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
        detailed: bool,
        log: &mut dyn FnMut(&AckLine),
    ) {
        law!(mut self, law => law.on_block(now, ssrc, begin, metrics, detailed, log));
    }

    /// Takes the handle of a packet that was thrown away because it waited too long. Packets that nobody
    /// takes fill the queue.
    pub fn take_discarded(&mut self) -> Option<u64> {
        law!(mut self, law => law.take_discarded())
    }

    /// Whether packets of the stream were lost or thrown away since this was last asked: time for a key
    /// frame.
    pub fn take_loss_epoch(&mut self, stream: usize) -> bool {
        law!(mut self, law => law.take_loss_epoch(stream))
    }

    /// Changes the stream's priority (above 0, at most 1); false if there is no such stream.
    pub fn set_priority(&mut self, stream: usize, priority: f32) -> bool {
        self.change(stream, |about| about.priority = priority)
    }

    /// Changes the stream's least and greatest rate, bit/s; false if there is no such stream or the
    /// rates are not allowed.
    pub fn set_rates(&mut self, stream: usize, min: f32, max: f32) -> bool {
        self.change(stream, |about| {
            (about.min_rate, about.init_rate, about.max_rate) = (min, min, max);
        })
    }

    fn change(&mut self, stream: usize, change: impl FnOnce(&mut Stream)) -> bool {
        let Some(about) = law!(mut self, law => law.stream_mut(stream)) else { return false };
        let mut next = *about;
        change(&mut next);
        let allowed = next.check().is_ok();
        if allowed {
            *about = next;
        }
        allowed
    }

    /// Bounds the rate of all streams, bit/s; `None`: no bound.
    pub fn set_max_total_rate(&mut self, rate: Option<f32>) {
        law!(mut self, law => law.set_max_total_rate(rate.map(|rate| rate.clamp(1000.0, 100e9))));
    }

    /// State of all streams together.
    pub fn snapshot(&self) -> Snapshot {
        law!(self, law => law.snapshot())
    }

    /// State of one stream.
    pub fn stream_snapshot(&self, now: Ticks, stream: usize) -> Option<StreamSnapshot> {
        law!(self, law => law.stream_snapshot(now, stream))
    }

    /// Greatest number of bytes in flight since this was last asked.
    pub fn take_max_in_flight(&mut self) -> u32 {
        law!(mut self, law => law.take_max_in_flight())
    }

    /// Statistics of the session.
    pub fn summary(&self) -> Summary {
        law!(self, law => law.summary())
    }

    /// How good a stream is, 0 to 100: near `rate` (bit/s), without delay in the RTP queue, and with an
    /// RTT near `least_rtt` (s).
    pub fn quality_index(&self, now: Ticks, stream: usize, rate: f32, least_rtt: f32) -> f32 {
        let Some(media) = self.stream_snapshot(now, stream) else { return 0.0 };
        let of_rate = ((media.rates.sent - 0.1 * rate) / (0.9 * rate)).clamp(0.0, 1.0);
        let of_queue = ((0.1 - media.queue_delay) / 0.1).max(0.0);
        let most = 4.0 * least_rtt;
        let of_rtt = ((most - (self.snapshot().srtt - least_rtt)) / most).clamp(0.0, 1.0);
        100.0 * of_rate * of_queue * of_rtt
    }
}
