//! The shaper inside CAKE's relatives: a clock that runs ahead by each packet's time on the wire,
//! and the framing by which that time is reckoned. chromi/sce, trees of 2019 to 2024.

use sojourn_core::grammar::forms::{custom, keywords, maybe, whole};
use sojourn_core::grammar::{Args, Given, GrammarError, Param, Parameters};
use sojourn_core::units::{Rate, Time};
use sojourn_core::{choices, parameters};

parameters! {
    /// Parameters of the shaper.
    #[derive(Copy, PartialEq)]
    pub(super) struct Shaping {
        /// Rate of the built-in shaper.
        pub(super) bandwidth: Option<Rate> = None, default "unlimited";
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

parameters! {
    /// How long a packet is on the wire.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Framing {
        /// Added to each network-layer packet, -64 to 256.
        overhead: Option<i32> = None => maybe(custom("BYTES", read_overhead, i32::to_string)),
            default "0";
        /// Least size charged, 0 to 256.
        mpu: u32 = 0 => whole("BYTES", 0..=256, "");
        /// Whole cells of 53 bytes for 48, or one byte in 65 for the code words of PTM.
        cells: Cells = Cells::None => keywords();
    }
    transient {
        /// The overhead before a text; names in one text add up, and replace it.
        before: Option<i32> = None;
        /// Whether the text has a name.
        is_named: bool = false;
    }
    also {
        /// Framing by name; `raw` charges the frame as the device sees it.
        "raw|conservative|ethernet|ether-vlan|docsis|pppoe-ptm|bridged-ptm|pppoa-vcmux|pppoa-llc\
         |pppoe-vcmux|pppoe-llcsnap|bridged-vcmux|bridged-llcsnap|ipoa-vcmux|ipoa-llcsnap" =>
            |framing, name, _| {
                framing.set(name);
                Ok(())
            };
    }
    begin forget;
    derive restore;
}

choices! {
    /// What the wire makes of bytes.
    enum Cells {
        None = "noatm",
        Atm = "atm",
        Ptm = "ptm",
    }
}

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

fn read_overhead(args: &mut Args<'_>) -> Result<i32, GrammarError> {
    args.value("a whole number from -64 to 256", |word| {
        word.parse().ok().filter(|bytes| (-64..=256).contains(bytes))
    })
}

impl Framing {
    fn forget(&mut self) {
        self.before = self.overhead.take();
    }

    fn restore(&mut self, given: &Given) {
        if !self.is_named && !given.has("overhead") {
            self.overhead = self.before;
        }
    }

    /// A framing by its name.
    fn set(&mut self, name: &str) {
        self.is_named = true;
        match name {
            "raw" => (self.overhead, self.cells) = (None, Cells::None),
            "conservative" => (self.overhead, self.cells) = (Some(48), Cells::Atm),
            _ => {}
        }
        if let Some((_, bytes, mpu, cells)) = FRAMES.iter().find(|frame| frame.0 == name) {
            // Names may be combined (`pppoe-ptm ether-vlan`) but not beyond what tc sends.
            self.overhead = Some((self.overhead.unwrap_or(0) + bytes).min(256));
            self.mpu = mpu.unwrap_or(self.mpu);
            self.cells = cells.unwrap_or(self.cells);
        }
    }

    /// As `read` of disciplines whose parameters are not declared yet.
    pub(super) fn read(
        &mut self,
        sum: &mut i32,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        let before = self.overhead;
        self.overhead = Some(*sum);
        let taken = self.take(key, args, &mut Given::default())?;
        let is_set = taken && !["mpu", "atm", "ptm", "noatm"].contains(&key);
        self.overhead = if is_set { self.overhead } else { before };
        *sum = if is_set { self.overhead.unwrap_or(0) } else { *sum };
        Ok(taken)
    }

    pub(super) fn describe(&self) -> String {
        let text = sojourn_core::grammar::text(&sojourn_core::grammar::written(self));
        if self.overhead.is_none() { format!("raw {text}") } else { text }
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
    use sojourn_core::grammar::{read, table};

    fn clock(rate: &str, words: &str) -> VirtualClock {
        let mut framing = Framing::default();
        let lines = table::<Framing>;
        read(&mut framing, &mut Args::of("t", &lines, words)).unwrap();
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
        assert_eq!(charged("overhead 10 ether-vlan", 1514), 1514);
        assert_eq!(charged("conservative raw", 1514), 1514);
    }

    #[test]
    fn names_of_one_text_add_up_and_replace_the_overhead_before() {
        let mut framing = Framing::default();
        for (text, overhead) in
            [("docsis", 18), ("mpu 84 ptm", 18), ("ethernet ether-vlan", 42), ("ether-vlan", 4)]
        {
            let lines = table::<Framing>;
            read(&mut framing, &mut Args::of("t", &lines, text)).unwrap();
            assert_eq!(framing.overhead, Some(overhead), "{text}");
        }
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
