//! How much was in flight in the last seconds, which bounds the window: one that the encoder does not
//! use says nothing about the path (RFC 8298 4.1.2; the tool of 2020-03-20).

const SLOTS: usize = 20;

/// Greatest and mean number of bytes in flight, a slot per second.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// Slots in use.
    slots: usize,
    high: [i32; SLOTS],
    mean: [i32; SLOTS],
    at: usize,
    /// Of this second.
    highest: i32,
    sum: i64,
    count: i64,
}

impl InFlight {
    /// A history of `slots` seconds.
    pub(super) fn new(slots: usize) -> Self {
        debug_assert!((1..=SLOTS).contains(&slots));
        Self { slots, high: [0; SLOTS], mean: [0; SLOTS], at: 0, highest: 0, sum: 0, count: 0 }
    }

    /// `bytes` are in flight.
    pub(super) fn see(&mut self, bytes: i32) {
        self.highest = self.highest.max(bytes);
        self.sum += i64::from(bytes);
        self.count += 1;
    }

    /// A second passed.
    pub(super) fn step(&mut self) {
        self.high[self.at] = std::mem::take(&mut self.highest);
        self.mean[self.at] = (std::mem::take(&mut self.sum) / self.count.max(1)) as i32;
        self.count = 0;
        self.at = (self.at + 1) % self.slots;
    }

    /// The greatest of this second and of the history, bytes.
    pub(super) fn high(&self) -> i32 {
        self.high.iter().copied().max().unwrap_or(0).max(self.highest)
    }

    /// The greatest mean of a second, or what is in flight, bytes.
    pub(super) fn low(&self, now: i32) -> i32 {
        self.mean.iter().copied().max().unwrap_or(0).max(now)
    }
}

#[cfg(test)]
mod tests;
