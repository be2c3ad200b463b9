//! Lets the tests know whether there is a C compiler, so that without one they are skipped by name.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rustc-check-cfg=cfg(c_compiler)");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(compiler).arg("--version").output().is_ok() {
        println!("cargo::rustc-cfg=c_compiler");
    }
}
