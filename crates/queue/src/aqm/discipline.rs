//! What is known of a discipline from its parameters, before and without packets.

use sojourn_core::grammar::{Given, GrammarError, split_name};
use sojourn_core::spec::Family;
use sojourn_core::units::Rate;

use super::{Env, Qdisc};

/// The parameters of a queue discipline, shaper or path element.
pub trait Discipline {
    /// What the surroundings must provide, as the traces that it names: looked for once, when a
    /// scenario is read. After it [`Discipline::build`] cannot fail.
    fn check(&mut self, _env: &Env) -> Result<(), String> {
        Ok(())
    }

    /// Why these parameters do not suffice for a shaper around another discipline, or for a queue of
    /// its own.
    fn suits(&self, _around: bool) -> Result<(), String> {
        Ok(())
    }

    /// The discipline itself, as `tc qdisc add` makes it.
    fn build(&self, env: Env) -> Box<dyn Qdisc>;

    /// Why a discipline with these parameters cannot be changed to have those of `to`.
    fn accepts(&self, _to: &Spec) -> Result<(), String> {
        Ok(())
    }

    /// Why a parameter has no effect: another one, or its absence, switches it off.
    fn idle(&self) -> Option<&'static str> {
        None
    }

    /// Whether it can wrap an existing discipline.
    fn is_shaper(&self) -> bool {
        false
    }

    /// The same around `leaf`; only of a shaper.
    fn around(&self, _env: Env, _leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        unreachable!("asked only of shapers")
    }

    /// Another rate (and ceiling), all other parameters as they are. The error says why there is no
    /// single rate to change.
    fn set_rate(&mut self, _rate: Rate) -> Result<(), String> {
        Err("there is no rate to change".to_owned())
    }

    /// The rate that bounds what leaves, for the utilisation.
    fn capacity(&self) -> Option<Rate> {
        None
    }

    /// Whether packets wait here although the path is free.
    fn delays(&self) -> bool {
        false
    }
}

/// What [`Discipline::accepts`] says where only parameters of which `keeps` is true can be taken over.
pub(crate) fn accepts<P: 'static>(
    to: &Spec,
    keeps: impl FnOnce(&P) -> bool,
    why: &str,
) -> Result<(), String> {
    match to.params::<P>() {
        Some(to) if !keeps(to) => Err(why.to_owned()),
        _ => Ok(()),
    }
}

sojourn_core::family!(Discipline, crate::qdiscs::LINES);

/// What `spec` becomes by a change to `text`, which names the same discipline, and which parameters that
/// states.
pub(crate) fn changed(spec: &Spec, text: &str) -> Result<(Spec, Given), GrammarError> {
    let (name, rest) = split_name(text);
    <dyn Discipline>::lines().entry(name)?;
    if spec.name() != name {
        let of = spec.name();
        return Err(GrammarError(format!("cannot change `{of}` into `{name}`; use replace")));
    }
    let (to, given) = spec.changed(rest)?;
    spec.accepts(&to).map_err(|why| GrammarError(format!("{name}: {why}")))?;
    Ok((to, given))
}
