//! The folder in which a run and its kernel meet. It goes with the run; what a process left that was
//! killed goes with the next run.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, process};

const PREFIX: &str = "sojourn-linux-";
/// Held as long as its owner lives.
const LOCK: &str = "lock";

/// A folder with a lock.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        sweep();
        let own = |n: u32| env::temp_dir().join(format!("{PREFIX}{}-{n}", process::id()));
        #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        for path in (0..=u32::MAX).map(own) {
            match builder.create(&path) {
                Ok(()) => {
                    let making = path.join("making");
                    let lock = File::create(&making)?;
                    lock_file(&lock)?;
                    // Nobody can take the lock before it has its name.
                    fs::rename(making, path.join(LOCK))?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders whose owners are no more.
fn sweep() {
    let Ok(entries) = fs::read_dir(env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // One that lives holds its lock; what cannot be opened is somebody else's.
        if let (true, Ok(lock)) = (is_ours, File::open(entry.path().join(LOCK)))
            && lock_file(&lock).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(target_os = "linux")]
fn lock_file(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

/// The kernel runs on Linux only.
#[cfg(not(target_os = "linux"))]
fn lock_file(_file: &File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
