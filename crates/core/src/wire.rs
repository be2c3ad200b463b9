//! Bytes on the wire and what they mean. Parsers take any bytes: they return an error, never panic,
//! and allocate nothing.

pub mod ccfb;
pub mod rtp;
pub mod ticks;
