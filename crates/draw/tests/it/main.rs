//! Drawn cases on the simulator: what holds in every run, and what changes of a scenario must not change.

mod invariants;
mod relations;
mod watch;
