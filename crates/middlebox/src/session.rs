//! A middlebox between two devices of this machine, until somebody ends it: settings, devices, rights, the
//! thread that forwards, readings of what it does, and a socket by which it is changed meanwhile.

mod control;
mod reading;
mod settings;

pub use control::request;
pub use reading::{End, Reading, Side};
pub use settings::{Settings, Way};

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sojourn_core::Time;
use sojourn_live::clock::{Clock, unix_ns};
use sojourn_live::confine::{LOCKED, REAL_TIME, keep_only};
use sojourn_live::packet_socket::PacketSocket;
use sojourn_live::realtime::{Measures, RealTime, Refusal};
use sojourn_live::tun::Tun;
use sojourn_scenario::Scenario;
use sojourn_tap::Recorder;

use control::{Control, Order, Plan};
use reading::Watch;

use crate::{Device, Forwarder, Hosts, Port};

/// Why there is no middlebox, or no longer: one line for the user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting that cannot be used.
    #[error("{0}")]
    Setting(String),
    /// A device or a right that is missing.
    #[error(transparent)]
    Live(#[from] sojourn_live::error::Error),
    /// The socket for control.
    #[error("--control {}: {error}", path.display())]
    Control {
        /// Its name.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Anything else that the kernel refused.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    /// It ended early.
    #[error(transparent)]
    Forwarder(#[from] crate::Error),
}

/// What the machine grants the forwarding thread so that it is on time.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Granted.
    pub granted: Vec<&'static str>,
    /// Refused, with the reasons.
    pub refused: Vec<String>,
}

/// A middlebox that runs.
pub struct Session {
    readings: Mutex<Receiver<Arc<Reading>>>,
    thread: JoinHandle<Result<Reading, Error>>,
    stop: Arc<AtomicBool>,
    control: Option<Control>,
    grants: Grants,
    warnings: Vec<String>,
}

/// Readings that wait for who takes them; more are left out.
const READINGS: usize = 64;
/// Orders that wait for the forwarding thread.
const ORDERS: usize = 16;

impl Session {
    /// Starts. It gives up every capability of this thread for good, once the devices are open, but the one
    /// to lock memory.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let (plan, warnings) = settings.plan()?;
        let scenario = plan.clone();
        let devices = Devices::open(settings)?;
        keep_only(REAL_TIME).map_err(|error| Error::System("capabilities", error))?;
        let (stop, latest) =
            (Arc::<AtomicBool>::default(), Arc::<Mutex<Option<Arc<Reading>>>>::default());
        let (order, orders) = sync_channel(ORDERS);
        let control = settings.control.as_deref().map(|path| {
            Control::bind(path).map_err(|error| Error::Control { path: path.to_owned(), error })
        });
        let control = control.transpose()?;
        let (send, readings) = sync_channel(READINGS);
        let clock = Clock::start();
        let watch = Watch::new(settings, &scenario, devices.ports(), Arc::clone(&latest));
        let (grant, grants) = sync_channel(1);
        let scenario = Arc::new(settings.timed(scenario));
        let capture = settings.capture.iter().map(|path| {
            let epoch = Time(unix_ns());
            Recorder::new(&scenario, std::iter::once(path.clone()), epoch)
                .map_err(|error| Error::Setting(format!("--capture {error}")))
        });
        let capture = capture.collect::<Result<Vec<_>, _>>()?.pop();
        let run = Run {
            scenario,
            capture,
            devices,
            keeps_awake: settings.keep_awake,
            clock,
            orders,
            readings: send,
            stop: Arc::clone(&stop),
            watch,
        };
        let thread = thread::Builder::new().name("middlebox".into());
        let thread = thread.spawn(move || run.forward(&grant));
        let thread = thread.map_err(|error| Error::System("a thread", error))?;
        // Only that thread needs what is left.
        keep_only(LOCKED).map_err(|error| Error::System("capabilities", error))?;
        let grants = grants.recv().unwrap_or_default();
        let serve = |control: Control| control.serve(Plan::new(&plan, clock, order), latest);
        let control = control.map(serve).transpose();
        let control = control.map_err(|error| Error::System("a thread", error))?;
        let readings = Mutex::new(readings);
        Ok(Self { readings, thread, stop, control, grants, warnings })
    }

    /// What is valid of the settings but may not be meant, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What the forwarding thread was granted.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The next reading; none if there is none for so long, or it is over.
    pub fn next(&self, wait: Duration) -> Option<Arc<Reading>> {
        let readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.recv_timeout(wait).ok()
    }

    /// Whether it has ended by itself.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it: the devices are closed, the socket is gone. Gives the reading of the whole run.
    ///
    /// # Errors
    /// Why it has ended early.
    pub fn finish(self) -> Result<Reading, Error> {
        let Self { thread, stop, control, .. } = self;
        stop.store(true, Ordering::Relaxed);
        drop(control);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The two devices.
enum Devices {
    Ports([Arc<Port>; 2]),
    Tuns([Arc<Tun>; 2]),
}

impl Devices {
    /// `tun:NAME` is a TUN device that is made, anything else an interface.
    fn open(settings: &Settings) -> Result<Self, Error> {
        let Settings { left, right, super_packets, .. } = settings;
        let tun = if *super_packets { Tun::open_for_super_packets } else { Tun::open };
        if left == right {
            return Err(Error::Setting(format!(
                "--right {right}: expected another device than --left"
            )));
        }
        match [left, right].map(|name| name.strip_prefix("tun:")) {
            [Some(left), Some(right)] => Ok(Self::Tuns([tun(left)?.into(), tun(right)?.into()])),
            [None, None] => {
                let (left, right) = (PacketSocket::open(left)?, PacketSocket::open(right)?);
                Ok(Self::Ports(Port::pair(left, right, *super_packets)))
            }
            _ => Err(Error::Setting(format!(
                "--left {left} --right {right}: expected two interfaces, or two TUN devices"
            ))),
        }
    }

    fn ports(&self) -> Option<[Arc<Port>; 2]> {
        match self {
            Self::Ports(ports) => Some(ports.clone()),
            Self::Tuns(_) => None,
        }
    }

    /// Left, then right.
    fn devices(self) -> [Arc<dyn Device>; 2] {
        match self {
            Self::Ports(ports) => ports.map(|port| port as _),
            Self::Tuns(tuns) => tuns.map(|tun| tun as _),
        }
    }
}

/// What the forwarding thread begins with.
struct Run {
    scenario: Arc<Scenario>,
    capture: Option<Recorder>,
    devices: Devices,
    keeps_awake: bool,
    clock: Clock,
    orders: Receiver<Order>,
    readings: SyncSender<Arc<Reading>>,
    stop: Arc<AtomicBool>,
    watch: Watch,
}

impl Run {
    fn forward(self, grant: &SyncSender<Grants>) -> Result<Reading, Error> {
        let Self { scenario, capture, devices, clock, orders, readings, stop, mut watch, .. } =
            self;
        let wanted = Measures {
            fifo: true,
            exact_timers: true,
            no_idle: !self.keeps_awake,
            awake: self.keeps_awake,
            locked_memory: true,
            cpu: None,
        };
        let real_time = RealTime::ask(wanted);
        keep_only(LOCKED).map_err(|error| Error::System("capabilities", error))?;
        let granted = real_time.granted().named().into_iter().filter(|(_, is)| *is);
        let refused = real_time.refused().iter().map(Refusal::to_string).collect();
        let grants = Grants { granted: granted.map(|(name, _)| name).collect(), refused };
        let _ = grant.try_send(grants.clone());
        // What comes from the right is the forward direction: down.
        let [left, right] = devices.devices();
        let forwarder = Forwarder::new(scenario, Hosts::pair(right, left), clock)
            .map_err(|error| Error::System("epoll", error))?;
        let forwarder = match capture {
            Some(recorder) => forwarder.tapped(Box::new(recorder)),
            None => forwarder,
        };
        let accounts = forwarder.accounts();
        let mut standstill = None;
        let report = forwarder.run(Measures::default(), |simulation| {
            for order in orders.try_iter() {
                standstill = standstill.take().or_else(|| order.carry_out(simulation).err());
            }
            if let Some(reading) = watch.look(simulation, &accounts) {
                // Who is slow misses some; the totals are in the next.
                let _ = readings.try_send(reading);
            }
            standstill.is_some() || stop.load(Ordering::Relaxed)
        })?;
        match standstill {
            Some(why) => Err(Error::Forwarder(crate::Error::Standstill(why))),
            None => Ok(watch.end(report, grants)),
        }
    }
}
