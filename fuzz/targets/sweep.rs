//! Scenario files with a sweep.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &str| shared::text("sweep", input));
