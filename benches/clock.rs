//! CPU time of the calling thread: unlike wall time, it does not grow while other programs have the CPU.

use rustix::time::{ClockId, clock_gettime};

/// Seconds that this thread has been on a CPU.
pub(crate) fn cpu_s() -> f64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}
