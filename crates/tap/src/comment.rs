//! What a queue has done with a packet, as a comment for people, filters and programs.
//!
//! Fields are separated by a space, each `name=value` with its unit behind the value: `sojourn`, `queue` (`L` or
//! `C` of a dual queue), `mark` or `drop` with the reason, `at` where that was not in the queue, then the
//! discipline's control state under the names and in the units of its series.

use std::fmt::Write;

use sojourn_core::Probe;
use sojourn_core::math;
use sojourn_core::packet::Side;
use sojourn_queue::aqm::Reason;
use sojourn_sim::Queued;

/// Digits behind which a measured number is cut.
const DIGITS: usize = 6;

/// Writes a comment into `out`. `element` is where a packet was dropped, if not in the queue.
pub(crate) fn write(out: &mut String, queued: &Queued<'_>, is_drop: bool, element: Option<usize>) {
    out.clear();
    if let Some(sojourn) = queued.sojourn {
        put(out, "sojourn", sojourn.as_millis_f64(), "ms");
    }
    let side = match queued.side {
        Side::None => None,
        Side::L4s => Some("L"),
        Side::Classic => Some("C"),
    };
    let reason = queued.reason.map(Reason::name);
    let what = if is_drop { "drop" } else { "mark" };
    for (name, value) in [("queue", side), (what, reason)] {
        if let Some(value) = value {
            separate(out);
            // Writing to a string cannot fail.
            let _ = write!(out, "{name}={value}");
        }
    }
    if let Some(element) = element {
        separate(out);
        let _ = write!(out, "at=ingress{element}");
    }
    let mut sink = |name: &str, unit: &'static str, value: f64| {
        put(out, name, value, suffix(unit));
    };
    queued.qdisc.probe(&mut Probe::new(&mut sink));
}

/// What is behind a value, as `tc` writes it.
fn suffix(unit: &'static str) -> &'static str {
    match unit {
        "1" => "",
        "packets" => "p",
        "bytes" => "b",
        "Mbit/s" => "Mbit",
        other => other,
    }
}

fn put(out: &mut String, name: &str, value: f64, unit: &str) {
    if !value.is_finite() {
        return;
    }
    separate(out);
    let _ = write!(out, "{name}={}{unit}", rounded(value));
}

/// To this number of significant digits, and written with as few as tell it apart.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let places = DIGITS as i32 - 1 - math::log10(value.abs()).floor() as i32;
    let scale = math::powi(10.0, places.clamp(0, 15));
    (value * scale).round() / scale
}

fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push(' ');
    }
}

#[cfg(test)]
mod tests;
