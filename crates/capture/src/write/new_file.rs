//! A file that has its name only once it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are collected before the file gets them.
const BUFFER_BYTES: usize = 1 << 18;

/// Written under a temporary name beside its own; removed if it is not kept.
#[derive(Debug)]
pub struct NewFile {
    out: BufWriter<File>,
    path: PathBuf,
    temporary: PathBuf,
    is_kept: bool,
}

impl NewFile {
    /// Begins the file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file")
        })?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let out = BufWriter::with_capacity(BUFFER_BYTES, File::create(&temporary)?);
        Ok(Self { out, path: path.to_owned(), temporary, is_kept: false })
    }

    /// Ends the file and gives it its name, which another file may have had.
    ///
    /// # Errors
    /// Writing fails; then there is no file.
    pub fn keep(mut self) -> io::Result<()> {
        self.out.flush()?;
        fs::rename(&self.temporary, &self.path)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nobody is left to hear that it did not work.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
