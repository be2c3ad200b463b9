//! The shaper inside CAKE's relatives: a clock that runs ahead by each packet's time on the wire,
//! and the framing by which that time is reckoned. chromi/sce, trees of 2019 to 2024.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Rate, Time};

pub(super) const BANDWIDTH: Param = Param {
    name: "bandwidth",
    value: "RATE",
    default: "unlimited",
    doc: "Rate of the built-in shaper.",
};
pub(super) const UNLIMITED: Param =
    Param { name: "unlimited", value: "", default: "unlimited", doc: "No shaper." };
pub(super) const FRAME: Param = Param {
    name: "raw|conservative|ethernet|ether-vlan|docsis|pppoe-ptm|bridged-ptm|pppoa-vcmux|pppoa-llc\
           |pppoe-vcmux|pppoe-llcsnap|bridged-vcmux|bridged-llcsnap|ipoa-vcmux|ipoa-llcsnap",
    value: "",
    default: "raw",
    doc: "Framing by name; `raw` charges the frame as the device sees it.",
};
pub(super) const OVERHEAD: Param = Param {
    name: "overhead",
    value: "BYTES",
    default: "0",
    doc: "Added to each network-layer packet, -64 to 256.",
};
pub(super) const MPU: Param =
    Param { name: "mpu", value: "BYTES", default: "0", doc: "Least size charged, 0 to 256." };
pub(super) const CELLS: Param = Param {
    name: "noatm|atm|ptm",
    value: "",
    default: "noatm",
    doc: "Whole cells of 53 bytes for 48, or one byte in 65 for the code words of PTM.",
};

/// Bytes of an Ethernet header, which an explicit overhead replaces.
const HEADER: u32 = 14;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cells {
    #[default]
    None,
    Atm,
    Ptm,
}

/// Names, their overhead, least size if they set one, and cells if they set them.
const FRAMES: [(&str, i32, Option<u32>, Option<Cells>); 13] = [
    ("ethernet", 38, Some(84), None),
    ("ether-vlan", 4, None, None),
    ("docsis", 18, Some(64), Some(Cells::None)),
    ("pppoe-ptm", 30, None, Some(Cells::Ptm)),
    ("bridged-ptm", 22, None, Some(Cells::Ptm)),
    ("pppoa-vcmux", 10, None, Some(Cells::Atm)),
    ("pppoa-llc", 14, None, Some(Cells::Atm)),
    ("pppoe-vcmux", 32, None, Some(Cells::Atm)),
    ("pppoe-llcsnap", 40, None, Some(Cells::Atm)),
    ("bridged-vcmux", 24, None, Some(Cells::Atm)),
    ("bridged-llcsnap", 32, None, Some(Cells::Atm)),
    ("ipoa-vcmux", 8, None, Some(Cells::Atm)),
    ("ipoa-llcsnap", 16, None, Some(Cells::Atm)),
];

/// How long a packet is on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Framing {
    /// Added to the network layer's length; absent: the frame's own length counts.
    overhead: Option<i32>,
    mpu: u32,
    cells: Cells,
}

impl Framing {
    /// Reads one of the framing words; false if it is none. `sum` holds what the names of one
    /// command add up to, as tc adds them, and begins at zero.
    pub(super) fn read(
        &mut self,
        sum: &mut i32,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        match key {
            "raw" => *self = Self { mpu: self.mpu, ..Self::default() },
            "conservative" => (*sum, self.overhead, self.cells) = (48, Some(48), Cells::Atm),
            "overhead" => {
                let in_range = |n: &i32| (-64..=256).contains(n);
                let bytes = args
                    .value("a whole number from -64 to 256", |w| w.parse().ok().filter(in_range))?;
                (*sum, self.overhead) = (bytes, Some(bytes));
            }
            "mpu" => self.mpu = args.number(0..=256)? as u32,
            "atm" => self.cells = Cells::Atm,
            "ptm" => self.cells = Cells::Ptm,
            "noatm" => self.cells = Cells::None,
            _ => {
                let Some((_, bytes, mpu, cells)) = FRAMES.iter().find(|f| f.0 == key) else {
                    return Ok(false);
                };
                // Names may be combined (`pppoe-ptm ether-vlan`) but not beyond what tc sends.
                *sum = (*sum + bytes).min(256);
                self.overhead = Some(*sum);
                self.mpu = mpu.unwrap_or(self.mpu);
                self.cells = cells.unwrap_or(self.cells);
            }
        }
        Ok(true)
    }

    pub(super) fn describe(&self) -> String {
        let mut text = match self.overhead {
            None => String::from("raw"),
            Some(bytes) => format!("overhead {bytes}"),
        };
        text += &format!(" mpu {}", self.mpu);
        text + match self.cells {
            Cells::None => " noatm",
            Cells::Atm => " atm",
            Cells::Ptm => " ptm",
        }
    }

    /// Bytes charged for a frame of `len` bytes.
    #[inline]
    fn charged(&self, len: u32) -> u32 {
        let len = match self.overhead {
            None => len,
            Some(bytes) => len.saturating_sub(HEADER).saturating_add_signed(bytes),
        }
        .max(self.mpu);
        match self.cells {
            Cells::None => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }
}

/// A shaper without burst: after an idle time one packet leaves at once, the next when the first
/// is through. While there is a backlog the clock runs by its own past, so that a late service is
/// made up for in full.
#[derive(Debug)]
pub(super) struct VirtualClock {
    rate_ns: u64,
    shift: u32,
    framing: Framing,
    time_next: Time,
    watchdog: Time,
    pub(super) overlimits: u64,
}

impl VirtualClock {
    /// `rate` zero is unlimited.
    pub(super) fn new(rate: Rate, framing: Framing) -> Self {
        let mut clock = Self {
            rate_ns: 0,
            shift: 0,
            framing,
            time_next: Time::ZERO,
            watchdog: Time::NEVER,
            overlimits: 0,
        };
        clock.set(rate, framing);
        clock
    }

    /// Another rate and framing from now on; what was charged stays charged.
    pub(super) fn set(&mut self, rate: Rate, framing: Framing) {
        self.framing = framing;
        (self.rate_ns, self.shift) = (0, 34);
        if rate > Rate(0) {
            self.rate_ns = (1_000_000_000 << 34) / rate.bytes_per_sec().max(64);
            while self.rate_ns >= 1 << 34 {
                self.rate_ns >>= 1;
                self.shift -= 1;
            }
        }
    }

    /// A packet arrives at an empty queue.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.time_next = self.time_next.max(now);
    }

    /// Whether the wire is still busy at `now`; then the watchdog is set.
    #[inline]
    pub(super) fn is_blocked(&mut self, now: Time) -> bool {
        let blocked = self.time_next > now;
        if blocked {
            self.overlimits += 1;
            self.watchdog = self.time_next;
        }
        blocked
    }

    /// A packet of `len` bytes leaves.
    #[inline]
    pub(super) fn charge(&mut self, len: u32) {
        let len = u64::from(self.framing.charged(len));
        self.time_next.0 += (len * self.rate_ns) >> self.shift;
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

    fn clock(rate: &str, words: &str) -> VirtualClock {
        let mut args = Args::new("t", &[], words);
        let (mut framing, mut sum) = (Framing::default(), 0);
        while let Some(key) = args.key() {
            assert!(framing.read(&mut sum, key, &mut args).unwrap());
        }
        VirtualClock::new(Rate::parse_tc(rate).unwrap(), framing)
    }

    // KAT aqm.md 9.4
    #[test]
    fn rate_becomes_the_kernels_multiplier_and_shift() {
        for (rate, rate_ns, shift) in [
            ("50Mbit", 10_737_418_240, 26),
            ("1Mbit", 16_777_216_000, 21),
            ("100kbit", 10_485_760_000, 17),
        ] {
            let clock = clock(rate, "");
            assert_eq!((clock.rate_ns, clock.shift), (rate_ns, shift), "{rate}");
        }
    }

    // KAT aqm.md 9.7
    #[test]
    fn framing_charges_the_wire() {
        let charged = |words, len| clock("1Gbit", words).framing.charged(len);
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
