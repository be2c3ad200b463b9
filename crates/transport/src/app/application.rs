//! What is known of an application from its parameters.

use sojourn_core::spec::{Kernel, Values};

use super::App;

/// The parameters of an application.
pub trait Application {
    /// What a flow with them carries.
    fn build(&self) -> App;
}

sojourn_core::family!(Application, super::LINES);

/// A line of the registry: name, one sentence, and where the pattern comes from. No kernel has it.
pub(super) const fn line<P>(
    name: &'static str,
    summary: &'static str,
    reference: &'static str,
) -> Entry
where
    P: Application + Values,
{
    entry::<P>(name, summary, reference, Kernel::Nowhere)
}
