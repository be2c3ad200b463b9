//! What the threads inside have in common: the clock, the hosts, and where they report.

use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use sojourn_core::Rng;

use super::clock::Clock;
use super::outcome::Outcome;
use super::socket::enter;
use crate::job::Line;
use crate::network::Host;

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
pub(super) struct Context {
    pub(super) clock: Clock,
    hosts: Arc<Vec<Host>>,
    pub(super) schedule: Arc<Schedule>,
    seed: u64,
    failures: mpsc::Sender<String>,
    lines: mpsc::Sender<Line>,
}

impl Context {
    /// With where failures and lines arrive.
    pub(super) fn new(
        clock: Clock,
        hosts: Vec<Host>,
        schedule: Schedule,
        seed: u64,
    ) -> (Self, mpsc::Receiver<String>, mpsc::Receiver<Line>) {
        let (failures, failed) = mpsc::channel();
        let (lines, samples) = mpsc::channel();
        let (hosts, schedule) = (Arc::new(hosts), Arc::new(schedule));
        (Self { clock, hosts, schedule, seed, failures, lines }, failed, samples)
    }

    /// Starts a thread; its failure ends the run.
    pub(super) fn start(&self, what: String, work: impl FnOnce(&Self) -> Outcome + Send + 'static) {
        let context = self.clone();
        thread::spawn(move || {
            // What failed is reported.
            let _ = context.watched(&what, || work(&context));
        });
    }

    /// What `work` gives; its failure or panic ends the run.
    pub(super) fn watched<T>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let outcome = outcome.unwrap_or_else(|_| Err("a defect of it".to_owned()));
        outcome.inspect_err(|error| self.fail(what, error))
    }

    /// Ends the run.
    fn fail(&self, what: &str, error: &str) {
        // Nobody listens any more after the end.
        let _ = self.failures.send(format!("{what}: {error}"));
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
        self.start(what.to_owned(), move |context| {
            enter(context.host(host)?)?;
            work(context, &ready)
        });
        is_ready.recv().map_err(|_| format!("{what} ended"))
    }

    /// The namespace of a host.
    pub(super) fn host(&self, index: usize) -> Result<&str, String> {
        self.hosts.get(index).map(|h| h.namespace.as_str()).ok_or_else(|| "no such host".into())
    }

    /// The address of a host.
    pub(super) fn address(&self, index: usize) -> Result<Ipv4Addr, String> {
        self.hosts.get(index).map(|host| host.address).ok_or_else(|| "no such host".into())
    }

    /// Waits until an instant, and for the commands of that instant.
    pub(super) fn wait_until(&self, at: u64) {
        self.clock.sleep_until(at);
        self.schedule.wait(at);
    }

    /// A line for the file of samples.
    pub(super) fn report(&self, line: Line) -> Outcome {
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
