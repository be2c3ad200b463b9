//! What happened in a run: recorded series, metrics over the measuring window, and totals.

#![warn(missing_docs)]

pub mod metrics;
pub mod record;
pub mod summary;

pub use metrics::{DelayHistogram, Statistics};
pub use record::{Column, GroupId, Recorder};
pub use summary::{FlowSummary, Output, PingSummary, QueueSummary, Summary, Window};
