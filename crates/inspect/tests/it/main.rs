//! What the crate says of real captures.

mod flent;
mod pairs;
mod reference;
mod tshark;
