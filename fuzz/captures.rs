//! Fuzzes captures from anybody: files of both formats, plain and compressed, cut and changed in bits, words and
//! pieces.
//!
//! Nothing may panic or hang. What is plain is accounted for to the byte; every record is looked through to its
//! innermost packet and copied without addresses; the copy has as many records, and no damage.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use sojourn_capture::anonymise::{self, Addresses, Key};
use sojourn_capture::write::{Interface, Packet, Section, Writer};
use sojourn_capture::{Capture, LinkType, layers};
use sojourn_core::{Rng, Time};
use sojourn_wire::{Addresses as Pair, ip};

use crate::computed;

/// The same three records, compressed.
const COMPRESSED: [&[u8]; 3] = [
    include_bytes!("../crates/capture/src/read/tests/three.pcap.gz"),
    include_bytes!("../crates/capture/src/read/tests/three.pcap.xz"),
    include_bytes!("../crates/capture/src/read/tests/three.pcap.zst"),
];
const PLAIN: &[u8] = include_bytes!("../crates/capture/src/read/tests/three.pcap");

/// Link types that are read.
const LINKS: [u16; 10] = [0, 1, 9, 51, 101, 104, 108, 113, 228, 276];

/// Reads changed files until there were `goal` or the time is over; announces each before. Gives the files, and
/// the records that were in them.
pub(crate) fn run(
    goal: u64,
    limit: Duration,
    seed: u64,
    mut announce: impl FnMut(String),
) -> Result<(u64, u64), String> {
    let start = computed();
    let mut addresses = Addresses::new(&Key([1; 32]));
    let (mut files, mut records) = (0, 0);
    while files < goal && (computed() < start + limit || files == 0) {
        announce(format!("file {files} of seed {seed}"));
        let mut rng = Rng::named(seed, &format!("captures.{files}"));
        let mut file = match rng.below(8) {
            0 => COMPRESSED[rng.below(3) as usize].to_vec(),
            1 => PLAIN.to_vec(),
            _ => blocks(&mut rng),
        };
        for _ in 0..rng.below(6) {
            spoil(&mut file, &mut rng);
        }
        records += check(&file, &mut addresses)
            .map_err(|fault| format!("file {files}: {fault}: {file:02x?}"))?;
        files += 1;
    }
    Ok((files, records))
}

pub(crate) fn check(file: &[u8], addresses: &mut Addresses) -> Result<u64, String> {
    let open = |bytes: &[u8]| Capture::read(Cursor::new(bytes.to_vec()), Path::new("fuzz"));
    let Ok(mut capture) = open(file) else { return Ok(0) };
    while let Some(record) = capture.next() {
        if let Ok(layers) = layers::dissect(record.link, record.bytes) {
            let ip = layers.ip;
            let _ = (ip.addresses(), ip.tos(), ip.fragment(), ip.has_valid_payload());
        }
        record.options.comments().for_each(drop);
    }
    let facts = capture.facts();
    if facts.compression.is_none() && facts.bytes != file.len() as u64 {
        return Err(format!("{} bytes are accounted for of {}", facts.bytes, file.len()));
    }
    let records = facts.records;
    let failed = |error: std::io::Error| error.to_string();
    let mut again = open(file).map_err(|error| format!("it does not open again: {error}"))?;
    let mut copy = Writer::new(Vec::new(), &Section::default()).map_err(failed)?;
    anonymise::copy(&mut again, &mut copy, addresses).map_err(failed)?;
    let copy = copy.finish().map_err(failed)?;
    let mut copied = open(&copy).map_err(|error| format!("its copy does not open: {error}"))?;
    while copied.next().is_some() {}
    match copied.facts() {
        facts if facts.damaged_places > 0 => Err(format!("its copy has {:?}", facts.damage)),
        facts if facts.records != records => {
            Err(format!("{records} records, and {} in its copy", facts.records))
        }
        _ => Ok(records),
    }
}

/// A capture of several interfaces with packets in all kinds of layers.
fn blocks(rng: &mut Rng) -> Vec<u8> {
    let section = Section { application: "fuzz", ..Section::default() };
    let mut writer = Writer::new(Vec::new(), &section).expect("memory takes all");
    let links: Vec<_> = (0..=rng.below(3))
        .map(|_| {
            let link = LinkType(LINKS[rng.below(LINKS.len() as u32) as usize]);
            let snap_len = if rng.below(4) == 0 { rng.below(100) } else { 0 };
            let interface = Interface { name: "a", link, snap_len, ..Interface::default() };
            (link, writer.interface(&interface).expect("memory takes all"))
        })
        .collect();
    for _ in 0..rng.below(8) {
        let (link, interface) = links[rng.below(links.len() as u32) as usize];
        let bytes = [head(link), layers_of(rng, 4)].concat();
        let comment = if rng.below(3) == 0 { "marked" } else { "" };
        let time = Time(rng.u64());
        let packet = Packet { interface, time, bytes: &bytes, comment, ..Packet::default() };
        writer.packet(&packet).expect("memory takes all");
    }
    writer.finish().expect("memory takes all")
}

/// The header of a link before IPv4.
fn head(link: LinkType) -> Vec<u8> {
    match link {
        LinkType::ETHERNET => [&[2; 12][..], &[8, 0]].concat(),
        LinkType::NULL => vec![2, 0, 0, 0],
        LinkType::LOOP => vec![0, 0, 0, 2],
        LinkType::PPP => vec![0xff, 3, 0, 0x21],
        LinkType::PPP_ETHER => vec![0x11, 0, 0, 1, 0, 99, 0, 0x21],
        LinkType::C_HDLC => vec![15, 0, 8, 0],
        LinkType::LINUX_SLL => [&[0; 14][..], &[8, 0]].concat(),
        LinkType::LINUX_SLL2 => [&[8, 0][..], &[0; 18]].concat(),
        _ => vec![],
    }
}

/// A packet that perhaps carries another one.
fn layers_of(rng: &mut Rng, depth: u32) -> Vec<u8> {
    let inner = |rng: &mut Rng| layers_of(rng, depth - 1);
    let kind = if depth == 0 { rng.below(3) } else { rng.below(7) };
    let (protocol, payload) = match kind {
        0 => (
            ip::TCP,
            [&[0; 12][..], &[0x80, 0x10], &[0; 6], &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]].concat(),
        ),
        1 => (ip::UDP, [&[0, 9, 0, 9, 0, 24, 1, 1, 4, 0, 0, 0][..], &[0; 12]].concat()),
        2 => (ip::ICMPV6, [&[135, 0, 0, 0][..], &[0; 20]].concat()),
        3 => (4, inner(rng)),
        4 => (47, [&[0x20, 0, 8, 0, 0, 0, 0, 1][..], &inner(rng)].concat()),
        5 => {
            let head = [0, 9, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0];
            (ip::UDP, [&head[..], &[2; 12], &[8, 0], &inner(rng)].concat())
        }
        _ => (ip::ICMP, [&[3, 4, 0, 0, 0, 0, 0, 0][..], &inner(rng)].concat()),
    };
    let addresses = if depth == 4 || rng.below(2) == 0 {
        Pair::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
    } else {
        Pair::new([1; 8].into(), [2; 8].into())
    };
    let addresses = addresses.expect("both are of one version");
    let mut out = vec![0; 40 + payload.len()];
    let header = ip::Header { addresses, protocol, tos: rng.u32() as u8, id: 1 };
    let packet = header.write(&mut out, payload.len()).expect("there is room");
    let at = packet.len() - payload.len();
    packet[at..].copy_from_slice(&payload);
    packet.to_vec()
}

/// Changes a bit, a word or a piece, or cuts the end.
fn spoil(file: &mut Vec<u8>, rng: &mut Rng) {
    const WORDS: [u32; 8] = [0, 1, 4, 12, 0x7fff_ffff, u32::MAX, 0x0a0d_0d0a, 1 << 20];
    if file.is_empty() {
        return;
    }
    let at = rng.below(file.len() as u32) as usize;
    match rng.below(5) {
        0 => file[at] ^= 1 << rng.below(8),
        1 => {
            let at = at & !3;
            let word = WORDS[rng.below(WORDS.len() as u32) as usize];
            let word = if rng.below(2) == 0 { word.to_le_bytes() } else { word.to_be_bytes() };
            file.iter_mut().skip(at).zip(word).for_each(|(byte, new)| *byte = new);
        }
        2 => {
            let len = rng.below(60).min((file.len() - at) as u32) as usize;
            let piece = file[at..at + len].to_vec();
            let to = rng.below(file.len() as u32) as usize;
            file.splice(to..to, piece);
        }
        3 => {
            let to = (at + rng.below(60) as usize).min(file.len());
            drop(file.drain(at..to));
        }
        _ => file.truncate(at),
    }
}
