use std::net::Ipv4Addr;

use sojourn_wire::Addresses;

use super::*;

/// The flow of a TCP segment between the ports of one, with these bits as flags and fragment offset of IP.
fn flow_of(flags_and_offset: [u8; 2]) -> Option<usize> {
    let [source, destination] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];
    let addresses = Addresses::V4 { source, destination };
    let header = ip::Header { addresses, protocol: ip::TCP, tos: 0, id: 0 };
    let mut packet = [0; 128];
    let packet = header.write(&mut packet, 100).expect("there is room");
    packet[6..8].copy_from_slice(&flags_and_offset);
    packet[20..22].copy_from_slice(&40_000_u16.to_be_bytes());
    packet[22..24].copy_from_slice(&(FIRST_PORT + 3).to_be_bytes());
    // A header of five words of 32 bits.
    packet[32] = 5 << 4;
    number(&Ip::parse(packet).expect("a packet"), 10)
}

#[test]
fn what_a_fragment_holds_is_not_read_as_ports() {
    assert_eq!(flow_of([0x40, 0]), Some(3));
    assert_eq!(flow_of([0x20, 0]), None, "the first fragment");
    assert_eq!(flow_of([0, 1]), None, "the last fragment");
}
