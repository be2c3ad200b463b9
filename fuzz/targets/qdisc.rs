//! Texts of queues, shapers and elements in tc's grammar.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &str| shared::text("qdisc", input));
