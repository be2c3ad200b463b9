//! The loop between two devices.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use sojourn_core::Dur;
use sojourn_live::clock::Clock;
use sojourn_live::device::Device;
use sojourn_live::lateness::Lateness;
use sojourn_live::realtime::{Measures, RealTime, Refusal};
use sojourn_live::tun::Read;
use sojourn_live::unfinished as live;
use sojourn_live::wait::{Hybrid, LONGEST_SPIN};
use sojourn_scenario::{Scenario, Status};
use sojourn_sim::{Simulation, Standstill, Tap};
use sojourn_trace::Output;
use sojourn_transport::{Endpoint, Pool, Segments};
use sojourn_wire::packet::{Counts, read};
use sojourn_wire::{Ip, ethernet};

use crate::portal::{Arrived, Portal, Shared, lock};

/// Bytes of the largest packet that a device gives.
pub(crate) const LARGEST: usize = 65_600;
/// Packets that one device gives before the other one has its turn.
const BATCH: usize = 64;
/// Devices that have their turn before it is looked again which have packets.
const READY: usize = 16;

/// Why a forwarder ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A device failed.
    #[error("device: {0}")]
    Device(#[source] io::Error),
    /// The network stood still.
    #[error("{0}")]
    Standstill(Standstill),
    /// A capture cannot be written.
    #[error("{0}")]
    Capture(String),
}

/// A device and what it has carried.
struct Side {
    device: Arc<dyn Device>,
    exchange: Shared,
}

/// What a device has carried.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// What its host has sent.
    pub received: Counts,
    /// Of these, super-packets: several packets that the host has sent as one.
    pub super_packets: u64,
    /// Of what it has sent, packets that belong to no end point, and went no further.
    pub strays: u64,
    /// Packets for its host that the device did not take.
    pub refused: u64,
    /// How long after the instant at which it left the network each packet for its host began to be handed
    /// to the device.
    pub lateness: Lateness,
}

impl Carried {
    /// Adds what was carried at another time.
    pub fn merge(&mut self, other: &Self) {
        self.received.merge(&other.received);
        self.super_packets += other.super_packets;
        self.strays += other.strays;
        self.refused += other.refused;
        self.lateness.merge(&other.lateness);
    }
}

/// What the devices carry, for who watches a run from its thread.
pub struct Accounts(Vec<Shared>);

impl Accounts {
    /// By device, since the last call. What is taken is not in the report.
    pub fn take(&self) -> Vec<Carried> {
        self.0.iter().map(|side| std::mem::take(&mut lock(side).carried)).collect()
    }
}

/// A run between hosts.
#[derive(Debug)]
pub struct Report {
    /// As that of a simulated run.
    pub output: Output,
    /// By device.
    pub sides: Vec<Carried>,
    /// What the machine has granted the forwarding thread of what it asked for.
    pub granted: Measures,
    /// What it has refused, with the reasons.
    pub refused: Vec<String>,
}

/// The end point that a packet belongs to, by the number of the host that sends it, and its bytes.
pub type Classifier = Box<dyn Fn(usize, &[u8]) -> Option<usize> + Send>;

/// The hosts outside, each behind a device, and the end points of the scenario that they take the place of.
pub struct Hosts {
    /// By host.
    pub devices: Vec<Arc<dyn Device>>,
    /// The host of each end point, numbered as in [`Simulation::with_outside`]. The simulator's own end
    /// points stay where there is none.
    pub of_ends: Vec<Option<usize>>,
    /// What finds the end point that sends a packet. One without is dropped, and counted.
    pub sender: Classifier,
}

impl Hosts {
    /// Two hosts that are the ends of the first flow, whatever they send: near to far is its forward direction.
    pub fn pair(near: Arc<dyn Device>, far: Arc<dyn Device>) -> Self {
        let sender = Box::new(|host, _: &[u8]| Some(host));
        Self { devices: vec![near, far], of_ends: vec![Some(0), Some(1)], sender }
    }
}

/// A scenario between hosts.
pub struct Forwarder {
    simulation: Simulation,
    sides: Vec<Side>,
    sender: Classifier,
    /// Readable when a device is.
    readable: OwnedFd,
    clock: Clock,
    hybrid: Hybrid,
    pool: Pool,
    packet: Vec<u8>,
}

impl Forwarder {
    /// The network of `scenario` between hosts, in the time of `clock`.
    ///
    /// # Errors
    /// No `epoll`.
    pub fn new(scenario: Arc<Scenario>, hosts: Hosts, clock: Clock) -> io::Result<Self> {
        let Hosts { devices, of_ends, sender } = hosts;
        let readable = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, device) in devices.iter().enumerate() {
            let number = EventData::new_u64(number as u64);
            epoll::add(&readable, device.as_fd(), number, EventFlags::IN)?;
        }
        let side = |device| Side { device, exchange: Shared::default() };
        let sides: Vec<Side> = devices.into_iter().map(side).collect();
        let flows = Arc::clone(&scenario);
        let arrived = |end: usize| {
            let flow = flows.flows.get(end / 2).filter(|flow| flow.exec.is_some())?;
            // An even number is the end that opens the flow.
            Some(Arrived::new(end.is_multiple_of(2) == flow.app.build().pulls()))
        };
        let simulation = Simulation::with_outside(scenario, |end| {
            let side = &sides[of_ends.get(end).copied().flatten()?];
            let (device, exchange) = (Arc::clone(&side.device), Arc::clone(&side.exchange));
            let portal = Portal::new(device, clock, exchange, arrived(end));
            Some(Box::new(portal) as Box<dyn Endpoint>)
        });
        let hybrid = Hybrid::new(clock, LONGEST_SPIN);
        let (pool, packet) = (Pool::default(), vec![0; LARGEST]);
        Ok(Self { simulation, sides, sender, readable, clock, hybrid, pool, packet })
    }

    /// With another longest busy wait before a departure. It has to be zero in a kernel in virtual time, as
    /// [`Hybrid::new`] says.
    #[must_use]
    pub fn spin(mut self, longest: Dur) -> Self {
        self.hybrid = Hybrid::new(self.clock, longest);
        self
    }

    /// With a tap in its network.
    #[must_use]
    pub fn tapped(mut self, tap: Box<dyn Tap>) -> Self {
        self.simulation.tap(tap);
        self
    }

    /// What the devices carry from now on.
    pub fn accounts(&self) -> Accounts {
        Accounts(self.sides.iter().map(|side| Arc::clone(&side.exchange)).collect())
    }

    /// Forwards until the scenario ends, or `stops`, which is called before each look at what is due and once
    /// at the end, is true. This thread asks the machine for what is `wanted`.
    ///
    /// # Errors
    /// If a device fails, or packets circle without end.
    pub fn run(
        mut self,
        wanted: Measures,
        mut stops: impl FnMut(&mut Simulation) -> bool,
    ) -> Result<Report, Error> {
        let real_time = RealTime::ask(wanted);
        while !stops(&mut self.simulation) {
            if self.catch_up()? == Status::Ended {
                break;
            }
            self.check()?;
            // What has left may be answered already: the host's kernel works on it within the call.
            if self.receive_all()? == 0 {
                self.wait()?;
            }
        }
        stops(&mut self.simulation);
        self.simulation.end_tap().map_err(Error::Capture)?;
        let sides = self.accounts().take();
        let granted = real_time.granted();
        let refused = real_time.refused().iter().map(Refusal::to_string).collect();
        Ok(Report { output: self.simulation.finish(), sides, granted, refused })
    }

    /// Puts into the network what the hosts have sent; gives how many had something.
    fn receive_all(&mut self) -> Result<usize, Error> {
        let mut events = [const { MaybeUninit::uninit() }; READY];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let (ready, _) = match epoll::wait(&self.readable, &mut events, Some(&at_once)) {
            Ok(ready) => ready,
            Err(Errno::INTR) => return Ok(0),
            Err(error) => return Err(Error::Device(error.into())),
        };
        for event in &*ready {
            self.receive(event.data.u64() as usize)?;
        }
        Ok(ready.len())
    }

    /// Puts into the network what one side's host has sent.
    fn receive(&mut self, number: usize) -> Result<(), Error> {
        for _ in 0..BATCH {
            let device = &self.sides[number].device;
            let received = device.receive(&mut self.packet).map_err(Error::Device)?;
            let Read::Packet(len) = received else { break };
            // What was due before it arrived comes first, without it.
            self.catch_up()?;
            let (side, frame) = (&self.sides[number], &self.packet[..len]);
            let head = side.device.head(frame);
            let (header, bytes) = frame.split_at(head.len);
            let cut = |it: live::Segments| Segments { size: it.size, cwr_first: it.cwr_first };
            let segments = head.segments.map(cut).unwrap_or_default();
            let found = read(bytes, segments.size);
            let mut exchange = lock(&side.exchange);
            exchange.carried.received.add(&found);
            let Ok((mut packet, _)) = found else { continue };
            // Padding of the link is no part of what queues count and cut.
            let bytes = Ip::parse(bytes).map_or(bytes, |ip| &bytes[..ip.len]);
            // Tags make it longer than `read` assumes.
            packet.len +=
                header.len().saturating_sub(head.unfinished + ethernet::HEADER_BYTES) as u32;
            let Some(end) = (self.sender)(number, bytes) else {
                exchange.carried.strays += 1;
                continue;
            };
            exchange.carried.super_packets += u64::from(packet.segs > 1);
            exchange.sent = Some(self.pool.super_packet(packet, segments, header, bytes));
            drop(exchange);
            self.simulation.poll_outside(end).map_err(Error::Standstill)?;
        }
        Ok(())
    }

    /// Handles what is due, each event at its own time: a late one does not delay those after it.
    fn catch_up(&mut self) -> Result<Status, Error> {
        let now = self.clock.now();
        loop {
            match self.simulation.advance(now).map_err(Error::Standstill)? {
                Status::Going => {}
                status => return Ok(status),
            }
        }
    }

    /// Why a device took no packet, if one is gone, or why no capture can be written.
    fn check(&mut self) -> Result<(), Error> {
        let failure = |side: &Side| lock(&side.exchange).failure.take();
        if let Some(error) = self.sides.iter().find_map(failure) {
            return Err(Error::Device(error));
        }
        self.simulation.tap_failure().map_or(Ok(()), |failure| Err(Error::Capture(failure)))
    }

    /// Waits for a packet or for what is due next.
    fn wait(&mut self) -> Result<(), Error> {
        let due = self.simulation.due();
        self.hybrid.wait([self.readable.as_fd()], Some(due)).map_err(Error::Device)?;
        Ok(())
    }
}
