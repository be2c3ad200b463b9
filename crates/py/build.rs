//! Hashes the sources that the engine is built from, so that `version()` tells builds apart.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let crates = Path::new(&manifest).parent().expect("crates/py has a parent").to_path_buf();
    let mut sources = Vec::new();
    for member in entries(&crates) {
        collect(&member.join("src"), &mut sources);
        println!("cargo::rerun-if-changed={}", member.join("src").display());
    }
    sources.sort();
    let mut hash = Fnv::default();
    for file in &sources {
        let name = file.strip_prefix(&crates).expect("sources are below crates");
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        let content = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        hash.write(parts.join("/").as_bytes());
        hash.write(&(content.len() as u64).to_le_bytes());
        hash.write(&content);
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=SOJOURN_SOURCES={:08x}", hash.folded());
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    found.map(|entry| entry.expect("a readable folder").path()).collect()
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|e| e == "rs") {
            sources.push(path);
        }
    }
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Both halves in 32 bits.
    fn folded(&self) -> u32 {
        (self.0 >> 32) as u32 ^ self.0 as u32
    }
}
