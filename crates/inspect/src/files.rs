//! Capture files, one after the other, into one report.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sojourn_capture::facts::Facts;
use sojourn_capture::layers::dissect;
use sojourn_capture::{Capture, LinkType, read};
use sojourn_core::Time;

use crate::filter::Filter;
use crate::report::Report;
use crate::{Analyser, Options};

/// Packets between two questions whether to go on.
const ASK_EVERY: u64 = 1 << 16;

/// What files say, and what could not be read of them.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Of all files together.
    pub report: Report,
    /// Of each file.
    pub facts: Vec<Facts>,
    /// What is damaged or missing, a line each that names the file.
    pub warnings: Vec<String>,
}

/// Reads files in their order as one capture. `ask` is asked now and then, and ends it.
///
/// # Errors
/// One of the files cannot be read, or is no capture.
pub fn analyse(
    paths: &[PathBuf],
    filter: Option<&Filter>,
    options: Options,
    mut ask: impl FnMut() -> ControlFlow<()>,
) -> Result<Analysis, read::Error> {
    let mut analyser = Analyser::new(options);
    let mut found = Analysis::default();
    'files: for path in paths {
        let mut capture = Capture::open(path)?;
        let mut records = 0;
        while let Some(record) = capture.next() {
            take(&mut analyser, filter, record.time, record.link, record.bytes);
            records += 1;
            if records % ASK_EVERY == 0 && ask().is_break() {
                break 'files;
            }
        }
        warn(path, capture.facts(), &mut found.warnings);
        found.facts.push(capture.facts().clone());
    }
    found.report = analyser.finish();
    Ok(found)
}

/// Gives an analyser the bytes of a link, if the filter takes them.
pub fn take(
    analyser: &mut Analyser,
    filter: Option<&Filter>,
    time: Time,
    link: LinkType,
    bytes: &[u8],
) {
    match dissect(link, bytes) {
        Ok(layers) if filter.is_none_or(|filter| filter.takes(&layers)) => {
            analyser.packet(time, &layers);
        }
        Ok(_) => {}
        Err(why) => analyser.skip(why),
    }
}

/// What is damaged or missing in a file, a line each.
pub fn warn(path: &Path, facts: &Facts, lines: &mut Vec<String>) {
    let name = path.display();
    if let Some(first) = facts.damage.first() {
        let more = match facts.damaged_places {
            0 | 1 => String::new(),
            places => format!(", and {} more places", places - 1),
        };
        let Facts { records, damaged_bytes, bytes, .. } = facts;
        lines.push(format!(
            "{name}: damaged: {records} packets were read, {damaged_bytes} of {bytes} bytes were not \
             ({first}{more})"
        ));
    }
    let dropped: u64 = facts.interfaces.iter().filter_map(|interface| interface.dropped).sum();
    if dropped > 0 {
        lines.push(format!(
            "{name}: the capture lost {dropped} packets, by its own count: losses may be its own"
        ));
    }
    if facts.without_time > 0 {
        lines.push(format!("{name}: {} packets have no time", facts.without_time));
    }
}

#[cfg(test)]
mod tests;
