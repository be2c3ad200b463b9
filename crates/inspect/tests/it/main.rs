//! What the crate says of real captures.

mod pairs;
