//! CPUs that poll while nothing else runs on them.
//!
//! A CPU that halts has to be woken, which in a virtual machine goes through the hypervisor: 50 to 80 us at the
//! median and 230 us at the 99th percentile, where a CPU that polls takes 20 and 55. The kernel's own polling
//! (`idle=poll`, the driver `haltpoll`) is not always there, and only an administrator has it; a thread of
//! `SCHED_IDLE` on each CPU does the same: it runs only where nothing else wants to, and whoever wakes up takes
//! its place at once (sched(7); Linux `kernel/sched/fair.c`, `sched_idle_cpu`).

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::thread::{CapabilitySet, CpuSet, sched_getaffinity};

use super::{Policy, pin};
use crate::confine::keep_only;

/// Little, since memory may be locked.
const STACK_BYTES: usize = 64 << 10;

/// The threads, until it is dropped.
#[derive(Debug)]
pub(super) struct Awake {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Awake {
    /// One thread on each CPU that this thread may run on.
    ///
    /// # Errors
    /// No thread; then none is left. One that is refused its policy or its CPU ends, for it would take time from others.
    pub(super) fn start() -> io::Result<Self> {
        let cpus = sched_getaffinity(None)?;
        let mut awake = Self { ends: Arc::default(), threads: Vec::new() };
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| cpus.is_set(*cpu)) {
            let ends = awake.ends.clone();
            let thread = thread::Builder::new().name("awake".into()).stack_size(STACK_BYTES);
            awake.threads.push(thread.spawn(move || poll(cpu, &ends))?);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What it was refused changes nothing any more.
            let _ = thread.join();
        }
    }
}

fn poll(cpu: usize, ends: &AtomicBool) -> io::Result<()> {
    Policy::idle().set()?;
    pin(cpu)?;
    // It needs none of its process's rights.
    keep_only(CapabilitySet::empty())?;
    while !ends.load(Ordering::Relaxed) {
        spin_loop();
    }
    Ok(())
}
