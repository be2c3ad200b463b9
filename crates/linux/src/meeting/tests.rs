#![cfg(target_os = "linux")]

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::*;

#[test]
fn samples_that_were_read_take_no_memory() {
    const BYTES: u64 = 1 << 20;
    let patience = Duration::from_secs(1);
    let launch =
        Launch { launcher: Vec::new(), agent: Vec::new(), stall: patience, limit: patience };
    let meeting = Meeting::new(&launch, "{}").expect("files");
    let Meeting::Unnamed { samples, .. } = &meeting else { panic!("a folder") };
    let mut writer = samples.try_clone().expect("a file");
    writer.write_all(&vec![b'x'; BYTES as usize]).expect("room");
    let before = samples.metadata().expect("a file").blocks();
    meeting.forget(0..BYTES);
    writer.write_all(b"end").expect("room");
    assert!(samples.metadata().expect("a file").blocks() < before / 10);
    let mut reader = meeting.samples().expect("a file");
    reader.seek(SeekFrom::Start(BYTES)).expect("a file");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert_eq!(text, "end");
}
