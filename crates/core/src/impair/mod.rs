//! What happens to packets on the way beside queuing: delay, loss, policing, rewriting, tunnels.
//! Each element is a [`Qdisc`](crate::aqm::Qdisc) too, so that it can stand before a queue or
//! around one, and is registered by name in [`aqm::REGISTRY`](crate::aqm::REGISTRY), except for
//! [`tunnel`], whose two ends an engine builds as a pair. One element, one file.

pub(crate) mod drop;
mod element;
pub(crate) mod mangle;
pub(crate) mod netem;
pub(crate) mod police;
mod select;
pub mod tunnel;

pub use netem::Netem;
pub use police::Police;
