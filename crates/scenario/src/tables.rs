//! What algorithms there are, with every parameter, as JSON for programs.

use serde_json::{Value, json};
use sojourn_cc as cc;
use sojourn_core::grammar::Parameter;
use sojourn_queue::aqm::Kernel;
use sojourn_queue::qdiscs as queues;
use sojourn_transport::app;

/// The queue disciplines, shapers and path elements.
pub fn qdiscs() -> Value {
    let entries = queues::entries().into_iter();
    let list = entries.map(|e| {
        let mut row = describe(e.name, e.summary, e.reference, &e.table());
        row["kernel"] = e.kernel.to_string().into();
        row["mainline"] = matches!(e.kernel, Kernel::Mainline(_)).into();
        row
    });
    list.collect()
}

/// The congestion controllers.
pub fn controllers() -> Value {
    let entries = cc::entries().into_iter();
    let list = entries.map(|e| {
        let mut row = describe(e.name, e.summary, e.reference, &e.table());
        row["kernel"] = e.kernel.to_string().into();
        row
    });
    list.collect()
}

/// The applications.
pub fn apps() -> Value {
    app::REGISTRY.iter().map(|e| describe(e.name, e.summary, e.reference, &e.table())).collect()
}

fn describe(name: &str, summary: &str, reference: &str, params: &[Parameter]) -> Value {
    let parameter = |p: &Parameter| {
        json!({
            "name": p.name,
            "value": p.value,
            "default": p.default,
            "doc": p.doc,
            "tc": p.is_tc,
        })
    };
    let parameters: Vec<Value> = params.iter().map(parameter).collect();
    json!({"name": name, "summary": summary, "reference": reference, "parameters": parameters})
}
