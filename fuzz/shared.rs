//! What cargo-fuzz's targets call: the functions of the fuzzer for stable Rust.

#[expect(dead_code, reason = "the fuzzer for stable Rust is a program of its own")]
#[path = "parsers.rs"]
pub(crate) mod parsers;

use sojourn_capture::anonymise::{Addresses, Key};
use sojourn_core::Rng;
use sojourn_core::wire::ccfb::{Count, Counting, Report};
use sojourn_core::wire::rtp::Datagram;

/// A text for the parser of this name.
#[allow(dead_code, reason = "a target takes texts or bytes")]
pub(crate) fn text(target: &str, text: &str) {
    let check = parsers::TARGETS.iter().find(|(name, _)| *name == target).expect("a target").1;
    if let Err(fault) = parsers::answer(check, text) {
        panic!("{fault}");
    }
}

/// Bytes for the reader of this name.
#[allow(dead_code, reason = "a target takes texts or bytes")]
pub(crate) fn bytes(target: &str, bytes: &[u8]) {
    let mut rng = Rng::named(1, target);
    let found = match target {
        "capture" => parsers::captures::check(bytes, &mut Addresses::new(&Key([1; 32]))).map(drop),
        "packet" => parsers::packets::anything(bytes, &mut rng),
        "analysis" => analysis(bytes, &mut rng),
        "ccfb" => {
            reports(bytes);
            Ok(())
        }
        _ => {
            let _ = Datagram::parse(bytes);
            Ok(())
        }
    };
    if let Err(fault) = found {
        panic!("{fault}");
    }
}

/// Packets, each after its length in two bytes.
fn analysis(mut bytes: &[u8], rng: &mut Rng) -> Result<(), String> {
    let mut analysis = parsers::inspect::Analysis::new(rng);
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        analysis.see(packet, rng);
        bytes = rest;
    }
    analysis.finish()
}

/// Reads a report as each sort of peer would mean it.
fn reports(bytes: &[u8]) {
    for mut counting in
        [Counting::default(), Counting::fixed(Count::Exact), Counting::fixed(Count::LessOne)]
    {
        if let Ok(report) = Report::parse(bytes, &mut counting) {
            let metrics = report.blocks().map(|block| block.metrics().len()).sum::<usize>();
            assert!(2 * metrics <= bytes.len(), "{metrics} metrics in {} bytes", bytes.len());
        }
    }
}
