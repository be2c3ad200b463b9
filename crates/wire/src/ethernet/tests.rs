use proptest::prelude::*;

use super::*;

fn frame(kinds: &[u16], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02; 12];
    for (place, kind) in kinds.iter().enumerate() {
        if place > 0 {
            frame.extend([0, 7]);
        }
        frame.extend(kind.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

#[test]
fn ip_begins_behind_the_tags() {
    assert_eq!(ip_at(&frame(&[IPV4], b"E")), Ok(14));
    assert_eq!(ip_at(&frame(&[0x8100, IPV4], b"E")), Ok(18));
    assert_eq!(ip_at(&frame(&[0x88a8, 0x8100, IPV6], b"`")), Ok(22));
    assert_eq!(ip_at(&frame(&[0x88a8, 0x8100, 0x8100, IPV4], b"E")), Err(Other::Protocol));
}

#[test]
fn what_is_not_for_a_queue_has_a_reason() {
    assert_eq!(ip_at(&frame(&[ARP], &[0; 28])), Err(Other::Arp));
    assert_eq!(ip_at(&frame(&[0x8100, ARP], &[0; 28])), Err(Other::Arp));
    assert_eq!(ip_at(&frame(&[0x0026], &[0x42; 38])), Err(Other::Protocol), "a length: STP");
    assert_eq!(ip_at(&[0; 13]), Err(Other::Short));
    assert_eq!(ip_at(&frame(&[0x8100], &[])), Err(Other::Short));
    let icmp = |kind: u8| {
        let mut packet = vec![0; 48];
        (packet[0], packet[6], packet[40]) = (0x60, 58, kind);
        ip_at(&frame(&[IPV6], &packet))
    };
    assert_eq!(
        [132, 133, 137, 138].map(icmp),
        [Ok(14), Err(Other::Discovery), Err(Other::Discovery), Ok(14)]
    );
}

#[test]
fn a_tag_is_put_where_the_type_was() {
    let mut buffer = frame(&[IPV4], b"packet");
    let len = buffer.len();
    buffer.resize(len + TAG_BYTES, 0);
    assert_eq!(put_tag(&mut buffer, len, 0x8100, 7), Some(len + 4));
    assert_eq!(buffer, frame(&[0x8100, IPV4], b"packet"));
    assert_eq!(put_tag(&mut buffer, len + 4, 0x8100, 7), None, "no room");
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..80), tagged: bool) {
        let mut bytes = bytes;
        if tagged && bytes.len() > 14 {
            bytes[12..14].copy_from_slice(&[0x81, 0]);
        }
        if let Ok(at) = ip_at(&bytes) {
            prop_assert!([14, 18, 22].contains(&at) && at <= bytes.len());
        }
    }

    #[test]
    fn a_completed_sum_is_that_of_the_datagram(payload in proptest::collection::vec(any::<u8>(), 8..60)) {
        use crate::{Addresses, checksum::of_transport};
        let addresses = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        let mut datagram = payload;
        datagram[6..8].fill(0);
        let wanted = of_transport(&addresses, 17, &datagram);
        // The pseudo-header's sum, as the kernel leaves it.
        let pseudo = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 17][..], &(datagram.len() as u16).to_be_bytes()].concat();
        datagram[6..8].copy_from_slice(&(!crate::checksum::of(&pseudo)).to_be_bytes());
        prop_assert!(complete_checksum(&mut datagram, 0, 6));
        let wanted = if wanted == 0 { u16::MAX } else { wanted };
        prop_assert_eq!(crate::be16(&datagram, 6), wanted);
        let len = datagram.len();
        prop_assert!(!complete_checksum(&mut datagram, len, 0));
        prop_assert!(!complete_checksum(&mut datagram, usize::MAX, 2));
    }
}
