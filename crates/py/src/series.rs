//! Runs on their way to disk: their series packed in memory and as the long table that is kept, and
//! the table of what else there is of each.

use std::collections::HashSet;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use sojourn_parquet::{self as parquet, Cells, Series, Table, Values};
use sojourn_trace::Column;

/// Names, units and numbers of samples of all series of a run.
type Head = (Vec<String>, Vec<String>, Vec<usize>);

/// The key of a JSON array with the names of the series in their order.
const NAMES: &str = "sojourn.series";
/// Values of whole series that are packed together: who reads a tenth of the series of a run of a
/// minute unpacks little more, in a file that is a twentieth larger.
const PAGE_ROWS: usize = 2000;

/// All series that have a sample: a line of JSON with their [`Head`], then the times of all and the
/// values of all, as little-endian doubles.
pub(crate) fn packed(columns: &[Column]) -> Vec<u8> {
    let columns: Vec<&Column> = columns.iter().filter(|column| !column.t.is_empty()).collect();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let units: Vec<&str> = columns.iter().map(|column| &*column.unit).collect();
    let lengths: Vec<usize> = columns.iter().map(|column| column.t.len()).collect();
    let mut bytes = serde_json::to_vec(&(names, units, lengths)).expect("texts and numbers");
    bytes.push(b'\n');
    let times = columns.iter().flat_map(|column| &column.t);
    let values = columns.iter().flat_map(|column| &column.v);
    for number in times.chain(values) {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

/// Packed series, read.
struct Samples {
    names: Vec<String>,
    units: Vec<String>,
    lengths: Vec<usize>,
    t: Vec<f64>,
    v: Vec<f64>,
}

impl Samples {
    fn read(bytes: &[u8]) -> Option<Self> {
        let line = bytes.iter().position(|&byte| byte == b'\n')?;
        let (names, units, lengths): Head = serde_json::from_slice(&bytes[..line]).ok()?;
        let (numbers, rest) = bytes[line + 1..].as_chunks();
        let rows = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length))?;
        let is_whole = rest.is_empty() && rows.checked_mul(2) == Some(numbers.len());
        if !is_whole || names.len() != lengths.len() || units.len() != lengths.len() {
            return None;
        }
        let [t, v] = [&numbers[..rows], &numbers[rows..]]
            .map(|part| part.iter().copied().map(f64::from_le_bytes).collect());
        Some(Self { names, units, lengths, t, v })
    }

    /// The values of each series.
    fn values(&self) -> impl Iterator<Item = &[f64]> {
        let mut rest = &*self.v;
        self.lengths.iter().map(move |&length| {
            let (own, after) = rest.split_at(length);
            rest = after;
            own
        })
    }
}

/// Packed series of runs as a Parquet file: columns `series`, `unit`, `t_s` and `value`, with `ids`
/// of the runs `id` before them, `group_rows` rows packed together. Of one run without an id the
/// footer notes the names under [`NAMES`], so that a reader finds them without the rows.
#[pyfunction]
#[pyo3(signature = (runs, ids = None, *, group_rows))]
pub(crate) fn series_table(
    py: Python<'_>,
    runs: Vec<PyBackedBytes>,
    ids: Option<Vec<String>>,
    group_rows: usize,
) -> PyResult<Bound<'_, PyBytes>> {
    if group_rows == 0 || ids.as_ref().is_some_and(|ids| ids.len() != runs.len()) {
        return Err(PyValueError::new_err("expected group_rows above 0, and an id for each run"));
    }
    let file = py.detach(|| {
        let runs: Option<Vec<Samples>> = runs.iter().map(|run| Samples::read(run)).collect();
        runs.map(|runs| table(&runs, ids.as_deref(), group_rows))
    });
    let file = file.ok_or_else(|| PyValueError::new_err("expected series as `packed` has them"))?;
    Ok(PyBytes::new(py, &file))
}

fn table(runs: &[Samples], ids: Option<&[String]>, group_rows: usize) -> Vec<u8> {
    let id = ids.iter().copied().flatten().zip(runs).map(|(id, run)| (&**id, run.t.len()));
    let id: Vec<(&str, usize)> = id.collect();
    let (mut name, mut unit) = (Vec::new(), Vec::new());
    for run in runs {
        for ((series, in_unit), &rows) in run.names.iter().zip(&run.units).zip(&run.lengths) {
            name.push((&**series, rows));
            unit.push((&**in_unit, rows));
        }
    }
    let t: Vec<&[f64]> = runs.iter().map(|run| &*run.t).collect();
    let v: Vec<&[f64]> = runs.iter().flat_map(Samples::values).collect();
    let columns = [
        ("id", Values::Texts(&id)),
        ("series", Values::Texts(&name)),
        ("unit", Values::Texts(&unit)),
        // Most series have the same times: together they take a quarter.
        ("t_s", Values::Numbers(&t, group_rows)),
        ("value", Values::Numbers(&v, PAGE_ROWS)),
    ]
    .map(|(name, values)| parquet::Column { name, values });
    let noted = match (runs, ids) {
        ([run], None) => serde_json::to_string(&run.names).ok(),
        _ => None,
    };
    let notes: Vec<_> = noted.iter().map(|names| (NAMES, &**names)).collect();
    parquet::write(&columns[usize::from(ids.is_none())..], group_rows, &notes)
}

/// Names of the series in a file of one run: the text under [`NAMES`]. None if the file is not as
/// [`series_table`] makes it.
#[pyfunction]
pub(crate) fn series_names(py: Python<'_>, file: PathBuf) -> Option<String> {
    py.detach(|| Table::open(&file)?.note(NAMES).map(str::to_owned))
}

/// A name, its times and its values as little-endian doubles.
type Read<'py> = (String, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Series of these names among some rows of a file, in the file's order; those that it does not
/// have are left out. None if the file is not as [`series_table`] makes it.
#[pyfunction]
#[pyo3(signature = (file, names, begin = 0, rows = usize::MAX))]
pub(crate) fn series_read(
    py: Python<'_>,
    file: PathBuf,
    names: HashSet<String>,
    begin: usize,
    rows: usize,
) -> Option<Vec<Read<'_>>> {
    let found =
        py.detach(|| Table::open(&file)?.series(["series", "t_s", "value"], &names, begin, rows))?;
    let each = found
        .into_iter()
        .map(|Series { name, t, values }| (name, PyBytes::new(py, &t), PyBytes::new(py, &values)));
    Some(each.collect())
}

/// A column of a table: its name, its kind (`text`, `double`, `long`, `int` or `bool`) and a value
/// or None for each row.
type Named<'py> = (String, String, Bound<'py, PyAny>);

/// Columns as a Parquet file.
#[pyfunction]
pub(crate) fn table_file<'py>(
    py: Python<'py>,
    columns: Vec<Named<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let read = columns.into_iter().map(|(name, kind, values)| {
        let cells = match &*kind {
            "text" => Cells::Texts(values.extract()?),
            "double" => Cells::Doubles(values.extract()?),
            "long" => Cells::Longs(values.extract()?),
            "int" => Cells::Ints(values.extract()?),
            "bool" => Cells::Bools(values.extract()?),
            other => return Err(PyValueError::new_err(format!("no kind of column: {other}"))),
        };
        Ok((name, cells))
    });
    let read: Vec<(String, Cells)> = read.collect::<PyResult<_>>()?;
    let columns: Vec<_> = read
        .iter()
        .map(|(name, cells)| parquet::Column { name, values: Values::Cells(cells) })
        .collect();
    let file = py.detach(|| parquet::write(&columns, usize::MAX, &[]));
    Ok(PyBytes::new(py, &file))
}

/// The columns of these names that a file has, or all but them, as lists. None if the file is not as
/// [`table_file`] makes it.
#[pyfunction]
#[pyo3(signature = (file, names, *, others = false))]
pub(crate) fn table_read(
    py: Python<'_>,
    file: PathBuf,
    names: HashSet<String>,
    others: bool,
) -> PyResult<Option<Bound<'_, PyDict>>> {
    let read = py.detach(|| Table::open(&file)?.cells(|name| names.contains(name) != others));
    let Some(columns) = read else { return Ok(None) };
    let found = PyDict::new(py);
    for (name, cells) in columns {
        match cells {
            Cells::Texts(values) => found.set_item(name, values)?,
            Cells::Doubles(values) => found.set_item(name, values)?,
            Cells::Longs(values) => found.set_item(name, values)?,
            Cells::Ints(values) => found.set_item(name, values)?,
            Cells::Bools(values) => found.set_item(name, values)?,
        }
    }
    Ok(Some(found))
}
