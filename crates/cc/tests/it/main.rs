//! Controllers behind their interface: the registry, mean windows, random calls.

mod registry;
mod scream_properties;
mod windows;
