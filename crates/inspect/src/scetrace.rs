//! The JSON of scetrace (github.com/heistp/scetrace): the same names, for scripts that read its output.
//!
//! What its counts get wrong is right here:
//! - `IP.Bytes`: frames without IP add nothing; there they add the last packet's length again.
//! - `DataSegments` over IPv6: the TCP header is no payload.
//! - `Segments`: RST packets are counted.
//! - `DuplicateAcks`: those of RFC 5681 2, not every data packet of a one-way sender.
//! - `SackedBytes`: each byte once, not in each ACK that repeats its block.
//! - `AckedBytes`: all that is acknowledged, SACKed before or not, without SYN and FIN.
//! - `RetransmittedSegments`: no reordered ones, keepalives, probes or packets that were captured twice.
//! - `SCE`, `ESCE`: only where the sender sends ECT(0) and the connection has no AccECN, of which the same bits are part.
//! - `CE`, `SCE`, `SCERunLength`: of all data packets, those behind a FIN too.
//! - `ESCEPercent`: of the other direction's data segments, which the flag is about.
//! - `LostBytesPercent`: of bytes that were acknowledged and are not in the capture, not of gaps that are filled later.
//! - `SeqRTT`: to the ACK that covers the segment, not the one behind it, and none of data that was sent again.
//! - Packets in VLANs, cooked captures and tunnels are read, and memory has a bound.
//!
//! `Meta` has the capture's times; those of the parser are not part of what a capture says.

use serde_json::{Map, Value, json};

use crate::report::{Direction, Distribution, Flow, Report, TcpDirection};
use crate::stream::percent;

const AE_CWR_ECE: &str = "111";

/// The document.
pub fn document(report: &Report) -> Value {
    let flows = report.flows.iter().filter_map(|flow| connection(flow, report.start_ns));
    let end_ns = report.start_ns + (report.duration_s * 1e9) as u64;
    json!({
        "IP": { "Packets": report.packets, "Bytes": report.bytes },
        "TCP": flows.collect::<Vec<Value>>(),
        "Meta": {
            "CaptureStartTime": rfc3339(report.start_ns),
            "CaptureEndTime": rfc3339(end_ns),
            "CaptureElapsed": end_ns - report.start_ns,
            "CapturePacketsPerSecond": ratio(report.packets as f64, report.duration_s),
            "CaptureMbit": ratio(report.bytes as f64 * 8e-6, report.duration_s),
        },
    })
}

fn connection(flow: &Flow, start_ns: u64) -> Option<Value> {
    let tcp = flow.tcp.as_ref()?;
    let (up, down) = (flow.forward.tcp.as_ref()?, flow.backward.tcp.as_ref()?);
    let mean = |of: fn(&TcpDirection) -> Option<Distribution>| Some(of(up)?.mean + of(down)?.mean);
    Some(json!({
        "SrcIP": flow.opener.address,
        "SrcPort": flow.opener.port,
        "DstIP": flow.peer.address,
        "DstPort": flow.peer.port,
        "ECNInitiated": tcp.syn_flags.as_deref().is_some_and(|flags| flags == AE_CWR_ECE || flags == "011"),
        "ECNAccepted": tcp.syn_ack_flags.as_deref().is_some_and(|flags| flags.ends_with('1')),
        "Up": direction(&flow.forward, up, &flow.backward, down, start_ns),
        "Down": direction(&flow.backward, down, &flow.forward, up, start_ns),
        "MeanSeqRTTMillis": mean(|tcp| tcp.rtt_seq_ms),
        "MeanTSValRTTMillis": mean(|tcp| tcp.rtt_ts_ms),
    }))
}

/// One direction; `other` is the reverse one.
fn direction(
    own: &Direction,
    tcp: &TcpDirection,
    other: &Direction,
    back: &TcpDirection,
    start_ns: u64,
) -> Value {
    let sce = if own.sce_percent.is_some() { own.data_ecn.ect1 } else { 0 };
    let esce = if tcp.accecn.is_none() { tcp.ae } else { 0 };
    let again = tcp.retransmissions.all;
    let time = |at: Option<f64>| at.map(|at| rfc3339(start_ns + (at * 1e9) as u64));
    let elapsed = tcp.first_ack_s.zip(tcp.last_ack_s).map(|(from, to)| to - from);
    let goodput = back.first_ack_s.zip(back.last_ack_s);
    let goodput = goodput.and_then(|(from, to)| ratio(back.acked_bytes as f64 * 8e-6, to - from));
    json!({
        "CE": own.data_ecn.ce,
        "SCE": sce,
        "ESCE": esce,
        "ECE": tcp.ece,
        "CWR": tcp.cwr,
        "Segments": own.packets,
        "DataSegments": own.data_packets,
        "Acks": tcp.acks,
        "AckedBytes": tcp.acked_bytes,
        "SackedBytes": tcp.sacked_bytes,
        "ESCEAckedBytes": tcp.esce_acked_bytes,
        "DuplicateAcks": tcp.duplicate_acks,
        "Gaps": tcp.holes,
        "GapBytes": tcp.hole_bytes,
        "LateSegments": tcp.overtaken,
        "RetransmittedSegments": again,
        "FirstAckTime": time(tcp.first_ack_s),
        "LastAckTime": time(tcp.last_ack_s),
        "SCERunLength": statistics(own.sce_runs),
        "IPG": statistics(own.packet_gap_ms),
        "SCEIPG": statistics(own.sce_gap_ms),
        "SeqRTT": statistics(tcp.rtt_seq_ms),
        "TSValRTT": statistics(tcp.rtt_ts_ms),
        "SCEPercent": percent(sce, own.data_packets),
        "ESCEPercent": percent(esce, other.data_packets),
        "ESCEAckedBytesPercent": percent(tcp.esce_acked_bytes, tcp.acked_bytes),
        "AckedSegmentsPercent": percent(tcp.acks, other.data_packets),
        "LatePercent": percent(tcp.overtaken, own.packets),
        "RetransmittedPercent": percent(again, own.packets),
        "LostBytesPercent": percent(tcp.missing_bytes, back.acked_bytes),
        "ElapsedAckTimeSeconds": elapsed,
        "MeanGapSizeBytes": ratio(tcp.hole_bytes as f64, tcp.holes as f64),
        "MeanSegmentSizeBytes": ratio(back.acked_bytes as f64, own.data_packets as f64),
        "GoodputMbit": goodput,
    })
}

/// A quotient; none of nothing.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// `{}` of no samples.
fn statistics(of: Option<Distribution>) -> Value {
    let Some(of) = of else { return Value::Object(Map::new()) };
    let variance = of.stddev * of.stddev;
    json!({
        "N": of.n,
        "Min": of.min,
        "Max": of.max,
        "Mean": of.mean,
        "Stddev": of.stddev,
        "Variance": variance,
        "Burstiness": ratio(variance, of.mean),
    })
}

/// A time since 1970 as text (RFC 3339), in UTC.
fn rfc3339(ns: u64) -> String {
    let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Eras of 400 years that begin with a 1st of March, so that the leap day is their years' last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z",
        era * 400 + year
    )
}

#[cfg(test)]
mod tests;
