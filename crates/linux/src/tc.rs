//! The syntax and the output of tc.

mod counters;
mod spelling;

pub(crate) use counters::{Accounts, Below, action_at, add, at_depth, count, counters, delay_ms};
pub(crate) use spelling::Part;
pub(crate) use spelling::Spelled;
