use std::io::{Cursor, Read};
use std::path::Path;

use proptest::prelude::*;
use sojourn_core::Time;

use super::{Capture, Error};
use crate::LinkType;
use crate::facts::{Compression, Facts, Format};
use crate::write::{Direction, Interface, Packet, Section, Writer};

/// Three records of raw IP, one, two and three seconds after each other, of 28, 29 and 30 bytes cut at 28.
const THREE: &[u8] = include_bytes!("tests/three.pcap");

/// What is compared of a record.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    time: u64,
    interface: u32,
    link: LinkType,
    original_len: u32,
    bytes: Vec<u8>,
    comments: Vec<String>,
}

fn open(bytes: &[u8]) -> Result<Capture, Error> {
    Capture::read(Cursor::new(bytes.to_vec()), Path::new("a.pcap"))
}

fn read(bytes: &[u8]) -> (Vec<Seen>, Facts) {
    let mut capture = open(bytes).unwrap();
    let mut seen = Vec::new();
    while let Some(record) = capture.next() {
        seen.push(Seen {
            time: record.time.0,
            interface: record.interface,
            link: record.link,
            original_len: record.original_len,
            bytes: record.bytes.to_vec(),
            comments: record.options.comments().map(str::to_owned).collect(),
        });
    }
    (seen, capture.facts().clone())
}

/// Words of either byte order.
struct Bytes(Vec<u8>, bool);

impl Bytes {
    fn u16(mut self, value: u16) -> Self {
        self.0.extend(if self.1 { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(if self.1 { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(if self.1 { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn block(self, kind: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let Self(body, is_big) = body(Self(Vec::new(), self.1));
        let len = body.len() as u32 + 12;
        Self(self.0, is_big).u32(kind).u32(len).raw(&body).u32(len)
    }

    fn section(self) -> Self {
        self.block(0x0a0d_0d0a, |body| body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX))
    }

    fn interface(self, link: u16, resolution: u8, offset: u64) -> Self {
        self.block(1, |body| {
            let body = body.u16(link).u16(0).u32(6).u16(9).u16(1).raw(&[resolution, 0, 0, 0]);
            body.u16(14).u16(8).u64(offset).u32(0)
        })
    }

    fn packet(self, interface: u32, time: u64) -> Self {
        self.block(6, |body| {
            let body = body.u32(interface).u32((time >> 32) as u32).u32(time as u32);
            body.u32(5).u32(9).raw(b"Hello\0\0\0").u16(1).u16(2).raw(b"ok\0\0").u32(0)
        })
    }
}

#[test]
fn every_variant_of_pcap_gives_the_same_records() {
    for is_big in [false, true] {
        for (magic, fraction, extra) in
            [(0xa1b2_c3d4, 5, 0), (0xa1b2_3c4d, 5000, 0), (0xa1b2_cd34, 5, 8)]
        {
            // The check sequence's length is in the upper half of the link type.
            let header = Bytes(Vec::new(), is_big).u32(magic).u16(2).u16(4).u64(0).u32(96);
            let file = header.u32(0x4400_0001).u32(1_700_000_000).u32(fraction).u32(3).u32(1500);
            let (seen, facts) = read(&file.raw(&[9; 8][..extra]).raw(b"abc").0);
            assert_eq!(
                seen,
                [Seen {
                    time: 1_700_000_000_000_005_000,
                    interface: 0,
                    link: LinkType::ETHERNET,
                    original_len: 1500,
                    bytes: b"abc".to_vec(),
                    comments: vec![],
                }]
            );
            assert_eq!((facts.format, facts.records, facts.cut_records), (Format::Pcap, 1, 1));
            assert_eq!(facts.interfaces[0].snap_len, 96);
            assert_eq!(facts.damage, []);
        }
    }
}

#[test]
fn compressed_files_of_several_members_read_as_plain_ones() {
    let (plain, facts) = read(THREE);
    assert_eq!(plain.len(), 3);
    assert_eq!((facts.compression, facts.damaged_places), (None, 0));
    for (bytes, compression) in [
        (&include_bytes!("tests/three.pcap.gz")[..], Compression::Gzip),
        (include_bytes!("tests/three.pcap.xz"), Compression::Xz),
        (include_bytes!("tests/three.pcap.zst"), Compression::Zstd),
    ] {
        let (seen, facts) = read(bytes);
        assert_eq!(seen, plain);
        assert_eq!((facts.compression, facts.damage), (Some(compression), vec![]));
        // Without its last bytes it is damaged, and what was decoded is there.
        let (seen, facts) = read(&bytes[..bytes.len() - 20]);
        assert_eq!(seen, plain[..seen.len()]);
        assert_eq!(facts.damaged_places, 1, "{compression:?}");
    }
}

#[test]
fn sections_of_both_byte_orders_keep_their_interfaces_apart() {
    for is_big in [false, true] {
        let first = Bytes(Vec::new(), is_big).section().interface(1, 6, 0).interface(101, 9, 0);
        let first = first.packet(1, 7).packet(0, 7).block(0xbad, |body| body.u32(0));
        let second = Bytes(Vec::new(), !is_big).section().interface(113, 0x8a, 1).packet(0, 512);
        let (seen, facts) = read(&[first.0, second.0].concat());
        let of = |time, interface, link| Seen {
            time,
            interface,
            link,
            original_len: 9,
            bytes: b"Hello".to_vec(),
            comments: vec!["ok".to_owned()],
        };
        let expected = [
            of(7, 1, LinkType::RAW),
            of(7000, 0, LinkType::ETHERNET),
            // Half a second, and the offset of one second.
            of(1_500_000_000, 2, LinkType::LINUX_SLL),
        ];
        assert_eq!(seen, expected);
        assert_eq!((facts.format, facts.damaged_places), (Format::PcapNg, 0));
        let resolutions = facts.interfaces.iter().map(|i| (i.resolution_s, i.records));
        assert_eq!(resolutions.collect::<Vec<_>>(), [(1e-6, 1), (1e-9, 1), (1.0 / 1024.0, 1)]);
    }
}

#[test]
fn simple_and_obsolete_packets_and_statistics_are_read() {
    let file = Bytes(Vec::new(), true).section().interface(101, 9, 0);
    // A: interface and drops in 16 bits each.
    let file = file.block(2, |body| body.u16(0).u16(3).u64(77).u32(2).u32(2).raw(&[1, 2, 0, 0]));
    // 4.4: no time, and the interface's snap length of 6 bytes.
    let file = file.block(3, |body| body.u32(50).raw(&[1, 2, 3, 4, 5, 6, 0, 0]));
    let file = file
        .block(5, |body| body.u32(0).u64(80).u16(4).u16(8).u64(1000).u16(5).u16(8).u64(11).u32(0));
    let (seen, facts) = read(&file.0);
    let brief: Vec<_> = seen.iter().map(|s| (s.time, s.original_len, s.bytes.len())).collect();
    assert_eq!(brief, [(77, 2, 2), (77, 50, 6)]);
    assert_eq!((facts.without_time, facts.cut_records), (1, 1));
    assert_eq!((facts.interfaces[0].received, facts.interfaces[0].dropped), (Some(1000), Some(11)));
}

#[test]
fn a_file_that_ends_anywhere_gives_its_whole_records_and_says_so() {
    for len in 24..THREE.len() {
        let (seen, facts) = read(&THREE[..len]);
        let whole = (len - 24) / 44;
        assert_eq!(seen.len(), whole);
        let left = (len - 24) % 44;
        assert_eq!(facts.damaged_bytes, left as u64);
        assert_eq!(facts.bytes, len as u64);
        if left > 0 {
            let line = format!(
                "at byte {}, after {whole} records: the file ends within a record; {left} bytes not read",
                24 + whole * 44
            );
            assert_eq!(facts.damage[0].to_string(), line);
        }
    }
}

#[test]
fn a_record_of_absurd_length_ends_a_pcap_file_without_being_read() {
    let mut file = THREE.to_vec();
    file[24 + 44 + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let (seen, facts) = read(&file);
    assert_eq!(seen.len(), 1);
    assert_eq!((facts.damage[0].offset, facts.damage[0].bytes), (68, 88));
    assert!(facts.damage[0].reason.contains("4294967295"));
}

#[test]
fn reading_goes_on_behind_a_damaged_block() {
    let file = Bytes(Vec::new(), false).section().interface(101, 9, 0).0;
    let header = file.len();
    let mut file = Bytes(file, false).packet(0, 1).packet(0, 2).packet(0, 3).0;
    let block = (file.len() - header) / 3;
    for damaged in [0_u32, 13, 0x0100_0000, u32::MAX, block as u32 + 4, block as u32 - 4] {
        file[header + block + 4..][..4].copy_from_slice(&damaged.to_le_bytes());
        let (seen, facts) = read(&file);
        assert_eq!(seen.iter().map(|seen| seen.time).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(facts.damage.len(), 1);
        assert_eq!(facts.damage[0].offset, (header + block) as u64);
        assert_eq!((facts.damage[0].bytes, facts.damage[0].after_records), (block as u64, 1));
    }
}

#[test]
fn a_packet_of_an_interface_that_is_not_described_is_damage() {
    let file = Bytes(Vec::new(), false).section().interface(101, 9, 0).packet(5, 1).packet(0, 2);
    let (seen, facts) = read(&file.0);
    assert_eq!(seen.len(), 1);
    assert!(facts.damage[0].reason.contains("not described"));
}

#[test]
fn what_is_no_capture_is_refused_in_one_line() {
    for (bytes, expected) in [
        (&b""[..], "found nothing"),
        (b"[[link]]\nname = 1\n rate is something", "found the bytes 5b 5b 6c 69"),
    ] {
        let error = open(bytes).err().unwrap().to_string();
        assert!(error.starts_with("a.pcap: expected a capture"), "{error}");
        assert!(error.ends_with(expected), "{error}");
    }
    let missing = Capture::open(Path::new("/nowhere/a.pcap")).err().unwrap().to_string();
    assert!(missing.starts_with("/nowhere/a.pcap: No such file"), "{missing}");
}

#[test]
fn times_that_go_back_are_counted_and_kept() {
    let file = Bytes(Vec::new(), false).section().interface(101, 9, 0);
    let file = file.packet(0, 50).packet(0, 40).packet(0, 45).packet(0, 60);
    let (seen, facts) = read(&file.0);
    assert_eq!(seen.iter().map(|seen| seen.time).collect::<Vec<_>>(), [50, 40, 45, 60]);
    assert_eq!((facts.out_of_order, facts.first, facts.last), (2, Some(Time(40)), Some(Time(60))));
}

/// Gives a byte at a time, as a slow pipe does.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = out.len().min(1);
        self.0.read(&mut out[..most])
    }
}

#[test]
fn a_slow_stream_gives_the_same_records() {
    let mut capture =
        Capture::read(Slow(Cursor::new(THREE.to_vec())), Path::new("standard input")).unwrap();
    let mut records = 0;
    while capture.next().is_some() {
        records += 1;
    }
    assert_eq!((records, capture.facts().damaged_places), (3, 0));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        packets in proptest::collection::vec(
            (0_usize..3, any::<u64>(), proptest::collection::vec(any::<u8>(), 0..300), 0_u32..2000, "\\PC{0,40}"),
            0..40,
        ),
    ) {
        let section = Section { os: "Linux", application: "sojourn", ..Section::default() };
        let mut writer = Writer::new(Vec::new(), &section).unwrap();
        let links = [LinkType::RAW, LinkType::ETHERNET, LinkType::NULL];
        let ids = links.map(|link| {
            let interface = Interface { name: "one", link, snap_len: 200, ..Interface::default() };
            writer.interface(&interface).unwrap()
        });
        let mut expected = Vec::new();
        for (which, time, bytes, original_len, comment) in &packets {
            writer.packet(&Packet {
                interface: ids[*which],
                time: Time(*time),
                bytes,
                original_len: *original_len,
                direction: Direction::Inbound,
                id: Some(*time),
                comment,
            }).unwrap();
            expected.push(Seen {
                time: *time,
                interface: *which as u32,
                link: links[*which],
                original_len: (*original_len).max(bytes.len() as u32),
                bytes: bytes[..bytes.len().min(200)].to_vec(),
                comments: if comment.is_empty() { vec![] } else { vec![comment.clone()] },
            });
        }
        let file = writer.finish().unwrap();
        let (seen, facts) = read(&file);
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(facts.damaged_places, 0);
        prop_assert_eq!(facts.section.os, "Linux");
        prop_assert_eq!(facts.bytes, file.len() as u64);
        let received: u64 = facts.interfaces.iter().map(|i| i.received.unwrap()).sum();
        prop_assert_eq!(received, packets.len() as u64);
    }

    #[test]
    fn damage_takes_no_record_before_it(at in 48_usize..600, value: u8) {
        let mut file = Bytes(Vec::new(), false).section().interface(101, 9, 0);
        for time in 0..10 {
            file = file.packet(0, time);
        }
        let whole = file.0.clone();
        let mut bytes = file.0;
        let at = at.min(bytes.len() - 1);
        bytes[at] = value;
        let (seen, facts) = read(&bytes);
        let (all, _) = read(&whole);
        let header = whole.len() - 10 * 52;
        let before = at.saturating_sub(header) / 52;
        prop_assert_eq!(&seen[..before], &all[..before]);
        prop_assert_eq!(facts.bytes, bytes.len() as u64);
    }
}
