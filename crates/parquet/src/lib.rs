//! Tables of texts and numbers as Parquet files, whose bytes are a function of the table alone, and
//! series read from such a file.
//!
//! Of the format (Apache Parquet 2.11, `parquet.thrift` and `Encodings.md`) this is what series
//! take: required columns in row groups, compressed with gzip. A text is written once a row group,
//! and where it repeats as a run, all in one page; of numbers in a page all first bytes come first,
//! then all second ones (`BYTE_STREAM_SPLIT`), since neighbours differ in the last ones. A table of
//! runs has optional columns with plain values.

mod page;
mod read;
mod thrift;

use std::collections::HashMap;
use std::ops::Range;

use page::{Chunk, Output};
pub use read::{Series, Table};
use thrift::Struct;

/// Marks the begin and the end of a file.
const MAGIC: &[u8] = b"PAR1";
/// `Type` in `parquet.thrift`.
const BOOLEAN: i32 = 0;
const INT32: i32 = 1;
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// What it is called.
    pub name: &'a str,
    /// A value for each row.
    pub values: Values<'a>,
}

/// The values of a column from the first row to the last.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Texts, and for how many rows each stays.
    Texts(&'a [(&'a str, usize)]),
    /// Numbers in pieces, one after the other, and how many rows a page has at least: it ends with
    /// a piece, so that who wants one piece unpacks little more.
    Numbers(&'a [&'a [f64]], usize),
    /// A value for each row, or none.
    Cells(&'a Cells),
}

/// Values of one kind, of which some may be absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Texts.
    Texts(Vec<Option<String>>),
    /// Numbers.
    Doubles(Vec<Option<f64>>),
    /// Whole numbers, as `INT64`.
    Longs(Vec<Option<i64>>),
    /// Whole numbers, as `INT32`.
    Ints(Vec<Option<i32>>),
    /// Truth values.
    Bools(Vec<Option<bool>>),
}

impl Cells {
    fn rows(&self) -> usize {
        match self {
            Self::Texts(values) => values.len(),
            Self::Doubles(values) => values.len(),
            Self::Longs(values) => values.len(),
            Self::Ints(values) => values.len(),
            Self::Bools(values) => values.len(),
        }
    }

    fn kind(&self) -> i32 {
        match self {
            Self::Texts(_) => BYTE_ARRAY,
            Self::Doubles(_) => DOUBLE,
            Self::Longs(_) => INT64,
            Self::Ints(_) => INT32,
            Self::Bools(_) => BOOLEAN,
        }
    }
}

impl Values<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Texts(runs) => runs.iter().map(|run| run.1).sum(),
            Self::Numbers(pieces, _) => pieces.iter().map(|piece| piece.len()).sum(),
            Self::Cells(cells) => cells.rows(),
        }
    }

    fn kind(&self) -> i32 {
        match self {
            Self::Texts(_) => BYTE_ARRAY,
            Self::Numbers(..) => DOUBLE,
            Self::Cells(cells) => cells.kind(),
        }
    }
}

/// A table as a file; at most `group_rows` rows are packed together. Of `notes` each has a key and
/// a text, which the footer holds.
///
/// # Panics
///
/// If columns differ in their number of rows, or `group_rows` is 0.
#[must_use]
pub fn write(columns: &[Column<'_>], group_rows: usize, notes: &[(&str, &str)]) -> Vec<u8> {
    let rows = columns.first().map_or(0, |column| column.values.rows());
    assert!(columns.iter().all(|column| column.values.rows() == rows), "columns of one length");
    let mut file = Output::new(MAGIC);
    let mut groups = Vec::new();
    for begin in (0..rows).step_by(group_rows) {
        let range = begin..rows.min(begin + group_rows);
        let chunks: Vec<Chunk> = columns
            .iter()
            .map(|column| match column.values {
                Values::Texts(runs) => page::texts(&mut file, &within(runs, &range)),
                Values::Numbers(pieces, page_rows) => {
                    page::numbers(&mut file, pieces, page_rows, &range)
                }
                Values::Cells(cells) => page::cells(&mut file, cells, &range),
            })
            .collect();
        groups.push((range.len(), chunks));
    }
    let mut file = file.bytes;
    let footer = footer(columns, rows, &groups, notes);
    file.extend(&footer);
    file.extend(u32::try_from(footer.len()).expect("a footer far below 4 GB").to_le_bytes());
    file.extend(MAGIC);
    file
}

/// The distinct texts of some rows, in the order of their first, and the runs as indices into them.
struct Dictionary<'a> {
    texts: Vec<&'a str>,
    runs: Vec<(usize, usize)>,
}

fn within<'a>(runs: &[(&'a str, usize)], range: &Range<usize>) -> Dictionary<'a> {
    let mut found = Dictionary { texts: Vec::new(), runs: Vec::new() };
    let mut known = HashMap::new();
    let mut begin = 0;
    for &(text, rows) in runs {
        let own = begin.max(range.start)..(begin + rows).min(range.end);
        begin += rows;
        if own.is_empty() {
            continue;
        }
        let index = *known.entry(text).or_insert_with(|| {
            found.texts.push(text);
            found.texts.len() - 1
        });
        match found.runs.last_mut() {
            Some(last) if last.0 == index => last.1 += own.len(),
            _ => found.runs.push((index, own.len())),
        }
    }
    found
}

/// `FileMetaData` of `parquet.thrift`.
fn footer(
    columns: &[Column<'_>],
    rows: usize,
    groups: &[(usize, Vec<Chunk>)],
    notes: &[(&str, &str)],
) -> Vec<u8> {
    let mut schema = vec![Struct::new().text(4, "schema").int(5, columns.len())];
    schema.extend(columns.iter().map(|column| {
        let kind = column.values.kind();
        // Required or optional; of texts UTF8, as older readers have it, and STRING.
        let repetition = i32::from(matches!(column.values, Values::Cells(_)));
        let element =
            Struct::new().enumerated(1, kind).enumerated(3, repetition).text(4, column.name);
        match kind {
            BYTE_ARRAY => element.enumerated(6, 0).part(10, Struct::new().part(1, Struct::new())),
            _ => element,
        }
    }));
    let groups = groups.iter().map(|(rows, chunks)| {
        let size = chunks.iter().map(|chunk| chunk.uncompressed).sum();
        let each = columns.iter().zip(chunks).map(|(column, chunk)| {
            let data = chunk.metadata(column.name, column.values.kind());
            Struct::new().long(2, 0).part(3, data)
        });
        Struct::new().list(1, each.collect()).long(2, size).long(3, *rows)
    });
    let file =
        Struct::new().enumerated(1, 2).list(2, schema).long(3, rows).list(4, groups.collect());
    let notes = notes.iter().map(|(key, text)| Struct::new().text(1, key).text(2, text));
    let file = if notes.len() == 0 { file } else { file.list(5, notes.collect()) };
    file.text(6, "sojourn").finish()
}

#[cfg(test)]
mod tests;
