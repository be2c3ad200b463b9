//! Hosts of ours in real time: with each other through queues, and with the kernel's TCP.
#![cfg(target_os = "linux")]

mod kernel;
mod lab;
mod plug;
mod queues;
mod virtual_time;
