use std::io::Read;

use flate2::read::GzDecoder;

use super::*;

#[test]
fn numbers_are_eight_streams_of_bytes_over_the_pieces_of_a_page() {
    let mut file = Output::new(&[]);
    let pieces: [&[f64]; 4] = [&[0.0, 1.0], &[], &[-2.0, 3.0], &[4.0]];
    let chunk = numbers(&mut file, &pieces, 3, &(1..3));
    assert_eq!((chunk.rows, chunk.begin, chunk.compressed), (2, 0, file.bytes.len()));
    assert_eq!(unpacked(&file.bytes).len(), 1);
    // 1.0 is 3ff0..., -2.0 is c000...
    let mut wanted = vec![0; 16];
    wanted[12..].copy_from_slice(&[0xf0, 0x00, 0x3f, 0xc0]);
    assert_eq!(unpacked(&file.bytes)[0], wanted);
}

#[test]
fn a_page_ends_with_the_piece_that_fills_it() {
    let pieces: [&[f64]; 4] = [&[0.0, 1.0], &[2.0, 3.0, 4.0], &[5.0], &[6.0]];
    let sizes = |page_rows, range| {
        let mut file = Output::new(&[]);
        let _ = numbers(&mut file, &pieces, page_rows, &range);
        unpacked(&file.bytes).iter().map(|page| page.len() / 8).collect::<Vec<_>>()
    };
    assert_eq!(sizes(1, 0..7), [2, 3, 1, 1]);
    assert_eq!(sizes(3, 0..7), [5, 2]);
    assert_eq!(sizes(100, 0..7), [7]);
    assert_eq!(sizes(1, 1..4), [1, 2]);
}

/// The content of each page of a column.
fn unpacked(file: &[u8]) -> Vec<Vec<u8>> {
    let begins = file.windows(3).enumerate().filter(|(_, mark)| *mark == [0x1f, 0x8b, 8]);
    let content = begins.map(|(begin, _)| {
        let mut found = Vec::new();
        GzDecoder::new(&file[begin..]).read_to_end(&mut found).map(|_| found)
    });
    content.collect::<Result<_, _>>().unwrap()
}
