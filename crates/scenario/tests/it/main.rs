//! Scenario files: what they mean, and what is refused.

mod apps;
mod conditions;
mod errors;
mod format;
mod idle;
mod links;
mod properties;
mod sample;
mod sysctl;
