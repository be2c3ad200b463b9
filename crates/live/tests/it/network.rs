//! Two namespaces with a TUN device each, and a thread that carries packets from one to the other.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread::{self, JoinHandle};

use sojourn_core::Dur;
use sojourn_live::clock::Clock;
use sojourn_live::namespace::Namespace;
use sojourn_live::tun::{Read, Tun, Written};
use sojourn_live::wait::Hybrid;

/// The addresses of both ends.
pub(crate) const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];
/// The devices there.
pub(crate) const DEVICES: [&str; 2] = ["left", "right"];

/// A namespace with a device that is switched on and has its address.
pub(crate) fn end(index: usize) -> (Namespace, Tun) {
    let namespace = Namespace::new().expect("a namespace");
    let device = DEVICES[index];
    let tun = namespace.enter(|| Tun::open(device)).expect("inside").expect("a device");
    let address = ENDS[index];
    let lines = format!(
        "ip addr add {address}/24 dev {device}\nip link set dev {device} txqueuelen 1000 up"
    );
    namespace.run(lines).expect("an address");
    (namespace, tun)
}

/// Carries packets both ways until the end of `stop`'s other end.
pub(crate) fn carry(tuns: [Tun; 2], stop: io::PipeReader) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut hybrid = Hybrid::new(Clock::start(), Dur::ZERO);
        let mut packet = [0; 1500];
        let [left, right] = &tuns;
        loop {
            let fds = [left.as_fd(), right.as_fd(), stop.as_fd()];
            let ready = hybrid.wait(fds, None).expect("poll");
            if ready.is_readable[2] {
                return;
            }
            for (from, to) in [(left, right), (right, left)] {
                while let Read::Packet(length) = from.read(&mut packet).expect("a device") {
                    let done = to.write(&packet[..length]).expect("a device");
                    assert_eq!(done, Written::Taken);
                }
            }
        }
    })
}

/// This program with the one test `name`, which `role` lets play another role.
pub(crate) fn again(name: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--exact", name, "--include-ignored", "--nocapture"]).env(ROLE, role);
    command
}

const ROLE: &str = "SOJOURN_TEST_ROLE";

/// Whether [`again`] started this program for `role`.
pub(crate) fn plays(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|value| value == role)
}
