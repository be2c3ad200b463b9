//! Networks of this process's own, with the kernel's stacks at their ends and this process between them.
#![cfg(target_os = "linux")]

mod crossing;
mod leftovers;
mod listening;
mod network;
