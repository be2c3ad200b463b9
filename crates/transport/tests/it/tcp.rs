//! TCP end to end: a sender with a real controller and a receiver, connected by a pipe in virtual
//! time whose packets are lost, marked, duplicated and delayed as each test says.

mod ecn;
mod handshake;
mod offload;
mod pacing;
mod pipe;
mod properties;
mod recovery;
mod start;
mod timers;
mod undo;
