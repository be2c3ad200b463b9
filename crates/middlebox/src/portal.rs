//! A host outside, in the place of an end point.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sojourn_core::{Ecn, Packet, Probe, Time};
use sojourn_live::clock::Clock;
use sojourn_live::device::{Device, Head};
use sojourn_live::tun::Written;
use sojourn_transport::{Body, Endpoint, FlowProbe, Frame, Transmit};
use sojourn_wire::packet::{Checksum, write_back};
use sojourn_wire::split::{Cwr, Split};
use sojourn_wire::{Ip, ip, tcp, udp};

use crate::Carried;
use crate::forwarder::LARGEST;

/// What a host has sent and is not in the network yet, and what has left for it.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) sent: Option<Frame>,
    pub(crate) carried: Carried,
    /// Why the device takes no more.
    pub(crate) failure: Option<io::Error>,
}

/// Both the forwarder and the network hold one; they take turns in one thread.
pub(crate) type Shared = Arc<Mutex<Exchange>>;

pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, Exchange> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end point.
pub(crate) struct Portal {
    device: Arc<dyn Device>,
    clock: Clock,
    exchange: Shared,
    /// The packet with what the queues have changed in it.
    changed: Vec<u8>,
    /// Of a host whose programs are not ours: nobody else knows what they got.
    arrived: Option<Arrived>,
}

/// What has arrived at a host.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// Whether the data of the flow go there.
    receives: bool,
    packets: u64,
    ce: u64,
    payload_bytes: u64,
}

impl Arrived {
    /// Nothing yet.
    pub(crate) fn new(receives: bool) -> Self {
        Self { receives, ..Self::default() }
    }

    /// A packet, or a super-packet of several segments: bytes behind the headers of TCP and UDP, or of IP if
    /// it is neither, or a fragment.
    fn add(&mut self, bytes: &[u8], segments: u8) {
        let Ok(ip) = Ip::parse(bytes) else { return };
        let payload = ip.payload().len();
        let headers = match ip.protocol {
            _ if ip.is_fragment => 0,
            ip::TCP => tcp::Header::parse(ip.payload()).map_or(0, |(_, len)| len),
            ip::UDP => udp::HEADER_BYTES.min(payload),
            _ => 0,
        };
        let packets = u64::from(segments);
        self.packets += packets;
        self.ce += if ip.tos() & 3 == Ecn::Ce as u8 { packets } else { 0 };
        self.payload_bytes += (payload - headers) as u64;
    }
}

impl Portal {
    pub(crate) fn new(
        device: Arc<dyn Device>,
        clock: Clock,
        exchange: Shared,
        arrived: Option<Arrived>,
    ) -> Self {
        Self { device, clock, exchange, changed: vec![0; LARGEST], arrived }
    }

    /// Writes the frame with the header of its link, and of a super-packet that was split only its segment,
    /// which is finished; gives its length.
    fn write(&mut self, frame: &Frame, head: Head) -> usize {
        let (front, back) = self.changed.split_at_mut(frame.header().len());
        front.copy_from_slice(frame.header());
        let Some(part) = frame.part else {
            back[..frame.bytes().len()].copy_from_slice(frame.bytes());
            return front.len() + frame.bytes().len();
        };
        front[..head.unfinished].fill(0);
        let segment = head.segments.and_then(|segments| {
            let cwr = if segments.cwr_first { Cwr::First } else { Cwr::All };
            let cuts = Split::new(frame.bytes(), segments.size, cwr).ok()?;
            Some(cuts.write(part.into(), back)?.len())
        });
        debug_assert!(segment.is_some(), "it was counted in segments");
        front.len() + segment.unwrap_or_default()
    }
}

impl Endpoint for Portal {
    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Frame(frame) = body else { unreachable!("hosts outside send frames") };
        let head = self.device.head(frame.header());
        let len = self.write(frame, head);
        let is_partial = head.is_partial && frame.part.is_none();
        let checksum = if is_partial { Checksum::Partial } else { Checksum::Complete };
        let packet = Packet { tos: frame.tos, ace: frame.ace, ..*frame.packet() };
        let bytes = &mut self.changed[frame.header().len()..len];
        let written = write_back(&packet, bytes, checksum);
        debug_assert!(written.is_ok(), "what was read is written");
        self.device.left(now, bytes);
        if let Some(arrived) = &mut self.arrived {
            let segments = if frame.part.is_some() { 1 } else { packet.segs };
            arrived.add(bytes, segments);
        }
        // Before it is sent: the host's TCP works on it within that call.
        let lateness = self.clock.now().since(now);
        let sent = self.device.send(&self.changed[..len]);
        let mut exchange = lock(&self.exchange);
        exchange.carried.lateness.record(lateness);
        match sent {
            Ok(Written::Taken) => {}
            Ok(_) => exchange.carried.refused += 1,
            Err(error) => exchange.failure = Some(error),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        let frame = lock(&self.exchange).sent.take()?;
        self.device.entered(now, frame.bytes());
        let packet = *frame.packet();
        Some(Transmit {
            body: Body::Frame(frame),
            len: packet.len,
            tos: packet.tos,
            kind: packet.kind,
        })
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        if let Some(arrived) = self.arrived.as_ref().filter(|arrived| arrived.receives) {
            probe.put("goodput_bytes", "bytes", arrived.payload_bytes as f64);
            probe.put("ce_received", "packets", arrived.ce as f64);
        }
    }

    fn totals(&self) -> FlowProbe {
        let Some(arrived) = &self.arrived else { return FlowProbe::default() };
        let mut totals = vec![
            ("delivered_bytes", arrived.payload_bytes as f64),
            ("packets_received", arrived.packets as f64),
        ];
        if arrived.receives {
            totals.push(("ce_received", arrived.ce as f64));
        }
        FlowProbe(totals)
    }
}
