//! Scenario files.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &str| shared::text("scenario", input));
