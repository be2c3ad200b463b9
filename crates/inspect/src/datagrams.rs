//! Flows of datagrams: UDP, ICMP and all protocols that are not TCP.

use sojourn_core::Time;
use sojourn_wire::ip;

use crate::Packet;
use crate::echo::Echoes;
use crate::events::Events;
use crate::quic::Connection;
use crate::report::{self, Protocol};
use crate::rtp::{Arrival, Session};
use crate::stream::Stream;

/// Bytes of a header of UDP, and of ICMP's echo.
const HEADER_BYTES: u32 = 8;

/// Both directions, and what each datagram may be of: nothing is kept before one looks like it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    forward: Stream,
    backward: Stream,
    echoes: Option<Box<Echoes>>,
    media: Option<Box<Session>>,
    quic: Option<Box<Connection>>,
}

impl Flow {
    pub(crate) fn packet(&mut self, protocol: u8, packet: &Packet<'_>) {
        let stream = if packet.forward { &mut self.forward } else { &mut self.backward };
        let data = packet.payload_len.saturating_sub(HEADER_BYTES);
        stream.packet(packet.at, packet.ip_len, data, packet.ecn);
        match protocol {
            ip::ICMP | ip::ICMPV6 => {
                let echoes = self.echoes.get_or_insert_with(Box::default);
                echoes.on_icmp(packet.at, packet.forward, packet.payload);
            }
            ip::UDP => self.datagram(packet),
            _ => {}
        }
    }

    fn datagram(&mut self, packet: &Packet<'_>) {
        let Some((head, payload)) = packet.payload.split_first_chunk::<{ HEADER_BYTES as usize }>()
        else {
            return;
        };
        let ports = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_be_bytes);
        let said = usize::from(u16::from_be_bytes([head[4], head[5]]));
        // RFC 768: what is behind the length that the header says is no payload; 0 is that of a jumbogram, or left
        // to the network interface.
        let most = (packet.payload_len - HEADER_BYTES) as usize;
        let len = said.checked_sub(HEADER_BYTES as usize).map_or(most, |len| len.min(most));
        let payload = &payload[..payload.len().min(len)];
        let Packet { at, forward, ecn, .. } = *packet;
        if let Some(quic) = self.quic.as_deref_mut().filter(|quic| quic.is_recognised()) {
            quic.on_packet(at, forward, payload, len, ecn);
        } else if Session::is_candidate(payload) {
            let arrival = Arrival { time: Time(at), forward, payload, len, ecn };
            self.media.get_or_insert_with(Box::default).on_packet(&arrival);
        } else if Connection::is_candidate(payload) {
            let quic = self.quic.get_or_insert_with(Box::default);
            quic.on_packet(at, forward, payload, len, ecn);
        } else if Echoes::is_candidate(ports, payload) {
            let echoes = self.echoes.get_or_insert_with(Box::default);
            echoes.on_udp(at, forward, ports, payload);
        }
    }

    pub(crate) fn report(self, protocol: u8, flow: &mut report::Flow) -> Events {
        flow.media = self.media.and_then(|media| media.finish());
        flow.quic = self.quic.and_then(|quic| quic.finish());
        flow.protocol = match protocol {
            ip::UDP if flow.media.is_some() => Protocol::Rtp,
            ip::UDP if flow.quic.is_some() => Protocol::Quic,
            ip::UDP => Protocol::Udp,
            ip::ICMP | ip::ICMPV6 => Protocol::Icmp,
            _ => Protocol::Other,
        };
        flow.forward = self.forward.report();
        flow.backward = self.backward.report();
        if let Some(echoes) = self.echoes {
            let [forward, backward] = echoes.finish();
            for (way, (questions, rtt)) in
                [(&mut flow.forward, forward), (&mut flow.backward, backward)]
            {
                (way.questions, way.rtt_echo_ms) = (questions, rtt.distribution());
            }
        }
        Events::default()
    }
}
