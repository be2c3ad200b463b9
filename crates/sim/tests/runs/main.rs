//! Whole runs from scenario text: conservation, determinism, and what arithmetic says of them.

mod analytic;
mod changes;
mod invariants;
mod lab;
mod prague;
mod registry;
mod windows;
