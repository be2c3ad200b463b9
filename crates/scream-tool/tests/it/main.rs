//! The SCReAM tool as its users run it: two processes on loopback, and others who disturb them.
//! Nothing here judges speed: machines that run tests are busy.

#![cfg(target_os = "linux")]

mod hearing;
mod hostile;
mod path;
mod process;
mod runs;
