//! What Wireshark's programs read in a file that is written here.

use std::path::{Path, PathBuf};
use std::process::Command;

use sojourn_capture::write::{Direction, Interface, Packet, Section, Writer};
use sojourn_core::Time;

/// IPv4, UDP from 10.0.0.1:5000 to 10.0.0.2:6000, marked CE, no payload.
const DATAGRAM: [u8; 28] = [
    0x45, 0x03, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x26, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88,
    0x17, 0x70, 0, 8, 0, 0,
];

fn write(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sojourn-{}-{name}.pcapng", std::process::id()));
    let section = Section {
        hardware: "x86_64",
        os: "Linux 7.2",
        application: "sojourn 0.1.0",
        comment: "two queues",
    };
    let mut writer = Writer::create(&path, &section).unwrap();
    let description = "shaped to 50 Mbit/s";
    let interface = Interface { name: "bneck", description, snap_len: 128, ..Interface::default() };
    let bneck = writer.interface(&interface).unwrap();
    let access = writer.interface(&Interface { name: "access", ..interface }).unwrap();
    let packet = Packet {
        interface: bneck,
        time: Time(1_700_000_000_000_000_001),
        bytes: &DATAGRAM,
        direction: Direction::Outbound,
        id: Some(17),
        comment: "dualpi2: l_delay 1.2ms",
        ..Packet::default()
    };
    writer.packet(&packet).unwrap();
    let later = Time(1_700_000_001_000_000_003);
    writer.packet(&Packet { interface: access, time: later, comment: "", ..packet }).unwrap();
    writer.lost(access, 4);
    writer.keep().unwrap();
    path
}

/// What a program prints of a file, which is then removed.
fn printed(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output().unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg_attr(not(tshark), ignore = "tshark is not installed")]
fn tshark_reads_times_interfaces_comments_and_checksums() {
    let path = write("tshark");
    #[rustfmt::skip]
    let arguments = [
        "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=|",
        "-e", "frame.time_epoch", "-e", "frame.interface_name", "-e", "frame.interface_description",
        "-e", "frame.packet_flags_direction", "-e", "frame.packet_id", "-e", "frame.comment",
        "-e", "ip.dsfield.ecn", "-e", "ip.checksum.status", "-e", "udp.dstport", "-r",
    ];
    let read = printed("tshark", &arguments, &path);
    let lines = [
        "1700000000.000000001|bneck|shaped to 50 Mbit/s|0x00000002|17|dualpi2: l_delay 1.2ms|3|1|6000",
        "1700000001.000000003|access|shaped to 50 Mbit/s|0x00000002|17||3|1|6000",
    ];
    assert_eq!(read.lines().collect::<Vec<_>>(), lines);
}

#[test]
#[cfg_attr(not(capinfos), ignore = "capinfos is not installed")]
fn capinfos_reads_section_and_statistics() {
    let path = write("capinfos");
    let read = printed("capinfos", &[], &path);
    let squeezed: Vec<String> =
        read.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "File encapsulation: Raw IP",
        "File timestamp precision: nanoseconds (9)",
        "Number of packets: 2",
        "Capture hardware: x86_64",
        "Capture oper-sys: Linux 7.2",
        "Capture application: sojourn 0.1.0",
        "Capture comment: two queues",
        "Number of interfaces in file: 2",
        "Name = access",
        "Description = shaped to 50 Mbit/s",
        "Capture length = 128",
        "Number of stat entries = 1",
    ] {
        assert!(squeezed.iter().any(|line| line == expected), "`{expected}` is not in:\n{read}");
    }
}
