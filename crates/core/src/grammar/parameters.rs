//! One declaration per parameter: [`parameters!`](crate::parameters) makes of it the field, its
//! default, its line in the table, its reader and its writer.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::forms::Form;
use super::{Args, GrammarError};

/// A parameter in the table of an algorithm, from which usage texts, documentation and the JSON
/// Schema are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The keyword; alternatives are separated by `|` (`ecn|noecn`).
    pub name: &'static str,
    /// What follows it in tc's style (`TIME`, `RATE`, `PACKETS`, `NUMBER`), empty for a flag.
    pub value: &'static str,
    /// The default, as it would be written.
    pub default: String,
    /// One sentence.
    pub doc: &'static str,
    /// Whether tc knows it. What only this project has, such as versions of an algorithm, is
    /// left out where a text is for tc.
    pub is_tc: bool,
}

/// A parameter as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The parameter's name in the table.
    pub name: &'static str,
    /// Keyword and value.
    pub text: String,
    /// As [`Parameter::is_tc`].
    pub is_tc: bool,
}

/// The parameters that a text states, by their names in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(BTreeSet<&'static str>);

impl Given {
    /// Whether the text states the parameter that the table calls `name`.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Notes that it states this one.
    pub fn add(&mut self, name: &'static str) {
        self.0.insert(name);
    }
}

/// What a declaration says of a parameter besides its value.
pub struct Line {
    /// The field, or the keyword if it has another one.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The default in the table, if it is no value of the field.
    pub shown: Option<&'static str>,
    /// As [`Parameter::is_tc`].
    pub is_tc: bool,
}

/// A parameter of a set, whatever the type of its value.
pub trait Field {
    /// As [`Form::names`].
    fn names(&self, declared: &'static str) -> &'static str;

    /// As [`Form::value`].
    fn value(&self) -> &'static str;

    /// Reads the value after `key`, one of `names`.
    fn read(
        &mut self,
        names: &'static str,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<(), GrammarError>;

    /// As [`Form::write`].
    fn write(&self, names: &'static str) -> Option<String>;
}

/// A field, and how its value is written.
pub struct Slot<'a, T, F> {
    /// The value.
    pub value: &'a mut T,
    /// How it is written.
    pub form: F,
}

impl<T, F: Form<T>> Field for Slot<'_, T, F> {
    fn names(&self, declared: &'static str) -> &'static str {
        self.form.names(declared)
    }

    fn value(&self) -> &'static str {
        self.form.value()
    }

    fn read(
        &mut self,
        names: &'static str,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<(), GrammarError> {
        *self.value = self.form.read(names, key, args)?;
        Ok(())
    }

    fn write(&self, names: &'static str) -> Option<String> {
        self.form.write(names, self.value)
    }
}

/// A keyword that sets fields of the set `P` which have keywords of their own.
pub struct Keyword<'a, P> {
    /// The set.
    pub set: &'a mut P,
    /// What follows the keyword.
    pub value: &'static str,
    /// What it does.
    pub act: fn(&mut P, &str, &mut Args<'_>) -> Result<(), GrammarError>,
}

impl<P> Field for Keyword<'_, P> {
    fn names(&self, declared: &'static str) -> &'static str {
        declared
    }

    fn value(&self) -> &'static str {
        self.value
    }

    fn read(
        &mut self,
        _: &'static str,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<(), GrammarError> {
        (self.act)(self.set, key, args)
    }

    fn write(&self, _: &'static str) -> Option<String> {
        None
    }
}

/// What is called with each parameter of a set until it breaks off.
pub type Visit<'v> = &'v mut dyn FnMut(&Line, &mut dyn Field) -> ControlFlow<()>;

/// A set of parameters: what [`parameters!`](crate::parameters) implements.
pub trait Parameters {
    /// Shows every parameter to `visit`, in the order of the declaration. One visitor serves the table,
    /// the reader and the writer, so that a parameter costs little code. A set with a grammar of its own,
    /// such as the classes of a tree, shows none, and has those three itself.
    fn each(&mut self, _visit: Visit<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Adds the lines of the table, with these values as defaults.
    fn table(&mut self, lines: &mut Vec<Parameter>) {
        _ = self.each(&mut |line, field| {
            lines.push(line.describe(field));
            ControlFlow::Continue(())
        });
    }

    /// Reads the value of `key` if it is one of these parameters.
    fn take(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
        given: &mut Given,
    ) -> Result<bool, GrammarError> {
        let mut taken = Ok(false);
        _ = self.each(&mut |line, field| {
            let names = field.names(line.name);
            if names.split('|').all(|name| name != key) {
                return ControlFlow::Continue(());
            }
            taken = field.read(names, key, args).map(|()| {
                given.add(names);
                true
            });
            ControlFlow::Break(())
        });
        taken
    }

    /// Adds every parameter as it is written.
    fn write(&mut self, parts: &mut Vec<Written>) {
        _ = self.each(&mut |line, field| {
            let name = field.names(line.name);
            let written = field.write(name).map(|text| Written { name, text, is_tc: line.is_tc });
            parts.extend(written);
            ControlFlow::Continue(())
        });
    }

    /// Before a text is read over these values.
    fn begin(&mut self) {}

    /// After a text was read: values that follow from others, and what may not be combined.
    fn settle(&mut self, given: &Given) -> Result<(), String>;
}

impl Line {
    fn describe(&self, field: &dyn Field) -> Parameter {
        let name = field.names(self.name);
        let default = match self.shown {
            Some(shown) => shown.to_owned(),
            None => value_of(name, field.write(name)),
        };
        Parameter { name, value: field.value(), default, doc: self.doc, is_tc: self.is_tc }
    }
}

/// The value alone of what is written.
fn value_of(names: &str, written: Option<String>) -> String {
    let Some(text) = written else { return "off".to_owned() };
    let first = names.split('|').next().unwrap_or_default();
    match text.strip_prefix(first).map(str::trim_start) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => text,
    }
}

/// The table of a type's parameters.
pub fn table<P: Parameters + Default>() -> Vec<Parameter> {
    let mut lines = Vec::new();
    P::default().table(&mut lines);
    lines
}

/// Reads a text over the values of `params`, and says which it stated.
pub fn read<P: Parameters + Clone>(
    params: &mut P,
    args: &mut Args<'_>,
) -> Result<Given, GrammarError> {
    let mut fresh = params.clone();
    let given = read_over(&mut fresh, args)?;
    *params = fresh;
    Ok(given)
}

/// After an error the values are mixed.
fn read_over(params: &mut dyn Parameters, args: &mut Args<'_>) -> Result<Given, GrammarError> {
    let mut given = Given::default();
    params.begin();
    while let Some(key) = args.key() {
        if !params.take(key, args, &mut given)? {
            return Err(args.unknown());
        }
    }
    params.settle(&given).map_err(|why| args.invalid(why))?;
    Ok(given)
}

/// `base`, whose values depend on some parameter, with those values of `params` that a text stated.
///
/// # Panics
/// If `params` does not read what it writes.
pub fn stated_over<P: Parameters + Clone + Default>(params: &P, given: &Given, mut base: P) -> P {
    let mut parts = written(params);
    parts.retain(|part| given.has(part.name));
    let stated = super::text(&parts);
    let mut args = Args::of("", &table::<P>, &stated);
    while let Some(key) = args.key() {
        let taken = base.take(key, &mut args, &mut Given::default());
        assert_eq!(taken, Ok(true), "`{stated}` reads");
    }
    base
}

/// The values of `params` as they are written.
pub fn written<P: Parameters + Clone>(params: &P) -> Vec<Written> {
    let mut parts = Vec::new();
    params.clone().write(&mut parts);
    parts
}

/// Declares a set of parameters, each in one place.
///
/// ```
/// use sojourn_core::grammar::forms::{number, packets};
/// use sojourn_core::{Dur, parameters};
///
/// parameters! {
///     /// Parameters of a queue.
///     #[derive(Copy, PartialEq, Eq)]
///     pub struct Params {
///         /// Packets that may wait.
///         limit: u32 = 1000 => packets(1..=u32::MAX.into());
///         /// Acceptable standing delay.
///         target: Dur = Dur::from_millis(5);
///         /// Ratio of the two probabilities.
///         coupling: u8 = 2 => number(1..=255), name "coupling_factor";
///         /// Whether ECN-capable packets are marked instead of dropped.
///         ecn: bool = false, name "ecn|noecn";
///     }
/// }
/// # use sojourn_core::grammar::{Args, read, table, text, written};
/// # let mut params = Params::default();
/// # let lines = table::<Params>;
/// # read(&mut params, &mut Args::of("q", &lines, "target 20ms ecn")).unwrap();
/// assert_eq!(text(&written(&params)), "limit 1000p target 20ms coupling_factor 2 ecn");
/// ```
///
/// The doc comment of a field is its sentence in the table. After the default may follow: `=>` and
/// how it is written (one of [`forms`](super::forms); without it what the type says), `name` with the
/// keyword if it differs from the field, `default` with a text for the table where the default
/// depends on something else, `tc false` for what tc does not have, in this order.
///
/// After the fields: `groups { law: Law = Law::default(); }` embeds other sets; `transient { sum: i32 = 0; }`
/// adds fields that are no parameters and have this value before each text; `also { /// Doc.
/// "unlimited" => |params, key, args| ...; }` declares keywords that set other fields; `keeps { /// Doc.
/// trace: Option<Steps> = None; }` adds fields that no text states or resets; `begin name;` names a
/// method for [`Parameters::begin`], `derive name;` one that computes values from others after a text
/// was read, and `settle name;` one that refuses combinations, which is called last.
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $about:expr])* $(#[derive($($derive:ident),*)])?
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $doc:expr])+
                $fvis:vis $field:ident : $type:ty = $default:expr $(=> $form:expr)?
                    $(, name $key:expr)? $(, default $shown:expr)? $(, tc $is_tc:literal)?;
            )*
        }
        $(groups { $($(#[doc = $gdoc:expr])* $gvis:vis $group:ident : $gtype:ty = $gdefault:expr;)* })?
        $(transient { $($(#[doc = $tdoc:expr])* $tvis:vis $transient:ident : $ttype:ty = $tdefault:expr;)* })?
        $(also { $($(#[doc = $adoc:expr])+ $akey:literal $($avalue:literal)? $(, default $ashown:literal)? $(, tc $a_is_tc:literal)? => $act:expr;)* })?
        $(keeps { $($(#[doc = $kdoc:expr])* $kvis:vis $kept:ident : $ktype:ty = $kdefault:expr;)* })?
        $(begin $begin:ident;)?
        $(derive $derived:ident;)?
        $(settle $settle:ident;)?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug $($(, $derive)*)?)]
        $vis struct $name {
            $($(#[doc = $doc])+ $fvis $field: $type,)*
            $($($(#[doc = $gdoc])* $gvis $group: $gtype,)*)?
            $($($(#[doc = $tdoc])* $tvis $transient: $ttype,)*)?
            $($($(#[doc = $kdoc])* $kvis $kept: $ktype,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($group: $gdefault,)*)?
                    $($($transient: $tdefault,)*)?
                    $($($kept: $kdefault,)*)?
                }
            }
        }

        impl $crate::grammar::Parameters for $name {
            #[allow(unused_variables, reason = "an algorithm may have no parameters")]
            fn each(&mut self, visit: $crate::grammar::Visit<'_>) -> std::ops::ControlFlow<()> {
                $(visit(
                    &const { $crate::grammar::Line {
                        name: $crate::parameters!(@name $field $(, $key)?),
                        doc: concat!($($doc),+).trim_ascii(),
                        shown: $crate::parameters!(@option $($shown)?),
                        is_tc: $crate::parameters!(@tc $($is_tc)?),
                    } },
                    &mut $crate::grammar::Slot {
                        value: &mut self.$field,
                        form: $crate::parameters!(@form $type $(, $form)?),
                    },
                )?;)*
                $($(visit(
                    &const { $crate::grammar::Line {
                        name: $akey,
                        doc: concat!($($adoc),+).trim_ascii(),
                        shown: Some($crate::parameters!(@shown $($ashown)?)),
                        is_tc: $crate::parameters!(@tc $($a_is_tc)?),
                    } },
                    &mut $crate::grammar::Keyword {
                        set: self,
                        value: concat!($($avalue)?),
                        act: $act,
                    },
                )?;)*)?
                $($($crate::grammar::Parameters::each(&mut self.$group, visit)?;)*)?
                std::ops::ControlFlow::Continue(())
            }

            fn begin(&mut self) {
                $($($crate::grammar::Parameters::begin(&mut self.$group);)*)?
                $($(self.$transient = $tdefault;)*)?
                $(self.$begin();)?
            }

            #[allow(unused_variables, reason = "most sets have nothing to settle")]
            fn settle(&mut self, given: &$crate::grammar::Given) -> Result<(), String> {
                $($($crate::grammar::Parameters::settle(&mut self.$group, given)?;)*)?
                $(self.$derived(given);)?
                $(self.$settle(given)?;)?
                Ok(())
            }
        }
    };
    (@form $type:ty, $form:expr) => { $form };
    (@form $type:ty) => { <$type as $crate::grammar::forms::Value>::FORM };
    (@name $field:ident, $key:expr) => { $key };
    (@name $field:ident) => { stringify!($field) };
    (@option $shown:expr) => { Some($shown) };
    (@option) => { None };
    (@shown $shown:literal) => { $shown };
    (@shown) => { "off" };
    (@tc $is_tc:literal) => { $is_tc };
    (@tc) => { true };
}

/// Declares an enumeration and the text of each variant, for a parameter that is one of them.
///
/// ```
/// sojourn_core::choices! {
///     /// Whose arithmetic.
///     pub enum Version {
///         /// Linux's integers.
///         Linux = "linux",
///         /// Real numbers.
///         Rfc9438 = "rfc9438",
///     }
/// }
/// assert_eq!(Version::VALUE, "linux|rfc9438");
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $(#[$first_about:meta])* $first:ident = $first_text:literal
            $(, $(#[$variant_about:meta])* $variant:ident = $text:literal)* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $(#[$first_about])* $first,
            $($(#[$variant_about])* $variant,)*
        }

        impl $name {
            /// The texts, as a usage line shows them.
            $vis const VALUE: &'static str = concat!($first_text $(, "|", $text)*);
            /// Every text and what it means.
            $vis const ALL: &'static [(&'static str, Self)] =
                &[($first_text, Self::$first) $(, ($text, Self::$variant))*];

            /// The text of this one.
            #[allow(dead_code, reason = "not every enumeration is written outside its parameter")]
            $vis fn text(self) -> &'static str {
                Self::ALL[self as usize].0
            }
        }

        impl $crate::grammar::forms::Value for $name {
            type Form = $crate::grammar::forms::OneOf<Self>;
            const FORM: Self::Form =
                $crate::grammar::forms::OneOf { value: Self::VALUE, all: Self::ALL };
        }
    };
}
