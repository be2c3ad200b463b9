//! Whole runs from scenario text: conservation, determinism, and what arithmetic says of them.

mod analytic;
mod changes;
mod elements;
mod invariants;
mod lab;
mod registry;
mod sce;
mod tunnels;
mod windows;
