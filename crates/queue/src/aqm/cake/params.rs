//! CAKE's words.

use super::ack::AckFilter;
use super::hosts::FlowMode;
use super::link::{Cells, Link, PRESETS};
use super::priority::TinMode;
use super::sce;
use super::version::Version;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "bandwidth", value: "RATE", default: "unlimited", doc: "Rate of the shaper." },
    Param { name: "unlimited", value: "", default: "unlimited", doc: "No shaper." },
    Param {
        name: "autorate-ingress",
        value: "",
        default: "off",
        doc: "Shape to 15/16 of the estimated rate of arrivals; after `bandwidth`, which ends it.",
    },
    Param {
        name: "rtt",
        value: "TIME",
        default: "100ms",
        doc: "Round-trip time to expect: COBALT's interval, and twenty times its target.",
    },
    Param {
        name: "datacentre|lan|metro|regional|internet|oceanic|satellite|interplanetary",
        value: "",
        default: "internet",
        doc: "`rtt` of 100us, 1ms, 10ms, 30ms, 100ms, 300ms, 1s or 1000s.",
    },
    Param {
        name: "besteffort|precedence|diffserv8|diffserv4|diffserv|diffserv3",
        value: "",
        default: "diffserv3",
        doc: "Priority tins by DSCP: 1, 8, 8, 4, 4 or 3.",
    },
    Param {
        name: "flowblind|srchost|dsthost|hosts|flows|dual-srchost|dual-dsthost|triple-isolate",
        value: "",
        default: "triple-isolate",
        doc: "What shares a queue, and for the last three what shares a turn.",
    },
    Param {
        name: "nat|nonat",
        value: "",
        default: "nonat",
        doc: "Accepted; no address is translated here.",
    },
    Param {
        name: "wash|nowash",
        value: "",
        default: "nowash",
        doc: "Clear the DSCP after classification.",
    },
    Param {
        name: "split-gso|no-split-gso",
        value: "",
        default: "split-gso",
        doc: "Super-packets (`tcp.gso`) are queued segment by segment, or as one packet.",
    },
    Param {
        name: "ack-filter|ack-filter-aggressive|no-ack-filter",
        value: "",
        default: "no-ack-filter",
        doc: "Discard acknowledgements that a later one in the queue makes superfluous.",
    },
    Param {
        name: "memlimit",
        value: "SIZE",
        default: "0b",
        doc: "Memory of all packets, by the model of `psched::truesize`; 0 follows from the rate.",
    },
    Param {
        name: "fwmark",
        value: "MASK",
        default: "0x0",
        doc: "Accepted; packets carry no firewall mark here.",
    },
    Param {
        name: "raw",
        value: "",
        default: "raw",
        doc: "Charge the frame as it is: ends `overhead`, `atm` and `ptm`.",
    },
    Param {
        name: "overhead",
        value: "BYTES",
        default: "off",
        doc: "Charge the network-layer packet and this, -64 to 256.",
    },
    Param { name: "mpu", value: "BYTES", default: "0", doc: "Charge at least this, 0 to 256." },
    Param {
        name: "noatm|atm|ptm",
        value: "",
        default: "noatm",
        doc: "Charge whole ATM cells, or one byte in 65 for PTM.",
    },
    Param {
        name: "conservative|ethernet|ether-vlan|docsis|pppoe-ptm|bridged-ptm",
        value: "",
        default: "off",
        doc: "`overhead` 48 atm, 38 mpu 84, 4 more, 18 mpu 64 noatm, 30 ptm, 22 ptm.",
    },
    Param {
        name: "ipoa-vcmux|ipoa-llcsnap|bridged-vcmux|bridged-llcsnap|pppoa-vcmux|pppoa-llc|\
               pppoe-vcmux|pppoe-llcsnap",
        value: "",
        default: "off",
        doc: "`atm` and `overhead` 8, 16, 24, 32, 10, 14, 32, 40.",
    },
    Param {
        name: "ingress|egress",
        value: "",
        default: "egress",
        doc: "Whether dropped packets are charged too.",
    },
    Param {
        name: "sce|no-sce|sce-single",
        value: "",
        default: "no-sce",
        doc: "SCE marking on a ramp that is certain at the target, none, or one from the target to \
              twice the target. Other than none it selects `version chromi`.",
    },
    Param {
        name: "sce-thresh",
        value: "NUMBER",
        default: "off",
        doc: "SCE marking with the reciprocal of this, 1 to 1024, as probability at the target.",
    },
    Param {
        name: "version",
        value: "mainline|chromi",
        default: "mainline",
        doc: "Linux 6.12, or the SCE tree of 2019: Newton's square roots, lower effort in the best \
              effort tin, ESCE known to the ACK filter. Not a word of tc.",
    },
    Param {
        name: "fresh-root",
        value: "0|max",
        default: "0",
        doc: "Whether the first episode of a queue waits no interval, as in Linux, or one. Not a \
              word of tc.",
    },
];

const RTTS: [(&str, Dur); 8] = [
    ("datacentre", Dur::from_micros(100)),
    ("lan", Dur::from_millis(1)),
    ("metro", Dur::from_millis(10)),
    ("regional", Dur::from_millis(30)),
    ("internet", Dur::from_millis(100)),
    ("oceanic", Dur::from_millis(300)),
    ("satellite", Dur::from_secs(1)),
    ("interplanetary", Dur::from_secs(1000)),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    /// Whole bytes per second; zero is unlimited.
    pub(super) bandwidth: Rate,
    pub(super) autorate: bool,
    pub(super) rtt: Dur,
    pub(super) tins: TinMode,
    pub(super) flows: FlowMode,
    nat: bool,
    pub(super) wash: bool,
    pub(super) split_gso: bool,
    pub(super) ack_filter: AckFilter,
    pub(super) memlimit: u32,
    fwmark: u32,
    pub(super) link: Link,
    pub(super) ingress: bool,
    pub(super) sce: u16,
    pub(super) version: Version,
    pub(super) fresh_root: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            bandwidth: Rate(0),
            autorate: false,
            rtt: Dur::from_millis(100),
            tins: TinMode::default(),
            flows: FlowMode::TRIPLE_ISOLATE,
            nat: false,
            wash: false,
            split_gso: true,
            ack_filter: AckFilter::default(),
            memlimit: 0,
            fwmark: 0,
            link: Link::default(),
            ingress: false,
            sce: 0,
            version: Version::default(),
            fresh_root: 0,
        }
    }
}

impl Params {
    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "bandwidth" => {
                    self.bandwidth = Rate(args.rate()?.bytes_per_sec() * 8);
                    self.autorate = false;
                }
                "unlimited" => (self.bandwidth, self.autorate) = (Rate(0), false),
                "autorate-ingress" => self.autorate = true,
                "rtt" => {
                    let most = u64::from(u32::MAX);
                    let expected = "a time such as `100ms`, up to 4294s";
                    let rtt = args.value(expected, |w| {
                        Dur::parse_tc(w).map(Dur::as_micros).filter(|us| *us <= most)
                    })?;
                    self.rtt = Dur::from_micros(rtt);
                }
                "nat" => self.nat = true,
                "nonat" => self.nat = false,
                "wash" => self.wash = true,
                "nowash" => self.wash = false,
                "split-gso" => self.split_gso = true,
                "no-split-gso" => self.split_gso = false,
                "memlimit" => {
                    self.memlimit = args.value("a size up to 4Gb", |w| {
                        Bytes::parse_tc(w).and_then(|b| u32::try_from(b.0).ok())
                    })?;
                }
                "fwmark" => self.fwmark = args.value("a mask such as `0xff`", mask)?,
                "raw" => (self.link.overhead, self.link.cells) = (None, Cells::Noatm),
                "overhead" => {
                    let overhead = args.value("a whole number from -64 to 256", |w| {
                        w.parse().ok().filter(|n| (-64..=256).contains(n))
                    })?;
                    self.link.overhead = Some(overhead);
                }
                "mpu" => self.link.mpu = args.number(0..=256)? as u32,
                "noatm" => self.link.cells = Cells::Noatm,
                "atm" => self.link.cells = Cells::Atm,
                "ptm" => self.link.cells = Cells::Ptm,
                "ingress" => self.ingress = true,
                "egress" => self.ingress = false,
                "no-sce" => self.sce = 0,
                "sce" => self.mark_sce(1),
                "sce-single" => self.mark_sce(sce::SINGLE),
                "sce-thresh" => {
                    let divisor = args.number(1..=1024)? as u16;
                    self.mark_sce(divisor);
                }
                "version" => {
                    self.version = match args.choice(&["mainline", "chromi"])? {
                        0 => Version::Mainline,
                        _ => Version::Chromi,
                    };
                }
                "fresh-root" => {
                    self.fresh_root = if args.choice(&["0", "max"])? == 0 { 0 } else { u32::MAX };
                }
                _ => self.read_keyword(key).ok_or_else(|| args.unknown())?,
            }
        }
        // DEVIATION: tc sends any sum, and prints one that it does not read again.
        match self.link.overhead {
            Some(sum) if sum > 256 => Err(args.invalid(format_args!(
                "overheads add up to {sum}: expected at most 256, as for `overhead`"
            ))),
            _ => Ok(self),
        }
    }

    /// The switches whose words are the values.
    fn read_keyword(&mut self, key: &str) -> Option<()> {
        if let Some(tins) = TinMode::from_word(key) {
            self.tins = tins;
        } else if let Some(flows) = FlowMode::from_word(key) {
            self.flows = flows;
        } else if let Some(filter) = AckFilter::from_word(key) {
            self.ack_filter = filter;
        } else if let Some((_, rtt)) = RTTS.iter().find(|(name, _)| *name == key) {
            self.rtt = *rtt;
        } else {
            self.link.apply(PRESETS.iter().find(|p| p.name == key)?);
        }
        Some(())
    }

    fn mark_sce(&mut self, divisor: u16) {
        (self.sce, self.version) = (divisor, Version::Chromi);
    }

    pub(super) const fn bytes_per_sec(&self) -> u64 {
        self.bandwidth.bytes_per_sec()
    }

    /// COBALT's target before the rate is considered.
    pub(super) fn target(&self) -> Dur {
        Dur::from_micros((self.rtt.as_micros() / 20).max(1))
    }

    /// Memory that may be used on a device whose frames have `mtu` bytes.
    pub(super) fn memory_limit(&self, mtu: u32) -> u64 {
        let configured = u64::from(self.memlimit);
        let wanted = match (configured, self.bytes_per_sec()) {
            (0, 0) => u64::from(u32::MAX),
            (0, rate) => {
                let quarter_rtts = u128::from(rate) * u128::from(self.rtt.as_micros()) / 250_000;
                quarter_rtts.clamp(4 << 20, u128::from(u32::MAX)) as u64
            }
            (configured, _) => configured,
        };
        wanted.min((10240 * u64::from(mtu)).max(configured))
    }

    pub(super) fn describe(&self) -> String {
        let mut text = String::from("cake");
        let mut put = |word: &str| {
            text.push(' ');
            text += word;
        };
        if self.bandwidth == Rate(0) {
            put("unlimited");
        } else {
            put(&format!("bandwidth {}", self.bandwidth));
        }
        if self.autorate {
            put("autorate-ingress");
        }
        put(TinMode::WORDS[self.tins as usize]);
        put(self.flows.word());
        put(if self.nat { "nat" } else { "nonat" });
        put(if self.wash { "wash" } else { "nowash" });
        put(AckFilter::WORDS[self.ack_filter as usize]);
        put(if self.split_gso { "split-gso" } else { "no-split-gso" });
        put(&format!("rtt {}", self.rtt));
        match self.link.overhead {
            None => put("raw"),
            Some(overhead) => put(&format!("overhead {overhead}")),
        }
        put(self.link.cells.word());
        put(&format!("mpu {}", self.link.mpu));
        put(&format!("memlimit {}", Bytes(u64::from(self.memlimit))));
        put(&format!("fwmark {:#x}", self.fwmark));
        put(if self.ingress { "ingress" } else { "egress" });
        match self.sce {
            0 => put("no-sce"),
            1 => put("sce"),
            sce::SINGLE => put("sce-single"),
            divisor => put(&format!("sce-thresh {divisor}")),
        }
        put(match self.version {
            Version::Mainline => "version mainline",
            Version::Chromi => "version chromi",
        });
        put(if self.fresh_root == 0 { "fresh-root 0" } else { "fresh-root max" });
        text
    }
}

fn mask(word: &str) -> Option<u32> {
    match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}
