//! The sender's log files.

use sojourn_core::math;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};

use sojourn_cc::scream::{AckLine, Ticks, ticks};

use super::generation::Generation;
use super::lines::{CSV_HEAD, ITEM_LIST, Stamp, ack_line, csv_line, json_line, tx_rx_line};
use super::tx_options::TxOptions;

/// Files that each report adds lines to.
pub(super) struct Logs {
    columns: Generation,
    log: Option<LogFile>,
    csv: Option<LogFile>,
    json: Option<LogFile>,
    tx_rx: Option<LogFile>,
    unwrap: Unwrap,
    /// Unix time is written instead of the session's.
    is_unix: bool,
    text: String,
}

struct LogFile {
    name: String,
    file: BufWriter<File>,
}

/// The session's clock without its wrap after 18.2 hours.
#[derive(Default)]
struct Unwrap {
    last: Ticks,
    rounds: u64,
}

impl Unwrap {
    fn seconds(&mut self, now: Ticks) -> f64 {
        if now.0 < self.last.0 && self.last.0 - now.0 > 1 << 31 {
            self.rounds += 1;
        }
        self.last = now;
        (self.rounds as f64 * math::powi(2.0, 32) + f64::from(now.0)) / f64::from(ticks::PER_SECOND)
    }
}

impl Logs {
    /// Opens the files; the error is a line that names the option and the file.
    pub(super) fn open(o: &TxOptions, columns: Generation) -> Result<Self, String> {
        let open = |option: &str, name: &Option<String>, head: &str| match name {
            None => Ok(None),
            Some(name) => LogFile::open(name, o.append, head)
                .map(Some)
                .map_err(|e| format!("-{option}: {name}: {e}")),
        };
        let item_list = if o.item_list && !o.append { ITEM_LIST } else { "" };
        Ok(Self {
            columns,
            log: open("log", &o.log, item_list)?,
            csv: open("csv", &o.csv, CSV_HEAD)?,
            json: open("jsonlog", &o.json_log, "")?,
            tx_rx: open("txrxlog", &o.tx_rx_log, "")?,
            unwrap: Unwrap::default(),
            is_unix: o.ntp,
            text: String::new(),
        })
    }

    /// A line of the per-ACK logs; `unix_s` is the time now.
    ///
    /// # Errors
    /// The file that cannot be written, which is closed.
    pub(super) fn ack(&mut self, a: &AckLine, unix_s: f64) -> Result<(), String> {
        let stamp = self.stamp(a, unix_s);
        let (columns, text) = (self.columns, &mut self.text);
        add(&mut self.log, text, |text| ack_line(text, columns, stamp, a))?;
        add(&mut self.csv, text, |text| csv_line(text, stamp, a))?;
        add(&mut self.json, text, |text| json_line(text, stamp, a))
    }

    /// A line of the tx/rx log.
    ///
    /// # Errors
    /// As [`Logs::ack`].
    pub(super) fn fate(&mut self, a: &AckLine, unix_s: f64) -> Result<(), String> {
        let stamp = self.stamp(a, unix_s);
        add(&mut self.tx_rx, &mut self.text, |text| tx_rx_line(text, stamp, a))
    }

    fn stamp(&mut self, a: &AckLine, unix_s: f64) -> Stamp {
        let session = self.unwrap.seconds(a.time);
        if self.is_unix { Stamp::Unix(unix_s) } else { Stamp::Session(session) }
    }

    /// Brings everything to the disk; files that cannot be written are closed and named.
    pub(super) fn flush(&mut self) -> Vec<String> {
        let logs = [&mut self.log, &mut self.csv, &mut self.json, &mut self.tx_rx];
        let flushed = logs.into_iter().filter_map(|slot| {
            let e = slot.as_mut()?.file.flush().err()?;
            Some(close(slot, &e))
        });
        flushed.collect()
    }
}

/// Adds a line to a file that is open; one that cannot be written is closed.
fn add(
    slot: &mut Option<LogFile>,
    text: &mut String,
    line: impl FnOnce(&mut String),
) -> Result<(), String> {
    let Some(log) = slot else { return Ok(()) };
    text.clear();
    line(text);
    match log.file.write_all(text.as_bytes()) {
        Ok(()) => Ok(()),
        Err(e) => Err(close(slot, &e)),
    }
}

/// Closes a file that cannot be written; what is left of it is lost.
fn close(slot: &mut Option<LogFile>, e: &io::Error) -> String {
    let Some(LogFile { name, file }) = slot.take() else { return String::new() };
    let _ = file.into_parts(); // without another try to write
    format!("{name}: {e}; the log ends here and the run goes on")
}

impl LogFile {
    fn open(name: &str, append: bool, head: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(append).truncate(!append);
        let file = options.open(name)?;
        let is_new = file.metadata()?.len() == 0;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        if is_new {
            file.write_all(head.as_bytes())?;
        }
        Ok(Self { name: name.into(), file })
    }
}

#[cfg(test)]
mod tests;
