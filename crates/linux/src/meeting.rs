//! Where a run and the program inside meet: a folder that a kernel in virtual time sees too, or files without
//! a name, which end with their processes however these end.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::job::{REQUEST, SAMPLES};
use crate::kernel::Launch;
use crate::scratch::Scratch;

const SCRIPT: &str = "guest.sh";
const LOGS: [&str; 2] = ["stderr", "stdout"];
/// How a kernel in virtual time sees the folder.
pub(crate) const INSIDE: &str = "/run/out";
/// In the place of a folder: standard input and output.
pub(crate) const UNNAMED: &str = "-";

/// The place.
#[derive(Debug)]
pub(crate) enum Meeting {
    Folder(Scratch),
    Unnamed { request: File, samples: File, log: File },
}

impl Meeting {
    /// A place with the request in it, for what `launch` starts.
    pub(crate) fn new(launch: &Launch, request: &str) -> Result<Self, String> {
        if launch.is_here() {
            let file = |name| unnamed(name).map_err(|e| format!("{name}: {e}"));
            let mut own = file("request")?;
            let written = own.write_all(request.as_bytes());
            written
                .and_then(|()| own.seek(SeekFrom::Start(0)))
                .map_err(|e| format!("request: {e}"))?;
            return Ok(Self::Unnamed { request: own, samples: file(SAMPLES)?, log: file("log")? });
        }
        let scratch = Scratch::new().map_err(|e| format!("a temporary folder: {e}"))?;
        scratch.write(REQUEST, request)?;
        scratch.write(SAMPLES, "")?;
        Ok(Self::Folder(scratch))
    }

    /// The file of samples, from its beginning.
    pub(crate) fn samples(&self) -> Result<File, String> {
        let file = match self {
            Self::Folder(scratch) => File::open(scratch.path().join(SAMPLES)),
            Self::Unnamed { samples, .. } => again(samples),
        };
        file.map_err(|e| format!("{SAMPLES}: {e}"))
    }

    /// Gives back the memory of samples that nobody reads again, those of these bytes.
    pub(crate) fn forget(&self, bytes: Range<u64>) {
        if let Self::Unnamed { samples, .. } = self {
            punch(samples, bytes);
        }
    }

    /// Moves files that were written inside to `folder`, unless they were written there.
    pub(crate) fn hand_over(&self, names: &[String], folder: &Path) -> Result<(), String> {
        let Self::Folder(scratch) = self else { return Ok(()) };
        for name in names {
            let (from, to) = (scratch.path().join(name), folder.join(name));
            // Between two file systems a file is copied.
            let moved = fs::rename(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop));
            moved.map_err(|error| format!("{}: {error}", to.display()))?;
        }
        Ok(())
    }

    /// Adds to `command` what it runs, and where that reads and prints.
    pub(crate) fn fill(&self, launch: &Launch, command: &mut Command) -> Result<(), String> {
        let failed = |e: io::Error| format!("a file for what is inside: {e}");
        match self {
            Self::Folder(scratch) => {
                let script = scratch.write(SCRIPT, "#!/bin/bash\nexec \"$@\"\n")?;
                let [stderr, stdout] = LOGS.map(|name| File::create(scratch.path().join(name)));
                command.args(&launch.launcher).arg("--out").arg(scratch.path()).arg(script);
                command.args(&launch.agent).arg(INSIDE).stdin(Stdio::null());
                command.stdout(stdout.map_err(failed)?).stderr(stderr.map_err(failed)?);
            }
            Self::Unnamed { request, samples, log } => {
                let [request, samples, log] = [request, samples, log].map(File::try_clone);
                command.args(&launch.agent).arg(UNNAMED).stdin(request.map_err(failed)?);
                command.stdout(samples.map_err(failed)?).stderr(log.map_err(failed)?);
            }
        }
        Ok(())
    }

    /// The last line that was printed.
    pub(crate) fn last_line(&self) -> Option<String> {
        let texts: Vec<io::Result<String>> = match self {
            Self::Folder(scratch) => {
                let paths: [PathBuf; 2] = LOGS.map(|name| scratch.path().join(name));
                paths.into_iter().map(fs::read_to_string).collect()
            }
            Self::Unnamed { log, .. } => vec![again(log).and_then(io::read_to_string)],
        };
        let lines = texts.iter().flatten().flat_map(|text| text.lines());
        lines.map(str::to_owned).rfind(|line| !line.trim().is_empty())
    }
}

#[cfg(target_os = "linux")]
fn unnamed(name: &str) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// The file stays as long as it is; a kernel that cannot do it has the run take more memory.
#[cfg(target_os = "linux")]
fn punch(file: &File, bytes: Range<u64>) {
    use rustix::fs::{FallocateFlags, fallocate};
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = fallocate(file, hole, bytes.start, bytes.end - bytes.start);
}

/// The same file with a place of its own in it.
#[cfg(target_os = "linux")]
fn again(file: &File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What needs them runs on Linux only.
#[cfg(not(target_os = "linux"))]
fn unnamed(_name: &str) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn punch(_file: &File, _bytes: Range<u64>) {}

#[cfg(not(target_os = "linux"))]
fn again(_file: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
