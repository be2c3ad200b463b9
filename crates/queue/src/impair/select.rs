//! Which packets a path element acts on: the selector words that `mangle` and `drop` share, and
//! their list of rules. aqm.md 14.1 to 14.4; iptables' `-p tcp ! --syn -m dscp` in tc's manner.

use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::{Kind, Packet};
use sojourn_core::rng::Rng;

/// The table of an element's words: `rule`, the selectors, then the element's own.
macro_rules! rule_params {
    ($($own:expr),* $(,)?) => {
        &[
            Param {
                name: "rule",
                value: "",
                default: "one rule",
                doc: "Begins a rule. Rules act in order, each on what the one before has made.",
            },
            Param { name: "all", value: "", default: "all", doc: "Selects every packet." },
            Param {
                name: "proto",
                value: "tcp|udp|icmp",
                default: "any",
                doc: "Selects a protocol.",
            },
            Param {
                name: "dscp",
                value: "NUMBER",
                default: "any",
                doc: "Selects a DSCP from 0 to 63, such as 46 or 0x2e.",
            },
            Param {
                name: "not-ect|ect0|ect1|ce",
                value: "",
                default: "any",
                doc: "Selects codepoints; several add up.",
            },
            Param {
                name: "syn|non-syn|syn-ack|ack",
                value: "",
                default: "any",
                doc: "Selects TCP packets: with SYN and without ACK (iptables' --syn), all others \
                      (! --syn), with SYN and ACK, or pure acknowledgements.",
            },
            Param {
                name: "data|no-data",
                value: "",
                default: "any",
                doc: "Selects TCP and UDP packets with payload, or all others.",
            },
            Param {
                name: "percent",
                value: "PERCENT",
                default: "100%",
                doc: "Takes each selected packet with this probability.",
            },
            Param {
                name: "every",
                value: "N",
                default: "1",
                doc: "Takes the selected packets number N, 2N, 3N ...",
            },
            Param {
                name: "nth",
                value: "N",
                default: "none",
                doc: "Takes the selected packet number N, the first being 1.",
            },
            Param {
                name: "list",
                value: "N,N,...",
                default: "none",
                doc: "Takes the selected packets with these numbers.",
            },
            Param {
                name: "burst",
                value: "PACKETS",
                default: "1",
                doc: "Takes that many in a row, beginning where `every` or `nth` says.",
            },
            $($own),*
        ]
    };
}
pub(super) use rule_params;

const PROTOCOLS: [&str; 3] = ["tcp", "udp", "icmp"];
const TCP: usize = 0;

/// A kind of TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flags {
    Syn,
    NonSyn,
    SynAck,
    Ack,
}

const FLAGS: [(&str, Flags); 4] = [
    ("syn", Flags::Syn),
    ("non-syn", Flags::NonSyn),
    ("syn-ack", Flags::SynAck),
    ("ack", Flags::Ack),
];

/// The grammar's words for codepoints.
pub(super) const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// Which of the packets that match are taken, by their number from 1.
#[derive(Clone, Debug, PartialEq)]
enum Pick {
    All,
    Percent(f64),
    Every(u64),
    Nth(u64),
    /// In ascending order.
    List(Vec<u64>),
}

/// Packets by what they carry and by their number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Select {
    /// Place in [`PROTOCOLS`].
    protocol: Option<usize>,
    dscp: Option<u8>,
    /// Bit `1 << codepoint`; none is any.
    codepoints: u8,
    flags: Option<Flags>,
    data: Option<bool>,
    pick: Pick,
    burst: u64,
    /// How many have matched.
    seen: u64,
}

impl Default for Select {
    fn default() -> Self {
        Self {
            protocol: None,
            dscp: None,
            codepoints: 0,
            flags: None,
            data: None,
            pick: Pick::All,
            burst: 1,
            seen: 0,
        }
    }
}

impl Select {
    /// Reads the words of `key`; false if it is no selector.
    fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        let number = 1..=u64::MAX;
        match key {
            "all" => {}
            "proto" => self.protocol = Some(args.choice(&PROTOCOLS)?),
            "dscp" => self.dscp = Some(small(args, 63)?),
            "data" => self.data = Some(true),
            "no-data" => self.data = Some(false),
            "burst" => self.burst = args.number(number)?,
            "percent" => {
                let percent = args.value("a percentage such as `10%`", |word| {
                    let percent: f64 = word.strip_suffix('%')?.parse().ok()?;
                    (0.0..=100.0).contains(&percent).then_some(percent)
                })?;
                self.choose(Pick::Percent(percent), args)?;
            }
            "every" => {
                let period = args.number(number)?;
                self.choose(Pick::Every(period), args)?;
            }
            "nth" => {
                let first = args.number(number)?;
                self.choose(Pick::Nth(first), args)?;
            }
            "list" => {
                let mut list = args.value("packet numbers such as `3,7,9`", |words| {
                    let number = |word: &str| word.parse().ok().filter(|n| *n > 0);
                    words.split(',').map(number).collect::<Option<Vec<u64>>>()
                })?;
                list.sort_unstable();
                list.dedup();
                self.choose(Pick::List(list), args)?;
            }
            word => {
                if let Some((_, ecn)) = CODEPOINTS.iter().find(|(name, _)| *name == word) {
                    self.codepoints |= 1 << *ecn as u8;
                } else if let Some((_, flags)) = FLAGS.iter().find(|(name, _)| *name == word) {
                    self.flags = Some(*flags);
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn choose(&mut self, pick: Pick, args: &Args<'_>) -> Result<(), GrammarError> {
        if self.pick != Pick::All {
            return Err(args.invalid("a rule takes one of `percent`, `every`, `nth` and `list`"));
        }
        self.pick = pick;
        Ok(())
    }

    fn check(&self, args: &Args<'_>) -> Result<(), GrammarError> {
        let wrong = match &self.pick {
            Pick::Every(period) if self.burst > *period => "`burst` is at most `every`",
            Pick::All | Pick::Percent(_) | Pick::List(_) if self.burst > 1 => {
                "`burst` needs `every` or `nth`"
            }
            _ if self.flags.is_some() && self.protocol.is_some_and(|p| p != TCP) => {
                "`syn`, `non-syn`, `syn-ack` and `ack` are words for TCP"
            }
            _ => return Ok(()),
        };
        Err(args.invalid(wrong))
    }

    fn matches(&self, pkt: &Packet) -> bool {
        let is_tcp = matches!(pkt.kind, Kind::TcpData | Kind::TcpAck | Kind::TcpControl);
        self.protocol.is_none_or(|protocol| match PROTOCOLS[protocol] {
            "tcp" => is_tcp,
            "udp" => pkt.kind == Kind::Udp,
            _ => pkt.kind == Kind::Icmp,
        }) && self.dscp.is_none_or(|dscp| dscp == pkt.tos >> 2)
            && (self.codepoints == 0 || self.codepoints & 1 << pkt.ecn() as u8 != 0)
            && self.data.is_none_or(|data| data == matches!(pkt.kind, Kind::TcpData | Kind::Udp))
            && self.flags.is_none_or(|flags| match flags {
                Flags::Syn => is_tcp && pkt.is_syn(),
                Flags::NonSyn => is_tcp && !pkt.is_syn(),
                Flags::SynAck => is_tcp && pkt.is_syn_ack(),
                Flags::Ack => pkt.kind == Kind::TcpAck,
            })
    }

    /// Whether the rule acts on `pkt`. `rng` is drawn only for packets that match `percent`.
    #[inline]
    pub(super) fn takes(&mut self, pkt: &Packet, rng: &mut Rng) -> bool {
        if !self.matches(pkt) {
            return false;
        }
        self.seen += 1;
        match &self.pick {
            Pick::All => true,
            Pick::Percent(percent) => rng.unit() * 100.0 < *percent,
            Pick::Every(period) => self.seen >= *period && self.seen % period < self.burst,
            Pick::Nth(first) => self.seen >= *first && self.seen - first < self.burst,
            Pick::List(list) => list.binary_search(&self.seen).is_ok(),
        }
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        let mut word = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!(" {name}{}{value}", if value.is_empty() { "" } else { " " });
            }
        };
        word("proto", self.protocol.map(|p| PROTOCOLS[p].to_owned()));
        word("dscp", self.dscp.map(|dscp| dscp.to_string()));
        for (name, ecn) in CODEPOINTS {
            word(name, (self.codepoints & 1 << ecn as u8 != 0).then(String::new));
        }
        for (name, flags) in FLAGS {
            word(name, (self.flags == Some(flags)).then(String::new));
        }
        if let Some(data) = self.data {
            word(if data { "data" } else { "no-data" }, Some(String::new()));
        }
        match &self.pick {
            Pick::All => {}
            Pick::Percent(percent) => word("percent", Some(format!("{percent}%"))),
            Pick::Every(period) => word("every", Some(period.to_string())),
            Pick::Nth(first) => word("nth", Some(first.to_string())),
            Pick::List(list) => {
                let list: Vec<String> = list.iter().map(u64::to_string).collect();
                word("list", Some(list.join(",")));
            }
        }
        word("burst", (self.burst > 1).then(|| self.burst.to_string()));
        if text.is_empty() { " all".to_owned() } else { text }
    }
}

/// A small number, decimal or after `0x`.
pub(super) fn small(args: &mut Args<'_>, most: u8) -> Result<u8, GrammarError> {
    let expected = format!("a number from 0 to {most}, such as 46 or 0x2e");
    args.value(&expected, |word| {
        let number = match word.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.ok().filter(|n| *n <= most)
    })
}

/// What is done to which packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule<A> {
    pub(super) select: Select,
    pub(super) actions: Vec<A>,
}

/// Reads an action that begins with this word; `None` if there is no such action.
type ReadAction<A> = fn(&str, &mut Args<'_>) -> Result<Option<A>, GrammarError>;

/// Reads all rules. The word `rule` may be left out before the first.
pub(super) fn read_rules<A>(
    args: &mut Args<'_>,
    action: ReadAction<A>,
) -> Result<Vec<Rule<A>>, GrammarError> {
    let empty = || Rule { select: Select::default(), actions: vec![] };
    let (mut rules, mut is_open) = (Vec::new(), false);
    while let Some(key) = args.key() {
        if key == "rule" {
            if args.peek().is_none_or(|next| next == "rule") {
                return Err(args.invalid("`rule` needs words"));
            }
            rules.push(empty());
            is_open = true;
            continue;
        }
        if !is_open {
            rules.push(empty());
            is_open = true;
        }
        let rule = rules.last_mut().expect("an open rule");
        if !rule.select.read(key, args)? {
            rule.actions.push(action(key, args)?.ok_or_else(|| args.unknown())?);
        }
    }
    for rule in &rules {
        rule.select.check(args)?;
    }
    Ok(rules)
}

/// The rules as they are read.
pub(super) fn describe_rules<A>(name: &str, rules: &[Rule<A>], word: fn(&A) -> String) -> String {
    rules.iter().fold(name.to_owned(), |text, rule| {
        let actions: Vec<String> =
            rule.actions.iter().map(|action| format!(" {}", word(action))).collect();
        format!("{text} rule{}{}", rule.select.describe(), actions.concat())
    })
}
