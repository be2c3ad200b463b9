//! The sender's log files.

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
        (self.rounds as f64 * 2.0_f64.powi(32) + f64::from(now.0)) / f64::from(ticks::PER_SECOND)
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
mod tests {
    use super::*;

    fn options(folder: &std::path::Path, words: &str) -> TxOptions {
        let line = words.replace('@', &format!("{}/", folder.display()));
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        TxOptions::parse(&args).expect("options")
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder =
            std::env::temp_dir().join(format!("sojourn-logs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn each_log_has_its_lines_and_a_continued_one_no_second_head() {
        let dir = folder("lines");
        let words = "-log @l -csv @c -jsonlog @j -txrxlog @t h 1";
        for round in 0..2 {
            let words =
                if round == 0 { format!("-itemlist {words}") } else { format!("-append {words}") };
            let o = options(&dir, &words);
            let mut logs = Logs::open(&o, Generation::V2024).expect("files");
            let line = AckLine { time: Ticks(65_536), ..AckLine::default() };
            logs.ack(&line, 0.0).expect("written");
            (0..2).for_each(|_| logs.fate(&line, 0.0).expect("written"));
            assert_eq!(logs.flush(), [""; 0]);
        }
        let lines = |name: &str| {
            let text = std::fs::read_to_string(dir.join(name)).expect("a log");
            text.lines().map(String::from).collect::<Vec<_>>()
        };
        let log = lines("l");
        assert_eq!(log.len(), 3, "head and two lines: {log:?}");
        assert!(log[0].starts_with("\"Time [s]\"") && log[1].starts_with("1.0000,"));
        assert_eq!((lines("c").len(), lines("j").len(), lines("t").len()), (3, 2, 4));
        std::fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let o = options(std::path::Path::new("/no/such/folder"), "-log @l h 1");
        let error = Logs::open(&o, Generation::V2026).err().expect("an error");
        assert!(error.starts_with("-log: /no/such/folder/l: "), "{error}");
    }

    #[test]
    fn a_full_disk_closes_its_file_and_no_other() {
        let dir = folder("full");
        let o = options(&dir, "-log /dev/full -csv @c h 1");
        let mut logs = Logs::open(&o, Generation::V2026).expect("files");
        let line = AckLine::default();
        logs.ack(&line, 0.0).expect("buffered");
        let said = logs.flush();
        assert!(said.len() == 1 && said[0].starts_with("/dev/full: No space left"), "{said:?}");
        logs.ack(&line, 0.0).expect("the other file");
        assert_eq!(logs.flush(), [""; 0], "told once");
        assert_eq!(std::fs::read_to_string(dir.join("c")).expect("a log").lines().count(), 3);
        std::fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn times_go_on_after_the_clock_wraps() {
        let mut unwrap = Unwrap::default();
        assert_eq!(unwrap.seconds(Ticks(u32::MAX - 65_535)), 65_535.0);
        assert_eq!(unwrap.seconds(Ticks(65_536)), 65_537.0);
        assert_eq!(unwrap.seconds(Ticks(65_535)), 65_536.0 + 65_535.0 / 65_536.0, "a step back");
    }
}
