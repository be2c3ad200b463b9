//! The SCReAM bandwidth test tool on real UDP: a sender of generated media under SCReAM, and the
//! receiver that reports to it. Options, lines and logs are those of the original's builds
//! (EricssonResearch/scream f9deed2, 994f9a4 and c8f84c3).

mod args;
#[cfg(target_os = "linux")]
mod diagnosis;
mod ecn_path;
mod gaps;
mod generation;
#[cfg(target_os = "linux")]
mod hearing;
mod ledger;
mod lines;
#[cfg(target_os = "linux")]
mod logs;
#[cfg(target_os = "linux")]
mod media;
#[cfg(target_os = "linux")]
mod notice;
mod objects;
mod peer;
mod push;
#[cfg(target_os = "linux")]
mod rx;
mod rx_options;
mod screen;
#[cfg(target_os = "linux")]
mod tx;
mod tx_options;
#[cfg(target_os = "linux")]
mod view;

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
scream-bw-test-tx sends generated media under SCReAM to scream-bw-test-rx and reports what the path gives.

Usage:   scream-bw-test-tx [options] receiver port
Example: scream-bw-test-tx -ect 1 -time 30 receiver.example 30122

Start the end behind a NAT or firewall first. Every 2 s there is a line with rate, loss, CE, RTT and queue
delay; a summary ends the run, after -time or at Ctrl-C. What was not measured is a dash. Exit code 2: an error
in the command line; 1: the network refused, or the receiver was not heard, at all or at the end.
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

/// How reports count what they report: RFC 8888 with erratum 8166, or one less as the original does.
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

fn port(text: &str) -> Result<u16, String> {
    args::whole(text, 1, PORT).map_err(|e| format!("port: {e}"))
}

fn wrong_count(others: &[String], wanted: &str) -> String {
    match others {
        [] => format!("expected {wanted}; got nothing"),
        others => format!("expected {wanted}; got `{}`", others.join(" ")),
    }
}

/// Why a program ended early: exit code and a line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    code: u8,
    line: String,
}

impl Failure {
    fn usage(line: String) -> Self {
        Self { code: 2, line }
    }

    fn network(line: String) -> Self {
        Self { code: 1, line }
    }
}

/// What to do about a socket buffer that the system cut.
fn buffer_hint(which: &str, got: usize) -> String {
    format!(
        "hint: the system limits socket buffers to {got} bytes; more for high rates: sysctl -w \
         net.core.{which}_max=26214400"
    )
}

/// Runs one of the programs; `args` begins with its name. The exit code: 0 after a run, 1 if the
/// network refuses or the receiver was not heard to the end, 2 for an error in the command line.
pub fn run(end: End, args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = args.into_iter().skip(1).map(|a| a.to_string_lossy().into_owned());
    let args: Vec<String> = args.collect();
    let name = match end {
        End::Sender => "scream-bw-test-tx",
        End::Receiver => "scream-bw-test-rx",
    };
    match command(end, name, &args) {
        Ok(()) => 0,
        Err(failure) => {
            screen::Screen::new(false).note(&format!("{name}: {}", failure.line));
            failure.code
        }
    }
}

fn command(end: End, name: &str, args: &[String]) -> Result<(), Failure> {
    let mut screen = screen::Screen::new(false);
    let has = |word: &str| args.iter().any(|a| a.trim_start_matches('-') == word && a != word);
    if has("help") || args == ["-h"] || args == ["help"] {
        let text = match end {
            End::Sender => tx_options::help(),
            End::Receiver => rx_options::help(),
        };
        screen.block(&text);
        return Ok(());
    }
    if has("version") || args == ["-V"] {
        let version = env!("CARGO_PKG_VERSION");
        let builds = Generation::NAMES.join(", ");
        screen.line(&format!("{name} {version} (Sojourn), after the original's builds {builds}"));
        return Ok(());
    }
    if args.is_empty() {
        return Err(Failure::usage(
            "expected an address and a port; -help lists all options".into(),
        ));
    }
    go(end, args)
}

#[cfg(target_os = "linux")]
fn go(end: End, args: &[String]) -> Result<(), Failure> {
    match end {
        End::Sender => tx::run(&tx_options::TxOptions::parse(args).map_err(Failure::usage)?),
        End::Receiver => rx::run(&rx_options::RxOptions::parse(args).map_err(Failure::usage)?),
    }
}

#[cfg(not(target_os = "linux"))]
fn go(_end: End, _args: &[String]) -> Result<(), Failure> {
    Err(Failure::network("needs Linux: it reads and sets the ECN field as Linux does".into()))
}
