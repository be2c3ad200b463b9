//! The shell inside, and what the kernel says of itself.

use std::fs;
use std::process::{Command, Stdio};

use super::outcome::{Outcome, failed};

/// Runs commands; the error names the one that failed and its output.
pub(super) fn shell(text: &str) -> Outcome {
    const HEAD: &str = "set -e -o pipefail; trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR\n";
    let done = Command::new("bash")
        .arg("-c")
        .arg(format!("{HEAD}{text}"))
        .stdin(Stdio::null())
        .output()
        .map_err(failed("bash"))?;
    if done.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    // The reason is the line before that of the trap; earlier lines are warnings of other commands.
    Err(lines[lines.len().saturating_sub(3)..].join("; "))
}

pub(super) fn release() -> Result<String, String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(failed("release"))?;
    Ok(release.trim().to_owned())
}
