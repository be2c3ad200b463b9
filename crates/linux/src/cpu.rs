//! A CPU for each guest. The kernel and the processes inside take turns with every system call, as processes of
//! this machine; where they are on two CPUs, each turn wakes the other one, which takes two to four times as long.

use std::process::Command;

/// A CPU that no other guest is held to while this lives.
#[derive(Debug)]
pub struct Cpu {
    number: usize,
    /// The name is free again when the process ends, however it ends, and nothing is left in a folder.
    #[cfg(target_os = "linux")]
    _claim: std::os::unix::net::UnixDatagram,
}

impl Cpu {
    /// The one that this thread is on or, if a guest has it, another one that this process may use; `None` if
    /// there is none.
    #[cfg(target_os = "linux")]
    pub fn claim() -> Option<Self> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};

        use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu};

        let (allowed, here) = (sched_getaffinity(None).ok()?, sched_getcpu());
        let numbers = (here..here + CpuSet::MAX_CPU).map(|number| number % CpuSet::MAX_CPU);
        numbers.filter(|&number| allowed.is_set(number)).find_map(|number| {
            let name = SocketAddr::from_abstract_name(format!("sojourn-guest-cpu-{number}"));
            Some(Self { number, _claim: UnixDatagram::bind_addr(&name.ok()?).ok()? })
        })
    }

    /// Guests are processes of Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn claim() -> Option<Self> {
        None
    }

    /// `program`, held to the CPU if there is one.
    pub fn command(cpu: Option<&Self>, program: &str) -> Command {
        let Some(Self { number, .. }) = cpu else { return Command::new(program) };
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &number.to_string(), program]);
        command
    }
}

#[cfg(test)]
mod tests;
