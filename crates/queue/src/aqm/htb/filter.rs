//! Filters as tc's `u32` writes them, on the fields that a packet has here.

use std::fmt;

use super::handle::{ClassId, hexadecimal};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::{Kind, Packet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Tos,
    Protocol,
    /// Number of the source or destination host, used as its address.
    Src,
    Dst,
}

impl Field {
    const WORDS: [&'static str; 4] = ["tos", "protocol", "src", "dst"];

    /// In the order of [`Self::WORDS`].
    const ALL: [Self; 4] = [Self::Tos, Self::Protocol, Self::Src, Self::Dst];

    #[inline]
    fn of(self, pkt: &Packet) -> u16 {
        match self {
            Self::Tos => u16::from(pkt.tos),
            Self::Protocol => match pkt.kind {
                Kind::TcpData | Kind::TcpAck | Kind::TcpControl => 6,
                Kind::Udp => 17,
                Kind::Icmp => 1,
            },
            Self::Src => pkt.src,
            Self::Dst => pkt.dst,
        }
    }
}

/// `match ip FIELD VALUE MASK`; a host is compared whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    field: Field,
    value: u16,
    mask: u16,
}

/// All matches must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    matches: Vec<Match>,
    pub(super) flowid: ClassId,
}

impl Filter {
    /// Reads what follows the keyword `filter`, up to and with `flowid ID`.
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut matches = Vec::new();
        loop {
            match args.key() {
                Some("match") => {
                    args.choice(&["ip"])?;
                    let field = Field::ALL[args.choice(&Field::WORDS)?];
                    let (value, mask) = match field {
                        Field::Src | Field::Dst => (number(args, u16::MAX)?, u16::MAX),
                        Field::Tos | Field::Protocol => (number(args, 0xff)?, mask(args)?),
                    };
                    matches.push(Match { field, value: value & mask, mask });
                }
                Some("flowid" | "classid") if !matches.is_empty() => {
                    return Ok(Self { matches, flowid: ClassId::read(args)? });
                }
                other => {
                    let got = other.map_or_else(|| "nothing".into(), |word| format!("`{word}`"));
                    let allowed = if matches.is_empty() { "match" } else { "match or flowid" };
                    return Err(args.invalid(format_args!("filter: expected {allowed}, got {got}")));
                }
            }
        }
    }

    #[inline]
    pub(super) fn matches(&self, pkt: &Packet) -> bool {
        self.matches.iter().all(|m| m.field.of(pkt) & m.mask == m.value)
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(args: &mut Args<'_>, max: u16) -> Result<u16, GrammarError> {
    args.value(&format!("a number from 0 to {max}, or hexadecimal with 0x"), |word| {
        let number = match word.strip_prefix("0x") {
            Some(digits) => u16::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.ok().filter(|n| *n <= max)
    })
}

/// tc reads a mask in base 16, with or without `0x`.
fn mask(args: &mut Args<'_>) -> Result<u16, GrammarError> {
    args.value("a hexadecimal mask from 0 to ff", |word| {
        hexadecimal(word).filter(|mask| *mask <= 0xff)
    })
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter {} flowid {}", self.selector(), self.flowid)
    }
}

impl Filter {
    /// What it selects, such as `match ip tos 0x10 0xfc`.
    pub(super) fn selector(&self) -> String {
        let text = |Match { field, value, mask }: &Match| {
            let name = Field::WORDS[*field as usize];
            match field {
                Field::Tos => format!("match ip {name} {value:#x} {mask:#x}"),
                Field::Protocol => format!("match ip {name} {value} {mask:#x}"),
                Field::Src | Field::Dst => format!("match ip {name} {value}"),
            }
        };
        self.matches.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    /// Whether it selects by the number of a host, which has no address here.
    pub(super) fn is_by_host(&self) -> bool {
        self.matches.iter().any(|m| matches!(m.field, Field::Src | Field::Dst))
    }
}
