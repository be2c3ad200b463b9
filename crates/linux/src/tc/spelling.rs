//! A discipline of the simulator in the syntax of tc (iproute2 7.3).

use std::fmt;

use sojourn_core::grammar::{Given, Written};
use sojourn_core::{Bytes, Rate};
use sojourn_queue::aqm::{Entry, Kernel, Spec, htb};

/// The parameter with which a kernel tree beside mainline extends a mainline discipline: discipline,
/// the parameter's name in its table, the tree.
const OF_A_TREE: [(&str, &str, &str); 1] = [("cake", "sce-thresh", "chromi/sce")];

/// A parameter in the syntax of tc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name in the discipline's table.
    pub(crate) name: &'static str,
    /// Keyword and value.
    pub(crate) text: String,
    /// Whether it says no more than the default does.
    pub(crate) is_default: bool,
}

/// A discipline as tc writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelled {
    /// tc's name of the discipline.
    pub(crate) kind: &'static str,
    /// Parameters that tc has.
    pub(crate) parts: Vec<Part>,
    /// Parameters that tc does not have and whose values are not the defaults.
    pub(crate) left_out: Vec<Written>,
    /// Which Linux has the discipline with these parameters.
    pub(crate) kernel: Kernel,
    /// The parameter because of which it is in a tree beside mainline.
    pub(crate) of_tree: Option<String>,
}

impl Spelled {
    /// A discipline with all its parameters.
    pub(crate) fn of(spec: &Spec) -> Self {
        Self::with(spec.entry(), spec.written())
    }

    /// A discipline whose other parameters have their defaults, which a kernel has too; some of them
    /// follow from the device's MTU there.
    pub(crate) fn brief(spec: &Spec) -> Self {
        Self::with(spec.entry(), spec.brief())
    }

    /// A change of a discipline to `spec`: the `given` parameters alone.
    pub(crate) fn change(spec: &Spec, given: &Given) -> Self {
        let mut parts = spec.written();
        parts.retain(|part| part.name.is_empty() || given.has(part.name));
        Self::with(spec.entry(), parts)
    }

    /// A shaper at this rate, or the htb that gives a device the rate of a wire.
    pub(crate) fn shaper(spec: Option<&Spec>, rate: Rate) -> Self {
        let entry = spec.map_or(&htb::ENTRY, Spec::entry);
        let part = |name| Written { name, text: format!("{name} {rate}"), is_tc: true };
        let mut parts = spec.map_or_else(Vec::new, Spec::brief);
        parts.retain(|part| part.name != "rate");
        parts.push(part("rate"));
        if entry.name == htb::ENTRY.name && parts.iter().all(|part| part.name != "ceil") {
            parts.push(part("ceil"));
        }
        Self::with(entry, parts)
    }

    /// A discipline with these parameters.
    pub(crate) fn with(entry: &Entry, parts: Vec<Written>) -> Self {
        let (table, usual) = (entry.table(), entry.default().written());
        let mut spelled = Self {
            kind: entry.name,
            parts: Vec::new(),
            left_out: Vec::new(),
            kernel: entry.kernel,
            of_tree: None,
        };
        for part in parts {
            let is_usual = usual.contains(&part);
            // The only value that a parameter of tc cannot have there.
            let is_series = spelled.kind == "netem" && part.text.starts_with("delay trace ");
            if part.name == "digest"
                && let Some(series) = spelled.left_out.last_mut()
            {
                series.text += &format!(" {}", part.text);
                continue;
            }
            if !part.is_tc || is_series {
                spelled.left_out.extend((!is_usual).then_some(part));
                continue;
            }
            let of_a_tree = |(kind, name, _): &&_| (*kind, *name) == (spelled.kind, part.name);
            if let Some((.., tree)) = OF_A_TREE.iter().find(of_a_tree) {
                if is_usual {
                    continue;
                }
                spelled.kernel = Kernel::Tree(tree);
                spelled.of_tree = part.text.split(' ').next().map(str::to_owned);
            }
            let value = table.iter().find(|row| row.name == part.name).map_or("", |row| row.value);
            let text = written(spelled.kind, &part, value);
            spelled.parts.push(Part { name: part.name, text, is_default: is_usual });
        }
        spelled.orphan();
        spelled
    }

    /// Slots alone leave a packet with its socket, whose small queues it fills (`netem_enqueue` orphans what a delay or a
    /// rate holds), though hosts are a wire away from the bottleneck: a delay of 1 ns takes it from there.
    fn orphan(&mut self) {
        let has =
            |key| self.parts.iter().any(|part| part.text.starts_with(key) && !part.is_default);
        if self.kind == "netem" && has("slot ") && !has("delay ") && !has("rate ") {
            self.parts.retain(|part| !part.text.starts_with("delay "));
            let at = self.parts.iter().take_while(|part| part.text.starts_with("limit ")).count();
            let delay = Part { name: "delay", text: "delay 1ns".into(), is_default: false };
            self.parts.insert(at, delay);
        }
    }

    /// The parameters in the syntax of tc.
    pub(crate) fn parameters(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Whether any Linux has it.
    pub(crate) fn exists(&self) -> bool {
        self.kernel != Kernel::Nowhere
    }

    /// Whether mainline has it, with all that its parameters say.
    pub(crate) fn is_mainline(&self) -> bool {
        matches!(self.kernel, Kernel::Mainline(_))
    }

    /// Which Linux has it, for messages: `only the tree chromi/sce`.
    pub(crate) fn origin(&self) -> String {
        let with = self.of_tree.as_ref().map(|name| format!(" with `{name}`"));
        format!("{}{}", self.kernel, with.unwrap_or_default())
    }
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.kind, self.parameters()).trim_end())
    }
}

/// A parameter in the syntax of tc; `value` is what its table says of the value.
fn written(kind: &str, part: &Written, value: &str) -> String {
    let Some((key, number)) = part.text.split_once(' ') else { return part.text.clone() };
    match (kind, key) {
        // `dualpi2_parse_opt` reads a bare number of bytes.
        ("dualpi2", "memlimit") => match Bytes::parse_tc(number) {
            Some(Bytes(bytes)) => format!("{key} {bytes}"),
            None => part.text.clone(),
        },
        // `fq_parse_opt` reads bare numbers of bytes here, and sizes elsewhere.
        ("fq", "quantum" | "initial_quantum") => part.text.trim_end_matches('b').to_owned(),
        // `fq_pie_parse_opt` accepts 1 to 99 although the kernel's range ends at 100.
        ("fq_pie", "ecn_prob") if number == "100" => format!("{key} 99"),
        _ if value == "PACKETS" => part.text.trim_end_matches('p').to_owned(),
        _ => part.text.clone(),
    }
}

#[cfg(test)]
mod tests;
