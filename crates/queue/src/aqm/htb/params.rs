//! The words of `htb`: those of a class, and those of a tree of classes.

use std::fmt;

use super::filter::Filter;
use super::handle::{ClassId, hexadecimal};
use crate::aqm::psched::LinkLayer;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "rate", value: "RATE", default: "(required)", doc: "Guaranteed rate." },
    Param { name: "ceil", value: "RATE", default: "rate", doc: "Rate never exceeded." },
    Param {
        name: "burst|buffer|maxburst",
        value: "SIZE",
        default: "mtu",
        doc: "Bucket of the rate; computed as the bytes of one nanosecond plus mtu.",
    },
    Param {
        name: "cburst|cbuffer|cmaxburst",
        value: "SIZE",
        default: "mtu",
        doc: "Bucket of the ceiling.",
    },
    Param { name: "mtu", value: "SIZE", default: "1600b", doc: "Least computed burst." },
    Param { name: "mpu", value: "SIZE", default: "0b", doc: "Least size charged." },
    Param { name: "overhead", value: "BYTES", default: "0", doc: "Added to each packet." },
    Param {
        name: "linklayer",
        value: "ethernet|atm|adsl",
        default: "ethernet",
        doc: "Framing below the packet.",
    },
    Param {
        name: "quantum",
        value: "SIZE",
        default: "rate/r2q",
        doc: "Bytes served before a sibling of equal priority; without effect on one class.",
    },
    Param {
        name: "prio",
        value: "NUMBER",
        default: "0",
        doc: "Priority among siblings, 0 to 7; without effect on one class.",
    },
    Param { name: "r2q", value: "NUMBER", default: "10", doc: "Divisor of computed quanta." },
    Param {
        name: "default",
        value: "MINOR",
        default: "0",
        doc: "Class of what no filter selects, a hexadecimal minor number; 0 is the direct queue.",
    },
    Param {
        name: "direct_qlen",
        value: "PACKETS",
        default: "1000",
        doc: "Limit of the direct queue, which is not shaped; by default the device's txqueuelen.",
    },
    Param {
        name: "class",
        value: "MAJOR:MINOR",
        default: "one class",
        doc: "Begins a class; the class words after it, `parent` and `leaf` are its own.",
    },
    Param {
        name: "parent",
        value: "MAJOR:MINOR",
        default: "a root class",
        doc: "The class that lends to it, named before it.",
    },
    Param {
        name: "leaf",
        value: "{ QDISC }",
        default: "pfifo",
        doc: "The queue of a class without children.",
    },
    Param {
        name: "filter",
        value: "match ip FIELD ... flowid ID",
        default: "none",
        doc: "Sends packets to a class; the first filter that matches decides.",
    },
];

/// Values of a class as written; what is absent follows from the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Params {
    pub(super) rate: Rate,
    pub(super) ceil: Option<Rate>,
    pub(super) burst: Option<Bytes>,
    pub(super) cburst: Option<Bytes>,
    pub(super) mtu: Option<Bytes>,
    pub(super) mpu: u32,
    pub(super) overhead: u16,
    pub(super) layer: LinkLayer,
    pub(super) quantum: Option<u32>,
    pub(super) prio: u8,
}

impl Params {
    /// Reads the value of `key` if that is a word of a class.
    fn word(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        match key {
            "rate" => self.rate = args.rate()?,
            "ceil" => self.ceil = Some(args.rate()?),
            "burst" | "buffer" | "maxburst" => self.burst = Some(args.size()?),
            "cburst" | "cbuffer" | "cmaxburst" => self.cburst = Some(args.size()?),
            "mtu" => self.mtu = Some(args.size()?),
            "mpu" => self.mpu = read_small(args, 0xffff)?,
            "overhead" => self.overhead = args.number(0..=0xffff)? as u16,
            "linklayer" => self.layer = LinkLayer::from_index(args.choice(&LinkLayer::WORDS)?),
            "quantum" => self.quantum = Some(read_small(args, u32::MAX)?),
            "prio" => self.prio = args.number(0..=7)? as u8,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn is_valid(&self) -> bool {
        self.rate >= Rate(8) && self.ceil() >= Rate(8)
    }

    pub(super) fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// Bucket size for `rate`: tc divides by a timer frequency of 1e9 and adds the MTU.
    pub(super) fn burst_or_default(&self, given: Option<Bytes>, rate: Rate) -> Bytes {
        let mtu = self.mtu.unwrap_or(Bytes(1600));
        given.unwrap_or_else(|| Bytes(rate.bytes_per_sec() / 1_000_000_000 + mtu.0))
    }

    /// The kernel's quantum of a leaf.
    pub(super) fn quantum(&self, r2q: Option<u32>) -> u32 {
        self.quantum.unwrap_or_else(|| {
            let r2q = u64::from(r2q.unwrap_or(10));
            (self.rate.bytes_per_sec() / r2q).clamp(1000, 200_000) as u32
        })
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut word = |name: &str, value: Option<String>| {
            value.map_or(Ok(()), |value| write!(f, " {name} {value}"))
        };
        word("rate", Some(self.rate.to_string()))?;
        word("ceil", self.ceil.map(|v| v.to_string()))?;
        word("burst", self.burst.map(|v| v.to_string()))?;
        word("cburst", self.cburst.map(|v| v.to_string()))?;
        word("mtu", self.mtu.map(|v| v.to_string()))?;
        word("mpu", (self.mpu != 0).then(|| format!("{}b", self.mpu)))?;
        word("overhead", (self.overhead != 0).then(|| self.overhead.to_string()))?;
        let layer = (self.layer != LinkLayer::Ethernet).then(|| self.layer.name().to_string());
        word("linklayer", layer)?;
        word("quantum", self.quantum.map(|v| format!("{v}b")))?;
        word("prio", (self.prio != 0).then(|| self.prio.to_string()))
    }
}

fn read_small(args: &mut Args<'_>, max: u32) -> Result<u32, GrammarError> {
    args.value("a size such as `1500b`", |w| {
        Bytes::parse_tc(w).and_then(|b| u32::try_from(b.0).ok()).filter(|b| *b <= max)
    })
}

/// A class as written.
#[derive(Clone, Debug)]
pub(super) struct ClassWords<'a> {
    pub(super) id: ClassId,
    pub(super) parent: Option<ClassId>,
    pub(super) params: Params,
    pub(super) leaf: Option<&'a str>,
}

/// All words after `htb`.
#[derive(Debug, Default)]
pub(super) struct Words<'a> {
    /// Words before any class: the only class, if there is no tree.
    pub(super) lone: Option<Params>,
    pub(super) r2q: Option<u32>,
    pub(super) default: Option<u16>,
    pub(super) direct_qlen: Option<u32>,
    pub(super) classes: Vec<ClassWords<'a>>,
    pub(super) filters: Vec<Filter>,
}

impl<'a> Words<'a> {
    /// Reads everything. A class begins with the values that `known` has for it, and so does the
    /// only class of an htb without a tree (`known(None)`).
    pub(super) fn read(
        args: &mut Args<'a>,
        known: impl Fn(Option<ClassId>) -> Option<Params>,
    ) -> Result<Self, GrammarError> {
        let mut words = Self::default();
        while let Some(key) = args.key() {
            match key {
                "r2q" => words.r2q = Some(args.number(1..=u64::from(u32::MAX))? as u32),
                "default" => {
                    words.default = Some(args.value("a hexadecimal minor number", hexadecimal)?);
                }
                "direct_qlen" => {
                    words.direct_qlen = Some(args.number(0..=u64::from(u32::MAX))? as u32);
                }
                "class" => {
                    let id = ClassId::read(args)?;
                    let params = known(Some(id)).unwrap_or_default();
                    words.begin(id, params).map_err(|why| args.invalid(why))?;
                }
                "filter" => words.filters.push(Filter::read(args)?),
                "parent" | "leaf" => {
                    let Some(class) = words.classes.last_mut() else {
                        return Err(args.invalid(format_args!("`{key}` belongs after a `class`")));
                    };
                    if key == "parent" {
                        class.parent = Some(ClassId::read(args)?);
                    } else {
                        class.leaf = Some(args.group()?);
                    }
                }
                _ => {
                    let params = match words.classes.last_mut() {
                        Some(class) => &mut class.params,
                        None => words.lone.get_or_insert_with(|| known(None).unwrap_or_default()),
                    };
                    if !params.word(key, args)? {
                        return Err(args.unknown());
                    }
                }
            }
        }
        words.check().map_err(|why| args.invalid(why))?;
        Ok(words)
    }

    fn begin(&mut self, id: ClassId, params: Params) -> Result<(), String> {
        if id.minor == 0 {
            return Err(format!("class {id}: expected a minor number from 1 to ffff"));
        }
        if self.classes.iter().any(|class| class.id == id) {
            return Err(format!("class {id} is given twice"));
        }
        if let Some(first) = self.classes.first().filter(|first| first.id.major != id.major) {
            return Err(format!("class {id}: expected the major number of class {}", first.id));
        }
        self.classes.push(ClassWords { id, parent: None, params, leaf: None });
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.lone.is_some() && self.is_tree() {
            return Err("a tree has no class words before its first `class`".into());
        }
        if self.lone.as_ref().is_some_and(|params| !params.is_valid()) {
            return Err("`rate` must be at least 8bit".into());
        }
        match self.classes.iter().find(|class| !class.params.is_valid()) {
            Some(class) => Err(format!("class {}: `rate` must be at least 8bit", class.id)),
            None => Ok(()),
        }
    }

    /// Whether a word stands there that only a tree of classes has.
    pub(super) fn is_tree(&self) -> bool {
        let tree = self.default.is_some() || self.direct_qlen.is_some();
        tree || !self.classes.is_empty() || !self.filters.is_empty()
    }
}
