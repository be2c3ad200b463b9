//! The crate as a whole: segments through the wire, and captures of a real kernel.

mod captures;
mod segments;
