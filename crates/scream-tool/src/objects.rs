//! The sender's lines as JSON objects. Names carry their units.

use serde_json::{Value, json};

use super::lines::{FinalSummary, SummaryLine, VerboseLine};

pub(super) fn summary(s: &SummaryLine) -> Value {
    let [not_ect, ect0, ect1, ce] = s.ecn_pct;
    json!({
        "type": "summary", "time_s": s.time_s, "rate_kbps": s.rate_kbps,
        "loss_short_pct": s.loss_pct[0], "loss_long_pct": s.loss_pct[1],
        "ce_short_pct": s.ce_pct[0], "ce_long_pct": s.ce_pct[1],
        "not_ect_pct": not_ect, "ect0_pct": ect0, "ect1_pct": ect1, "arrived_ce_pct": ce,
        "rtt_s": s.rtt_s, "queue_delay_s": s.queue_delay_s, "payload_bytes": s.mtu,
    })
}

pub(super) fn verbose(v: &VerboseLine) -> Value {
    let known = |value| Value::from(v.known(value));
    json!({
        "type": "verbose", "time_s": v.time_s, "queue_delay_s": known(v.queue_delay_s),
        "srtt_s": known(v.srtt_s), "cwnd_bytes": v.cwnd, "in_flight_bytes": v.in_flight,
        "rate_kbps": v.rate_kbps, "lost_kbps": known(v.lost_kbps), "ce_kbps": known(v.ce_kbps),
    })
}

pub(super) fn last(f: &FinalSummary) -> Value {
    let [not_ect, ect0, ect1, ce] = f.known(f.ecn_pct).map(Value::from);
    let [least_rate, most_rate, rate] = f.known(f.rate_kbps).map(Value::from);
    let [least_rtt, most_rtt, rtt] = f.known(f.rtt_s).map(Value::from);
    let [most_delay, delay] = f.known(f.queue_delay_s).map(Value::from);
    let [loss] = f.known([f.loss_pct]).map(Value::from);
    json!({
        "type": "final", "rate_min_kbps": least_rate, "rate_max_kbps": most_rate,
        "rate_mean_kbps": rate, "rtt_min_s": least_rtt, "rtt_max_s": most_rtt, "rtt_mean_s": rtt,
        "queue_delay_max_s": most_delay, "queue_delay_mean_s": delay, "loss_pct": loss,
        "not_ect_pct": not_ect, "ect0_pct": ect0, "ect1_pct": ect1, "ce_pct": ce,
    })
}
