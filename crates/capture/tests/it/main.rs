//! The crate's interface, before other programs' eyes.

mod other_tools;
