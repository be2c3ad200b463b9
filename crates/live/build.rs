//! Lets the tests know what this machine has, so that without it they are skipped by name: IPv6 on loopback,
//! `ip`, the right to make network namespaces, TUN devices, a kernel in virtual time.

use std::env;
use std::fs::OpenOptions;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn main() {
    // Of the machine no file is watched: those of /proc are always new and a device may be absent, and then every call
    // of cargo compiles again what depends on this package.
    println!("cargo::rerun-if-env-changed=SOJOURN_LINUX");
    let says_yes = |line: &str| {
        let text = format!("PATH=$PATH:/usr/sbin:/sbin; {line}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &text]).stdout(Stdio::null()).stderr(Stdio::null());
        shell.status().is_ok_and(|status| status.success())
    };
    let tun = || OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok();
    let tell = |name, is_there| {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_there {
            println!("cargo::rustc-cfg={name}");
        }
    };
    tell("ipv6", UdpSocket::bind("[::1]:0").is_ok());
    tell("iproute", says_yes("ip -V"));
    tell("namespaces", says_yes("unshare --net true"));
    tell("user_namespaces", says_yes("unshare --user --map-root-user --net true"));
    tell("tun", tun());
    let kernel = PathBuf::from(env::var_os("SOJOURN_LINUX").unwrap_or_default()).join("run");
    tell("virtual_kernel", kernel.is_file());
    println!("cargo::rustc-env=VIRTUAL_KERNEL={}", kernel.display());
}
