use proptest::prelude::*;

use super::*;

// RFC 3550 6.1, 6.4.1.
#[test]
fn packets_of_a_compound_datagram_are_read() {
    let mut bytes = vec![0x81, 200, 0, 12, 0, 0, 0, 1, 9, 9, 1, 2, 3, 4, 9, 9];
    bytes.extend([0; 12]); // RTP time, packets, octets
    bytes.extend([0, 0, 0, 7, 64, 0, 0, 3, 0, 0, 0, 99, 0, 0, 3, 32]);
    bytes.extend([0, 1, 0, 0, 0, 0, 128, 0]);
    bytes.extend([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7]); // a picture is lost
    let packets: Vec<_> = Packets::new(&bytes).expect("RTCP").collect();
    assert_eq!(packets.len(), 2);
    assert_eq!((packets[0].kind(), packets[1].kind()), (Kind::SenderReport, Kind::PictureLoss));
    assert_eq!(packets[0].ntp_middle(), Some(0x0102_0304));
    let reports: Vec<_> = packets[0].reception_reports().collect();
    let report = ReceptionReport {
        ssrc: 7,
        fraction_lost: 64,
        jitter: 800,
        last_sr: 0x1_0000,
        delay_since_last_sr: 0x8000,
    };
    assert_eq!(reports, [report]);
    assert_eq!(packets[1].reception_reports().count(), 0);
}

// RFC 3550 A.2.
#[test]
fn lengths_must_fill_the_datagram() {
    let report = [0x80, 201, 0, 1, 0, 0, 0, 1];
    assert!(Packets::new(&report).is_some());
    assert!(Packets::new(&report[..7]).is_none());
    assert!(Packets::new(&[&report[..], &[0; 4]].concat()).is_none());
    assert!(Packets::new(&[]).is_none());
    assert!(Packets::new(&[0x80, 199, 0, 1, 0, 0, 0, 1]).is_none(), "no known type");
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for packet in Packets::new(&bytes).into_iter().flatten() {
            let _ = (packet.kind(), packet.ntp_middle());
            prop_assert!(packet.reception_reports().count() <= 31);
        }
    }
}
