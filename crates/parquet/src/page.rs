//! Pages: the values of a column in one row group.

use std::ops::Range;

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::thrift::{Struct, varint};
use crate::{Cells, Dictionary};

/// `CompressionCodec`, `Encoding` and `PageType` of `parquet.thrift`.
pub(crate) const GZIP: i32 = 2;
pub(crate) const PLAIN: i32 = 0;
pub(crate) const RLE: i32 = 3;
pub(crate) const RLE_DICTIONARY: i32 = 8;
pub(crate) const BYTE_STREAM_SPLIT: i32 = 9;
pub(crate) const DATA_PAGE: i32 = 0;
pub(crate) const DICTIONARY_PAGE: i32 = 2;
/// Of a run's series, higher levels take longer than its engine and save a few per cent.
const LEVEL: u32 = 2;
/// Of deflate's window, the largest.
pub(crate) const WINDOW_BITS: u8 = 15;
/// What gzip puts around a page, and room for what does not get smaller.
const SPARE: usize = 64;

/// A file under way.
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    packer: Compress,
}

impl Output {
    /// A file that begins with some bytes.
    pub(crate) fn new(begin: &[u8]) -> Self {
        let packer = Compress::new_gzip(Compression::new(LEVEL), WINDOW_BITS);
        Self { bytes: begin.to_vec(), packer }
    }

    fn packed(&mut self, content: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(content.len() / 2 + SPARE);
        self.packer.reset();
        loop {
            let read = usize::try_from(self.packer.total_in()).expect("a page below 2 GB");
            let done =
                self.packer.compress_vec(&content[read..], &mut packed, FlushCompress::Finish);
            if done.expect("a stream under way") == Status::StreamEnd {
                return packed;
            }
            packed.reserve(content.len() + SPARE);
        }
    }
}

/// Where the pages of a column are, and what is in them.
pub(crate) struct Chunk {
    begin: usize,
    /// Where the data page begins, if another one is before it.
    data: usize,
    rows: usize,
    encodings: &'static [i32],
    pub(crate) uncompressed: usize,
    compressed: usize,
    /// The least and the greatest text.
    bounds: Option<(String, String)>,
}

impl Chunk {
    /// `ColumnMetaData`.
    pub(crate) fn metadata(&self, name: &str, kind: i32) -> Struct {
        let common = Struct::new()
            .enumerated(1, kind)
            .enumerated_list(2, self.encodings)
            .text_list(3, &[name])
            .enumerated(4, GZIP)
            .long(5, self.rows)
            .long(6, self.uncompressed)
            .long(7, self.compressed)
            .long(9, self.data);
        match &self.bounds {
            None => common,
            Some((least, greatest)) => common
                .long(11, self.begin)
                .part(12, Struct::new().long(3, 0).text(5, greatest).text(6, least)),
        }
    }
}

/// Writes texts: each once, and then which one it is in each row.
pub(crate) fn texts(file: &mut Output, dictionary: &Dictionary<'_>) -> Chunk {
    let begin = file.bytes.len();
    let mut plain = Vec::new();
    for text in &dictionary.texts {
        plain.extend((text.len() as u32).to_le_bytes());
        plain.extend(text.as_bytes());
    }
    let count = dictionary.texts.len();
    let about = Struct::new().int(1, count).enumerated(2, PLAIN);
    let first = page(file, DICTIONARY_PAGE, 7, about, &plain);
    let data = file.bytes.len();
    let bits = (usize::BITS - (count - 1).leading_zeros()).max(1);
    let mut runs = vec![bits as u8];
    let mut rows = 0;
    for &(index, length) in &dictionary.runs {
        varint(&mut runs, (length as u64) << 1);
        runs.extend(&index.to_le_bytes()[..bits.div_ceil(8) as usize]);
        rows += length;
    }
    let second = page(file, DATA_PAGE, 5, data_header(rows, RLE_DICTIONARY), &runs);
    let bounds = dictionary.texts.iter().min().zip(dictionary.texts.iter().max());
    Chunk {
        begin,
        data,
        rows,
        encodings: &[PLAIN, RLE, RLE_DICTIONARY],
        uncompressed: first + second,
        compressed: file.bytes.len() - begin,
        bounds: bounds.map(|(least, greatest)| ((*least).to_owned(), (*greatest).to_owned())),
    }
}

/// Writes numbers. A page ends with the first piece that leaves it at least `page_rows` rows.
pub(crate) fn numbers(
    file: &mut Output,
    pieces: &[&[f64]],
    page_rows: usize,
    range: &Range<usize>,
) -> Chunk {
    let (begin, rows) = (file.bytes.len(), range.len());
    let mut uncompressed = 0;
    let mut first = range.start;
    let mut end = 0;
    let mut waiting = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let own = end.max(range.start)..(end + piece.len()).min(range.end);
        if !own.is_empty() {
            waiting.push(&piece[own.start - end..own.end - end]);
        }
        end += piece.len();
        let is_last = end >= range.end || number + 1 == pieces.len();
        let next = end.min(range.end);
        if next > first && (is_last || next - first >= page_rows) {
            uncompressed += split(file, &waiting, next - first);
            waiting.clear();
            first = next;
        }
        if is_last {
            break;
        }
    }
    Chunk {
        begin,
        data: begin,
        rows,
        encodings: &[RLE, BYTE_STREAM_SPLIT],
        uncompressed,
        compressed: file.bytes.len() - begin,
        bounds: None,
    }
}

/// Adds a page of numbers: all first bytes, then all second ones, and so on.
fn split(file: &mut Output, pieces: &[&[f64]], rows: usize) -> usize {
    let values: Vec<u64> = pieces.iter().copied().flatten().map(|value| value.to_bits()).collect();
    let mut split = Vec::with_capacity(8 * rows);
    for stream in 0..8 {
        split.extend(values.iter().map(|value| (value >> (8 * stream)) as u8));
    }
    page(file, DATA_PAGE, 5, data_header(rows, BYTE_STREAM_SPLIT), &split)
}

/// Writes values of which some may be absent: which are there, and these.
pub(crate) fn cells(file: &mut Output, cells: &Cells, range: &Range<usize>) -> Chunk {
    let begin = file.bytes.len();
    let (present, plain) = match cells {
        Cells::Texts(values) => present(&values[range.clone()], |bytes, text| {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }),
        Cells::Doubles(values) => present(&values[range.clone()], |bytes, value| {
            bytes.extend(value.to_le_bytes());
        }),
        Cells::Longs(values) => present(&values[range.clone()], |bytes, value| {
            bytes.extend(value.to_le_bytes());
        }),
        Cells::Ints(values) => present(&values[range.clone()], |bytes, value| {
            bytes.extend(value.to_le_bytes());
        }),
        Cells::Bools(values) => {
            // Eight in a byte, the first in its last bit.
            let (present, each) =
                present(&values[range.clone()], |bytes, value| bytes.push(u8::from(*value)));
            let bits = each.chunks(8).map(|eight| {
                eight.iter().enumerate().fold(0, |byte, (place, bit)| byte | bit << place)
            });
            (present, bits.collect())
        }
    };
    let mut content = (present.len() as u32).to_le_bytes().to_vec();
    content.extend(present);
    content.extend(plain);
    let uncompressed = page(file, DATA_PAGE, 5, data_header(range.len(), PLAIN), &content);
    Chunk {
        begin,
        data: begin,
        rows: range.len(),
        encodings: &[PLAIN, RLE],
        uncompressed,
        compressed: file.bytes.len() - begin,
        bounds: None,
    }
}

/// Runs of rows that have a value and that have none, and the values.
fn present<T>(values: &[Option<T>], write: impl Fn(&mut Vec<u8>, &T)) -> (Vec<u8>, Vec<u8>) {
    let (mut runs, mut plain) = (Vec::new(), Vec::new());
    for run in values.chunk_by(|a, b| a.is_some() == b.is_some()) {
        varint(&mut runs, (run.len() as u64) << 1);
        runs.push(u8::from(run[0].is_some()));
        for value in run.iter().flatten() {
            write(&mut plain, value);
        }
    }
    (runs, plain)
}

/// `DataPageHeader`; of required columns nothing says which values are absent.
fn data_header(rows: usize, encoding: i32) -> Struct {
    Struct::new().int(1, rows).enumerated(2, encoding).enumerated(3, RLE).enumerated(4, RLE)
}

/// Adds a page, of whose header `about` is field `id`; its size before compression, header included.
fn page(file: &mut Output, kind: i32, id: u8, about: Struct, content: &[u8]) -> usize {
    let packed = file.packed(content);
    let header = Struct::new()
        .enumerated(1, kind)
        .int(2, content.len())
        .int(3, packed.len())
        .part(id, about)
        .finish();
    file.bytes.extend(&header);
    file.bytes.extend(packed);
    header.len() + content.len()
}

#[cfg(test)]
mod tests;
