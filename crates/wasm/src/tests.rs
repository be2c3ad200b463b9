use serde_json::Value;

use super::*;

const FILE: &str = r#"
name = "mine"
duration = "2s"

[[link]]
name = "dsl"
rate = "10Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"

[[flow]]
name = "a"
cc = "cubic"
"#;

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_scenario_is_resolved_with_its_overrides() {
    let answer = parsed(&resolve(FILE, r#"[["link.dsl.rate", "20Mbit"]]"#).unwrap());
    let link = &answer["outline"]["links"][0];
    assert_eq!(link["forward"]["rate_bps"], 20_000_000);
    assert!(link["forward"]["qdisc"].as_str().unwrap().starts_with("dualpi2 "));
    assert_eq!(answer["outline"]["flows"][0]["cc"], "cubic");
    assert_eq!(answer["conditions"]["capacity"][0]["mbps"], 20.0);
    assert!(answer["brief"].as_str().unwrap().len() < answer["toml"].as_str().unwrap().len());
    let again = parsed(&resolve(answer["toml"].as_str().unwrap(), "[]").unwrap());
    assert_eq!(again["toml"], answer["toml"]);
}

#[test]
fn an_error_has_the_line_and_the_message_of_the_command_line() {
    let error = parsed(&resolve(&FILE.replace("cubic", "cubik"), "[]").unwrap_err());
    assert_eq!(error["line"], 14);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("scenario.toml:14: flow.a.cc: "), "{message}");
    let error = parsed(&resolve(FILE, r#"[["flow.a.cc", "cubik"]]"#).unwrap_err());
    assert_eq!(error["line"], Value::Null);
    assert!(resolve(FILE, "no JSON").unwrap_err().starts_with("overrides: "));
}

#[test]
fn a_sweep_is_its_runs() {
    let text = format!("{FILE}\n[sweep]\n\"flow.a.cc\" = [\"cubic\", \"reno\"]\n");
    let runs = parsed(&expand(&text, "[]").unwrap());
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(runs[1]["values"][0], serde_json::json!(["flow.a.cc", "reno"]));
}

#[test]
fn tables_script_and_edit_are_those_of_the_command_line() {
    let tables = parsed(&tables());
    for (table, name) in [("qdiscs", "cake"), ("controllers", "prague"), ("apps", "bulk")] {
        let rows = tables[table].as_array().unwrap();
        assert!(rows.iter().any(|row| row["name"] == name), "{table}");
    }
    let script = parsed(&tc(FILE).unwrap());
    assert!(script["script"].as_str().unwrap().contains("dualpi2"));
    let edited = edit(FILE, "flow.a.cc", Some("reno".into())).unwrap();
    assert_eq!(edited, FILE.replace("cubic", "reno"));
    assert!(version().contains('+'));
}
