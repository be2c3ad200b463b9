//! What is left of a network after its program was killed: nothing.

use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use sojourn_core::{Dur, Time};
use sojourn_live::clock::Clock;
use sojourn_live::namespace::Namespace;

use crate::network::{again, carry, end, plays};

/// In a namespace that takes the place of the machine's: other programs change that one.
#[test]
#[cfg_attr(not(iproute), ignore = "no ip (iproute2)")]
#[cfg_attr(all(iproute, not(namespaces)), ignore = "not root: no network namespaces")]
#[cfg_attr(all(iproute, namespaces, not(tun)), ignore = "no /dev/net/tun that opens")]
fn a_killed_program_leaves_no_device_and_no_namespace() {
    const NAME: &str = "leftovers::a_killed_program_leaves_no_device_and_no_namespace";
    if plays("killed") {
        hold();
    }
    let machine = Namespace::new().expect("a namespace");
    let links = || machine.run("ip -d -j link").expect("links");
    let before = links();
    let mut command = again(NAME, "killed");
    let mut child = machine.spawn(command.stdout(Stdio::piped())).expect("this program");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let is_ready = lines.map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(is_ready, "it ended before: {:?}", child.wait());
    // The wire's other end is in a namespace of that program, and exists for as long as that does.
    assert!(links().contains("\"wire\""));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    let (clock, patience) = (Clock::start(), Time::ZERO + Dur::from_secs(60));
    while links() != before {
        assert!(clock.now() < patience, "before {before}, after {}", links());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Makes the network, says so, and waits for its end.
fn hold() -> ! {
    let [(left, left_tun), (_right, right_tun)] = [0, 1].map(end);
    let machine = "ip link add dev wire type veth peer name inside netns";
    let path = left.path();
    let added = std::process::Command::new("sh")
        .args(["-c", &format!("PATH=$PATH:/usr/sbin:/sbin; {machine} {}", path.display())])
        .status();
    assert!(added.expect("sh").success());
    left.run("ip link set dev inside up").expect("the wire's end");
    let (stop, _end) = io::pipe().expect("a pipe");
    let _carrier = carry([left_tun, right_tun], stop);
    let mut out = io::stdout();
    out.write_all(b"\nready\n").and_then(|()| out.flush()).expect("a reader");
    loop {
        thread::park();
    }
}
