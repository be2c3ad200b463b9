//! The shaper inside CAKE's relatives: a clock that runs ahead by each packet's time on the wire,
//! and the framing by which that time is reckoned. chromi/sce, trees of 2019 to 2024.

use super::framing::Framing;
use sojourn_core::grammar::forms::{Value as _, or_off};
use sojourn_core::parameters;
use sojourn_core::units::{Rate, Time};

parameters! {
    /// Parameters of the built-in shaper.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Shaping {
        /// Rate of the built-in shaper.
        pub(super) bandwidth: Option<Rate> = None => or_off(Rate::FORM, "unlimited");
    }
    groups { pub(super) framing: Framing = Framing::default(); }
    also {
        /// No shaper.
        "unlimited" => |shaping, _, _| {
            shaping.bandwidth = None;
            Ok(())
        };
    }
}

impl Shaping {
    pub(super) fn capacity(&self) -> Option<Rate> {
        self.bandwidth.filter(|rate| rate.0 > 0)
    }
}

/// Nanoseconds per byte as a fraction of a power of two; zero is no rate at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteTime {
    pub(super) ns: u64,
    pub(super) shift: u32,
}

impl ByteTime {
    /// Of a rate in bytes per second; 0 is unlimited, and less than 64 counts as 64.
    pub(super) fn new(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let mut time = Self { ns: (1_000_000_000 << 34) / rate.max(64), shift: 34 };
        while time.ns >> 34 != 0 {
            time.ns >>= 1;
            time.shift -= 1;
        }
        time
    }

    /// Time that `len` bytes take.
    #[inline]
    pub(super) const fn of(self, len: u32) -> u64 {
        (len as u64 * self.ns) >> self.shift
    }
}

/// A shaper without burst: after an idle time one packet leaves at once, the next when the first
/// is through. While there is a backlog the clock runs by its own past, so that a late service is
/// made up for in full.
#[derive(Debug)]
pub(super) struct VirtualClock {
    byte_time: ByteTime,
    framing: Framing,
    time_next: Time,
    watchdog: Time,
    pub(super) overlimits: u64,
}

impl VirtualClock {
    pub(super) fn new(shaping: &Shaping) -> Self {
        let mut clock = Self {
            byte_time: ByteTime::default(),
            framing: shaping.framing,
            time_next: Time::ZERO,
            watchdog: Time::NEVER,
            overlimits: 0,
        };
        clock.set(shaping);
        clock
    }

    /// Another rate and framing from now on; what was charged stays charged.
    pub(super) fn set(&mut self, shaping: &Shaping) {
        self.framing = shaping.framing;
        let rate = shaping.capacity().map_or(0, |rate| rate.bytes_per_sec().max(1));
        self.byte_time = ByteTime::new(rate);
    }

    /// A packet arrives at an empty queue.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.time_next = self.time_next.max(now);
    }

    /// Whether the wire is still busy at `now`; then the watchdog is set.
    /// chromi/sce: CAKE's virtual clock without its second one.
    #[inline]
    pub(super) fn is_blocked(&mut self, now: Time) -> bool {
        let blocked = self.time_next > now;
        if blocked {
            self.overlimits += 1;
            self.watchdog = self.time_next;
        }
        blocked
    }

    /// A packet of `len` bytes leaves. chromi/sce, after Linux 6.12 `cake_advance_shaper`.
    #[inline]
    pub(super) fn charge(&mut self, len: u32) {
        let len = self.framing.on_wire(self.framing.counted(len));
        self.time_next.0 += self.byte_time.of(len);
    }

    #[inline]
    pub(super) const fn wake(&self) -> Time {
        self.watchdog
    }

    #[inline]
    pub(super) fn on_wake(&mut self, now: Time) {
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::grammar::{Args, read, table};

    fn clock(rate: &str, words: &str) -> VirtualClock {
        let mut shaping = Shaping { bandwidth: Rate::parse_tc(rate), ..Shaping::default() };
        read(&mut shaping, &mut Args::of("t", &table::<Shaping>, words)).unwrap();
        VirtualClock::new(&shaping)
    }

    // KAT cake 1
    #[test]
    fn rate_becomes_the_kernels_multiplier_and_shift() {
        for (rate, rate_ns, shift) in [
            ("50Mbit", 10_737_418_240, 26),
            ("1Mbit", 16_777_216_000, 21),
            ("100kbit", 10_485_760_000, 17),
        ] {
            let clock = clock(rate, "");
            assert_eq!(clock.byte_time, ByteTime { ns: rate_ns, shift }, "{rate}");
        }
    }

    // KAT cake 4
    #[test]
    fn framing_charges_the_wire() {
        let charged = |words, len| {
            let framing = clock("1Gbit", words).framing;
            framing.on_wire(framing.counted(len))
        };
        assert_eq!(charged("overhead 48 atm", 1514), 1749);
        assert_eq!(charged("conservative", 1514), 1749);
        assert_eq!(charged("", 1514), 1514);
        assert_eq!(charged("ethernet", 1514), 1538);
        assert_eq!(charged("ethernet", 54), 84);
        assert_eq!(charged("ethernet ether-vlan", 1514), 1542);
        assert_eq!(charged("docsis", 50), 64);
        assert_eq!(charged("pppoe-ptm", 1514), 1530 + 24);
        assert_eq!(charged("overhead -64", 40), 0);
        assert_eq!(charged("conservative raw", 1514), 1514);
    }

    #[test]
    fn clock_runs_by_its_own_past_and_forgets_idle_time() {
        let mut clock = clock("50Mbit", "");
        clock.restart(Time(1000));
        assert!(!clock.is_blocked(Time(1000)));
        clock.charge(1514);
        assert!(clock.is_blocked(Time(1001)));
        assert_eq!(clock.wake(), Time(243_240));
        // Served 10 ms late: 41 packets and the one due leave at once.
        let late = Time(243_240 + 10_000_000);
        clock.on_wake(late);
        let mut burst = 0;
        while !clock.is_blocked(late) {
            clock.charge(1514);
            burst += 1;
        }
        assert_eq!((burst, clock.overlimits), (42, 2));
        clock.restart(Time(1_000_000_000));
        assert!(!clock.is_blocked(Time(1_000_000_000)));
    }
}
