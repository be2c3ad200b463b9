//! `kernel-judge`: puts our queues before a real Linux kernel. See docs/kernel-judge.md.

use std::error::Error;
use std::io::{Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use sojourn_kernel_judge::cases::{CASES, Case};
use sojourn_kernel_judge::report::{Effort, HEAD, Row, judge};
use sojourn_kernel_judge::{guest, middlebox};

const USAGE: &str = "usage: kernel-judge [--runs N] [--short] [--folder DIR] [--json | --document FILE] [middlebox | middlebox-live | DISCIPLINE...]";
/// Exit status where there is no kernel to judge by.
const NO_KERNEL: u8 = 3;
const BEGIN: &str = "<!-- results: written by kernel-judge --document -->";
const END: &str = "<!-- end of results -->";

struct Options {
    effort: Effort,
    folder: Option<PathBuf>,
    json: bool,
    document: Option<PathBuf>,
    disciplines: Vec<String>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let effort = Effort { runs: 12, short: false };
    let mut o =
        Options { effort, folder: None, json: false, document: None, disciplines: Vec::new() };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--runs" => o.effort.runs = value()?.parse()?,
            "--short" => o.effort.short = true,
            "--folder" => o.folder = Some(value()?.into()),
            "--json" => o.json = true,
            "--document" => o.document = Some(value()?.into()),
            middlebox::NAME | middlebox::LIVE => o.disciplines.push(word),
            name if CASES.iter().any(|c| c.name.0 == name) => o.disciplines.push(word),
            _ => return Err(format!("unknown word `{word}`; {USAGE}").into()),
        }
    }
    Ok(o)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = options()?;
    let needs_kernel = options.disciplines.iter().any(|name| name != middlebox::LIVE);
    if let Err(reason) = guest::kernel()
        && (needs_kernel || options.disciplines.is_empty())
    {
        writeln!(stderr(), "{reason}")?;
        return Ok(ExitCode::from(NO_KERNEL));
    }
    let scratch = env::temp_dir().join(format!("kernel-judge-{}", std::process::id()));
    let folder = options.folder.as_deref().unwrap_or(&scratch);
    let (mut rows, mut equal) = (Vec::new(), true);
    let wanted = &options.disciplines;
    let mut disciplines: Vec<&str> = CASES.iter().map(|case| case.name.0).collect();
    disciplines.dedup();
    let mut done = |row: Row| {
        equal &= row.equal;
        let text = if options.json {
            format!("{}\n", row.json())
        } else {
            format!("{}\n    {}\n", row.markdown(), row.counters.join("; "))
        };
        rows.push(row.markdown());
        stdout().write_all(text.as_bytes()).map_err(|e| e.to_string())
    };
    for name in [middlebox::NAME, middlebox::LIVE] {
        if wanted.iter().any(|one| one == name) {
            middlebox::judge(name, &folder.join(name), &mut done)?;
        }
    }
    for discipline in disciplines {
        let named = wanted.iter().any(|name| name == discipline);
        // The wrong ones only by name.
        if !named && (!wanted.is_empty() || discipline.starts_with("wrong")) {
            continue;
        }
        let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.0 == discipline).collect();
        judge(&cases, options.effort, &folder.join(discipline), &mut done)?;
    }
    if options.folder.is_none() {
        fs::remove_dir_all(&scratch)?;
    }
    if let Some(file) = options.document {
        let text = fs::read_to_string(&file)?;
        let (head, rest) = text.split_once(BEGIN).ok_or("the document has no place for results")?;
        let (_, tail) = rest.split_once(END).ok_or("the document has no end of results")?;
        let table = rows.join("\n");
        fs::write(&file, format!("{head}{BEGIN}\n\n{HEAD}\n{table}\n\n{END}{tail}"))?;
    }
    Ok(ExitCode::from(u8::from(!equal)))
}
