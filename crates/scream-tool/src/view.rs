//! The live view: the last minute of rate, RTT, queue delay, CE and loss on a terminal, with the
//! codes that every terminal since the VT100 knows.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

/// Samples that are kept: a minute of five a second.
const KEPT: usize = 300;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns for name, value and greatest value.
const TEXT: usize = 44;
/// Of a terminal that does not say.
const WIDTH: usize = 80;

/// One moment. What is not known is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) rate_kbps: f32,
    pub(super) target_kbps: f32,
    pub(super) rtt_ms: f32,
    pub(super) queue_delay_ms: f32,
    pub(super) ce_pct: f32,
    pub(super) loss_pct: f32,
    pub(super) cwnd: u32,
    pub(super) in_flight: u32,
}

/// A row of the view: what, in which unit, with how many decimals.
type Row = (&'static str, &'static str, usize, fn(&Sample) -> f32);

const ROWS: [Row; 6] = [
    ("rate", "kbit/s", 0, |s| s.rate_kbps),
    ("target", "kbit/s", 0, |s| s.target_kbps),
    ("RTT", "ms", 1, |s| s.rtt_ms),
    ("queue delay", "ms", 1, |s| s.queue_delay_ms),
    ("CE", "%", 2, |s| s.ce_pct),
    ("loss", "%", 2, |s| s.loss_pct),
];

/// The view while it is on the terminal; it leaves the terminal as it was.
#[derive(Debug)]
pub(super) struct View {
    title: String,
    samples: VecDeque<Sample>,
}

impl View {
    /// Takes the terminal over, if stdout is one that can be drawn on.
    pub(super) fn open(title: String) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
        if is_dumb || !io::stdout().is_terminal() {
            return None;
        }
        // Another screen without a cursor.
        put("\x1b[?1049h\x1b[?25l\x1b[2J");
        Some(Self { title, samples: VecDeque::with_capacity(KEPT) })
    }

    /// Adds a moment and draws.
    pub(super) fn draw(&mut self, time_s: f64, sample: Sample, diagnosis: &str) {
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        put(&format!("\x1b[H{}\x1b[J", self.frame(time_s, width(), diagnosis)));
    }

    /// The picture, each line ending in what clears the rest of the old one.
    fn frame(&self, time_s: f64, width: usize, diagnosis: &str) -> String {
        let mut text = format!("{}   {time_s:.1} s\x1b[K\r\n\x1b[K\r\n", self.title);
        let last = self.samples.back().copied().unwrap_or_default();
        let shown = width.saturating_sub(TEXT).clamp(1, KEPT);
        let skipped = self.samples.len().saturating_sub(shown);
        for (name, unit, places, value) in ROWS {
            let samples = || self.samples.iter().skip(skipped).map(value);
            let most = samples().fold(0.0, f32::max);
            let now = value(&last);
            let now = if now.is_nan() { "-".into() } else { format!("{now:.places$}") };
            let _ = write!(text, "{name:<12}{now:>12} {unit:<7}max {most:<7.places$} ");
            text.extend(samples().map(|v| bar(v, most)));
            text.push_str("\x1b[K\r\n");
        }
        let Sample { cwnd, in_flight, .. } = last;
        let diagnosis: String = diagnosis.chars().take(width).collect();
        let _ = write!(
            text,
            "\x1b[K\r\n{diagnosis}\x1b[K\r\nwindow {cwnd} bytes, in flight {in_flight} bytes; Ctrl-C ends\x1b[K\r\n"
        );
        text
    }
}

impl Drop for View {
    fn drop(&mut self) {
        put("\x1b[?25h\x1b[?1049l");
    }
}

fn bar(value: f32, most: f32) -> char {
    if most <= 0.0 {
        return BARS[0];
    }
    let step = (value / most * BARS.len() as f32) as usize;
    BARS[step.min(BARS.len() - 1)]
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0);
    size.map_or(WIDTH, |size| size.ws_col.into())
}

fn put(text: &str) {
    let mut out = io::stdout().lock();
    // A terminal that is gone is noticed by the signal that comes with it.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests;
