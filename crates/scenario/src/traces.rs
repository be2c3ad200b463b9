//! Trace files of links: `file NAME`, of netem `trace NAME`, in an element's text becomes an absolute name
//! and a digest of the content, which the resolved file states, and the content is read.

use std::fs::File as TraceFile;
use std::io::Read;
use std::path::{Component, Path, PathBuf, absolute};

use sojourn_core::grammar::split_name;
use sojourn_queue::traces::{DelaySteps, Opportunities, RateSteps, Traces};

use crate::check::{Key, words};
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::File;

/// More than any recorded trace needs.
const MAX_BYTES: u64 = 64 << 20;

/// Whether elements of this name take their rate from a trace: always, or only with `file`.
fn is_traced(name: &str) -> bool {
    ["mahimahi", "rate_trace", "grant", "netem"].contains(&name)
}

/// Whether the shaper that `text` describes takes the link's rate.
pub(crate) fn takes_rate(text: &str) -> bool {
    let (name, rest) = split_name(text);
    match name {
        "ackthin" | "mahimahi" | "rate_trace" => false,
        "grant" => !rest.split_whitespace().any(|word| word == "file"),
        _ => true,
    }
}

/// Reads the traces that `file` names into `doc`, and makes their names absolute.
pub(crate) fn read_traces(doc: &mut Doc, file: &mut File) -> Result<(), ScenarioError> {
    for (index, link) in file.link.iter_mut().enumerate() {
        let key = Key::entry("link", index, &link.name);
        let back = key.field("reverse");
        let own = (&key, &mut link.shaper, &mut link.qdisc, &mut link.ingress);
        let way = link.reverse.as_mut();
        let way = way.map(|way| (&back, &mut way.shaper, &mut way.qdisc, &mut way.ingress));
        for (key, shaper, qdisc, ingress) in std::iter::once(own).chain(way) {
            for (field, text) in [("shaper", shaper), ("qdisc", qdisc)] {
                text.as_mut().map_or(Ok(()), |text| localise(doc, &key.field(field), text))?;
            }
            for (index, text) in ingress.iter_mut().flatten().enumerate() {
                localise(doc, &key.field("ingress").field(&index.to_string()), text)?;
            }
        }
    }
    for (index, change) in file.schedule.iter_mut().enumerate() {
        let key = Key::entry("schedule", index, &index.to_string());
        for (table, entries) in [("set", &mut change.set), ("replace", &mut change.replace)] {
            for (name, text) in entries {
                localise(doc, &key.field(table).field(name), text)?;
            }
        }
    }
    Ok(())
}

fn localise(doc: &mut Doc, key: &Key, text: &mut String) -> Result<(), ScenarioError> {
    let (name, rest) = split_name(text);
    let mut parts: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
    let file_word = if name == "netem" { "trace" } else { "file" };
    let at = parts.iter().position(|word| word == file_word).map(|at| at + 1);
    let Some(at) = at.filter(|at| is_traced(name) && *at < parts.len()) else { return Ok(()) };
    let shown = decoded(&parts[at]);
    let path = absolute_path(&doc.file, &shown).map_err(|e| doc.fail(key, e))?;
    if let Some(folder) = &doc.within {
        confine(folder, &path).map_err(|e| doc.fail(key, format!("{shown}: {e}")))?;
    }
    parts[at] = encoded(&path.to_string_lossy());
    let word = &parts[at];
    let digest = |traces: &Traces| match name {
        "mahimahi" => traces.digest::<Opportunities>(word),
        "netem" => traces.digest::<DelaySteps>(word),
        _ => traces.digest::<RateSteps>(word),
    };
    if digest(&doc.traces).is_none() {
        let content = content(&path).map_err(|e| doc.fail(key, format!("{shown}: {e}")))?;
        let fail = |e| doc.fail(key, format!("{shown}:{e}"));
        if name == "mahimahi" {
            let trace = Opportunities::parse(&content).map_err(fail)?;
            doc.traces.add(word, trace);
        } else if name == "netem" {
            doc.traces.add(word, DelaySteps::parse(&content).map_err(fail)?);
        } else {
            let trace = RateSteps::parse(&content).map_err(fail)?;
            doc.traces.add(word, trace);
        }
    }
    if !parts.iter().any(|word| word == "digest") {
        let digest = digest(&doc.traces).unwrap_or_default();
        parts[at] += &format!(" digest {digest}");
    }
    *text = words(&format!("{name} {}", parts.join(" ")));
    Ok(())
}

/// `name` as seen from the folder of the scenario file.
fn absolute_path(scenario_file: &str, name: &str) -> Result<PathBuf, String> {
    let folder = Path::new(scenario_file).parent().unwrap_or_else(|| Path::new(""));
    absolute(folder.join(name)).map_err(|e| format!("{name}: {e}"))
}

/// Refuses what is not in `folder`. The error does not say whether there is a file elsewhere.
fn confine(folder: &Path, path: &Path) -> Result<(), String> {
    let outside = || format!("expected a file in the folder {}", folder.display());
    let is_plain = !path.components().any(|part| part == Component::ParentDir);
    let home = folder.canonicalize().map_err(|e| e.to_string())?;
    if !(is_plain && (path.starts_with(folder) || path.starts_with(&home))) {
        return Err(outside());
    }
    let place = path.canonicalize().map_err(|e| e.to_string())?;
    if place.starts_with(&home) { Ok(()) } else { Err(outside()) }
}

fn content(path: &Path) -> Result<String, String> {
    let file = TraceFile::open(path).map_err(|e| e.to_string())?;
    // A device or a pipe might never end.
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err("is not a file".to_owned());
    }
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    match read.map_err(|e| e.to_string())? as u64 {
        0..=MAX_BYTES => Ok(text),
        _ => Err(format!("is longer than {} Mb", MAX_BYTES >> 20)),
    }
}

/// A file name as one token of tc's grammar.
fn encoded(name: &str) -> String {
    name.chars().fold(String::new(), |mut word, c| {
        if c == '%' || c.is_whitespace() {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|b| word += &format!("%{b:02X}"));
        } else {
            word.push(c);
        }
        word
    })
}

/// What [`encoded`] encoded; a `%` without two digits is kept.
fn decoded(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let hex = hex.filter(|two| *first == b'%' && !two.starts_with('+'));
        if let Some(byte) = hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| word.to_owned())
}

#[cfg(test)]
mod tests;
