//! Flows of datagrams: UDP, ICMP and all protocols that are not TCP.

use sojourn_wire::ip;

use crate::Packet;
use crate::events::Events;
use crate::report::{self, Protocol};
use crate::stream::Stream;

/// Bytes of a header of UDP, and of ICMP's echo.
const HEADER_BYTES: u32 = 8;

/// Both directions.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    forward: Stream,
    backward: Stream,
}

impl Flow {
    pub(crate) fn packet(&mut self, packet: &Packet<'_>) {
        let stream = if packet.forward { &mut self.forward } else { &mut self.backward };
        let data = packet.payload_len.saturating_sub(HEADER_BYTES);
        stream.packet(packet.at, packet.ip_len, data, packet.ecn);
    }

    pub(crate) fn report(self, protocol: u8, flow: &mut report::Flow) -> Events {
        flow.protocol = match protocol {
            ip::UDP => Protocol::Udp,
            ip::ICMP | ip::ICMPV6 => Protocol::Icmp,
            _ => Protocol::Other,
        };
        flow.forward = self.forward.report();
        flow.backward = self.backward.report();
        Events::default()
    }
}
