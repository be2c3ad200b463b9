//! What happens to packets on the way beside queuing: delay, loss, policing, rewriting, tunnels, and
//! links whose rate is not a constant. Each element is a [`Qdisc`](crate::aqm::Qdisc) too, so that
//! it can precede a queue or wrap one, and is registered by name in
//! [`qdiscs::REGISTRY`](crate::qdiscs::REGISTRY), except for [`tunnel`], whose two ends an engine builds
//! as a pair. One element, one file.

pub(crate) mod ackthin;
pub(crate) mod drop;
mod element;
pub(crate) mod grant;
pub(crate) mod mahimahi;
pub mod mangle;
pub mod netem;
pub mod police;
pub(crate) mod rate_trace;
mod select;
mod shell;
pub mod tunnel;
pub(crate) mod wifi;
