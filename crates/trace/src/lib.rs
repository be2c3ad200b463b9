//! What happened in a run: recorded series, metrics over the measuring window, and totals.

#![warn(missing_docs)]

pub mod classic;
pub mod completion;
pub mod crowd;
pub mod fairness;
pub mod frames;
pub mod goodput;
pub mod marks;
pub mod metrics;
pub mod middlebox;
pub mod one_way;
pub mod output;
pub mod record;
pub mod rfc5166;
pub mod running;
pub mod sketch;
pub mod sojourn;
pub mod summary;

pub use classic::ClassicDetection;
pub use completion::Completions;
pub use crowd::Crowd;
pub use frames::{FrameSummary, Frames};
pub use goodput::{Goodput, Share};
pub use marks::Marks;
pub use metrics::{DelayHistogram, Statistics};
pub use middlebox::Middlebox;
pub use one_way::{OneWay, OneWaySummary, Voice};
pub use output::{Output, Summary, Window};
pub use record::{Column, Cursor, GroupId, Recorder};
pub use rfc5166::Metrics;
pub use running::{Instants, Running};
pub use sketch::Sketch;
pub use sojourn::Sojourn;
pub use summary::{
    FlowSummary, PingSummary, ProgramEnd, ProgramSummary, QueueSummary, WindowSummary,
};
