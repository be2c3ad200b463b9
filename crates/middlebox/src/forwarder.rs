//! The loop between two devices.

use std::io;
use std::sync::Arc;

use sojourn_core::Dur;
use sojourn_live::clock::Clock;
use sojourn_live::lateness::Lateness;
use sojourn_live::realtime::{Measures, RealTime};
use sojourn_live::tun::Read;
use sojourn_live::wait::Hybrid;
use sojourn_scenario::{Scenario, Status};
use sojourn_sim::{Simulation, Standstill};
use sojourn_trace::Output;
use sojourn_transport::{Endpoint, Pool};
use sojourn_wire::packet::{Counts, read};

use crate::Device;
use crate::portal::{Portal, Shared, lock};

/// Bytes of the largest packet that a device gives.
const LARGEST: usize = 65_600;
/// Packets that one device gives before the other one has its turn.
const BATCH: usize = 64;

/// Why a forwarder ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A device failed.
    #[error("device: {0}")]
    Device(#[source] io::Error),
    /// The network stood still.
    #[error("{0}")]
    Standstill(Standstill),
}

/// One of the two devices.
struct Side {
    device: Arc<dyn Device>,
    exchange: Shared,
    counts: Counts,
}

/// What a side has carried.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// What its host has sent.
    pub received: Counts,
    /// Packets for its host that the device did not take.
    pub refused: u64,
    /// How long after the instant at which it left the network each packet for its host was handed to the
    /// device.
    pub lateness: Lateness,
}

/// A run between hosts.
#[derive(Debug)]
pub struct Report {
    /// As that of a simulated run.
    pub output: Output,
    /// The near and the far side.
    pub sides: [Carried; 2],
    /// What the machine has granted the forwarding thread of what it asked for.
    pub granted: Measures,
}

/// A scenario whose first flow is what the hosts at two devices send: near to far is its forward
/// direction.
pub struct Forwarder {
    simulation: Simulation,
    sides: [Side; 2],
    clock: Clock,
    hybrid: Hybrid,
    pool: Pool,
    packet: Vec<u8>,
}

/// Length of the busy wait before a departure. Longer ones cost CPU time and bring little: of 120 us
/// between packets, 25 us bring the median error from 32 us to 0.4 us.
const SPIN: Dur = Dur::from_micros(25);

impl Forwarder {
    /// The network of `scenario` between two devices; its time begins now.
    pub fn new(scenario: Arc<Scenario>, devices: [Arc<dyn Device>; 2]) -> Self {
        let clock = Clock::start();
        let sides = devices.map(|device| Side {
            device,
            exchange: Shared::default(),
            counts: Counts::default(),
        });
        let simulation = Simulation::with_outside(scenario, |end| {
            let side = sides.get(end)?;
            let (device, exchange) = (Arc::clone(&side.device), Arc::clone(&side.exchange));
            Some(Box::new(Portal::new(device, clock, exchange)) as Box<dyn Endpoint>)
        });
        let hybrid = Hybrid::new(clock, SPIN);
        let (pool, packet) = (Pool::default(), vec![0; LARGEST]);
        Self { simulation, sides, clock, hybrid, pool, packet }
    }

    /// With another length of the busy wait before a departure. It has to be zero in a kernel in virtual
    /// time, as [`Hybrid::new`] says.
    #[must_use]
    pub fn spin(mut self, spin: Dur) -> Self {
        self.hybrid = Hybrid::new(self.clock, spin);
        self
    }

    /// Forwards until the scenario ends, or `stop`, which is called after each wait, is true. This thread
    /// asks the machine for what is `wanted`.
    ///
    /// # Errors
    /// If a device fails, or packets circle without end.
    pub fn run(mut self, wanted: Measures, stop: impl Fn() -> bool) -> Result<Report, Error> {
        let real_time = RealTime::ask(wanted);
        while !stop() {
            for side in 0..self.sides.len() {
                self.receive(side)?;
            }
            let status = self.catch_up()?;
            if status == Status::Ended {
                break;
            }
            self.wait()?;
        }
        let sides = self.sides.map(|side| {
            let exchange = std::mem::take(&mut *lock(&side.exchange));
            Carried {
                received: side.counts,
                refused: exchange.refused,
                lateness: exchange.lateness,
            }
        });
        let granted = real_time.granted();
        Ok(Report { output: self.simulation.finish(), sides, granted })
    }

    /// Puts into the network what one side's host has sent.
    fn receive(&mut self, number: usize) -> Result<(), Error> {
        for _ in 0..BATCH {
            let device = &self.sides[number].device;
            let received = device.receive(&mut self.packet).map_err(Error::Device)?;
            let Read::Packet(len) = received else { break };
            // What was due before it arrived comes first, without it.
            self.catch_up()?;
            let (side, bytes) = (&mut self.sides[number], &self.packet[..len]);
            let found = read(bytes, 0);
            side.counts.add(&found);
            let Ok((packet, _)) = found else { continue };
            lock(&side.exchange).sent = Some(self.pool.frame(packet, bytes));
            self.simulation.poll_outside(number).map_err(Error::Standstill)?;
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

    /// Waits for a packet or for what is due next.
    fn wait(&mut self) -> Result<(), Error> {
        for side in &self.sides {
            if let Some(error) = lock(&side.exchange).failure.take() {
                return Err(Error::Device(error));
            }
        }
        let [near, far] = &self.sides;
        let due = self.simulation.due();
        let fds = [near.device.as_fd(), far.device.as_fd()];
        self.hybrid.wait(fds, Some(due)).map(drop).map_err(Error::Device)
    }
}
