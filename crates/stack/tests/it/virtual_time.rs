//! The peer is Linux 7.2 in virtual time, which has AccECN. The test program starts itself inside.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use sojourn_live::namespace::Namespace;

use crate::kernel::{handshakes_are_equal, near, receiver, sender};
use crate::lab::{ADDRESSES, IN_VIRTUAL_TIME, flow, forward, scenario, total};
use crate::plug::cable;

const BYTES: usize = 3_000_000;

#[test]
#[cfg_attr(not(virtual_kernel), ignore = "SOJOURN_LINUX does not point to a kernel")]
fn a_kernel_in_virtual_time_understands_us() {
    let folder = std::env::temp_dir().join(format!("stack-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("script");
    let program = std::env::current_exe().unwrap();
    let text = format!(
        "export {IN_VIRTUAL_TIME}=1\n{} --include-ignored --color never --test-threads 1 kernel:: inside\n",
        program.display()
    );
    fs::write(&script, text).unwrap();
    let mut run = Command::new("timeout");
    let done = run.args(["300", env!("VIRTUAL_KERNEL")]).arg(&script).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{printed}{complaints}");
    let passed = printed.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed > 8, "{printed}");
}

/// What `ss` says of the kernel's connection under this name, once it has sent and received all.
fn value(space: &Namespace, name: &str) -> u64 {
    let text = space.run("ss -Htin state established").unwrap();
    let value = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    value.map_or(0, |digits| digits.parse().unwrap())
}

// KAT stack 2
// RFC 9768 3.2.2: each mark is counted once, by a receiver of ours and by the kernel as sender.
#[test]
#[ignore = "the kernel in virtual time runs it"]
fn inside_the_kernel_reads_our_counter() {
    for option in [0, 2] {
        let (space, tun) = near(3);
        space.run(format!("sysctl -qw net.ipv4.tcp_ecn_option={option}")).unwrap();
        let [ours, end] = cable();
        let network = scenario("40Mbit", "codel ecn", &flow("f", "cubic", BYTES));
        let network = forward(&network, [tun, end]);
        let flow =
            flow("f", "cubic", BYTES) + if option == 0 { "" } else { "tcp.accecn_option = true\n" };
        let host = receiver(&flow, ours);
        let mut stream = space.enter(|| TcpStream::connect((ADDRESSES[1], 5201))).unwrap().unwrap();
        stream.write_all(&vec![7; BYTES]).unwrap();
        while value(&space, "bytes_acked") < BYTES as u64 {
            thread::sleep(Duration::from_millis(20));
        }
        let counted = value(&space, "delivered_ce");
        drop(stream);
        let mut report = host.stop();
        let received = total(&mut report.ends, 1, "ce_received");
        assert!(received > 0.0 && received == counted as f64, "{received}, {counted}");
        assert_eq!(received, network.stop().output.queues[0].marked as f64);
    }
}

// KAT stack 2
// The same, with a sender of ours.
#[test]
#[ignore = "the kernel in virtual time runs it"]
fn inside_we_read_the_kernels_counter() {
    for (cc, option) in [("prague", 0), ("prague", 2), ("cubic", 2)] {
        let (space, tun) = near(3);
        space.run(format!("sysctl -qw net.ipv4.tcp_ecn_option={option}")).unwrap();
        let listener = space.enter(|| TcpListener::bind((ADDRESSES[0], 5201))).unwrap().unwrap();
        let [ours, end] = cable();
        let network = scenario("40Mbit", "dualpi2", &flow("f", cc, BYTES));
        let network = forward(&network, [end, tun]);
        let flow =
            flow("f", cc, BYTES) + if option == 0 { "" } else { "tcp.accecn_option = true\n" };
        let host = sender(&flow, ours);
        let (mut stream, _) = listener.accept().unwrap();
        let mut arrived = vec![];
        stream.read_to_end(&mut arrived).unwrap();
        assert_eq!(arrived.len(), BYTES);
        drop(stream);
        thread::sleep(Duration::from_millis(200));
        let mut report = host.stop();
        let reported = total(&mut report.ends, 0, "ce_reported");
        let marked = network.stop().output.queues[0].marked as f64;
        assert!(reported > 0.0 && reported == marked, "{cc}: {reported} of {marked}");
    }
}

// KAT stack 1
#[test]
#[ignore = "the kernel in virtual time runs it"]
fn inside_handshakes_with_accecn_are_equal() {
    handshakes_are_equal(3, "accecn");
}
