use sojourn_core::Time;

use super::{Direction, Interface, Packet, Section, Writer};
use crate::LinkType;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn a_capture_of_one_packet_has_the_bytes_of_the_specification() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let eth0 = Interface { name: "eth0", snap_len: 5, ..Interface::default() };
    let interface = writer.interface(&eth0).unwrap();
    let time = Time(0x1122_3344_5566_7788);
    let bytes = b"abcdefg";
    let packet = Packet { interface, time, bytes, comment: "CE", ..Packet::default() };
    writer.packet(&packet).unwrap();
    writer.lost(interface, 2);
    let written = words(&writer.finish().unwrap());
    #[rustfmt::skip]
    let expected = [
        // Section header: version 1.0, length unknown.
        0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28,
        // Interface: raw IP, snap length, if_name, if_tsresol 9, end of options.
        1, 40, 101, 5, 0x0004_0002, u32::from_le_bytes(*b"eth0"), 0x0001_0009, 9, 0, 40,
        // Packet: interface, time, kept, original, data in two words, comment in two, end of options.
        6, 52, 0, 0x1122_3344, 0x5566_7788, 5, 7, u32::from_le_bytes(*b"abcd"), u32::from(b'e'),
        0x0002_0001, u32::from_le_bytes(*b"CE\0\0"), 0, 52,
        // Statistics: interface, time, first, last, received, dropped, end of options.
        5, 76, 0, 0x1122_3344, 0x5566_7788, 0x0008_0002, 0x1122_3344, 0x5566_7788,
        0x0008_0003, 0x1122_3344, 0x5566_7788, 0x0008_0004, 3, 0, 0x0008_0005, 2, 0, 0, 76,
    ];
    assert_eq!(written, expected);
}

#[test]
fn flags_and_identifier_of_a_packet_are_options() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let link = LinkType::ETHERNET;
    let interface = writer.interface(&Interface { link, ..Interface::default() }).unwrap();
    let direction = Direction::Outbound;
    let packet = Packet { interface, direction, id: Some(7), ..Packet::default() };
    writer.packet(&packet).unwrap();
    let written = words(&writer.finish().unwrap());
    let packet = &written[7 + 8..];
    assert_eq!(packet[7..13], [0x0004_0002, 2, 0x0008_0005, 7, 0, 0]);
}

#[test]
fn a_comment_too_long_for_an_option_ends_with_a_whole_character() {
    let comment = "é".repeat(40_000);
    let section = Section { comment: &comment, ..Section::default() };
    let written = Writer::new(Vec::new(), &section).unwrap().finish().unwrap();
    let len = u16::from_le_bytes([written[26], written[27]]);
    assert_eq!(len, 65534);
    assert!(std::str::from_utf8(&written[28..28 + 65534]).is_ok());
}

#[test]
fn a_file_that_is_not_kept_leaves_nothing() {
    let folder = std::env::temp_dir().join(format!("sojourn-capture-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.pcapng");
    let files = || std::fs::read_dir(&folder).unwrap().count();

    let writer = Writer::create(&path, &Section::default()).unwrap();
    assert_eq!(files(), 1);
    assert!(!path.exists());
    drop(writer);
    assert_eq!(files(), 0);

    Writer::create(&path, &Section::default()).unwrap().keep().unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 28);
    assert_eq!(files(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}
