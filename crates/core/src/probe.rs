//! Named values that a queue or controller shows to the trace.

/// Collects `(name, unit, value)` in a fixed order: the same object must put the same names in the
/// same order every time, so that a recorder can address columns by position.
pub struct Probe<'a> {
    sink: &'a mut dyn FnMut(&str, &'static str, f64),
}

impl<'a> Probe<'a> {
    /// A probe that hands each value to `sink(name, unit, value)`.
    pub fn new(sink: &'a mut dyn FnMut(&str, &'static str, f64)) -> Self {
        Self { sink }
    }

    /// Reports one value. `unit` is one of `packets`, `bytes`, `segments`, `ms`, `Mbit/s`, `1`.
    pub fn put(&mut self, name: &str, unit: &'static str, value: f64) {
        (self.sink)(name, unit, value);
    }
}

impl std::fmt::Debug for Probe<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}
