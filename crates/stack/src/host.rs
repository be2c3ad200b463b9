//! What a host does with packets and time. It has no clock: [`Host::run`] gives it one.

mod receive;
mod send;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use sojourn_core::{Rng, Time};
use sojourn_live::device::Device;
use sojourn_live::lateness::Lateness;
use sojourn_live::tun::Written;
use sojourn_scenario::Scenario;
use sojourn_sim::{Ends, Item, agenda};
use sojourn_transport::Endpoint;
use sojourn_wire::Addresses;

use crate::absent::Absent;
use crate::media::Media;
use crate::seat::{Accepts, Place, Seat, accepts, is_duplex, port};
use crate::sockets::Sockets;

/// Bytes of the largest packet.
pub(crate) const LARGEST: usize = 65_600;
/// What the header of IPv6 is larger than that of IPv4, for which end points reckon their MTU.
const V6_EXCESS: u32 = 20;

/// Why there is no host, or it ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Only one end of a media flow.
    #[error("flow.{0}: expected both ends of media at one host")]
    Apart(String),
    /// A seat that cannot be.
    #[error(
        "end point {0}: expected one of the scenario's, one of the devices, and a port below 65536"
    )]
    Seat(usize),
    /// A device failed.
    #[error("device: {0}")]
    Device(#[source] io::Error),
}

/// Packets of a device, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// For an end point.
    pub delivered: u64,
    /// Of no connection; a TCP segment was answered with a reset.
    pub strays: u64,
    /// Neither IP nor whole, or with a wrong checksum.
    pub corrupt: u64,
    /// Of a connection, but not possible at its state.
    pub outside: u64,
    /// Connections that the peer refused or reset.
    pub resets: u64,
    /// Echo requests, which were answered.
    pub echoed: u64,
    /// Written to the device.
    pub sent: u64,
    /// Not taken by the device.
    pub refused: u64,
    /// Not written: no room in the packet for what its receiver needs, or no connection any more.
    pub unsent: u64,
}

/// A device and what it has carried.
pub struct Side {
    device: Arc<dyn Device>,
    pub(crate) counts: Counts,
}

impl Side {
    pub(crate) fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    fn send(&mut self, packet: &[u8], failure: &mut Option<io::Error>) {
        match self.device.send(packet) {
            Ok(Written::Taken) => self.counts.sent += 1,
            Ok(_) => self.counts.refused += 1,
            Err(error) => *failure = Some(error),
        }
    }
}

/// End points of a scenario on one or more devices.
pub struct Host {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) ends: Ends,
    /// By end point; none for those elsewhere.
    places: Vec<Option<Place>>,
    /// When each end point has something to do.
    due: Vec<Time>,
    /// UDP ports of end points.
    ports: BTreeMap<(usize, u16), usize>,
    /// By flow; none but of media.
    media: Vec<Option<Media>>,
    /// By flow: the highest number of a datagram that is counted.
    counted: Vec<u64>,
    agenda: Vec<(Time, Item)>,
    agenda_at: usize,
    sample_at: Time,
    sockets: Sockets,
    pub(crate) sides: Vec<Side>,
    /// A packet to be sent.
    packet: Vec<u8>,
    pub(crate) lateness: Lateness,
    failure: Option<io::Error>,
}

impl Host {
    /// The end points of `scenario` that have a seat, at these devices.
    ///
    /// # Errors
    /// Media with one end; a seat that cannot be.
    pub fn new(
        scenario: &Scenario,
        seats: &[Seat],
        devices: Vec<Arc<dyn Device>>,
    ) -> Result<Self, Error> {
        let mut scenario = scenario.clone();
        let count = 2 * (scenario.flows.len() + scenario.pings.len());
        let mut places: Vec<Option<Place>> = (0..count).map(|_| None).collect();
        let mut ports = BTreeMap::new();
        for &Seat { end, device, addresses } in seats {
            let is_possible = end < count && device < devices.len() && places[end].is_none();
            let port = port(end).filter(|_| is_possible).ok_or(Error::Seat(end))?;
            ports.insert((device, port), end);
            let opens = end.is_multiple_of(2);
            let accepts = if opens { Accepts::Nothing } else { accepts(&scenario, end / 2) };
            let is_duplex = is_duplex(&scenario, end / 2);
            let mut counts_departures = false;
            if let Some(flow) = scenario.flows.get_mut(end / 2) {
                flow.control_rtts = 0;
                counts_departures = flow.tcp.tsq;
            }
            places[end] =
                Some(Place { device, addresses, port, accepts, is_duplex, counts_departures });
        }
        for (n, flow) in scenario.flows.iter_mut().enumerate() {
            let is_v6 = |place: &Place| matches!(place.addresses, Addresses::V6 { .. });
            if places[2 * n..2 * n + 2].iter().flatten().any(is_v6) {
                flow.tcp.mtu -= V6_EXCESS;
            }
        }
        let media: Vec<_> = scenario.flows.iter().map(Media::of).collect();
        for (n, flow) in scenario.flows.iter().enumerate().filter(|(n, _)| media[*n].is_some()) {
            if places[2 * n].is_some() != places[2 * n + 1].is_some() {
                return Err(Error::Apart(flow.name.clone()));
            }
        }
        let scenario = Arc::new(scenario);
        let ends = Ends::with_outside(Arc::clone(&scenario), |end| {
            places[end].is_none().then(|| Box::new(Absent) as Box<dyn Endpoint>)
        });
        let is_here = |item: &Item| match *item {
            Item::Start(n) | Item::Stop(n) => places[2 * n].is_some(),
            Item::Change(_) => false,
        };
        let mut agenda = agenda(&scenario);
        agenda.retain(|(_, item)| is_here(item));
        let side = |device| Side { device, counts: Counts::default() };
        Ok(Self {
            ends,
            due: vec![Time::NEVER; count],
            places,
            ports,
            counted: vec![0; media.len()],
            media,
            agenda,
            agenda_at: 0,
            sample_at: Time::ZERO,
            sockets: Sockets::new(Rng::named(scenario.seed, "stack")),
            sides: devices.into_iter().map(side).collect(),
            packet: vec![0; LARGEST],
            lateness: Lateness::default(),
            failure: None,
            scenario,
        })
    }

    /// When it has something to do without a packet.
    pub fn due(&self) -> Time {
        let agenda = self.agenda.get(self.agenda_at).map_or(Time::NEVER, |(at, _)| *at);
        let ends = self.due.iter().copied().min().unwrap_or(Time::NEVER);
        ends.min(agenda).min(self.sample_at).min(self.sockets.due())
    }

    /// Does what is due until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(&(at, item)) = self.agenda.get(self.agenda_at).filter(|(at, _)| *at <= now) {
            self.agenda_at += 1;
            self.lateness.record(now.since(at));
            match item {
                Item::Start(n) => self.with(now, 2 * n, |end| end.start(now)),
                Item::Stop(n) => self.with(now, 2 * n, |end| end.stop(now)),
                Item::Change(_) => {}
            }
        }
        for end in 0..self.due.len() {
            if self.due[end] <= now {
                self.lateness.record(now.since(self.due[end]));
                self.with(now, end, |end| {
                    if end.deadline() <= now {
                        end.on_timer(now);
                    }
                });
            }
        }
        while let Some(id) = self.sockets.next_due(now) {
            self.attend(now, id);
        }
        while self.sample_at <= now {
            self.ends.sample(self.sample_at);
            self.sample_at += self.scenario.step;
        }
    }

    /// Why a device failed, if one has.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Has `act` act on an end point, and sends what it then has to send.
    fn with(&mut self, now: Time, end: usize, act: impl FnOnce(&mut dyn Endpoint)) {
        act(self.ends.get(end));
        self.poll(now, end);
    }

    fn poll(&mut self, now: Time, end: usize) {
        while let Some(tx) = self.ends.get(end).poll(now) {
            self.send(now, end, &tx);
        }
        self.due[end] = self.ends.get(end).deadline();
    }

    /// Counts at the device of an end point.
    fn count(&mut self, end: usize, count: impl FnOnce(&mut Counts)) {
        let device = self.places[end].as_ref().map(|place| place.device);
        if let Some(device) = device {
            count(&mut self.sides[device].counts);
        }
    }
}

#[cfg(test)]
mod tests;
