use sojourn_core::wire::rtp;
use sojourn_core::{Ecn, Time};
use sojourn_transport::media::feedback::{Recorder, Report};

use super::*;
use crate::{Addresses, Ip};

fn udp_header() -> udp::Header {
    let addresses =
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    udp::Header { addresses, source: 5201, destination: 5201, tos: 1, id: 0 }
}

/// The payload of a message as it arrives.
fn sent(message: &Message) -> Vec<u8> {
    let mut out = [7; 1500];
    let packet = udp_header().write_media(message, &mut out).expect("room");
    let ip = Ip::parse(packet).expect("a packet");
    assert_eq!(ip.has_valid_payload(), Some(true));
    udp::Header::parse(&ip).expect("UDP").1.to_vec()
}

fn data(bytes: u32) -> Data {
    Data {
        seq: 65_537,
        number: 3,
        sent: Time(5_000_000),
        bytes,
        frame: 2,
        packets: 4,
        captured: Time(2_000_000_000),
        marker: true,
        stream: 1,
    }
}

// RFC 3550 5.1: version 2, marker and type, number, timestamp, source.
#[test]
fn a_media_packet_is_rtp_of_its_length() {
    for bytes in [HEADERS, HEADERS + 1, 1240] {
        let payload = sent(&Message::Data(data(bytes)));
        assert_eq!(payload.len() as u32 + 28, bytes);
        assert_eq!(payload[..4], [0x80, 0xe2, 0, 1]);
        let header = rtp::Header::parse(&payload).expect("RTP");
        assert_eq!((header.timestamp, header.ssrc), (180_000, rtp::TOOL_SSRC + 1));
        assert_eq!(header.payload, bytes - HEADERS);
        assert!(payload[HEADER_BYTES..].iter().all(|byte| *byte == 0));
    }
    assert!(udp_header().write_media(&Message::Data(data(1000)), &mut [0; 999]).is_none());
}

// RFC 8888 3.1: each word arrives as it was written.
#[test]
fn a_report_reads_as_it_was_written() {
    let mut recorder = Recorder::default();
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    for seq in (0..70_u64).filter(|seq| seq % 7 != 3) {
        let at = Time(1_000_000_000 + seq * 3_000_000);
        recorder.on_packet(at, 65_500 + seq, ecn[seq as usize % 4]);
    }
    let mut reports = 0;
    for now in [1_300_000_000, 60_000_000_000] {
        let report = recorder.report(Time(now)).expect("news");
        let payload = sent(&Message::Feedback(report.clone()));
        assert_eq!(payload.len() as u32, report.bytes());
        assert_eq!(Report::read(&payload), Some(report));
        reports += 1;
    }
    assert_eq!(reports, 2);
    assert_eq!(Report::read(&[0x8b, 205, 0, 1, 0, 0, 0, 10]), None);
    assert_eq!(sent(&Message::Rtcp([1, 2, 3].into())), [1, 2, 3]);
}
