//! Captures that can be given away: other addresses with the same common prefixes, headers, and nothing else.
//!
//! A copy begins as zeros. Into it go times, lengths, and of each packet the headers that are known here, with the
//! addresses changed and the checksums brought up to date, so that a wrong one stays wrong. MAC addresses, payload,
//! options that identify hosts, comments, and all that is not understood stay zero or are left out.

mod addresses;
mod packet;

use std::io::{self, Write};

use crate::write::{Interface, InterfaceId, Packet, Writer};
use crate::{Capture, Record};

pub use addresses::{Addresses, Key};

/// Copies what is left of a capture; the writer is to be finished by the caller. Gives the number of packets.
///
/// # Errors
/// Writing fails. Damage is in the facts of the capture.
pub fn copy<W: Write>(
    from: &mut Capture,
    to: &mut Writer<W>,
    addresses: &mut Addresses,
) -> io::Result<u64> {
    let mut interfaces: Vec<InterfaceId> = Vec::new();
    let mut bytes = Vec::new();
    let mut packets = 0;
    while let Some(record) = from.next() {
        let (time, original_len, which) = (record.time, record.original_len, record.interface);
        let (direction, id) = (record.options.direction(), record.options.id());
        rewrite(&record, addresses, &mut bytes);
        for interface in &from.facts().interfaces[interfaces.len()..] {
            let crate::facts::Interface { name, link, snap_len, .. } = interface;
            let interface =
                Interface { name, link: *link, snap_len: *snap_len, ..Interface::default() };
            interfaces.push(to.interface(&interface)?);
        }
        let interface = interfaces[which as usize];
        let packet =
            Packet { interface, time, bytes: &bytes, original_len, direction, id, comment: "" };
        to.packet(&packet)?;
        packets += 1;
    }
    for (id, interface) in interfaces.iter().zip(&from.facts().interfaces) {
        to.lost(*id, interface.dropped.unwrap_or(0));
    }
    Ok(packets)
}

/// Makes the copy of one record's bytes.
pub fn rewrite(record: &Record<'_>, addresses: &mut Addresses, out: &mut Vec<u8>) {
    out.clear();
    out.resize(record.bytes.len(), 0);
    packet::Copy { source: record.bytes, out, addresses }.record(record.link);
}

#[cfg(test)]
mod tests;
