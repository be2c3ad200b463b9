use std::io::Read;

use flate2::read::GzDecoder;

use super::*;

#[test]
fn numbers_are_eight_streams_of_bytes_over_all_pieces() {
    let mut file = Output::new(&[]);
    let chunk = numbers(&mut file, &[&[0.0, 1.0], &[], &[-2.0, 3.0]], &(1..3));
    assert_eq!((chunk.rows, chunk.begin, chunk.compressed), (2, 0, file.len()));
    let begin = file.windows(2).position(|pair| pair == [0x1f, 0x8b]).unwrap();
    let mut found = Vec::new();
    GzDecoder::new(&file[begin..]).read_to_end(&mut found).unwrap();
    // 1.0 is 3ff0..., -2.0 is c000...
    let mut wanted = vec![0; 16];
    wanted[12..].copy_from_slice(&[0xf0, 0x00, 0x3f, 0xc0]);
    assert_eq!(found, wanted);
}
