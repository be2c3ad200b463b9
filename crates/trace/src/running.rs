//! What the summary needs of a flow whose series are not kept. It is taken from every sample as it passes, in
//! memory that does not grow with the length of the run, but for 8 bytes a second.

use sojourn_core::{Dur, Time};

use crate::classic::ClassicDetection;
use crate::goodput::{BIN, short_bin};
use crate::metrics::Statistics;
use crate::sketch::Sketch;

/// Series of which the summary has statistics.
const SKETCHED: [&str; 7] =
    ["delivery_rate", "rtt", "cwnd", "target_rate", "sent_rate", "sender_delay", "sender_queue"];

/// The times that matter to the statistics of all flows of a run.
#[derive(Clone, Debug)]
pub struct Instants {
    /// The windows of the summary, the main one first.
    pub windows: Vec<(Time, Time)>,
    /// From when on shares are compared: the start of the last of the flows that are.
    pub compared_from: Time,
    /// Interval of the samples.
    pub step: Dur,
}

/// A flow so far.
#[derive(Clone, Debug)]
pub struct Running {
    /// Bytes delivered until the last sample.
    bytes: f64,
    under_way: f64,
    windows: Vec<Within>,
    /// Mbit/s in bins of a second: in the main window, and from when on shares are compared.
    windowed: Seconds,
    compared: Seconds,
    classic: Option<Box<Classic>>,
    /// Transfers: when each was complete, the ms that it took, and its bytes.
    done: Vec<(Time, f64, f64)>,
}

#[derive(Clone, Debug)]
struct Within {
    window: (Time, Time),
    /// What had been delivered at its start and at its end.
    from: Mark,
    to: Mark,
    edges: Edges,
    over_time: Sketch,
    /// By index into [`SKETCHED`].
    sketches: Vec<(u8, Sketch)>,
}

/// What a detector of classic queues has said.
#[derive(Clone, Debug, Default)]
struct Classic {
    /// Samples with its mode.
    seen: u32,
    /// The sum of the modes: 1 where the queue was classic.
    modes: f64,
    flips: f64,
    first: Option<f64>,
    has_mode: bool,
}

/// Bytes delivered until an instant, once it has passed.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    bytes: Option<f64>,
}

impl Mark {
    /// `before` had been delivered until the sample before that of `now`, and `bytes` until then.
    fn pass(&mut self, now: Time, before: f64, bytes: f64) {
        if self.bytes.is_none() && self.at <= now {
            self.bytes = Some(if self.at == now { bytes } else { before });
        }
    }
}

/// The edges of bins, of which those that have passed are known.
#[derive(Clone, Copy, Debug)]
struct Edges {
    from: Time,
    width: Dur,
    /// How many have passed, and the bytes at the last of them.
    passed: u64,
    bytes: f64,
}

impl Edges {
    fn new(from: Time, width: Dur) -> Self {
        Self { from, width, passed: 0, bytes: 0.0 }
    }

    /// Gives number and rate, Mbit/s, of each bin that ends until `now`, and within `to`.
    fn pass(
        &mut self,
        now: Time,
        to: Time,
        before: f64,
        bytes: f64,
        mut bin: impl FnMut(u64, f64),
    ) {
        loop {
            let edge = self.from + self.width * self.passed;
            if edge > now || edge > to {
                return;
            }
            let at = if edge == now { bytes } else { before };
            if self.passed > 0 {
                let mbps = (at - self.bytes) * 8.0 / self.width.as_secs_f64() / 1e6;
                bin(self.passed - 1, mbps);
            }
            (self.passed, self.bytes) = (self.passed + 1, at);
        }
    }
}

#[derive(Clone, Debug)]
struct Seconds {
    edges: Edges,
    to: Time,
    rates: Vec<f32>,
}

impl Seconds {
    fn new(from: Time, to: Time) -> Self {
        Self { edges: Edges::new(from, BIN), to, rates: Vec::new() }
    }

    fn pass(&mut self, now: Time, before: f64, bytes: f64) {
        let rates = &mut self.rates;
        self.edges.pass(now, self.to, before, bytes, |_, mbps| rates.push(mbps as f32));
    }

    /// All bins until `to`, after whose last sample `bytes` had been delivered.
    fn until(&self, to: Time, bytes: f64) -> Vec<f64> {
        let mut rates: Vec<f64> = self.rates.iter().map(|rate| f64::from(*rate)).collect();
        let mut edges = self.edges;
        edges.pass(to, self.to, bytes, bytes, |_, mbps| rates.push(mbps));
        rates.truncate((to.since(edges.from).0 / BIN.0) as usize);
        rates
    }
}

impl Running {
    /// A flow of which nothing has been sampled.
    pub fn new(instants: &Instants) -> Self {
        let width = short_bin(instants.step);
        let within = |&(from, to): &(Time, Time)| Within {
            window: (from, to),
            from: Mark { at: from, bytes: None },
            to: Mark { at: to, bytes: None },
            edges: Edges::new(from, width),
            over_time: Sketch::default(),
            sketches: Vec::new(),
        };
        let (from, to) = instants.windows[0];
        Self {
            bytes: 0.0,
            under_way: 0.0,
            windows: instants.windows.iter().map(within).collect(),
            windowed: Seconds::new(from, to),
            compared: Seconds::new(instants.compared_from, Time::NEVER),
            classic: None,
            done: Vec::new(),
        }
    }

    /// A value of a sample that is taken now.
    #[inline]
    pub fn put(&mut self, now: Time, name: &str, value: f64) {
        if name == "in_flight" {
            self.under_way = value;
            return;
        }
        let Some(series) = SKETCHED.iter().position(|known| *known == name) else { return };
        for within in &mut self.windows {
            if (within.window.0..=within.window.1).contains(&now) {
                within.sketch(series as u8).record(value);
            }
        }
    }

    /// A value of the controller's sample that is taken now.
    #[inline]
    pub fn put_controller(&mut self, now: Time, name: &str, value: f64) {
        match name {
            "classic_mode" => {
                let (from, to) = self.windows[0].window;
                let classic = self.classic.get_or_insert_default();
                classic.has_mode = true;
                if (from..=to).contains(&now) {
                    classic.seen += 1;
                    classic.modes += value;
                }
                if value > 0.0 && classic.first.is_none() {
                    classic.first = Some(now.as_secs_f64());
                }
            }
            "classic_flips" => self.classic.get_or_insert_default().flips = value,
            _ => {}
        }
    }

    /// What has been delivered until the sample that is taken now. Gives what that is more than at the one
    /// before, and to `bin` number and rate, Mbit/s, of the short bins of the main window that have ended.
    pub fn deliver(&mut self, now: Time, bytes: f64, mut bin: impl FnMut(u64, f64)) -> f64 {
        let before = std::mem::replace(&mut self.bytes, bytes);
        for (number, within) in self.windows.iter_mut().enumerate() {
            within.from.pass(now, before, bytes);
            within.to.pass(now, before, bytes);
            let over_time = &mut within.over_time;
            within.edges.pass(now, within.window.1, before, bytes, |n, mbps| {
                over_time.record(mbps);
                if number == 0 {
                    bin(n, mbps);
                }
            });
        }
        self.windowed.pass(now, before, bytes);
        self.compared.pass(now, before, bytes);
        bytes - before
    }

    /// A transfer was complete at `at`.
    pub fn complete(&mut self, at: Time, ms: f64, bytes: f64) {
        self.done.push((at, ms, bytes));
    }

    /// Segments under way at the last sample.
    pub fn under_way(&self) -> f64 {
        self.under_way
    }

    /// Mbit/s within the window of this number.
    pub fn mbps(&self, window: usize) -> f64 {
        let within = &self.windows[window];
        let bytes = |mark: Mark| mark.bytes.unwrap_or(self.bytes);
        let length = within.window.1.since(within.window.0);
        (bytes(within.to) - bytes(within.from)) * 8.0 / length.as_secs_f64() / 1e6
    }

    /// Statistics of the rate in the short bins of the window of this number that end until `now`.
    pub fn over_time(&self, window: usize, now: Time) -> Option<Statistics> {
        let within = &self.windows[window];
        let (mut edges, mut over_time) = (within.edges, within.over_time.clone());
        let record = |_, mbps| over_time.record(mbps);
        edges.pass(now, within.window.1, self.bytes, self.bytes, record);
        over_time.statistics()
    }

    /// The short bins of the main window that end after the last sample and until `to`.
    pub fn rest(&self, to: Time, bin: impl FnMut(u64, f64)) {
        let mut edges = self.windows[0].edges;
        edges.pass(to, self.windows[0].window.1, self.bytes, self.bytes, bin);
    }

    /// Mbit/s in bins of a second.
    pub(crate) fn seconds(&self, from: Time, to: Time) -> Vec<f64> {
        let of = [&self.windowed, &self.compared].into_iter().find(|of| of.edges.from == from);
        of.map_or_else(Vec::new, |of| of.until(to, self.bytes))
    }

    /// Statistics of one of the series that have any, within the window of this number.
    pub fn statistics(&self, window: usize, name: &str) -> Option<Statistics> {
        let series = SKETCHED.iter().position(|known| *known == name)? as u8;
        let sketches = &self.windows[window].sketches;
        sketches.iter().find(|(of, _)| *of == series)?.1.statistics()
    }

    /// Transfers within a window: the ms that each took, and its bytes.
    pub fn done(&self, (from, to): (Time, Time)) -> Vec<(f64, f64)> {
        let within = self.done.iter().filter(|(at, ..)| (from..=to).contains(at));
        within.map(|(_, ms, bytes)| (*ms, *bytes)).collect()
    }

    /// What its controller took the path for.
    pub fn classic(&self, start: Time) -> Option<ClassicDetection> {
        let classic =
            self.classic.as_ref().filter(|classic| classic.has_mode && classic.seen > 0)?;
        Some(ClassicDetection {
            share: classic.modes / f64::from(classic.seen),
            flips: classic.flips as u64,
            after_s: classic.first.map(|first| first - start.as_secs_f64()),
        })
    }
}

impl Within {
    fn sketch(&mut self, series: u8) -> &mut Sketch {
        let found = self.sketches.iter().position(|(of, _)| *of == series);
        let at = found.unwrap_or_else(|| {
            self.sketches.reserve_exact(1);
            self.sketches.push((series, Sketch::default()));
            self.sketches.len() - 1
        });
        &mut self.sketches[at].1
    }
}

#[cfg(test)]
mod tests;
