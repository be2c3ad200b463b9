//! The library as C sees it: the header says what is exported, and the example runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sojourn_scream as _;

const LIB: &str = include_str!("../../src/lib.rs");
const HEADER: &str = include_str!("../../include/sojourn_scream.h");

fn names_before(text: &str, end: char) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("sojourn_scream_") {
        let name: String =
            text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if text[at + name.len()..].starts_with(end) {
            names.insert(name);
        }
    }
    names
}

#[test]
fn the_header_declares_what_is_exported() {
    let exported = names_before(LIB, '(');
    assert!(exported.len() >= 14, "{exported:?}");
    assert_eq!(names_before(HEADER, '('), exported);
}

/// The static library that this test was built with.
fn library() -> Option<PathBuf> {
    let deps = env::current_exe().ok()?.parent()?.to_owned();
    let files = [&*deps, deps.parent()?].map(|folder| folder.join("libsojourn_scream.a"));
    files.into_iter().find(|file| file.is_file())
}

fn compile(source: &Path, name: &str) -> PathBuf {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let library = library().expect("the static library is built with this test");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .args([&program, source])
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(library)
        .args(["-lpthread", "-lm", "-ldl"])
        .output()
        .expect("the compiler runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn run(program: &Path) -> String {
    let done = Command::new(program).output().expect("it runs");
    let text = String::from_utf8(done.stdout).expect("text");
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

#[test]
#[cfg_attr(not(c_compiler), ignore = "no C compiler: neither CC nor cc")]
fn the_c_example_follows_its_bottleneck() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = run(&compile(&examples.join("scream_encoder.c"), "encoder"));
    let target = |second: usize| -> f64 {
        let line = text.lines().nth(second).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().nth(2).expect("a target").parse().expect("a number")
    };
    assert!((10_000.0..20_000.0).contains(&target(9)), "{text}");
    assert!((2_000.0..5_000.0).contains(&target(19)), "{text}");
}

const MISUSE: &str = r#"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "sojourn_scream.h"
#undef NDEBUG
int main(void)
{
    char error[20];
    uint8_t bytes[3000] = {0};
    size_t length;
    uint64_t again;
    sojourn_scream_stats stats;
    assert(strlen(sojourn_scream_version()) >= 5);
    assert(!sojourn_scream_sender_new("max_rat 1Mbit", 0, error, sizeof error));
    assert(strlen(error) == sizeof error - 1);
    assert(!sojourn_scream_sender_new("\xff", 0, NULL, 0));
    sojourn_scream_sender *tx = sojourn_scream_sender_new(NULL, 0, error, sizeof error);
    assert(tx);
    assert(sojourn_scream_add_stream(NULL, 1, 1, 1e6f, 1e6f, 1e6f) == SOJOURN_SCREAM_NULL);
    assert(sojourn_scream_add_stream(tx, 1, 1, 2e6f, 1e6f, 1e6f) == SOJOURN_SCREAM_BAD);
    assert(sojourn_scream_add_stream(tx, 1, 1, 1e6f, 1e6f, 1e6f) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_add_stream(tx, 1, 1, 1e6f, 1e6f, 1e6f) == SOJOURN_SCREAM_UNKNOWN);
    assert(sojourn_scream_push(tx, 0, NULL, 5) == SOJOURN_SCREAM_NULL);
    assert(sojourn_scream_push(tx, 0, bytes, 5) == SOJOURN_SCREAM_BAD);
    bytes[0] = 0x80; bytes[1] = 0xe0; bytes[11] = 2;
    assert(sojourn_scream_push(tx, 0, bytes, 500) == SOJOURN_SCREAM_UNKNOWN);
    bytes[11] = 1;
    assert(sojourn_scream_push(tx, 0, bytes, 500) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_target(tx, 0, 1, NULL, NULL) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_next(tx, 0, bytes, 3000, NULL, &again) == SOJOURN_SCREAM_NULL);
    assert(sojourn_scream_next(tx, 0, bytes, 499, &length, &again) == SOJOURN_SCREAM_SMALL);
    assert(sojourn_scream_next(tx, 0, bytes, 3000, &length, &again) == SOJOURN_SCREAM_NONE);
    assert(sojourn_scream_feedback(tx, 0, bytes, 500) == SOJOURN_SCREAM_BAD);
    assert(sojourn_scream_ecn(tx) == 1 && sojourn_scream_ecn(NULL) == SOJOURN_SCREAM_NULL);
    assert(sojourn_scream_get_stats(tx, NULL) == SOJOURN_SCREAM_NULL);
    memset(&stats, 0xff, sizeof stats);
    assert(sojourn_scream_get_stats(tx, &stats) == SOJOURN_SCREAM_OK);
    assert(stats.pushed == 1 && stats.packets == 1 && stats.bytes == 500 && stats.in_flight == 500);
    assert(stats.cwnd > 0 && stats.sent_rate_bps >= 0);
    sojourn_scream_receiver *rx = sojourn_scream_receiver_new("reported 8", 0, error, sizeof error);
    assert(rx);
    assert(sojourn_scream_arrived(rx, 0, bytes, 500, 3) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_report(rx, 0, bytes, 100, &length, &again) == SOJOURN_SCREAM_SMALL);
    assert(sojourn_scream_report(rx, 0, bytes, sizeof bytes, &length, &again) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_feedback(tx, 1000000, bytes, length) == SOJOURN_SCREAM_OK);
    assert(sojourn_scream_get_stats(tx, &stats) == SOJOURN_SCREAM_OK);
    assert(stats.ce_percent == 100 && stats.reports == 1 && stats.in_flight == 0);
    sojourn_scream_sender_free(tx);
    sojourn_scream_receiver_free(rx);
    sojourn_scream_sender_free(NULL);
    puts("all refused");
    return 0;
}
"#;

#[test]
#[cfg_attr(not(c_compiler), ignore = "no C compiler: neither CC nor cc")]
fn what_c_gets_wrong_is_refused() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("misuse.c");
    fs::write(&source, MISUSE).expect("written");
    assert_eq!(run(&compile(&source, "misuse")), "all refused\n");
}
