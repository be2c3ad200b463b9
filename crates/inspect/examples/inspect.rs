//! Prints the report of a capture file as JSON: `inspect FILE`.

use std::io::Write;
use std::process::ExitCode;

use sojourn_capture::LinkType;
use sojourn_capture::layers::dissect;
use sojourn_core::Time;
use sojourn_inspect::{Analyser, Options};

fn main() -> ExitCode {
    let path = std::env::args_os().nth(1).expect("a file");
    let pcap = std::fs::read(path).expect("it can be read");
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes"));
    let mut analyser = Analyser::new(Options::default());
    let times = std::env::var("N").map_or(1, |n| n.parse::<u32>().expect("a number"));
    let mut at = 24;
    while at < pcap.len() {
        let captured = word(at + 8) as usize;
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * 1000;
        let frame = &pcap[at + 16..at + 16 + captured];
        at += 16 + captured;
        if matches!(frame[12..14], [8, 0] | [0x86, 0xdd]) {
            match dissect(LinkType::RAW, &frame[14..]) {
                Ok(layers) => {
                    for _ in 0..times {
                        analyser.packet(Time(time), &layers);
                    }
                }
                Err(why) => analyser.skip(why),
            }
        }
    }
    let json = serde_json::to_string_pretty(&analyser.finish()).expect("plain data");
    std::io::stdout().write_all(json.as_bytes()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}
