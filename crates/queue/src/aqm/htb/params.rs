//! The parameters of `htb`: those of a class, and those of a tree of classes.

use super::filter::Filter;
use super::handle::{ClassId, hexadecimal};
use crate::aqm::psched::LinkLayer;
use crate::aqm::{Spec, TXQUEUELEN, changed};
use sojourn_core::grammar::forms::{Form, custom, maybe, number, packets, whole};
use sojourn_core::grammar::{
    Args, Given, GrammarError, Parameter, Parameters, Written, text, written,
};
use sojourn_core::parameters;
use sojourn_core::units::{Bytes, Rate};

parameters! {
    /// Parameters of a class; what is absent follows from the others.
    #[derive(PartialEq)]
    pub(super) struct ClassParams {
        /// Guaranteed rate.
        pub(super) rate: Rate = Rate(0), default "(required)";
        /// Rate never exceeded.
        pub(super) ceil: Option<Rate> = None, default "rate";
        /// Bucket of the rate; computed as the bytes of one nanosecond plus mtu.
        pub(super) burst: Option<Bytes> = None, name "burst|buffer|maxburst", default "mtu";
        /// Bucket of the ceiling.
        pub(super) cburst: Option<Bytes> = None, name "cburst|cbuffer|cmaxburst", default "mtu";
        /// Least computed burst.
        mtu: Bytes = Bytes(1600);
        /// Least size charged.
        pub(super) mpu: u32 = 0 => small_size(0xffff);
        /// Added to each packet.
        pub(super) overhead: u16 = 0 => whole("BYTES", 0..=0xffff, "");
        /// Framing below the packet.
        pub(super) linklayer: LinkLayer = LinkLayer::Ethernet;
        /// Bytes served before a sibling of equal priority; without effect on one class.
        quantum: Option<u32> = None => maybe(small_size(u32::MAX)), default "rate/r2q";
        /// Priority among siblings, 0 to 7; without effect on one class.
        pub(super) prio: u8 = 0 => number(0..=7);
    }
}

parameters! {
    /// Parameters of the discipline itself.
    #[derive(Copy)]
    pub(super) struct Own {
        /// Divisor of computed quanta.
        pub(super) r2q: u32 = 10 => number(1..=u32::MAX.into());
        /// Class of what no filter selects, a hexadecimal minor number; 0 is the direct queue.
        pub(super) default: Option<u16> = None => maybe(custom("MINOR", read_minor, write_minor)),
            default "0";
        /// Limit of the direct queue, which is not shaped; by default the device's txqueuelen.
        pub(super) direct_qlen: Option<u32> = None => maybe(packets(0..=u32::MAX.into())),
            default "1000";
    }
}

fn small_size(most: u32) -> impl Form<u32> {
    let read = move |args: &mut Args<'_>| {
        args.value("a size such as `1500b`", |word| {
            u32::try_from(Bytes::parse_tc(word)?.0).ok().filter(|bytes| *bytes <= most)
        })
    };
    custom("SIZE", read, |bytes: &u32| format!("{bytes}b"))
}

fn read_minor(args: &mut Args<'_>) -> Result<u16, GrammarError> {
    args.value("a hexadecimal minor number", hexadecimal)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a form writes what it is lent")]
fn write_minor(minor: &u16) -> String {
    format!("{minor:#x}")
}

impl ClassParams {
    pub(super) fn is_valid(&self) -> bool {
        self.rate >= Rate(8) && self.ceil() >= Rate(8)
    }

    /// Without what a class has from the kernel's own defaults: a tree would fill a page.
    pub(super) fn brief(&self) -> String {
        let usual = written(&Self::default());
        let own = written(self).into_iter().filter(|part| !usual.contains(part));
        text(&own.collect::<Vec<_>>())
    }

    pub(super) fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// Bucket size for `rate`: tc divides by a timer frequency of 1e9 and adds the MTU.
    /// iproute2 7.3 `htb_parse_class_opt`.
    pub(super) fn burst_or_default(&self, given: Option<Bytes>, rate: Rate) -> Bytes {
        given.unwrap_or_else(|| Bytes(rate.bytes_per_sec() / 1_000_000_000 + self.mtu.0))
    }

    /// The kernel's quantum of a leaf. Linux 6.12 `htb_change_class`.
    pub(super) fn quantum(&self, r2q: u32) -> u32 {
        self.quantum.unwrap_or_else(|| {
            (self.rate.bytes_per_sec() / u64::from(r2q)).clamp(1000, 200_000) as u32
        })
    }
}

/// A class of a tree.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) id: ClassId,
    pub(super) parent: Option<ClassId>,
    pub(super) params: ClassParams,
    /// The queue of a class without children.
    pub(super) leaf: Option<Spec>,
    /// Whether the text that was read last names the class, and what it states of the leaf.
    pub(super) is_named: bool,
    pub(super) stated: Option<Given>,
}

/// The keyword that begins a class.
const CLASS: &str = "class";

/// What a text is read over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Nothing,
    Lone,
    Tree,
}

/// All parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    pub(super) own: Own,
    /// The only class, if there is no tree.
    pub(super) lone: Option<ClassParams>,
    /// Parents first.
    pub(super) classes: Vec<Member>,
    pub(super) filters: Vec<Filter>,
    before: Before,
    /// The class to which the next parameters belong.
    current: Option<usize>,
    has_filters: bool,
}

impl Parameters for Params {
    fn table(&mut self, lines: &mut Vec<Parameter>) {
        ClassParams::default().table(lines);
        self.own.table(lines);
        for (name, value, default, doc) in [
            (
                "class",
                "MAJOR:MINOR",
                "one class",
                "Begins a class; the parameters of a class after it, `parent` and `leaf` are its own.",
            ),
            (
                "parent",
                "MAJOR:MINOR",
                "a root class",
                "The class that lends to it, named before it.",
            ),
            ("leaf", "{ QDISC }", "pfifo", "The queue of a class without children."),
            (
                "filter",
                "match ip FIELD ... flowid ID",
                "none",
                "Sends packets to a class; the first filter that matches decides.",
            ),
        ] {
            lines.push(Parameter { name, value, default: default.to_owned(), doc, is_tc: true });
        }
    }

    fn take(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
        given: &mut Given,
    ) -> Result<bool, GrammarError> {
        let current = self.current.map(|at| &mut self.classes[at]);
        match (key, current) {
            ("class", _) => {
                let id = ClassId::read(args)?;
                self.enter(id).map_err(|why| args.invalid(why))?;
                given.add(CLASS);
            }
            ("filter", _) => {
                if !std::mem::replace(&mut self.has_filters, true) {
                    self.filters.clear();
                }
                self.filters.push(Filter::read(args)?);
                given.add("filter");
            }
            ("parent" | "leaf", None) => {
                return Err(args.invalid(format_args!("`{key}` belongs after a `class`")));
            }
            ("parent", Some(class)) => {
                let parent = Some(ClassId::read(args)?);
                if self.before == Before::Tree && parent != class.parent {
                    return Err(args.invalid(format_args!("class {} keeps its parent", class.id)));
                }
                class.parent = parent;
            }
            ("leaf", Some(class)) => {
                let inside = args.group()?;
                let read = class.read_leaf(inside, self.before == Before::Tree);
                read.map_err(|why| args.invalid(format_args!("class {}: {why}", class.id)))?;
            }
            (_, current) => {
                if self.own.take(key, args, given)? {
                    return Ok(true);
                }
                let params = match current {
                    Some(class) => &mut class.params,
                    None => self.lone.get_or_insert_default(),
                };
                return params.take(key, args, given);
            }
        }
        Ok(true)
    }

    fn write(&mut self, parts: &mut Vec<Written>) {
        if let Some(lone) = &mut self.lone {
            lone.write(parts);
        }
        self.own.write(parts);
        let usual = format!("direct_qlen {TXQUEUELEN}p");
        parts.retain(|part| part.text != usual);
        for class in &self.classes {
            let mut line = format!("class {}", class.id);
            if let Some(parent) = class.parent {
                line += &format!(" parent {parent}");
            }
            line += &format!(" {}", class.params.brief());
            if let Some(leaf) = &class.leaf {
                line += &format!(" leaf {{ {leaf} }}");
            }
            // A change is written with the classes that it names.
            let name = if class.is_named { CLASS } else { "class as before" };
            parts.push(Written { name, text: line, is_tc: true });
        }
        let filters = self.filters.iter().map(Filter::to_string);
        parts.extend(filters.map(|text| Written { name: "filter", text, is_tc: true }));
    }

    fn begin(&mut self) {
        self.before = match (self.is_tree(), &self.lone) {
            (true, _) => Before::Tree,
            (false, Some(_)) => Before::Lone,
            (false, None) => Before::Nothing,
        };
        (self.current, self.has_filters) = (None, false);
        for class in &mut self.classes {
            (class.is_named, class.stated) = (false, None);
        }
    }

    fn settle(&mut self, _given: &Given) -> Result<(), String> {
        if !self.is_tree() {
            return match &self.lone {
                None => Err("`rate` is required".to_owned()),
                Some(lone) if !lone.is_valid() => Err("`rate` must be at least 8bit".to_owned()),
                Some(_) => Ok(()),
            };
        }
        let wrong = match (self.before, &self.lone) {
            (Before::Lone, _) => "this one has one class; use replace to make it a tree",
            (Before::Tree, Some(_)) => {
                "this one is a tree; name the class: `class 1:10 rate 5Mbit`"
            }
            (Before::Nothing, Some(_)) => {
                "a tree has no parameters of a class before its first `class`"
            }
            _ if self.classes.is_empty() => "a tree needs at least one `class`",
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(wrong.to_owned());
        }
        if let Some(class) = self.classes.iter().find(|class| !class.params.is_valid()) {
            return Err(format!("class {}: `rate` must be at least 8bit", class.id));
        }
        if self.before == Before::Nothing {
            self.check_parents()?;
            self.own.default.get_or_insert(0);
            self.own.direct_qlen.get_or_insert(TXQUEUELEN);
            let pfifo: Spec = "pfifo".parse().map_err(|why: GrammarError| why.0)?;
            for at in 0..self.classes.len() {
                if self.classes[at].leaf.is_none() && !self.has_children(self.classes[at].id) {
                    self.classes[at].leaf = Some(pfifo.clone());
                }
            }
        }
        Ok(())
    }
}

impl Member {
    fn read_leaf(&mut self, inside: &str, is_change: bool) -> Result<(), GrammarError> {
        match &self.leaf {
            Some(leaf) if is_change => {
                let (leaf, stated) = changed(leaf, inside)?;
                (self.leaf, self.stated) = (Some(leaf), Some(stated));
            }
            None if is_change => return Err(GrammarError("it has children, so no leaf".into())),
            _ => self.leaf = Some(inside.parse()?),
        }
        Ok(())
    }
}

/// Levels of a tree: leaves are at 0, a root class with children at 7, its children at 6.
pub(super) const LEVELS: usize = 8;

impl Params {
    pub(super) fn lone(own: Own, params: ClassParams) -> Self {
        Self { own, lone: Some(params), ..Self::default() }
    }

    /// Whether it has a parameter that only a tree of classes has.
    pub(super) fn is_tree(&self) -> bool {
        let tree = self.own.default.is_some() || self.own.direct_qlen.is_some();
        tree || !self.classes.is_empty() || !self.filters.is_empty()
    }

    /// What follows belongs to class `id`.
    fn enter(&mut self, id: ClassId) -> Result<(), String> {
        if id.minor == 0 {
            return Err(format!("class {id}: expected a minor number from 1 to ffff"));
        }
        let at = self.classes.iter().position(|class| class.id == id);
        if at.is_some_and(|at| self.classes[at].is_named) {
            return Err(format!("class {id} is given twice"));
        }
        if let Some(first) = self.classes.first().filter(|first| first.id.major != id.major) {
            return Err(format!("class {id}: expected the major number of class {}", first.id));
        }
        if at.is_none() && self.before == Before::Tree {
            return Err(format!("there is no class {id} to change"));
        }
        if at.is_none() {
            let (parent, leaf, stated) = (None, None, None);
            let params = ClassParams::default();
            self.classes.push(Member { id, parent, params, leaf, is_named: true, stated });
        }
        let at = at.unwrap_or(self.classes.len() - 1);
        self.classes[at].is_named = true;
        self.current = Some(at);
        Ok(())
    }

    fn has_children(&self, id: ClassId) -> bool {
        self.classes.iter().any(|child| child.parent == Some(id))
    }

    fn check_parents(&self) -> Result<(), String> {
        for (at, Member { id, parent, leaf, .. }) in self.classes.iter().enumerate() {
            if let Some(parent) = parent
                && !self.classes[..at].iter().any(|class| class.id == *parent)
            {
                return Err(format!("class {id}: its parent {parent} is not a class before it"));
            }
            if self.depth(&self.classes[at]) >= LEVELS {
                return Err(format!("class {id}: the tree is deeper than {LEVELS} classes"));
            }
            if self.has_children(*id) && leaf.is_some() {
                return Err(format!("class {id}: a class with children has no leaf"));
            }
        }
        Ok(())
    }

    /// Ancestors of a class whose parents precede it.
    fn depth(&self, class: &Member) -> usize {
        let parent = self.classes.iter().find(|other| Some(other.id) == class.parent);
        parent.map_or(0, |parent| 1 + self.depth(parent))
    }

    pub(super) fn level(&self, class: &Member) -> usize {
        if self.has_children(class.id) { LEVELS - 1 - self.depth(class) } else { 0 }
    }
}
