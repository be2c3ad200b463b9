//! Whole runs from scenario text: conservation, determinism, and what arithmetic says of them.

mod analytic;
mod changes;
mod elements;
mod eras;
mod invariants;
mod lab;
mod links;
mod registry;
mod shapers;
mod tunnels;
mod windows;
