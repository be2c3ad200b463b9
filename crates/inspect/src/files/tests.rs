use std::fs;

use super::*;

/// A pcap file (microseconds, raw IP) of `count` UDP packets of 28 bytes, one a second.
fn pcap(count: u32) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    for second in 0..count {
        for word in [second, 0, 28, 28] {
            file.extend(word.to_le_bytes());
        }
        let header = [0x45, 1, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        file.extend(header);
        file.extend([15, 160, 0, 53, 0, 8, 0, 0]);
    }
    file
}

fn analysed(content: &[u8], filter: &str) -> (Analysis, PathBuf) {
    let name = format!("sojourn-inspect-{}-{}.pcap", std::process::id(), content.len());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, content).expect("a temporary folder");
    let filter = (!filter.is_empty()).then(|| Filter::parse(filter).expect("a filter"));
    let found = analyse(std::slice::from_ref(&path), filter.as_ref(), Options::default(), || {
        ControlFlow::Continue(())
    });
    fs::remove_file(&path).expect("as written");
    (found.expect("a capture"), path)
}

#[test]
fn packets_are_counted_and_filtered() {
    let (all, _) = analysed(&pcap(5), "");
    assert_eq!((all.report.packets, all.report.flows.len(), all.warnings.len()), (5, 1, 0));
    assert_eq!(all.report.flows[0].forward.ecn.ect1, 5);
    let (none, _) = analysed(&pcap(6), "tcp");
    assert_eq!((none.report.packets, none.report.flows.len()), (0, 0));
}

#[test]
fn a_damaged_file_says_how_much_is_missing() {
    let whole = pcap(7);
    let (found, path) = analysed(&whole[..whole.len() - 10], "");
    assert_eq!(found.report.packets, 6);
    assert_eq!(found.warnings.len(), 1);
    let start = format!("{}: damaged: 6 packets were read, ", path.display());
    assert!(found.warnings[0].starts_with(&start), "{}", found.warnings[0]);
}
