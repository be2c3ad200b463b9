//! Which packets are inside a tunnel at which port, and what shows of them there.

use std::collections::BTreeMap;

use sojourn_core::Packet;
use sojourn_scenario::{Role, Topology};
use sojourn_wire::ethernet::HEADER_BYTES;
use sojourn_wire::{Addresses, udp};

/// WireGuard's port, by which tools know it.
const PORT: u16 = 51820;
/// A message that carries data, encrypted: type, receiver's index, counter.
const DATA: u8 = 4;
const COUNTER_AT: usize = 8;
const MESSAGE_BYTES: usize = 16;

/// The tunnels around ports, for each direction of each flow.
pub(crate) struct Tunnels(BTreeMap<(usize, u32), usize>);

impl Tunnels {
    pub(crate) fn of(topology: &Topology) -> Self {
        let mut around = BTreeMap::new();
        for (number, routes) in topology.flows.iter().chain(&topology.pings).enumerate() {
            for (direction, is_forward) in [true, false].into_iter().enumerate() {
                for route in routes {
                    let mut inside = Vec::new();
                    for &port in route.way(is_forward) {
                        match topology.ports[port].role {
                            Role::Encap(tunnel) => inside.push(tunnel),
                            Role::Decap(_) => drop(inside.pop()),
                            Role::Ingress(_) | Role::Egress => {
                                if let Some(tunnel) = inside.last() {
                                    around.insert((port, (2 * number + direction) as u32), *tunnel);
                                }
                            }
                        }
                    }
                }
            }
        }
        Self(around)
    }

    /// The innermost tunnel of packets of a flow's direction at a port.
    pub(crate) fn around(&self, port: usize, flow: u32) -> Option<usize> {
        self.0.get(&(port, flow)).copied()
    }
}

/// Writes what shows of a packet within a tunnel: outer headers, and bytes that nobody can read.
pub(crate) fn write<'a>(
    packet: &Packet,
    tunnel: usize,
    addresses: Addresses,
    out: &'a mut [u8],
) -> Option<&'a mut [u8]> {
    let headers = HEADER_BYTES + addresses.header_len() + udp::HEADER_BYTES;
    let mut message = vec![0; (packet.len as usize).checked_sub(headers)?];
    if let Some(head) = message.get_mut(..MESSAGE_BYTES) {
        head[0] = DATA;
        head[4..COUNTER_AT].copy_from_slice(&(tunnel as u32).to_le_bytes());
        head[COUNTER_AT..].copy_from_slice(&u64::from(packet.ack).to_le_bytes());
    }
    let (source, destination) = (PORT, PORT);
    let header =
        udp::Header { addresses, source, destination, tos: packet.tos, id: packet.ack as u16 };
    header.write(&message, out)
}
