//! Sequence numbers of one direction without wraps, so that transfers of any length have them in order.

/// Numbers further away than the largest window (RFC 7323 2.3) belong to nothing that is under way.
const FARTHEST: u32 = 1 << 30;
/// Segments in a row with such numbers after which the capture has a hole of that size.
const STRANGERS: u8 = 3;

/// Counts from the initial sequence number, so that the first byte of data is 1; in a capture that begins later,
/// so that the first number seen is 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    origin: Option<u32>,
    /// The highest number seen.
    highest: i64,
    strangers: u8,
}

impl Numbers {
    /// Takes the sequence number of a SYN, if it is the first number.
    pub(crate) fn begin(&mut self, initial: u32) {
        self.origin.get_or_insert(initial);
    }

    /// The number without wraps; None if it is too far from all before.
    #[inline]
    pub(crate) fn extend(&mut self, number: u32) -> Option<i64> {
        let origin = *self.origin.get_or_insert_with(|| number.wrapping_sub(1));
        let distance = number.wrapping_sub(origin).wrapping_sub(self.highest as u32) as i32;
        if distance.unsigned_abs() > FARTHEST {
            self.strangers += 1;
            if self.strangers < STRANGERS {
                return None;
            }
        }
        self.strangers = 0;
        let number = self.highest + i64::from(distance);
        self.highest = self.highest.max(number);
        Some(number)
    }

    /// The number of a SACK block's edge, which moves nothing.
    #[inline]
    pub(crate) fn near(&self, number: u32) -> i64 {
        let relative = number.wrapping_sub(self.origin.unwrap_or(number));
        self.highest + i64::from(relative.wrapping_sub(self.highest as u32) as i32)
    }
}

#[cfg(test)]
mod tests;
