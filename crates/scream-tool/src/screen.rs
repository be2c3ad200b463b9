//! What the user sees: results on stdout, as text or as JSON, and notes on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::Value;

/// The two streams.
#[derive(Debug)]
pub(super) struct Screen {
    is_json: bool,
    is_closed: bool,
    is_broken: bool,
    has_progress: bool,
}

impl Screen {
    pub(super) fn new(is_json: bool) -> Self {
        Self {
            is_json,
            is_closed: false,
            is_broken: false,
            has_progress: io::stderr().is_terminal(),
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Whether nobody reads stdout any more: a reason to stop, not an error.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// A line of text on stdout; JSON is never mixed with it.
    pub(super) fn line(&mut self, text: &str) {
        if !self.is_json {
            self.write(text, "\n");
        }
    }

    /// A result of several lines, with its ends of lines; on stderr if stdout takes no more.
    pub(super) fn block(&mut self, text: &str) {
        if !self.is_json && !self.write(text, "") {
            self.note(text.trim_end());
        }
    }

    /// The result as an object; on stderr if stdout takes no more.
    pub(super) fn result(&mut self, object: &Value) {
        if self.is_json && !self.write(&object.to_string(), "\n") {
            self.note(&object.to_string());
        }
    }

    /// An object on stdout, if that is JSON.
    pub(super) fn object(&mut self, object: &Value) {
        if self.is_json {
            self.write(&object.to_string(), "\n");
        }
    }

    /// False: a full disk, say, which is reported once and ends no measurement.
    fn write(&mut self, text: &str, end: &str) -> bool {
        let mut out = io::stdout().lock();
        let Err(e) = write!(out, "{text}{end}").and_then(|()| out.flush()) else { return true };
        if e.kind() == io::ErrorKind::BrokenPipe {
            self.is_closed = true;
            return true;
        }
        if !std::mem::replace(&mut self.is_broken, true) {
            self.note(&format!("warning: stdout: {e}; the run goes on"));
        }
        false
    }

    /// A line on stderr.
    #[expect(clippy::unused_self, reason = "both streams have one owner")]
    pub(super) fn note(&self, text: &str) {
        // Nobody may read it; that is their choice.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// A sign of life, on a terminal only.
    pub(super) fn dot(&self) {
        if self.has_progress {
            let mut out = io::stderr().lock();
            let _ = write!(out, ".").and_then(|()| out.flush());
        }
    }
}

/// Text of the other end, without what would control a terminal.
pub(super) fn harmless(bytes: &[u8]) -> String {
    let printable = |b: &u8| if (0x20..0x7f).contains(b) { char::from(*b) } else { '?' };
    bytes.iter().take(450).map(printable).collect()
}

#[cfg(test)]
mod tests;
