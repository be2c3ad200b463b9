//! What a text names: an algorithm of a registry, with its parameters.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::grammar::{self, Args, Given, GrammarError, Parameter, Parameters, Written, split_name};
use crate::registry::{Line, Lines};

/// Which Linux has an algorithm, so that a scenario can be built on real machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Mainline since this version.
    Mainline(&'static str),
    /// A tree beside mainline, by its name on GitHub.
    Tree(&'static str),
    /// None: it is published, but only Sojourn runs it.
    Nowhere,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mainline(since) => write!(f, "mainline since {since}"),
            Self::Tree(tree) => write!(f, "only the tree {tree}"),
            Self::Nowhere => f.write_str("no kernel, only Sojourn"),
        }
    }
}

/// One line of a registry: what is known of an algorithm without its parameters. `A` is what all of
/// its sort can do, such as `dyn Discipline`.
pub struct Entry<A: ?Sized + 'static> {
    /// The name in texts.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Specification or kernel file, with version.
    pub reference: &'static str,
    /// The kernels that have it under this name.
    pub kernel: Kernel,
    /// The table of its parameters; the argument is the name.
    pub table: fn(&str) -> Vec<Parameter>,
    /// Its parameters before a text is read over them, some of which it may require; the argument is the
    /// name.
    pub default: fn(&str) -> Box<dyn Held<A>>,
}

impl<A: ?Sized> Clone for Entry<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: ?Sized> Copy for Entry<A> {}

impl<A: ?Sized> fmt::Debug for Entry<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A: ?Sized> Line for Entry<A> {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl<A: ?Sized> Entry<A> {
    /// The table of its parameters.
    pub fn table(&self) -> Vec<Parameter> {
        (self.table)(self.name)
    }

    /// Its parameters before a text is read over them.
    pub fn default(&self) -> Box<dyn Held<A>> {
        (self.default)(self.name)
    }

    /// The parameters that a text states, and defaults.
    fn read(&self, parameters: &str) -> Result<Box<dyn Held<A>>, GrammarError> {
        let (mut held, table) = (self.default(), || self.table());
        held.read(&mut Args::of(self.name, &table, parameters))?;
        Ok(held)
    }
}

/// The parameters of one algorithm, of which only their sort is known.
pub trait Held<A: ?Sized>: Any + Send + Sync {
    /// What they can do.
    fn get(&self) -> &A;
    /// What they can do.
    fn get_mut(&mut self) -> &mut A;
    /// Another set with the same values.
    fn copy(&self) -> Box<dyn Held<A>>;
    /// Every parameter as it is written.
    fn written(&self) -> Vec<Written>;
    /// Reads a text over the values, and says which it stated.
    fn read(&mut self, args: &mut Args<'_>) -> Result<Given, GrammarError>;
}

/// What holds for the parameters of every algorithm, whatever its sort asks of them.
pub trait Values: Parameters + Clone + Default + Send + Sync + 'static {}

impl<P: Parameters + Clone + Default + Send + Sync + 'static> Values for P {}

/// Parameters that [`parameters!`](crate::parameters) has declared.
pub struct Declared<P, A: ?Sized + 'static> {
    /// Their values.
    pub params: P,
    /// What they can do.
    pub get: fn(&P) -> &A,
    /// What they can do.
    pub get_mut: fn(&mut P) -> &mut A,
}

impl<P, A> Held<A> for Declared<P, A>
where
    P: Values,
    A: ?Sized + 'static,
{
    fn get(&self) -> &A {
        (self.get)(&self.params)
    }

    fn get_mut(&mut self) -> &mut A {
        (self.get_mut)(&mut self.params)
    }

    fn copy(&self) -> Box<dyn Held<A>> {
        let Self { params, get, get_mut } = self;
        Box::new(Self { params: params.clone(), get: *get, get_mut: *get_mut })
    }

    fn written(&self) -> Vec<Written> {
        grammar::written(&self.params)
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<Given, GrammarError> {
        grammar::read(&mut self.params, args)
    }
}

/// Names a sort of algorithms: what its parameters can do (a trait), and its registry. Defines `Spec`,
/// `Entry`, `entry::<Params>(...)` for a line of the registry, and `spec(&ENTRY, params)`.
#[macro_export]
macro_rules! family {
    ($sort:ident, $lines:expr) => {
        /// An algorithm with its parameters.
        pub type Spec = $crate::spec::Spec<dyn $sort>;

        /// A line of the registry.
        pub type Entry = $crate::spec::Entry<dyn $sort>;

        impl $crate::spec::Family for dyn $sort {
            fn lines() -> &'static $crate::registry::Lines<Entry> {
                &$lines
            }
        }

        /// The line of an algorithm whose parameters are declared as `P`: name, one sentence,
        /// specification or kernel file, and the kernels that have it.
        pub const fn entry<P>(
            name: &'static str,
            summary: &'static str,
            reference: &'static str,
            kernel: $crate::spec::Kernel,
        ) -> Entry
        where
            P: $sort + $crate::spec::Values,
        {
            Entry {
                name,
                summary,
                reference,
                kernel,
                table: |_| $crate::grammar::table::<P>(),
                default: |_| Box::new(declared(P::default())),
            }
        }

        /// The algorithm of `entry` with these parameters.
        pub fn spec<P>(entry: &'static Entry, params: P) -> Spec
        where
            P: $sort + $crate::spec::Values,
        {
            Spec::new(entry, declared(params))
        }

        fn declared<P>(params: P) -> $crate::spec::Declared<P, dyn $sort>
        where
            P: $sort + $crate::spec::Values,
        {
            $crate::spec::Declared { params, get: |params| params, get_mut: |params| params }
        }
    };
}

/// A sort of algorithms that has a registry.
pub trait Family: 'static {
    /// The registry.
    fn lines() -> &'static Lines<Entry<Self>>;
}

/// An algorithm with its parameters. Its text form is tc's: [`FromStr`] reads it, [`fmt::Display`]
/// writes every parameter, so that what was written means the same after a default has changed.
pub struct Spec<A: ?Sized + 'static> {
    entry: &'static Entry<A>,
    /// Shared by copies until one of them changes: a thousand flows may have the same.
    held: Arc<dyn Held<A>>,
}

impl<A: ?Sized> Spec<A> {
    /// The algorithm of `entry` with these parameters.
    pub fn new(entry: &'static Entry<A>, held: impl Held<A>) -> Self {
        Self { entry, held: Arc::new(held) }
    }

    /// The line of the registry.
    pub fn entry(&self) -> &'static Entry<A> {
        self.entry
    }

    /// The algorithm's name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The parameters, if they are of this type.
    pub fn params<P: 'static>(&self) -> Option<&P> {
        self.held::<Declared<P, A>>().map(|declared| &declared.params)
    }

    /// What holds the parameters, if it is of this type.
    pub fn held<H: 'static>(&self) -> Option<&H> {
        let held: &dyn Any = &*self.held;
        held.downcast_ref()
    }

    /// What holds the parameters, for a change of this copy alone.
    fn held_mut(&mut self) -> &mut dyn Held<A> {
        if Arc::get_mut(&mut self.held).is_none() {
            self.held = self.held.copy().into();
        }
        Arc::get_mut(&mut self.held).expect("no other copy has it")
    }

    /// Every parameter as it is written.
    pub fn written(&self) -> Vec<Written> {
        self.held.written()
    }

    /// The parameters without the name.
    pub fn parameters(&self) -> String {
        grammar::text(&self.written())
    }

    /// Those parameters that say more than the defaults do.
    pub fn brief(&self) -> Vec<Written> {
        let mut rest = self.written();
        let mut stated = Vec::new();
        while !rest.is_empty() {
            // As long as something is missing that it requires, what differs from the bare defaults.
            let usual = self.entry.read(&grammar::text(&stated));
            let usual = usual.unwrap_or_else(|_| self.entry.default()).written();
            let Some(own) = rest.iter().position(|part| !usual.contains(part)) else { break };
            stated.push(rest.remove(own));
        }
        // What follows from a later one, as `no_split_gso` does from `version 2020`.
        let mut place = 0;
        while place < stated.len() {
            let mut fewer = stated.clone();
            fewer.remove(place);
            let same = self.entry.read(&grammar::text(&fewer));
            if same.is_ok_and(|held| held.written() == self.written()) {
                stated = fewer;
            } else {
                place += 1;
            }
        }
        stated
    }

    /// The name and the parameters of [`Spec::brief`], for people: `prague version p2b`. It means
    /// something else after a default has changed; [`fmt::Display`] does not.
    pub fn short(&self) -> String {
        let name = self.name().to_owned();
        self.brief().iter().fold(name, |text, part| text + " " + &part.text)
    }

    /// Name and those parameters that are `given`.
    pub fn stating(&self, given: &Given) -> String {
        let written = self.written().into_iter();
        let parts = written.filter(|part| part.name.is_empty() || given.has(part.name));
        format!("{} {}", self.name(), grammar::text(&parts.collect::<Vec<_>>()))
    }

    /// The same algorithm after `parameters` were read over its values, and which they stated.
    pub fn changed(&self, parameters: &str) -> Result<(Self, Given), GrammarError> {
        let mut changed = self.clone();
        let table = || self.entry.table();
        let stated = changed.held_mut().read(&mut Args::of(self.entry.name, &table, parameters))?;
        // A text may state a parameter that only others follow from: those are what is written.
        let (before, mut given) = (self.written(), Given::default());
        for part in changed.written() {
            if stated.has(part.name) || before.iter().all(|was| was.text != part.text) {
                given.add(part.name);
            }
        }
        Ok((changed, given))
    }
}

impl<A: ?Sized> Clone for Spec<A> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, held: Arc::clone(&self.held) }
    }
}

impl<A: ?Sized> PartialEq for Spec<A> {
    fn eq(&self, other: &Self) -> bool {
        let is_shared = Arc::ptr_eq(&self.held, &other.held);
        self.name() == other.name() && (is_shared || self.written() == other.written())
    }
}

impl<A: ?Sized> Deref for Spec<A> {
    type Target = A;

    fn deref(&self) -> &A {
        self.held.get()
    }
}

impl<A: ?Sized> DerefMut for Spec<A> {
    fn deref_mut(&mut self) -> &mut A {
        self.held_mut().get_mut()
    }
}

impl<A: ?Sized> fmt::Display for Spec<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.written().iter().try_for_each(|part| write!(f, " {}", part.text))
    }
}

impl<A: ?Sized> fmt::Debug for Spec<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

impl<A: ?Sized + Family> FromStr for Spec<A> {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let (name, parameters) = split_name(text);
        let entry = A::lines().entry(name)?;
        Ok(Self { entry, held: entry.read(parameters)?.into() })
    }
}

impl<A: ?Sized> Serialize for Spec<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, A: ?Sized + Family> Deserialize<'de> for Spec<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
