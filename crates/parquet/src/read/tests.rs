use std::fs;
use std::process;

use super::*;
use crate::{Column, Values, write};

const COLUMNS: [&str; 3] = ["series", "t_s", "value"];

/// Two runs of the series a and b, with 3 and 2 samples each.
fn table(group_rows: usize, page_rows: usize) -> Vec<u8> {
    let names = [("a", 3), ("b", 2), ("a", 3), ("b", 2)];
    let t: [&[f64]; 1] = [&[0.0, 1.0, 2.0, 0.0, 1.0, 0.0, 1.0, 2.0, 0.0, 1.0]];
    let values: [&[f64]; 4] =
        [&[1.5, f64::NAN, -2.5], &[7.0, 8.0], &[3.0, 4.0, 5.0], &[9.0, 1e300]];
    let columns = [
        Column { name: "series", values: Values::Texts(&names) },
        Column { name: "t_s", values: Values::Numbers(&t, group_rows) },
        Column { name: "value", values: Values::Numbers(&values, page_rows) },
    ];
    write(&columns, group_rows, &[("key", "text")])
}

/// What `use_it` makes of a file with this content.
fn opened<T>(name: &str, content: &[u8], use_it: impl FnOnce(Option<Table>) -> T) -> T {
    let path = std::env::temp_dir().join(format!("sojourn-parquet-{}-{name}", process::id()));
    fs::write(&path, content).unwrap();
    let found = use_it(Table::open(&path));
    fs::remove_file(path).unwrap();
    found
}

fn set(names: &[&str]) -> HashSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn series(name: &str, t: &[f64], values: &[f64]) -> Series {
    let [t, values] =
        [t, values].map(|numbers| numbers.iter().flat_map(|one| one.to_le_bytes()).collect());
    Series { name: name.to_owned(), t, values }
}

#[test]
fn series_are_those_of_their_rows_whatever_groups_and_pages_are() {
    for (group_rows, page_rows) in [(100, 100), (100, 1), (100, 4), (4, 1), (3, 2), (1, 1)] {
        let file = table(group_rows, page_rows);
        opened(&format!("rows-{group_rows}-{page_rows}"), &file, |found| {
            let mut found = found.unwrap();
            assert_eq!((found.note("key"), found.note("other")), (Some("text"), None));
            let mut read = |names: &[&str], begin| found.series(COLUMNS, &set(names), begin, 5);
            let first = series("a", &[0.0, 1.0, 2.0], &[1.5, f64::NAN, -2.5]);
            let last = series("b", &[0.0, 1.0], &[9.0, 1e300]);
            assert_eq!(read(&["a", "c"], 0), Some(vec![first.clone()]));
            assert_eq!(read(&["b"], 5), Some(vec![last]));
            assert_eq!(read(&["b", "a"], 0).unwrap().len(), 2);
            assert_eq!(read(&[], 0), Some(vec![]));
            // Of both runs each has two pieces, which are no series.
            assert_eq!(found.series(COLUMNS, &set(&["a", "b"]), 0, usize::MAX), None);
            assert_eq!(found.series(["series", "t_s", "series"], &set(&["a"]), 0, 5), None);
        });
    }
}

#[test]
fn pages_without_what_is_wanted_stay_packed() {
    let mut file = table(100, 1);
    // The last page of values, whose checksum is wrong now, is before the footer.
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    let end = file.len() - 8 - length as usize;
    file[end - 6] ^= 1;
    opened("packed", &file, |found| {
        let mut found = found.unwrap();
        assert!(found.series(COLUMNS, &set(&["a"]), 0, 5).is_some());
        assert_eq!(found.series(COLUMNS, &set(&["b"]), 5, 5), None);
    });
}

#[test]
fn what_is_damaged_is_no_file() {
    let whole = table(4, 1);
    let wanted = opened("whole", &whole, |found| found?.series(COLUMNS, &set(&["a"]), 0, 5));
    assert!(wanted.is_some());
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            // No panic, and no numbers that are not there: gzip has a checksum.
            let found =
                opened("flipped", &damaged, |found| found?.series(COLUMNS, &set(&["a"]), 0, 5));
            assert!(found.is_none() || found.iter().flatten().all(|one| one.name == "a"));
        }
        assert!(opened("cut", &whole[..at], |found| found.is_none()));
    }
}

#[test]
fn cells_are_read_as_they_were_written() {
    let columns = [
        ("text", Cells::Texts(vec![Some("ä".into()), None, Some(String::new())])),
        ("double", Cells::Doubles(vec![None, Some(1.5), Some(f64::INFINITY)])),
        ("long", Cells::Longs(vec![Some(i64::MIN), Some(2), None])),
        ("int", Cells::Ints(vec![Some(-1), Some(2), Some(3)])),
        ("bool", Cells::Bools(vec![Some(true), None, Some(true)])),
        ("none", Cells::Bools(vec![None; 3])),
    ];
    for group_rows in [3, 2] {
        let table: Vec<_> = columns
            .iter()
            .map(|(name, cells)| Column { name, values: Values::Cells(cells) })
            .collect();
        let file = write(&table, group_rows, &[]);
        opened(&format!("cells-{group_rows}"), &file, |found| {
            let read = found.unwrap().cells(|name| name != "double").unwrap();
            let wanted = columns.iter().filter(|column| column.0 != "double");
            assert!(
                read.iter().map(|(name, cells)| (&**name, cells)).eq(wanted.map(|(a, b)| (*a, b)))
            );
        });
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x11;
            // No panic; what is compressed has a checksum.
            opened("cells", &damaged, |found| found?.cells(|_| true));
        }
    }
    opened("series", &table(4, 1), |found| assert_eq!(found.unwrap().cells(|_| true), None));
}
