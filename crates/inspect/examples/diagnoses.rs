//! Writes the tables of diagnoses into `docs/guide/diagnoses.md`.

use std::path::Path;

use sojourn_inspect::diagnose::table;

const MARK: &str = "do not edit from here -->\n";

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/diagnoses.md");
    let page = std::fs::read_to_string(&path)?;
    let head = page.split_once(MARK).map_or(page.as_str(), |(head, _)| head);
    std::fs::write(path, format!("{head}{MARK}{}", table()))
}
