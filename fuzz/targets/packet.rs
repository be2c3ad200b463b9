//! Packets of IP, TCP, UDP and ICMP.
#![no_main]

#[path = "../shared.rs"]
mod shared;
use shared::parsers::computed;

libfuzzer_sys::fuzz_target!(|input: &[u8]| shared::bytes("packet", input));
