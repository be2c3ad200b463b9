//! Changes of a queue while it holds packets.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &str| shared::text("change", input));
