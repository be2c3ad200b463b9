//! The process of a kernel: started for a run, and ended with it.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::cpu::Cpu;
use sojourn_core::Dur;

use crate::meeting::Meeting;

/// Between two looks at what a kernel has written.
pub(crate) const POLL: Duration = Duration::from_millis(10);
/// From the signal that asks a guest to end to the one that ends it.
const GRACE: Duration = Duration::from_secs(5);

/// How a kernel is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// `run`, which takes `--out DIR SCRIPT ARG...` and sees `DIR` inside as `/run/out`, with the
    /// arguments that precede these. Empty for this machine's kernel.
    pub launcher: Vec<String>,
    /// What calls [`inside`](crate::inside) there; the folder, or `-`, is its last argument.
    pub agent: Vec<String>,
    /// Wall time without progress after which a guest is ended.
    pub stall: Duration,
    /// Wall time after which it is ended in any case.
    pub limit: Duration,
}

#[derive(Debug)]
pub(crate) struct Guest {
    child: Child,
    status: Option<ExitStatus>,
    _cpu: Option<Cpu>,
}

impl Launch {
    /// With bounds that a run of this length, sampled in these steps, does not exceed in real time.
    pub(crate) fn lasting(&self, duration: Dur, step: Dur) -> Self {
        let mut own = self.clone();
        if self.is_here() {
            own.limit = Duration::from_nanos(duration.0) + self.stall;
            own.stall += Duration::from_nanos(step.0);
        }
        own
    }

    /// What is started, for messages.
    pub(crate) fn what(&self) -> &'static str {
        if self.is_here() { "the hosts" } else { "the kernel" }
    }

    /// Whether it starts no kernel but a process of this one.
    pub(crate) fn is_here(&self) -> bool {
        self.launcher.is_empty()
    }
}

impl Guest {
    pub(crate) fn start(launch: &Launch, meeting: &Meeting) -> Result<Self, String> {
        // `timeout` holds the bound, and ends the guest when this process is no more, however it ended.
        // What works in real time on this machine's kernel needs all CPUs.
        let cpu = if launch.is_here() { None } else { Cpu::claim() };
        let mut command = Cpu::command(cpu.as_ref(), "setpriv");
        command.args(["--pdeathsig", "TERM", "timeout", "--kill-after=5"]);
        command.arg(launch.limit.as_secs().max(1).to_string());
        meeting.fill(launch, &mut command)?;
        let child = command.spawn().map_err(|e| format!("taskset, setpriv: {e}"))?;
        Ok(Self { child, status: None, _cpu: cpu })
    }

    /// Whether it ended well, once it has ended.
    pub(crate) fn ended(&mut self) -> Result<Option<bool>, String> {
        self.status = self.child.try_wait().map_err(|e| format!("the kernel: {e}"))?;
        Ok(self.status.map(|s| s.success()))
    }

    /// Ends it, first by the signal on which `run` takes the whole guest with it.
    pub(crate) fn stop(&mut self) {
        // The number of one that has ended and was waited for may be another process's.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, Signal, kill_process};
            // It may have ended by itself.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            for _ in 0..GRACE.as_millis() / POLL.as_millis() {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    break;
                }
                thread::sleep(POLL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Why there are no results, from its last output.
    pub(crate) fn failure(&self, meeting: &Meeting, launch: &Launch) -> String {
        const TIMED_OUT: i32 = 124;
        let what = launch.what();
        if self.status.and_then(|status| status.code()) == Some(TIMED_OUT) {
            return format!("{what} did not end within {} s", launch.limit.as_secs());
        }
        let silence = || match self.status {
            // `timeout` ends by the signal that its command ended by.
            Some(status) => format!("it printed nothing, and ended with {status}"),
            None => "it was stopped before it began".to_owned(),
        };
        format!("{what} failed: {}", meeting.last_line().unwrap_or_else(silence))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.stop();
    }
}
