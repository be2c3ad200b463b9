//! Reports of RFC 8888, counted in both ways.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &[u8]| shared::bytes("ccfb", input));
