//! Lets the tests know whether there is IPv6 on loopback, so that without it they are skipped by name.

use std::net::UdpSocket;

fn main() {
    // The file of /proc that lists addresses is always new: every call of cargo would compile this package again.
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rustc-check-cfg=cfg(ipv6)");
    if UdpSocket::bind("[::1]:0").is_ok() {
        println!("cargo::rustc-cfg=ipv6");
    }
}
