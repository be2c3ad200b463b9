//! The SCReAM bandwidth test tool on real UDP: a sender of generated media under SCReAM, and the
//! receiver that reports to it. Options, lines and logs are those of the original's builds; facts
//! are in `scream.md` 2 and 3.

mod args;
mod generation;
mod lines;
mod rx_options;
mod tx_options;

use std::ffi::OsString;

pub use generation::Generation;

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `scream-bw-test-tx`.
    Sender,
    /// `scream-bw-test-rx`.
    Receiver,
}

/// Greatest port.
const PORT: u64 = 65_535;

const HELP_HEAD_TX: &str = "\
scream-bw-test-tx sends generated media under SCReAM to scream-bw-test-rx and tells what the path gives.

Usage:   scream-bw-test-tx [options] receiver port
Example: scream-bw-test-tx -ect 1 -time 30 receiver.example 30122

Start the end behind a NAT or firewall first. Every 2 s there is a line with rate, loss, CE, RTT and queue
delay; a summary ends the run, after -time or at Ctrl-C. Exit code 2: an error in the command line; 1: the
network refused.
";

const HELP_HEAD_RX: &str = "\
scream-bw-test-rx receives media of scream-bw-test-tx and reports to the sender what arrived, when and how marked.

Usage:   scream-bw-test-rx [options] [sender] port
Example: scream-bw-test-rx 30122

Without a sender it answers the one whose packets arrive; with one, no one else, and it opens its own NAT
or firewall by a byte every half second. Ctrl-C ends it.
";

/// The socket's own side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Local {
    interface: Option<String>,
    port: Option<u16>,
    is_v6: Option<bool>,
    dscp: u8,
}

impl Local {
    fn family(&mut self, is_v6: bool) -> Result<(), String> {
        if self.is_v6.is_some_and(|was| was != is_v6) {
            let other = if is_v6 { 4 } else { 6 };
            return Err(format!("not together with -ipv{other}"));
        }
        self.is_v6 = Some(is_v6);
        Ok(())
    }
}

/// How reports count what they report (`scream.md` 3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Count {
    /// As the peer does; the original's as long as none is known.
    Auto,
    /// One less than there are: the original's tools.
    #[default]
    Legacy,
    /// RFC 8888 with erratum 8166.
    Rfc8888,
}

impl Count {
    const ALL: [Self; 3] = [Self::Auto, Self::Legacy, Self::Rfc8888];
    const NAMES: [&str; 3] = ["auto", "legacy", "rfc8888"];
}

fn wrong_count(others: &[String], wanted: &str) -> String {
    match others {
        [] => format!("expected {wanted}; got nothing"),
        others => format!("expected {wanted}; got `{}`", others.join(" ")),
    }
}

/// Runs one of the programs; `args` begins with its name. The exit code: 0 after a run, 1 if the
/// network refuses, 2 for an error in the command line.
pub fn run(end: End, args: impl IntoIterator<Item = OsString>) -> u8 {
    let _ = (end, args.into_iter().count());
    0
}
