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
    json!({
        "type": "verbose", "time_s": v.time_s, "queue_delay_s": v.queue_delay_s, "srtt_s": v.srtt_s,
        "cwnd_bytes": v.cwnd, "in_flight_bytes": v.in_flight, "rate_kbps": v.rate_kbps,
        "lost_kbps": v.lost_kbps, "ce_kbps": v.ce_kbps,
    })
}

pub(super) fn last(f: &FinalSummary) -> Value {
    let [not_ect, ect0, ect1, ce] = f.ecn_pct;
    json!({
        "type": "final", "rate_min_kbps": f.rate_kbps[0], "rate_max_kbps": f.rate_kbps[1],
        "rate_mean_kbps": f.rate_kbps[2], "rtt_min_s": f.rtt_s[0], "rtt_max_s": f.rtt_s[1],
        "rtt_mean_s": f.rtt_s[2], "queue_delay_max_s": f.queue_delay_s[0],
        "queue_delay_mean_s": f.queue_delay_s[1], "loss_pct": f.loss_pct,
        "not_ect_pct": not_ect, "ect0_pct": ect0, "ect1_pct": ect1, "ce_pct": ce,
    })
}
