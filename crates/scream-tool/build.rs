//! Lets the tests know whether there is IPv6 on loopback, so that without it they are skipped by name.

use std::net::UdpSocket;

fn main() {
    println!("cargo::rerun-if-changed=/proc/net/if_inet6");
    println!("cargo::rustc-check-cfg=cfg(ipv6)");
    if UdpSocket::bind("[::1]:0").is_ok() {
        println!("cargo::rustc-cfg=ipv6");
    }
}
