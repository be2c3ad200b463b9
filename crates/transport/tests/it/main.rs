//! End points as a whole: TCP over a pipe, SCReAM beside its original.

mod scream;
mod scream_interop;
mod tcp;
