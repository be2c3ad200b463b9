//! How the value of a parameter is written: read, written and described by the same object.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::{Args, GrammarError};
use crate::units::{Bytes, Dur, Rate};

/// How a value of this type is written.
pub trait Form<T> {
    /// What follows the keyword in usage texts; empty if the keyword says it all.
    fn value(&self) -> &'static str;

    /// The keywords, if they are other than the field's name.
    fn names(&self, field: &'static str) -> &'static str {
        field
    }

    /// Reads the value after `key`, one of `names`.
    fn read(&self, names: &'static str, key: &str, args: &mut Args<'_>) -> Result<T, GrammarError>;

    /// Keyword and value; none if this value is written by leaving the parameter out.
    fn write(&self, names: &'static str, value: &T) -> Option<String>;
}

/// A type whose values are written in one way wherever nothing else is declared.
pub trait Value: Sized {
    /// The way.
    type Form: Form<Self>;
    /// The way.
    const FORM: Self::Form;
}

/// A value of one word: a hint for usage texts, what an error expects, and the two directions.
#[derive(Clone)]
pub struct Word<R, W> {
    value: &'static str,
    read: R,
    write: W,
}

/// A value that `read` reads, from one or several words, and `write` writes.
pub const fn custom<T, R, W>(value: &'static str, read: R, write: W) -> Word<R, W>
where
    R: Fn(&mut Args<'_>) -> Result<T, GrammarError>,
    W: Fn(&T) -> String,
{
    Word { value, read, write }
}

impl<T, R, W> Form<T> for Word<R, W>
where
    R: Fn(&mut Args<'_>) -> Result<T, GrammarError>,
    W: Fn(&T) -> String,
{
    fn value(&self) -> &'static str {
        self.value
    }

    fn read(&self, _: &'static str, _: &str, args: &mut Args<'_>) -> Result<T, GrammarError> {
        (self.read)(args)
    }

    fn write(&self, names: &'static str, value: &T) -> Option<String> {
        Some(after_keyword(names, &(self.write)(value)))
    }
}

fn after_keyword(names: &'static str, value: &str) -> String {
    let first = names.split('|').next().unwrap_or_default();
    format!("{first} {value}")
}

/// A value that says without its keyword what it is, as `unlimited` instead of `bandwidth 0`.
#[derive(Clone)]
pub struct Spelled<R, W> {
    value: &'static str,
    read: R,
    write: W,
}

/// A value that `read` reads, and of which `write`, given the keyword, writes all.
pub const fn spelled<T, R, W>(value: &'static str, read: R, write: W) -> Spelled<R, W>
where
    R: Fn(&mut Args<'_>) -> Result<T, GrammarError>,
    W: Fn(&'static str, &T) -> String,
{
    Spelled { value, read, write }
}

impl<T, R, W> Form<T> for Spelled<R, W>
where
    R: Fn(&mut Args<'_>) -> Result<T, GrammarError>,
    W: Fn(&'static str, &T) -> String,
{
    fn value(&self) -> &'static str {
        self.value
    }

    fn read(&self, _: &'static str, _: &str, args: &mut Args<'_>) -> Result<T, GrammarError> {
        (self.read)(args)
    }

    fn write(&self, name: &'static str, value: &T) -> Option<String> {
        Some((self.write)(name, value))
    }
}

type Reader<T> = fn(&mut Args<'_>) -> Result<T, GrammarError>;

macro_rules! values {
    ($($type:ty, $hint:literal, $read:ident;)*) => {$(
        impl Value for $type {
            type Form = Word<Reader<Self>, fn(&Self) -> String>;
            const FORM: Self::Form =
                Word { value: $hint, read: |args| args.$read(), write: |value| value.to_string() };
        }
    )*};
}

values! {
    Dur, "TIME", time;
    Rate, "RATE", rate;
    Bytes, "SIZE", size;
}

/// A time whose bare number is nanoseconds, as tc's netem reads it.
pub fn time64() -> impl Form<Dur> {
    custom("TIME", |args: &mut Args<'_>| args.time64(), Dur::to_string)
}

/// A time that is at least this long.
pub fn time_from(least: Dur) -> impl Form<Dur> {
    let read = move |args: &mut Args<'_>| {
        args.value(&format!("a time of at least {least}"), |word| {
            Dur::parse_tc(word).filter(|time| *time >= least)
        })
    };
    custom("TIME", read, Dur::to_string)
}

/// A time within `range`.
pub fn time_in(range: RangeInclusive<Dur>) -> impl Form<Dur> {
    let read = move |args: &mut Args<'_>| {
        let expected = format!("a time from {} to {}", range.start(), range.end());
        args.value(&expected, |word| Dur::parse_tc(word).filter(|time| range.contains(time)))
    };
    custom("TIME", read, Dur::to_string)
}

/// A rate within `range`.
pub fn rate_in(range: RangeInclusive<Rate>) -> impl Form<Rate> {
    let read = move |args: &mut Args<'_>| {
        let expected = format!("a rate from {} to {}", range.start(), range.end());
        args.value(&expected, |word| Rate::parse_tc(word).filter(|rate| range.contains(rate)))
    };
    custom("RATE", read, Rate::to_string)
}

/// A rate that is at least this high.
pub fn rate_from(least: Rate) -> impl Form<Rate> {
    let read = move |args: &mut Args<'_>| {
        args.value(&format!("a rate of at least {least}, such as `50Mbit`"), |word| {
            Rate::parse_tc(word).filter(|rate| *rate >= least)
        })
    };
    custom("RATE", read, Rate::to_string)
}

/// One of some texts, of which `value` is the list as a usage line shows it.
pub const fn one_of<T>(value: &'static str, all: &'static [(&'static str, T)]) -> OneOf<T> {
    OneOf { value, all }
}

/// A number of bytes within `range`, with tc's units (`1500`, `20kb`).
pub fn bytes(range: RangeInclusive<u32>) -> impl Form<u32> {
    let (least, most) = (*range.start(), *range.end());
    let read = move |args: &mut Args<'_>| {
        args.value(&format!("a size from {least}b to {most}b such as `20kb`"), |word| {
            let size = Bytes::parse_tc(word)?;
            u32::try_from(size.0).ok().filter(|bytes| range.contains(bytes))
        })
    };
    custom("BYTES", read, |bytes: &u32| format!("{bytes}b"))
}

/// A whole number within `range`; a trailing `p` is accepted.
pub fn number<T: TryFrom<u64> + Display>(range: RangeInclusive<u64>) -> impl Form<T> {
    whole("NUMBER", range, "")
}

/// A number of packets within `range`, written as tc prints it (`1000p`).
pub fn packets<T: TryFrom<u64> + Display>(range: RangeInclusive<u64>) -> impl Form<T> {
    whole("PACKETS", range, "p")
}

/// A whole number within `range`, called `value` in usage texts and written with `suffix`.
pub fn whole<T: TryFrom<u64> + Display>(
    value: &'static str,
    range: RangeInclusive<u64>,
    suffix: &'static str,
) -> impl Form<T> {
    let read = move |args: &mut Args<'_>| {
        let number = args.number(range.clone())?;
        T::try_from(number).map_err(|_| args.invalid(format_args!("{number} is too large")))
    };
    custom(value, read, move |number: &T| format!("{number}{suffix}"))
}

/// A whole number within `range` that may be negative, called `value` in usage texts.
pub fn integer(value: &'static str, range: RangeInclusive<i32>) -> impl Form<i32> {
    let read = move |args: &mut Args<'_>| {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        args.value(&expected, |word| word.parse().ok().filter(|number| range.contains(number)))
    };
    custom(value, read, i32::to_string)
}

/// A decimal number within `range`, called `value` in usage texts.
pub fn decimal(value: &'static str, range: RangeInclusive<f64>) -> impl Form<f64> {
    custom(value, move |args: &mut Args<'_>| args.decimal(range.clone()), f64::to_string)
}

/// A share such as `10%`, kept as a fraction from 0 to 1.
pub fn percent() -> impl Form<f64> {
    let write = |share: &f64| format!("{}%", share * 100.0);
    custom("PERCENT", |args: &mut Args<'_>| args.percent(), write)
}

/// A percentage within `range` such as `10%`, kept as the number before the sign.
pub fn percentage(range: RangeInclusive<f64>) -> impl Form<f64> {
    let read = move |args: &mut Args<'_>| {
        let expected = format!("a percentage from {}% to {}%", range.start(), range.end());
        args.value(&expected, |word| {
            word.strip_suffix('%')?.parse().ok().filter(|number| range.contains(number))
        })
    };
    custom("PERCENT", read, |number: &f64| format!("{number}%"))
}

/// A flag: `ecn|noecn` is true and false, a single keyword is true, and left away if false.
pub struct Flag;

impl Form<bool> for Flag {
    fn value(&self) -> &'static str {
        ""
    }

    fn read(&self, names: &'static str, key: &str, _: &mut Args<'_>) -> Result<bool, GrammarError> {
        Ok(names.split('|').next() == Some(key))
    }

    fn write(&self, names: &'static str, value: &bool) -> Option<String> {
        names.split('|').nth(usize::from(!value)).map(str::to_owned)
    }
}

impl Value for bool {
    type Form = Flag;
    const FORM: Flag = Flag;
}

/// One of some texts, after the keyword.
pub struct OneOf<T: 'static> {
    /// The texts, as a usage line shows them.
    pub value: &'static str,
    /// Every text and what it means.
    pub all: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> OneOf<T> {
    fn text(&self, value: &T) -> &'static str {
        self.all.iter().find(|(_, each)| each == value).map_or("", |(text, _)| text)
    }
}

impl<T: Copy + PartialEq> Form<T> for OneOf<T> {
    fn value(&self) -> &'static str {
        self.value
    }

    fn read(&self, _: &'static str, _: &str, args: &mut Args<'_>) -> Result<T, GrammarError> {
        let texts: Vec<&str> = self.all.iter().map(|(text, _)| *text).collect();
        Ok(self.all[args.choice(&texts)?].1)
    }

    fn write(&self, names: &'static str, value: &T) -> Option<String> {
        Some(after_keyword(names, self.text(value)))
    }
}

/// One of some texts that are keywords themselves, as `noatm|atm|ptm`.
pub struct Keywords<T: 'static>(pub OneOf<T>);

/// One of the texts of a type as a keyword.
pub fn keywords<T: Value<Form = OneOf<T>>>() -> Keywords<T> {
    Keywords(T::FORM)
}

impl<T: Copy + PartialEq> Form<T> for Keywords<T> {
    fn value(&self) -> &'static str {
        ""
    }

    fn names(&self, _: &'static str) -> &'static str {
        self.0.value
    }

    fn read(&self, _: &'static str, key: &str, args: &mut Args<'_>) -> Result<T, GrammarError> {
        let found = self.0.all.iter().find(|(text, _)| *text == key);
        found.map(|(_, value)| *value).ok_or_else(|| args.unknown())
    }

    fn write(&self, _: &'static str, value: &T) -> Option<String> {
        Some(self.0.text(value).to_owned())
    }
}

/// A value that may be absent, which is written by leaving the parameter out.
pub struct Maybe<F>(pub F);

/// `form`, or absent.
pub const fn maybe<F>(form: F) -> Maybe<F> {
    Maybe(form)
}

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn value(&self) -> &'static str {
        self.0.value()
    }

    fn names(&self, field: &'static str) -> &'static str {
        self.0.names(field)
    }

    fn read(
        &self,
        names: &'static str,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<Option<T>, GrammarError> {
        self.0.read(names, key, args).map(Some)
    }

    fn write(&self, names: &'static str, value: &Option<T>) -> Option<String> {
        value.as_ref().and_then(|value| self.0.write(names, value))
    }
}

/// A value that may be absent, which is written as a keyword of its own. The keyword is declared apart, as
/// one that takes no value.
pub struct OrOff<F>(F, &'static str);

/// `form`, or absent, which is written as `off`.
pub const fn or_off<F>(form: F, off: &'static str) -> OrOff<F> {
    OrOff(form, off)
}

impl<T, F: Form<T>> Form<Option<T>> for OrOff<F> {
    fn value(&self) -> &'static str {
        self.0.value()
    }

    fn read(
        &self,
        names: &'static str,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<Option<T>, GrammarError> {
        self.0.read(names, key, args).map(Some)
    }

    fn write(&self, names: &'static str, value: &Option<T>) -> Option<String> {
        value.as_ref().map_or_else(|| Some(self.1.to_owned()), |value| self.0.write(names, value))
    }
}

impl<T: Value> Value for Option<T> {
    type Form = Maybe<T::Form>;
    const FORM: Self::Form = Maybe(T::FORM);
}
