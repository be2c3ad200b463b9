//! RTP packets and what else comes to their port.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &[u8]| shared::bytes("rtp", input));
