//! What the threads inside have in common: the clock, the hosts, and where they report.

use std::net::Ipv4Addr;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use sojourn_core::Rng;

use super::socket::{enter, said};
use crate::job::{Host, Line};

pub(super) type Outcome = Result<(), String>;

const SECOND: u64 = 1_000_000_000;

/// Time since the start of the run, ns.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    start: u64,
}

impl Clock {
    /// The run starts `ns` from now.
    pub(super) fn starting_in(ns: u64) -> Self {
        Self { start: monotonic() + ns }
    }

    pub(super) fn now(self) -> u64 {
        monotonic().saturating_sub(self.start)
    }

    pub(super) fn sleep_until(self, at: u64) {
        let at = timespec(self.start.saturating_add(at));
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
    }
}

fn monotonic() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
}

/// The commands of the schedule: a flow opens after those of its instant.
#[derive(Default)]
pub(super) struct Schedule {
    /// Instants, in order.
    times: Vec<u64>,
    done: Mutex<usize>,
    changed: Condvar,
}

impl Schedule {
    pub(super) fn new(times: Vec<u64>) -> Self {
        Self { times, ..Self::default() }
    }

    fn wait(&self, at: u64) {
        let wanted = self.times.partition_point(|time| *time <= at);
        let guard = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(guard, |count| *count < wanted));
    }

    /// One more is done.
    pub(super) fn advance(&self) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }
}

/// Handed to every thread.
#[derive(Clone)]
pub(super) struct Crew {
    pub(super) clock: Clock,
    hosts: Arc<Vec<Host>>,
    pub(super) schedule: Arc<Schedule>,
    seed: u64,
    failed: mpsc::Sender<String>,
    lines: mpsc::Sender<Line>,
}

impl Crew {
    /// With where failures and lines arrive.
    pub(super) fn new(
        clock: Clock,
        hosts: Vec<Host>,
        schedule: Schedule,
        seed: u64,
    ) -> (Self, mpsc::Receiver<String>, mpsc::Receiver<Line>) {
        let (failed, failures) = mpsc::channel();
        let (lines, told) = mpsc::channel();
        let (hosts, schedule) = (Arc::new(hosts), Arc::new(schedule));
        (Self { clock, hosts, schedule, seed, failed, lines }, failures, told)
    }

    /// Starts a thread; its failure ends the run.
    pub(super) fn start(&self, what: String, work: impl FnOnce(&Self) -> Outcome + Send + 'static) {
        let crew = self.clone();
        thread::spawn(move || {
            if let Err(error) = work(&crew) {
                // Nobody listens any more after the end.
                let _ = crew.failed.send(format!("{what}: {error}"));
            }
        });
    }

    /// Starts a thread on a host, and returns when it is ready. A thread that fails before has
    /// reported why.
    pub(super) fn start_ready(
        &self,
        what: &str,
        host: usize,
        work: impl FnOnce(&Self, &mpsc::Sender<()>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let (ready, is_ready) = mpsc::channel();
        self.start(what.to_owned(), move |crew| {
            enter(crew.host(host)?)?;
            work(crew, &ready)
        });
        is_ready.recv().map_err(|_| format!("{what} ended"))
    }

    /// The namespace of a host.
    pub(super) fn host(&self, index: usize) -> Result<&str, String> {
        self.hosts.get(index).map(|h| h.namespace.as_str()).ok_or_else(|| "no such host".into())
    }

    /// The address of a host.
    pub(super) fn address(&self, index: usize) -> Result<Ipv4Addr, String> {
        let host = self.hosts.get(index).ok_or("no such host")?;
        host.address.parse().map_err(said("address"))
    }

    /// Waits until an instant, and for the commands of that instant.
    pub(super) fn wait_until(&self, at: u64) {
        self.clock.sleep_until(at);
        self.schedule.wait(at);
    }

    /// A line for the file of samples.
    pub(super) fn tell(&self, line: Line) -> Outcome {
        self.lines.send(line).map_err(|e| format!("samples: {e}"))
    }

    /// The random stream that the simulator's flow has under this name.
    pub(super) fn stream(&self, flow: &str, part: &str) -> Rng {
        Rng::named(self.seed, &format!("flow.{flow}.{part}"))
    }
}

/// What a flow's threads share with the sampler.
pub(super) trait Watched: Send + Sync {
    /// Puts the lines of a sample at `at` ns.
    fn sample(&self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome;
}
