//! The forwarder between hosts.
#![cfg(target_os = "linux")]

mod forwarder;
mod kernel;
