//! What a thread that has to be on time asks of the machine, and what it was given.
//!
//! Without any of it a packet of 1500 bytes at 100 Mbit/s waits 38 us for the thread that forwards it
//! (median; 81 us at the 99th percentile), with FIFO scheduling and CPUs kept awake 10 us (40 us).
//! Source: sched(7), PR_SET_TIMERSLACK(2const), mlockall(2), Linux `Documentation/power/pm_qos_interface.rst`.

mod awake;

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::num::NonZeroU64;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack,
};
use serde::Serialize;

use awake::Awake;

/// Above the kernel's threads that are not of interrupts.
const PRIORITY: i32 = 50;

/// What is asked for, or what was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// `SCHED_FIFO`, priority 50: no ordinary program delays this thread. It must sleep now and then:
    /// the kernel takes the CPU from one that does not.
    pub fifo: bool,
    /// Timers are exact to 1 ns instead of 50 us.
    pub exact_timers: bool,
    /// No CPU sleeps so deeply that it takes time to wake up: `/dev/cpu_dma_latency` is held at 0, which drivers
    /// of cpuidle obey.
    pub no_idle: bool,
    /// No CPU sleeps at all, with or without such a driver: threads of ours run where nothing else does. They
    /// take all CPU time that is left, also of a control group's quota.
    pub awake: bool,
    /// No page of this process leaves the memory, so that none has to be fetched. It is the process's:
    /// one thread asks for it.
    pub locked_memory: bool,
    /// Number of the only CPU that this thread runs on.
    pub cpu: Option<usize>,
}

impl Measures {
    /// Each with its name, and whether it is there.
    pub fn named(&self) -> [(&'static str, bool); 6] {
        [
            ("fifo", self.fifo),
            ("exact_timers", self.exact_timers),
            ("no_idle", self.no_idle),
            ("awake", self.awake),
            ("locked_memory", self.locked_memory),
            ("cpu", self.cpu.is_some()),
        ]
    }
}

/// What was not granted.
#[derive(Debug)]
pub struct Refusal {
    /// What was asked for, and who may have it.
    pub what: &'static str,
    /// The error of the kernel.
    pub why: io::Error,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// The grants of this thread, until it is dropped; after it all is as it was before.
#[derive(Debug)]
pub struct RealTime {
    granted: Measures,
    refused: Vec<Refusal>,
    policy: Option<Policy>,
    slack: Option<u64>,
    cpus: Option<CpuSet>,
    /// They end with it.
    _held: (Option<File>, Option<Awake>),
    /// They are those of one thread.
    _thread: PhantomData<*const ()>,
}

impl RealTime {
    /// Asks for what is `wanted`; that something is refused is no error.
    pub fn ask(wanted: Measures) -> Self {
        let mut refused = Vec::new();
        let memory = asked(&mut refused, wanted.locked_memory, LOCKED_MEMORY, lock_memory);
        let latency = asked(&mut refused, wanted.no_idle, NO_IDLE, hold_latency);
        let awake = asked(&mut refused, wanted.awake, AWAKE, Awake::start);
        let slack = asked(&mut refused, wanted.exact_timers, EXACT_TIMERS, || {
            let before = current_timer_slack()?;
            set_current_timer_slack(NonZeroU64::new(1))?;
            Ok(before)
        });
        let cpu = wanted.cpu.unwrap_or_default();
        let cpus = asked(&mut refused, wanted.cpu.is_some(), CPU, || pin(cpu));
        // At last: what comes before may take long.
        let policy = asked(&mut refused, wanted.fifo, FIFO, || {
            let before = Policy::current()?;
            Policy::fifo().set()?;
            Ok(before)
        });
        let granted = Measures {
            fifo: policy.is_some(),
            exact_timers: slack.is_some(),
            no_idle: latency.is_some(),
            awake: awake.is_some(),
            locked_memory: memory.is_some(),
            cpu: wanted.cpu.filter(|_| cpus.is_some()),
        };
        let thread = PhantomData;
        let held = (latency, awake);
        Self { granted, refused, policy, slack, cpus, _held: held, _thread: thread }
    }

    /// What was granted.
    pub fn granted(&self) -> Measures {
        self.granted
    }

    /// What was asked for and not granted, with the reasons.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }
}

impl Drop for RealTime {
    /// What cannot be given back stays; the thread is about to end.
    fn drop(&mut self) {
        if let Some(before) = self.policy {
            // sched(7): only who has the right to FIFO may have children inherit again.
            let _ = before.set().or_else(|_| before.not_inherited().set());
        }
        if let Some(before) = &self.cpus {
            let _ = sched_setaffinity(None, before);
        }
        if let Some(before) = self.slack {
            let _ = set_current_timer_slack(NonZeroU64::new(before));
        }
        if self.granted.locked_memory {
            let _ = munlockall();
        }
    }
}

const FIFO: &str = "SCHED_FIFO (CAP_SYS_NICE, or RLIMIT_RTPRIO of 50)";
const EXACT_TIMERS: &str = "timer slack of 1 ns";
const NO_IDLE: &str = "/dev/cpu_dma_latency (root)";
const AWAKE: &str = "CPUs that poll (threads of SCHED_IDLE)";
const LOCKED_MEMORY: &str = "locked memory (CAP_IPC_LOCK, or RLIMIT_MEMLOCK unlimited)";
const CPU: &str = "a CPU of its own (one of those of this process)";

/// What `grant` gives if it is wanted and not refused.
fn asked<T>(
    refused: &mut Vec<Refusal>,
    is_wanted: bool,
    what: &'static str,
    grant: impl FnOnce() -> io::Result<T>,
) -> Option<T> {
    if !is_wanted {
        return None;
    }
    grant().map_err(|why| refused.push(Refusal { what, why })).ok()
}

/// Under a limit, allocations would fail later instead of this call now, so it is for those only who have
/// none: those whom a limit of zero does not stop (mlockall(2)).
fn lock_memory() -> io::Result<()> {
    let before = getrlimit(Resource::Memlock);
    if before.current.is_some() {
        setrlimit(Resource::Memlock, Rlimit { current: Some(0), ..before })?;
    }
    let locked = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
    setrlimit(Resource::Memlock, before)?;
    Ok(locked?)
}

/// Who halts idle CPUs; `none` where the kernel does so itself, as in many virtual machines, and obeys no bound.
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// The bound holds for as long as the file is open.
fn hold_latency() -> io::Result<File> {
    if fs::read_to_string(IDLE_DRIVER).is_ok_and(|name| name.trim() == "none") {
        return Err(io::Error::other("no cpuidle driver here obeys it; --keep-awake needs none"));
    }
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

/// Gives the CPUs before.
fn pin(cpu: usize) -> io::Result<CpuSet> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let before = sched_getaffinity(None)?;
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one)?;
    Ok(before)
}

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    policy: i32,
    priority: i32,
}

impl Policy {
    /// Runs where nothing else wants to.
    fn idle() -> Self {
        Self { policy: libc::SCHED_IDLE, priority: 0 }
    }

    /// Children, such as commands, are scheduled as ordinary programs.
    fn fifo() -> Self {
        Self { policy: libc::SCHED_FIFO, priority: PRIORITY }.not_inherited()
    }

    fn not_inherited(self) -> Self {
        Self { policy: self.policy | libc::SCHED_RESET_ON_FORK, ..self }
    }

    #[expect(unsafe_code, reason = "rustix has no scheduling policies")]
    fn current() -> io::Result<Self> {
        // SAFETY: the parameters are ours, and written before they are read.
        unsafe {
            let mut parameters: libc::sched_param = std::mem::zeroed();
            let policy = libc::sched_getscheduler(0);
            if policy < 0 || libc::sched_getparam(0, &raw mut parameters) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { policy, priority: parameters.sched_priority })
        }
    }

    #[expect(unsafe_code, reason = "rustix has no scheduling policies")]
    fn set(self) -> io::Result<()> {
        // SAFETY: the parameters are ours.
        let done = unsafe {
            let mut parameters: libc::sched_param = std::mem::zeroed();
            parameters.sched_priority = self.priority;
            libc::sched_setscheduler(0, self.policy, &raw const parameters)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
