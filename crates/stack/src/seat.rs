//! Where end points are in a real network, and by which ports they are found.

use std::ops::Range;

use sojourn_scenario::Scenario;
use sojourn_transport::app::App;
use sojourn_wire::Addresses;

/// Port of the first flow or ping at the end that does not open it: iperf3's. The others follow. What opens
/// a connection has a port above all of these.
pub const FIRST_PORT: u16 = 5201;
/// Ports of ends that open connections (Linux `ip_local_port_range`).
pub(crate) const OPENING: Range<u16> = 32768..61000;

/// Where an end point is.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// Its number, as in [`sojourn_sim::Ends`].
    pub end: usize,
    /// Which of the host's devices its packets take. The two ends of a flow have different ones.
    pub device: usize,
    /// Of what it sends.
    pub addresses: Addresses,
}

/// An end point at its seat.
pub(crate) struct Place {
    pub(crate) device: usize,
    pub(crate) addresses: Addresses,
    /// Of UDP, own and the peer's.
    pub(crate) port: u16,
    pub(crate) accepts: Accepts,
    /// Both directions of its connections carry data.
    pub(crate) is_duplex: bool,
    /// It wants to know what has left the host (`tsq`).
    pub(crate) counts_departures: bool,
}

/// How many connections come to an end point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    Nothing,
    One,
    Many,
}

/// The port of an end point that waits for its peer; none if there are too many.
pub fn port(end: usize) -> Option<u16> {
    let port = u16::try_from(end / 2).ok()?.checked_add(FIRST_PORT)?;
    (port < OPENING.start).then_some(port)
}

/// The number of the flow or ping whose end has this port.
pub(crate) fn number(port: u16) -> Option<usize> {
    port.checked_sub(FIRST_PORT).map(usize::from)
}

/// What connections of the flow `n` come to its end that does not open it.
pub(crate) fn accepts(scenario: &Scenario, n: usize) -> Accepts {
    match scenario.flows.get(n).map(|flow| flow.app.build()) {
        Some(App::Short(_)) => Accepts::Many,
        Some(App::Bulk | App::Request(_)) => Accepts::One,
        _ => Accepts::Nothing,
    }
}

/// Whether both directions of the flow `n` carry data.
pub(crate) fn is_duplex(scenario: &Scenario, n: usize) -> bool {
    scenario.flows.get(n).is_some_and(|flow| flow.app.build().is_duplex())
}
