//! A count of TCP segments that shares nothing with this crate: tshark reads the packets, and what it prints of each
//! is added up here.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) segments: u64,
    pub(crate) data: u64,
    pub(crate) bytes: u64,
    pub(crate) ce: u64,
    pub(crate) ect1: u64,
    pub(crate) ece: u64,
    pub(crate) cwr: u64,
    pub(crate) ae: u64,
    /// Data segments that lie below the highest sequence number before them.
    pub(crate) repeated: u64,
}

const FIELDS: [&str; 6] =
    ["tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len", "tcp.flags", "ip.dsfield.ecn"];

/// By source and destination port; None, with a line, where there is no tshark.
pub(crate) fn count(path: &Path) -> Option<BTreeMap<(u16, u16), Counts>> {
    let mut xz = Command::new("xz");
    let mut xz = xz.arg("-dc").arg(path).stdout(Stdio::piped()).spawn().expect("xz unpacks it");
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-n",
        "-o",
        "tcp.analyze_sequence_numbers:FALSE",
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-r",
        "-",
    ]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    tshark.stdin(xz.stdout.take().expect("a pipe")).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = tshark.spawn() else {
        let _ = writeln!(std::io::stderr(), "skipped: no tshark");
        xz.kill().and_then(|()| xz.wait()).expect("xz ends");
        return None;
    };
    let mut counted: BTreeMap<(u16, u16), Counts> = BTreeMap::new();
    let mut highest: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        let fields: Vec<&str> = line.split('\t').collect();
        let [source, destination, seq, len, flags, ecn] = fields[..] else { panic!("{line}") };
        let port = |text: &str| text.parse::<u16>().expect("a port");
        let ports = (port(source), port(destination));
        let (seq, len) =
            (seq.parse::<u32>().expect("a number"), len.parse::<u32>().expect("a length"));
        let flags = u16::from_str_radix(flags.trim_start_matches("0x"), 16).expect("flags");
        let (is_syn, is_data) = (flags & 2 != 0, len > 0);
        let counts = counted.entry(ports).or_default();
        counts.segments += 1;
        counts.ce += u64::from(ecn == "3");
        counts.ect1 += u64::from(ecn == "1");
        counts.ece += u64::from(!is_syn && flags & 0x40 != 0);
        counts.cwr += u64::from(!is_syn && flags & 0x80 != 0);
        counts.ae += u64::from(!is_syn && flags & 0x100 != 0);
        if is_data {
            counts.data += 1;
            counts.bytes += u64::from(len);
            let end = seq.wrapping_add(len);
            let highest = highest.entry(ports).or_insert(seq);
            counts.repeated += u64::from((seq.wrapping_sub(*highest) as i32) < 0);
            if end.wrapping_sub(*highest) as i32 > 0 {
                *highest = end;
            }
        }
    }
    assert!(child.wait().expect("tshark ends").success() && xz.wait().expect("xz ends").success());
    Some(counted)
}
