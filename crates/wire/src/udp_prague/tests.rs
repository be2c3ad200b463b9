use super::*;
use crate::{Addresses, Ip};

fn passed(sent: u64, arrives: u64, message: &Message) -> Option<(Vec<u8>, Message)> {
    let addresses =
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let header = Header { addresses, source: 5201, destination: 5201, tos: 1, id: 0 };
    let mut out = [7; 1500];
    let packet = header.write_counted(Time(sent), message, &mut out)?;
    let ip = Ip::parse(packet).expect("a packet");
    let (_, payload) = Header::parse(&ip).expect("UDP");
    Some((payload.to_vec(), read(Time(arrives), payload).expect("a message")))
}

// pkt_format.h: datamessage_t and ackmessage_t, packed, in network order.
#[test]
fn messages_have_the_layout_of_udp_prague() {
    let data = |len| Message::Data(Data { seq: 0x0102, sent: Time(3_000), len });
    let (bytes, message) = passed(3_000, 9_000, &data(15)).expect("room");
    assert_eq!(bytes, [1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0]);
    let Message::Data(Data { seq, sent, len }) = message else { panic!("data") };
    assert_eq!((seq, sent, len), (0x0102, Time(3_000), 15));
    assert!(passed(0, 0, &data(12)).is_none(), "no room for its header");
    let report = Report { seq: 9, echo: Time(4_000), received: 8, ce: 5, lost: 1, error: true };
    let (bytes, message) = passed(6_000, 9_000, &Message::Report(report)).expect("room");
    assert_eq!(bytes.len(), 26);
    assert_eq!(bytes[..13], [17, 0, 0, 0, 9, 0, 0, 0, 6, 0, 0, 0, 4]);
    assert_eq!(bytes[13..], [0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 1, 1]);
    let Message::Report(read) = message else { panic!("a report") };
    let all = |r: Report| (r.seq, r.echo, r.received, r.ce, r.lost, r.error);
    assert_eq!(all(read), all(report));
}

#[test]
fn times_outlive_their_32_bits() {
    let wrap = (1 << 32) * NS_PER_US;
    for (sent, arrives) in [(wrap - 5_000, wrap + 20_000_000), (3 * wrap + 1_000, 3 * wrap + 2_000)]
    {
        let data = Message::Data(Data { seq: 1, sent: Time(sent), len: 1000 });
        let (_, message) = passed(sent, arrives, &data).expect("room");
        let Message::Data(data) = message else { panic!("data") };
        assert_eq!(data.sent, Time(sent));
    }
}

#[test]
fn what_is_short_or_of_another_kind_is_none() {
    for bytes in [&[][..], &[1; 12], &[17; 25], &[2; 30]] {
        assert!(read(Time::ZERO, bytes).is_none(), "{bytes:?}");
    }
}
