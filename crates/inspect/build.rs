//! Lets the tests know whether captures of others are here, so that without them they are skipped by name.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=SOJOURN_REFERENCE");
    println!("cargo::rustc-check-cfg=cfg(captures)");
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let named = env::var_os("SOJOURN_REFERENCE");
    let folder = named.map_or_else(|| PathBuf::from("../shared/reference"), PathBuf::from);
    let folder = Path::new(&manifest).join("../..").join(folder).join("ect1/pcap");
    println!("cargo::rustc-env=CAPTURES={}", folder.display());
    // A file that is not there is always new: every call of cargo would compile this package again.
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
        println!("cargo::rustc-cfg=captures");
    }
}
