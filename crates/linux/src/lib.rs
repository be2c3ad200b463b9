//! The engines whose hosts are a real Linux kernel: in virtual time (User-Mode Linux in time-travel mode),
//! or on this machine.
//!
//! [`Kernel`] starts one kernel, or one process here, for one scenario and turns what it samples into the
//! same [`Output`](sojourn_trace::Output) that the simulator gives; [`inside`] is the program that runs
//! there: it builds the network, sends, receives, carries out the schedule and samples. Either the kernel
//! carries the packets between the hosts, with its own queues, or a middlebox does ([`Carrier`]).
//! A run and what is inside meet with a [`Job`] and a file of [`Line`]s, in a folder or in files without a
//! name.

#![warn(missing_docs)]
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "what only the inside of the engine uses")
)]

mod capabilities;
mod check;
mod collect;
mod cpu;
mod flow;
#[cfg(target_os = "linux")]
mod guest;
mod job;
mod kernel;
mod meeting;
mod nearest;
pub mod network;
mod queue;
mod run;
mod scratch;
mod tc;

pub use capabilities::Capabilities;
pub use check::{Refusal, check};
pub use cpu::Cpu;
pub use job::{
    Arrival, FlowJob, FlowSample, Job, Line, MiddleboxJob, PingJob, Place, ProgramJob, Receiving,
    Sending, ShortSample, UdpSample,
};
pub use kernel::Launch;
pub use nearest::{Difference, nearest};
pub use run::{Carrier, Kernel};

/// What runs inside the kernel, with the folder that holds the job; the error is one line.
#[cfg(target_os = "linux")]
pub fn inside(folder: &std::path::Path) -> Result<(), String> {
    guest::run(folder)
}

/// What runs inside the kernel: only built for Linux.
#[cfg(not(target_os = "linux"))]
pub fn inside(_folder: &std::path::Path) -> Result<(), String> {
    Err("the inside of the engine is Linux".into())
}
