//! A host outside, in the place of an end point.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sojourn_core::{Ecn, Packet, Time};
use sojourn_live::clock::Clock;
use sojourn_live::device::{Device, Head};
use sojourn_live::tun::Written;
use sojourn_transport::{Body, Endpoint, Frame, Transmit};
use sojourn_wire::packet::{Checksum, write_back};
use sojourn_wire::split::{Cwr, Split};

use crate::Carried;

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
}

impl Portal {
    pub(crate) fn new(device: Arc<dyn Device>, clock: Clock, exchange: Shared) -> Self {
        Self { device, clock, exchange, changed: Vec::new() }
    }

    /// Leaves of a super-packet one segment, which is finished.
    fn cut(&mut self, frame: &Frame, part: u8, head: Head) {
        let (front, bytes) = self.changed.split_at_mut(head.len);
        let cuts = head.segments.and_then(|segments| {
            let cwr = if segments.cwr_first { Cwr::First } else { Cwr::All };
            Split::new(frame.bytes(), segments.size, cwr).ok()
        });
        let segment = cuts.and_then(|cuts| Some(cuts.write(part.into(), bytes)?.len()));
        debug_assert!(segment.is_some(), "it was counted in segments");
        front.fill(0);
        self.changed.truncate(head.len + segment.unwrap_or_default());
    }
}

impl Endpoint for Portal {
    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Frame(frame) = body else { unreachable!("hosts outside send frames") };
        let header = frame.header();
        self.changed.clear();
        self.changed.extend_from_slice(header);
        self.changed.extend_from_slice(frame.bytes());
        let head = self.device.head(&self.changed);
        let checksum = match frame.part {
            Some(part) => {
                self.cut(frame, part, head);
                Checksum::Complete
            }
            None if head.is_partial => Checksum::Partial,
            None => Checksum::Complete,
        };
        let packet = Packet { tos: frame.tos, ace: frame.ace, ..*frame.packet() };
        let bytes = &mut self.changed[header.len()..];
        let written = write_back(&packet, bytes, checksum);
        debug_assert!(written.is_ok(), "what was read is written");
        self.device.left(now, bytes);
        // Before it is sent: the host's TCP works on it within that call.
        let lateness = self.clock.now().since(now);
        let sent = self.device.send(&self.changed);
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
}
