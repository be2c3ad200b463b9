//! Queue disciplines, shapers and path elements.
//!
//! Nothing in this crate performs I/O, owns a clock or starts a thread: every method that needs
//! the time takes `now` first, so the same code runs in virtual and in real time.

#![warn(missing_docs)]

pub mod aqm;
mod delay_line;
pub mod impair;
mod medium;
pub mod qdiscs;
pub mod traces;

pub use delay_line::DelayLine;
pub use medium::Medium;
