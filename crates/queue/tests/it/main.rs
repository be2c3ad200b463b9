//! Every registered discipline: its grammar, its invariants under random traffic, changed rates.

mod grammar;
mod properties;
mod rate_change;
