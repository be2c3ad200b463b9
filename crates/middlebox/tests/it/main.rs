//! The forwarder between hosts.
#![cfg(target_os = "linux")]

mod bridge;
mod forwarder;
mod kernel;

use std::sync::Arc;

use sojourn_scenario::Scenario;

/// One link with this queue between the hosts.
fn scenario(duration: &str, rate: &str, qdisc: &str) -> Arc<Scenario> {
    let text = format!(
        r#"
name = "hosts"
duration = "{duration}"
measure.from = "0s"
[[link]]
name = "bneck"
rate = "{rate}"
qdisc = "{qdisc}"
delay = "20ms"
reverse = {{ rate = "none", qdisc = "pfifo" }}
[[flow]]
name = "hosts"
app = "cbr rate 1Mbit"
"#
    );
    Arc::new(sojourn_scenario::load(&text, "hosts.toml", &[]).unwrap().scenario)
}
