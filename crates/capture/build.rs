//! Lets the tests know which of Wireshark's programs there are, so that without them they are skipped by name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in ["tshark", "capinfos"] {
        println!("cargo::rustc-check-cfg=cfg({program})");
        if std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
            println!("cargo::rustc-cfg={program}");
        }
    }
}
