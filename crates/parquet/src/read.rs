//! Some series or columns of a file, without what the others take.
//!
//! Files come from anywhere. One that is not as [`crate::write`] makes them, or is damaged, is none
//! here: whoever asks has a reader of all Parquet for these.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use crate::page::{
    BYTE_STREAM_SPLIT, DATA_PAGE, DICTIONARY_PAGE, GZIP, PLAIN, RLE_DICTIONARY, WINDOW_BITS,
};
use crate::thrift::{Fields, Reader};
use crate::{BOOLEAN, BYTE_ARRAY, Cells, DOUBLE, INT32, INT64, MAGIC};

/// Deflate makes at most this many bytes of one (RFC 1951: 258 bytes of two bits).
const MOST_OF_A_BYTE: usize = 1032;
/// Rows of a page with absent values, of which any number takes three bytes.
const MOST_CELLS: usize = 1 << 20;

/// A file whose footer was read.
#[derive(Debug)]
pub struct Table {
    file: File,
    columns: Vec<About>,
    groups: Vec<Group>,
    notes: Vec<(String, String)>,
}

/// A column: its name, its type, and whether it is required (0) or optional (1).
#[derive(Debug)]
struct About {
    name: String,
    kind: i32,
    repetition: i64,
}

/// A row group: its rows, and where each column is.
#[derive(Debug)]
struct Group {
    rows: usize,
    chunks: Vec<Range<u64>>,
}

/// A series: times and values as little-endian doubles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// Its times.
    pub t: Vec<u8>,
    /// Its values.
    pub values: Vec<u8>,
}

impl Table {
    /// Reads a footer.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let size = file.metadata().ok()?.len();
        let tail = part(&mut file, size.checked_sub(8)?..size)?;
        let (length, mark) = tail.split_first_chunk()?;
        let end = size - 8;
        let begin = end.checked_sub(u32::from_le_bytes(*length).into())?;
        if mark != MAGIC {
            return None;
        }
        let footer = part(&mut file, begin..end)?;
        let footer = Reader::new(&footer).fields()?;
        let columns = footer.list(2)?.iter().skip(1).map(|element| {
            let element = element.fields()?;
            Some(About {
                name: element.text(4)?.to_owned(),
                kind: i32::try_from(element.int(1)?).ok()?,
                repetition: element.int(3)?,
            })
        });
        let columns: Vec<About> = columns.collect::<Option<_>>()?;
        let groups = footer.list(4)?.iter().map(|group| {
            let group = group.fields()?;
            let chunks = group.list(1)?.iter().map(|chunk| chunk.fields()?.part(3).and_then(place));
            let chunks: Vec<_> = chunks.collect::<Option<_>>()?;
            let rows = usize::try_from(group.int(3)?).ok()?;
            (chunks.len() == columns.len()).then_some(Group { rows, chunks })
        });
        let groups = groups.collect::<Option<_>>()?;
        let notes = footer.list(5).unwrap_or_default().iter().filter_map(|note| {
            let note = note.fields()?;
            Some((note.text(1)?.to_owned(), note.text(2)?.to_owned()))
        });
        let notes = notes.collect();
        Some(Self { file, columns, groups, notes })
    }

    /// What the footer notes under a key.
    #[must_use]
    pub fn note(&self, key: &str) -> Option<&str> {
        self.notes.iter().find(|note| note.0 == key).map(|note| &*note.1)
    }

    /// Series of these names among `rows` rows from `begin` on, in their order. `columns` are those
    /// of the names, times and values; of each series all rows follow each other.
    #[must_use]
    pub fn series(
        &mut self,
        columns: [&str; 3],
        names: &HashSet<String>,
        begin: usize,
        rows: usize,
    ) -> Option<Vec<Series>> {
        let kinds = [BYTE_ARRAY, DOUBLE, DOUBLE];
        let mut places = [0; 3];
        for ((place, name), kind) in places.iter_mut().zip(columns).zip(kinds) {
            *place = self.columns.iter().position(|column| {
                column.name == name && column.kind == kind && column.repetition == 0
            })?;
        }
        let asked = begin..begin.saturating_add(rows);
        let mut found: Vec<Series> = Vec::new();
        let mut known = HashSet::new();
        let mut next = 0_usize;
        for group in &self.groups {
            let first = next;
            next = first.checked_add(group.rows)?;
            let own = asked.start.max(first)..asked.end.min(next);
            if own.is_empty() || names.is_empty() {
                continue;
            }
            let own = own.start - first..own.end - first;
            let [texts, t, values] = places.map(|place| group.chunks[place].clone());
            let runs = runs(&part(&mut self.file, texts)?, group.rows)?.into_iter();
            let (wanted, ranges): (Vec<String>, Vec<Range<usize>>) = runs
                .filter(|(name, _)| names.contains(name))
                .map(|(name, run)| (name, run.start.max(own.start)..run.end.min(own.end)))
                .filter(|(_, run)| !run.is_empty())
                .unzip();
            if wanted.is_empty() {
                continue;
            }
            let t = numbers(&part(&mut self.file, t)?, group.rows, &ranges)?;
            let values = numbers(&part(&mut self.file, values)?, group.rows, &ranges)?;
            for ((name, t), values) in wanted.into_iter().zip(t).zip(values) {
                match found.last_mut() {
                    Some(last) if last.name == name => {
                        last.t.extend(t);
                        last.values.extend(values);
                    }
                    _ if known.insert(name.clone()) => found.push(Series { name, t, values }),
                    _ => return None,
                }
            }
        }
        Some(found)
    }

    /// The columns whose names are `wanted`, in their order; each may lack values.
    #[must_use]
    pub fn cells(&mut self, wanted: impl Fn(&str) -> bool) -> Option<Vec<(String, Cells)>> {
        let mut found = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            if !wanted(&column.name) {
                continue;
            }
            let mut cells = match (column.kind, column.repetition) {
                (BYTE_ARRAY, 1) => Cells::Texts(Vec::new()),
                (DOUBLE, 1) => Cells::Doubles(Vec::new()),
                (INT64, 1) => Cells::Longs(Vec::new()),
                (INT32, 1) => Cells::Ints(Vec::new()),
                (BOOLEAN, 1) => Cells::Bools(Vec::new()),
                _ => return None,
            };
            for group in &self.groups {
                let bytes = part(&mut self.file, group.chunks[place].clone())?;
                let mut pages = &*bytes;
                let before = cells.rows();
                while !pages.is_empty() {
                    add(&mut cells, &Page::next(&mut pages)?)?;
                }
                if cells.rows() - before != group.rows {
                    return None;
                }
            }
            found.push((column.name.clone(), cells));
        }
        Some(found)
    }
}

/// Adds the values of a page.
fn add(cells: &mut Cells, page: &Page<'_>) -> Option<()> {
    if (page.kind, page.encoding) != (DATA_PAGE, PLAIN) || page.rows > MOST_CELLS {
        return None;
    }
    let content = page.content()?;
    let mut values = Reader::new(&content);
    let length = values.number().map(u32::from_le_bytes)?;
    let mut runs = Reader::new(values.take(length as usize)?);
    let mut present = Vec::new();
    while !runs.rest().is_empty() {
        let (head, &[is_there]) = (runs.varint()?, runs.take(1)?) else { return None };
        let rows = usize::try_from(head >> 1).ok()?;
        if head & 1 == 1 || is_there > 1 || rows > page.rows - present.len() {
            return None;
        }
        present.resize(present.len() + rows, is_there == 1);
    }
    if present.len() != page.rows {
        return None;
    }
    match cells {
        Cells::Texts(found) => fill(found, &present, || {
            let length = values.number().map(u32::from_le_bytes)?;
            String::from_utf8(values.take(length as usize)?.to_vec()).ok()
        }),
        Cells::Doubles(found) => fill(found, &present, || values.number().map(f64::from_le_bytes)),
        Cells::Longs(found) => fill(found, &present, || values.number().map(i64::from_le_bytes)),
        Cells::Ints(found) => fill(found, &present, || values.number().map(i32::from_le_bytes)),
        Cells::Bools(found) => {
            let mut bit = 0;
            fill(found, &present, || {
                let byte = values.rest().get(bit / 8)?;
                bit += 1;
                Some(byte >> ((bit - 1) % 8) & 1 == 1)
            })
        }
    }
}

fn fill<T>(
    found: &mut Vec<Option<T>>,
    present: &[bool],
    mut next: impl FnMut() -> Option<T>,
) -> Option<()> {
    for &is_there in present {
        found.push(if is_there { Some(next()?) } else { None });
    }
    Some(())
}

fn part(file: &mut File, range: Range<u64>) -> Option<Vec<u8>> {
    let length = range.end.checked_sub(range.start)?;
    if range.end > file.metadata().ok()?.len() {
        return None;
    }
    file.seek(SeekFrom::Start(range.start)).ok()?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Where the pages of a column are, by its `ColumnMetaData`.
fn place(about: &Fields) -> Option<Range<u64>> {
    let begin = u64::try_from(about.int(11).or_else(|| about.int(9))?).ok()?;
    let end = begin.checked_add(u64::try_from(about.int(7)?).ok()?)?;
    (about.int(4)? == i64::from(GZIP)).then_some(begin..end)
}

/// A page, and what its header says of its content.
struct Page<'a> {
    kind: i32,
    rows: usize,
    encoding: i32,
    size: usize,
    packed: &'a [u8],
}

impl<'a> Page<'a> {
    /// The next page.
    fn next(rest: &mut &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(rest);
        let header = reader.fields()?;
        let after = reader.rest();
        let kind = i32::try_from(header.int(1)?).ok()?;
        let about = header.part(if kind == DICTIONARY_PAGE { 7 } else { 5 })?;
        let (packed, after) = after.split_at_checked(usize::try_from(header.int(3)?).ok()?)?;
        *rest = after;
        Some(Self {
            kind,
            rows: usize::try_from(about.int(1)?).ok()?,
            encoding: i32::try_from(about.int(2)?).ok()?,
            size: usize::try_from(header.int(2)?).ok()?,
            packed,
        })
    }

    fn content(&self) -> Option<Vec<u8>> {
        if self.size / MOST_OF_A_BYTE > self.packed.len() {
            return None;
        }
        // With room for a byte more, the stream's end and its checksum are read in any case.
        let mut content = Vec::with_capacity(self.size.checked_add(1)?);
        let done = Decompress::new_gzip(WINDOW_BITS).decompress_vec(
            self.packed,
            &mut content,
            FlushDecompress::Finish,
        );
        (done.ok()? == Status::StreamEnd && content.len() == self.size).then_some(content)
    }
}

/// The texts of a row group, and the rows of each run.
fn runs(mut pages: &[u8], rows: usize) -> Option<Vec<(String, Range<usize>)>> {
    let dictionary = Page::next(&mut pages)?;
    let indices = Page::next(&mut pages)?;
    let is_ours = (dictionary.kind, dictionary.encoding) == (DICTIONARY_PAGE, PLAIN)
        && (indices.kind, indices.encoding) == (DATA_PAGE, RLE_DICTIONARY)
        && indices.rows == rows
        && pages.is_empty();
    if !is_ours {
        return None;
    }
    let (content, mut texts) = (dictionary.content()?, Vec::new());
    let mut rest = &*content;
    while let Some((length, after)) = rest.split_first_chunk() {
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?);
        rest = after;
    }
    let content = indices.content()?;
    let (&bits, rest) = content.split_first()?;
    let width = usize::from(bits).div_ceil(8);
    if !rest.is_empty() && !(1..=4).contains(&width) {
        return None;
    }
    let (mut reader, mut found, mut first) = (Reader::new(rest), Vec::new(), 0_usize);
    while !reader.rest().is_empty() {
        // The last bit tells a run from indices one by one, which our texts never are.
        let head = reader.varint()?;
        let end = first.checked_add(usize::try_from(head >> 1).ok()?)?;
        let mut index = [0; 4];
        index[..width].copy_from_slice(reader.take(width)?);
        let text = *texts.get(u32::from_le_bytes(index) as usize)?;
        if head & 1 == 1 || end > rows {
            return None;
        }
        found.push((text.to_owned(), first..end));
        first = end;
    }
    (first == rows).then_some(found)
}

/// The numbers in each of some ranges of rows, which ascend; pages without any stay packed.
fn numbers(mut pages: &[u8], rows: usize, ranges: &[Range<usize>]) -> Option<Vec<Vec<u8>>> {
    let mut found: Vec<Vec<u8>> = vec![Vec::new(); ranges.len()];
    let (mut next, mut first) = (0, 0_usize);
    while next < ranges.len() {
        let page = Page::next(&mut pages)?;
        let end = first.checked_add(page.rows)?;
        let is_ours = (page.kind, page.encoding) == (DATA_PAGE, BYTE_STREAM_SPLIT)
            && Some(page.size) == page.rows.checked_mul(8)
            && end <= rows
            && page.rows > 0;
        if !is_ours {
            return None;
        }
        if ranges[next].start < end {
            let content = page.content()?;
            while let Some(range) = ranges.get(next).filter(|range| range.start < end) {
                let own = range.start.max(first) - first..range.end.min(end) - first;
                let streams: [&[u8]; 8] =
                    std::array::from_fn(|stream| &content[stream * page.rows..][own.clone()]);
                let begin = found[next].len();
                found[next].resize(begin + 8 * own.len(), 0);
                for (row, number) in found[next][begin..].chunks_exact_mut(8).enumerate() {
                    for (byte, stream) in number.iter_mut().zip(streams) {
                        *byte = stream[row];
                    }
                }
                if range.end > end {
                    break;
                }
                next += 1;
            }
        }
        first = end;
    }
    Some(found)
}

#[cfg(test)]
mod tests;
