//! The sender of the SCReAM bandwidth test tool.

use std::process::ExitCode;

use sojourn_scream_tool::{End, run};

fn main() -> ExitCode {
    run(End::Sender, std::env::args_os()).into()
}
