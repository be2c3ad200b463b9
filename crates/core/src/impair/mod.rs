//! What happens to packets on the way beside queuing: delay, loss, policing. Each element is a
//! [`Qdisc`](crate::aqm::Qdisc) too, so that it can stand before a queue or around one, and is
//! registered by name in [`aqm::REGISTRY`](crate::aqm::REGISTRY). One element, one file.

pub(crate) mod netem;
pub(crate) mod police;

pub use netem::Netem;
pub use police::Police;
