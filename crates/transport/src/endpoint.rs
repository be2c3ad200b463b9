//! What an engine sees of an end point.

use sojourn_core::{Dur, Ecn, Kind, Probe, Time};

use crate::frame::Frame;
use crate::media;
use crate::tcp::Segment;
use crate::udp::Message;

/// Header and meaning of a packet; the queue-visible part is [`sojourn_core::Packet`]. A TCP segment is
/// the largest: what is larger, as a report of many packets, keeps it elsewhere.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// An ICMP echo request or reply, or its like over UDP.
    Icmp(Echo),
    /// A datagram of a congestion-controlled UDP flow, or its receiver's report.
    Counted(Message),
    /// A media packet, or its receiver's report.
    Media(media::Message),
    /// A UDP datagram of an application.
    Udp(Datagram),
    /// What a host outside has sent.
    Frame(Frame),
}

impl Body {
    /// Payload bytes of a super-packet.
    pub fn payload(&self) -> u32 {
        match self {
            Self::Tcp(segment) => segment.len,
            Self::Frame(frame) => frame.payload(),
            _ => unreachable!("{NO_SUPER_PACKET}"),
        }
    }

    /// Whether CWR goes with the first segment of a super-packet only.
    pub fn has_cwr_first(&self) -> bool {
        !matches!(self, Self::Frame(frame) if !frame.segments().cwr_first)
    }

    /// Segment number `index` of a super-packet, and its payload bytes.
    #[must_use]
    pub fn split(&self, index: u32) -> (Self, u32) {
        match self {
            Self::Tcp(whole) => {
                let segment = whole.split(index);
                (Self::Tcp(segment), segment.len)
            }
            Self::Frame(whole) => {
                let (segment, payload) = whole.split(index);
                (Self::Frame(segment), payload)
            }
            _ => unreachable!("{NO_SUPER_PACKET}"),
        }
    }
}

const NO_SUPER_PACKET: &str = "TCP and hosts outside make super-packets";

/// A datagram of a one-way application.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Sequence number, from 0.
    pub seq: u64,
    /// When it was sent, for one-way delays: the simulator's ends share a clock.
    pub sent: Time,
    /// Payload bytes.
    pub bytes: u32,
}

/// An echo request or reply.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Sequence number, from 1.
    pub seq: u32,
    /// When the request was sent; the reply repeats it.
    pub sent: Time,
}

/// A packet that an end point hands to the network.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// Header and meaning.
    pub body: Body,
    /// Layer-2 length in bytes.
    pub len: u32,
    /// DSCP and ECN.
    pub tos: u8,
    /// Protocol class for queues.
    pub kind: Kind,
}

/// How long after what has arrived an application reads: by then all that arrives in the same instant is in its queue.
pub const READING: Dur = Dur(1);

/// A protocol state machine at one end of a flow. The engine calls [`Endpoint::poll`] until it
/// returns `None` after every other call, and [`Endpoint::on_timer`] at [`Endpoint::deadline`].
pub trait Endpoint: Send {
    /// Opens the flow.
    fn start(&mut self, _now: Time) {}

    /// The application stops: nothing new is sent, what is outstanding is still repaired.
    fn stop(&mut self, _now: Time) {}

    /// A packet of this flow arrived with this ECN codepoint.
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn);

    /// What this end has sent on this connection of the flow left the first queue of the path, or was
    /// dropped there: `bytes` layer-2 bytes.
    fn on_departed(&mut self, _now: Time, _connection: u32, _bytes: u32) {}

    /// The peer has refused or reset this connection of the flow: it ends, and sends nothing more.
    fn on_reset(&mut self, _now: Time, _connection: u32) {}

    /// The next packet to send now.
    fn poll(&mut self, now: Time) -> Option<Transmit>;

    /// When [`Endpoint::on_timer`] is due, [`Time::NEVER`] if no timer runs.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline has come.
    fn on_timer(&mut self, _now: Time) {}

    /// Whether the flow is open and not yet finished: only then it is sampled.
    fn is_alive(&self) -> bool {
        true
    }

    /// Values for the sampled series.
    fn sample(&self, _now: Time, _probe: &mut Probe<'_>) {}

    /// Control state of the congestion controller for the sampled series.
    fn sample_controller(&self, _probe: &mut Probe<'_>) {}

    /// Event samples since the last call, such as individual ping replies: `(time, name, unit,
    /// value)`.
    fn take_samples(&mut self, _sink: &mut dyn FnMut(Time, &'static str, &'static str, f64)) {}

    /// Totals for the summary.
    fn totals(&self) -> FlowProbe {
        FlowProbe::default()
    }
}

/// Puts a smoothed RTT into the series, once there is one: zero is the value before the first
/// measurement.
pub(crate) fn put_rtt(probe: &mut Probe<'_>, srtt: Dur) {
    if srtt > Dur::ZERO {
        probe.put("rtt", "ms", srtt.as_millis_f64());
    }
}

/// Totals of an end point since the start of the flow.
#[derive(Clone, Debug, Default)]
pub struct FlowProbe(pub Vec<(&'static str, f64)>);
