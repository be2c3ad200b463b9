//! A host in real time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use sojourn_core::{Dur, Time};
use sojourn_live::clock::Clock;
use sojourn_live::lateness::Lateness;
use sojourn_live::realtime::{Measures, RealTime};
use sojourn_live::tun::Read;
use sojourn_live::wait::{Hybrid, LONGEST_SPIN};
use sojourn_sim::Ends;

use crate::host::{Counts, Error, Host, LARGEST};

/// Packets that one device gives before what is due has its turn.
const BATCH: usize = 16;

/// What a host leaves behind.
pub struct Report {
    /// Its end points, with their series and summaries up to `until`.
    pub ends: Ends,
    /// The end of the run.
    pub until: Time,
    /// By device.
    pub sides: Vec<Counts>,
    /// How late what was due at a time was done.
    pub lateness: Lateness,
    /// What the machine has granted this thread of what it asked for.
    pub granted: Measures,
}

impl Host {
    /// Runs in the time of `clock` until the scenario ends, or `stops`, which is called after each wait with
    /// the end points, is true; connections that are still open are then reset. This thread asks the
    /// machine for what is `wanted`.
    ///
    /// # Errors
    /// If a device fails.
    pub fn run(
        self,
        clock: Clock,
        wanted: Measures,
        stops: impl FnMut(&mut Ends) -> bool,
    ) -> Result<Report, Error> {
        self.run_with_spin(clock, LONGEST_SPIN, wanted, stops)
    }

    /// With another longest busy wait before a departure. It has to be zero in a kernel in virtual
    /// time, as [`Hybrid::new`] says.
    ///
    /// # Errors
    /// As of [`Host::run`].
    pub fn run_with_spin(
        mut self,
        clock: Clock,
        spin: Dur,
        wanted: Measures,
        mut stops: impl FnMut(&mut Ends) -> bool,
    ) -> Result<Report, Error> {
        let real_time = RealTime::ask(wanted);
        let readable = self.readable().map_err(Error::Device)?;
        let mut hybrid = Hybrid::new(clock, spin);
        let mut packet = vec![0; LARGEST];
        let end = Time::ZERO + self.scenario.duration;
        loop {
            for device in 0..self.sides.len() {
                self.drain(clock, device, &mut packet)?;
            }
            let now = clock.now().min(end);
            self.advance(now);
            if let Some(error) = self.take_failure() {
                return Err(Error::Device(error));
            }
            if now == end || stops(&mut self.ends) {
                break;
            }
            let due = self.due().min(end);
            hybrid.wait([readable.as_fd()], Some(due)).map_err(Error::Device)?;
        }
        self.abort();
        Ok(Report {
            until: clock.now().min(end),
            ends: self.ends,
            sides: self.sides.iter().map(|side| side.counts).collect(),
            lateness: self.lateness,
            granted: real_time.granted(),
        })
    }

    /// Takes what a device has received.
    fn drain(&mut self, clock: Clock, device: usize, packet: &mut [u8]) -> Result<(), Error> {
        for _ in 0..BATCH {
            let received = self.sides[device].device().receive(packet).map_err(Error::Device)?;
            let Read::Packet(len) = received else { break };
            self.receive(clock.now(), device, &packet[..len]);
        }
        Ok(())
    }

    /// Readable when a device is.
    fn readable(&self) -> io::Result<OwnedFd> {
        let readable = epoll::create(CreateFlags::CLOEXEC)?;
        for side in &self.sides {
            let fd = side.device().as_fd();
            epoll::add(&readable, fd, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(readable)
    }
}
