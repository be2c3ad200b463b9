//! Which packets a path element acts on: the selectors that `mangle` and `drop` share, and their list
//! of rules. iptables' `-p tcp ! --syn -m dscp` in tc's manner.

use std::fmt::Debug;

use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::forms::{custom, keywords, maybe, percentage, whole};
use sojourn_core::grammar::{
    Args, Given, GrammarError, Parameter, Parameters, Written, text, written,
};
use sojourn_core::packet::{Kind, Packet};
use sojourn_core::rng::Rng;
use sojourn_core::{choices, parameters};

choices! {
    /// A protocol.
    pub(super) enum Protocol {
        Tcp = "tcp",
        Udp = "udp",
        Icmp = "icmp",
    }
}

choices! {
    /// A kind of TCP packet.
    pub(super) enum Flags {
        Syn = "syn",
        NonSyn = "non-syn",
        SynAck = "syn-ack",
        Ack = "ack",
    }
}

/// The keywords of codepoints.
pub(super) const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

parameters! {
    /// Packets by what they carry and by their number.
    #[derive(PartialEq)]
    pub(super) struct Select {
        /// Selects a protocol.
        proto: Option<Protocol> = None, default "any";
        /// Selects a DSCP from 0 to 63, such as 46 or 0x2e.
        pub(super) dscp: Option<u8> = None =>
            maybe(custom("NUMBER", |args: &mut Args<'_>| small(args, 63), u8::to_string)),
            default "any";
        /// Selects TCP packets: with SYN and without ACK (iptables' --syn), all others
        /// (! --syn), with SYN and ACK, or pure acknowledgements.
        pub(super) flags: Option<Flags> = None => maybe(keywords()), default "any";
        /// Selects TCP and UDP packets with payload, or all others.
        pub(super) data: Option<bool> = None, name "data|no-data", default "any";
        /// Takes each selected packet with this probability.
        pub(super) percent: Option<f64> = None => maybe(percentage(0.0..=100.0)), default "100%";
        /// Takes the selected packets number N, 2N, 3N ...
        pub(super) every: Option<u64> = None => maybe(whole("N", 1..=u64::MAX, "")), default "1";
        /// Takes the selected packet number N, the first being 1.
        pub(super) nth: Option<u64> = None => maybe(whole("N", 1..=u64::MAX, "")), default "none";
        /// Takes the selected packets with these numbers.
        pub(super) list: Option<Vec<u64>> = None => maybe(custom("N,N,...", read_list, write_list)), default "none";
        /// Takes that many in a row, beginning where `every` or `nth` says.
        burst: Option<u64> = None => maybe(whole("PACKETS", 1..=u64::MAX, "")), default "1";
    }
    also {
        /// Selects every packet.
        "all", default "all" => |_, _, _| Ok(());
        /// Selects codepoints; several add up.
        "not-ect|ect0|ect1|ce", default "any" => |select, key, _| {
            let codepoint = CODEPOINTS.iter().find(|(name, _)| *name == key);
            select.codepoints |= codepoint.map_or(0, |(_, ecn)| 1 << *ecn as u8);
            Ok(())
        };
    }
    keeps {
        /// Bit `1 << codepoint`; none is any.
        codepoints: u8 = 0;
    }
    settle check;
}

fn read_list(args: &mut Args<'_>) -> Result<Vec<u64>, GrammarError> {
    let mut list = args.value("packet numbers such as `3,7,9`", |words| {
        let number = |word: &str| word.parse().ok().filter(|n| *n > 0);
        words.split(',').map(number).collect::<Option<Vec<u64>>>()
    })?;
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

#[expect(clippy::ptr_arg, reason = "a form writes what it is lent")]
fn write_list(list: &Vec<u64>) -> String {
    list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

impl Select {
    fn check(&self, _given: &Given) -> Result<(), String> {
        let counts = [self.every.is_some(), self.nth.is_some(), self.list.is_some()];
        let picks = usize::from(self.percent.is_some()) + counts.iter().filter(|c| **c).count();
        let burst = self.burst.unwrap_or(1);
        let wrong = if picks > 1 {
            "a rule takes one of `percent`, `every`, `nth` and `list`"
        } else if self.every.is_some_and(|period| burst > period) {
            "`burst` is at most `every`"
        } else if burst > 1 && self.every.is_none() && self.nth.is_none() {
            "`burst` needs `every` or `nth`"
        } else if self.flags.is_some() && self.proto.is_some_and(|p| p != Protocol::Tcp) {
            "`syn`, `non-syn`, `syn-ack` and `ack` are for TCP"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    fn matches(&self, pkt: &Packet) -> bool {
        let is_tcp = matches!(pkt.kind, Kind::TcpData | Kind::TcpAck | Kind::TcpControl);
        self.proto.is_none_or(|protocol| match protocol {
            Protocol::Tcp => is_tcp,
            Protocol::Udp => pkt.kind == Kind::Udp,
            Protocol::Icmp => pkt.kind == Kind::Icmp,
        }) && self.dscp.is_none_or(|dscp| dscp == pkt.tos >> 2)
            && self.has(pkt.ecn())
            && self.data.is_none_or(|data| data == matches!(pkt.kind, Kind::TcpData | Kind::Udp))
            && self.flags.is_none_or(|flags| match flags {
                Flags::Syn => is_tcp && pkt.is_syn(),
                Flags::NonSyn => is_tcp && !pkt.is_syn(),
                Flags::SynAck => is_tcp && pkt.is_syn_ack(),
                Flags::Ack => pkt.kind == Kind::TcpAck,
            })
    }

    /// Keyword of the protocol, if it selects one.
    pub(super) fn protocol(&self) -> Option<&'static str> {
        self.proto.map(Protocol::text)
    }

    /// Whether it selects packets of this codepoint.
    pub(super) fn has(&self, ecn: Ecn) -> bool {
        self.codepoints == 0 || self.codepoints & 1 << ecn as u8 != 0
    }

    /// As it is read.
    fn text(&self) -> String {
        let mut parts = written(self);
        for (name, ecn) in CODEPOINTS {
            if self.codepoints & 1 << ecn as u8 != 0 {
                parts.push(Written { name, text: name.to_owned(), is_tc: true });
            }
        }
        if parts.is_empty() { "all".to_owned() } else { text(&parts) }
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

/// What an element does to the packets that a rule takes.
pub(super) trait Action: Clone + Debug {
    /// Keywords, what follows them, and one sentence each.
    const TABLE: &'static [[&'static str; 3]];

    /// Reads an action that begins with this keyword; `None` if there is no such action.
    fn read(key: &str, args: &mut Args<'_>) -> Result<Option<Self>, GrammarError>;

    /// As it is read.
    fn text(&self) -> String;

    /// What is missing in the rules.
    fn check(rules: &[Rule<Self>]) -> Result<(), String>;
}

/// What is done to which packets.
#[derive(Clone, Debug)]
pub(super) struct Rule<A> {
    pub(super) select: Select,
    /// How many packets have matched.
    seen: u64,
    pub(super) actions: Vec<A>,
}

impl<A> Rule<A> {
    /// Whether the rule acts on `pkt`. `rng` is drawn only for packets that match `percent`.
    #[inline]
    pub(super) fn takes(&mut self, pkt: &Packet, rng: &mut Rng) -> bool {
        let (select, seen) = (&self.select, &mut self.seen);
        if !select.matches(pkt) {
            return false;
        }
        *seen += 1;
        let burst = select.burst.unwrap_or(1);
        if let Some(percent) = select.percent {
            rng.unit() * 100.0 < percent
        } else if let Some(period) = select.every {
            *seen >= period && *seen % period < burst
        } else if let Some(first) = select.nth {
            *seen >= first && *seen - first < burst
        } else {
            select.list.as_ref().is_none_or(|list| list.binary_search(seen).is_ok())
        }
    }
}

/// The parameters of an element: its rules, which act in order. A text with any rule replaces all.
#[derive(Clone, Debug)]
pub(super) struct Rules<A> {
    pub(super) rules: Vec<Rule<A>>,
    /// Whether the text that is read has not begun a rule yet.
    is_begun: bool,
}

impl<A> Default for Rules<A> {
    fn default() -> Self {
        Self { rules: Vec::new(), is_begun: false }
    }
}

impl<A: Action> Parameters for Rules<A> {
    fn table(&mut self, lines: &mut Vec<Parameter>) {
        let line = |[name, value, doc]: [&'static str; 3], default: &str| Parameter {
            name,
            value,
            default: default.to_owned(),
            doc,
            is_tc: true,
        };
        lines.push(line([RULE, "", RULE_DOC], "one rule"));
        Select::default().table(lines);
        lines.extend(A::TABLE.iter().map(|action| line(*action, "none")));
    }

    fn take(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
        given: &mut Given,
    ) -> Result<bool, GrammarError> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.rules.clear();
            given.add(RULE);
        }
        if key == RULE || self.rules.is_empty() {
            self.rules.push(Rule { select: Select::default(), seen: 0, actions: Vec::new() });
        }
        if key == RULE {
            return match args.peek() {
                None | Some(RULE) => Err(args.invalid("`rule` needs a selector or an action")),
                Some(_) => Ok(true),
            };
        }
        let Some(rule) = self.rules.last_mut() else { return Ok(false) };
        if rule.select.take(key, args, given)? {
            return Ok(true);
        }
        let action = A::read(key, args)?;
        let is_action = action.is_some();
        rule.actions.extend(action);
        Ok(is_action)
    }

    fn write(&mut self, parts: &mut Vec<Written>) {
        for rule in &self.rules {
            let actions = rule.actions.iter().map(|action| format!(" {}", action.text()));
            let text = format!("{RULE} {}{}", rule.select.text(), actions.collect::<String>());
            parts.push(Written { name: RULE, text, is_tc: true });
        }
    }

    fn begin(&mut self) {
        self.is_begun = false;
    }

    fn settle(&mut self, given: &Given) -> Result<(), String> {
        self.rules.iter_mut().try_for_each(|rule| rule.select.settle(given))?;
        A::check(&self.rules)
    }
}

/// Begins a rule.
pub(super) const RULE: &str = "rule";
const RULE_DOC: &str = "Begins a rule. Rules act in order, each on what the one before has made.";
