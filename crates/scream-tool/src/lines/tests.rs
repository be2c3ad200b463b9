use sojourn_cc::scream::Ticks;

use super::*;
use Generation::{V2020, V2024, V2026};

const SUMMARY: SummaryLine = SummaryLine {
    time_s: 2.04,
    rate_kbps: 652.4,
    loss_pct: [0.126, 12.5],
    ce_pct: [1.5, 0.25],
    ecn_pct: [0.0, 0.0, 98.55, 1.45],
    rtt_s: 0.0184,
    queue_delay_s: 0.0042,
    mtu: 1200,
};

// KAT scream-lines 1: the 2 s line of the three formats
#[test]
fn the_summary_has_the_columns_of_each_build() {
    assert_eq!(
        SUMMARY.text(V2020),
        "  2.0  Transmit rate =   652kbps, PLR =  0.13%(12.50%), RTT = 0.018s, Queue delay = 0.004s"
    );
    assert_eq!(
        SUMMARY.text(V2024),
        " summary   2.0  Transmit rate =   652kbps, PLR =  0.13%(12.50%), CE =  1.50%( 0.25%)\
         [ 0.0%,  0.0%, 98.6%,  1.5%], RTT = 0.018s, Queue delay = 0.004s"
    );
    assert_eq!(SUMMARY.text(V2026), SUMMARY.text(V2024) + ", MTU = 1200");
}

// KAT scream-lines 2: the 200 ms line, with values of the slides
#[test]
fn the_verbose_line_has_the_columns_of_each_build() {
    let line = VerboseLine {
        time_s: 41.925,
        queue_delay_s: 0.012,
        srtt_s: 0.064,
        cwnd: 345_787,
        in_flight: 221_223,
        rate_kbps: 23_605.0,
        lost_kbps: 0.0,
        ce_kbps: 12.0,
        is_measured: true,
    };
    assert_eq!(line.text(V2020), "  41.925, 0.012, 0.064, 345787, 221223,  23605,     0,  ");
    assert_eq!(
        line.text(V2024),
        "  41.925,  0.012, 0.064, 345787, 221223,  23605,     0,    12,  "
    );
    assert_eq!(line.text(V2024), line.text(V2026));
    let line = VerboseLine { is_measured: false, ..line };
    assert_eq!(line.text(V2026), "  41.925,     -,    -, 345787, 221223,  23605,     -,     -,  ");
}

// KAT scream-lines 3: the end
#[test]
fn the_final_summary_is_that_of_2026() {
    let last = FinalSummary {
        rate_kbps: [900.0, 98_765.4, 54_321.0],
        rtt_s: [0.025, 0.1, 0.0301],
        queue_delay_s: [0.02, 0.0012],
        loss_pct: 0.01,
        ecn_pct: [0.0, 0.0, 99.0, 1.0],
        is_measured: true,
    };
    assert_eq!(
        last.text(0),
        "
======================== Summary ==========================
 Bitrate min/max/avg [kbps]          :   900/98765/54321
 RTT     min/max/avg [s]             : 0.025/0.100/0.030
 Queue delay max/avg [s]             : 0.020/0.001
 Packet loss avg [%]                 : 0.010
 ECN/L4S NotECT/ECT(0)/ECT(1)/CE [%] :  0.0/ 0.0/99.0/ 1.0
===========================================================
"
    );
}

#[test]
fn what_was_not_measured_is_a_dash_in_each_line() {
    let text = FinalSummary::default().text(0);
    let values = text.lines().filter_map(|l| l.split_once(": ")).map(|(_, v)| v);
    let is_digit = |c: char| c.is_ascii_digit();
    assert!(values.clone().all(|v| v.contains('-') && !v.contains(is_digit)), "{text}");
    assert_eq!(values.count(), 5);
}

/// The second line of a slide of 2020, and of the golden run A of 2024.
fn acks() -> (AckLine, AckLine) {
    let slide = AckLine {
        queue_delay: 0.010,
        rtt: 0.174,
        cwnd: 12_500,
        in_flight: 112,
        total_rate: 25_343.0,
        acked: 15_104,
        media_rate: 126_715.0,
        sent_rate: 25_343.0,
        ..AckLine::default()
    };
    let golden = AckLine {
        rtt: 0.025,
        cwnd: 12_500,
        in_flight: 2482,
        seq: 6,
        acked: 2447,
        marker: true,
        target: 1_956_940.0,
        rtp_queue_delay: 0.0098,
        cwnd_i: 1,
        ..AckLine::default()
    };
    (slide, golden)
}

fn written(columns: Generation, time: Stamp, a: &AckLine) -> String {
    let mut text = String::new();
    ack_line(&mut text, columns, time, a);
    text
}

// KAT scream-lines 4: lines of the slides and of a golden run
#[test]
fn the_log_has_the_columns_of_each_build() {
    let (slide, golden) = acks();
    assert_eq!(
        written(V2020, Stamp::Session(0.281), &slide),
        "0.281,0.010,0.174, 12500,112,25343,0,15104,0,126715,25343,0,0,\n"
    );
    let line = written(V2024, Stamp::Session(0.0758), &golden);
    assert_eq!(
        line,
        "0.0758,0.0000,0.0250, 12500,2482,0,0,0,6,2447,0,0,0,0,0,0,1,1956940,0.010 1\n"
    );
    assert_eq!(line.split([',', ' ']).filter(|w| !w.is_empty()).count(), 20);
    assert_eq!(
        written(V2026, Stamp::Unix(1_700_000_000.25), &golden),
        "1700000000.250000,0.0000,0.0250, 12500,2482,0,0,0,6,2447,0,0,0,0,0,0,1,1956940,0.010, 1\n"
    );
    assert_eq!(ITEM_LIST.split(',').count(), 17);
}

#[test]
fn csv_and_json_have_a_name_for_each_value() {
    let (_, golden) = acks();
    let mut csv = String::new();
    csv_line(&mut csv, Stamp::Session(0.0758), &golden);
    assert_eq!(csv.split(',').count(), CSV_HEAD.split(',').count());
    let mut json = String::new();
    json_line(&mut json, Stamp::Session(0.0758), &golden);
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["time_s"], 0.0758);
    assert_eq!(read["seq"], 6);
    assert_eq!(read["cwnd_i_bytes"], 1);
    assert_eq!(read.as_object().unwrap().len(), CSV_HEAD.split(',').count());
}

// KAT scream-lines 5: times with four decimals, a packet that was given up
#[test]
fn the_tx_rx_log_rounds_into_the_seconds() {
    let mut a = AckLine { seq: 7, sent: Ticks(65_535), ..AckLine::default() };
    a.received = Some(Ticks(65_536 * 3 + 32_768));
    let mut text = String::new();
    tx_rx_line(&mut text, Stamp::Session(1.5), &a);
    assert_eq!(text, "1.5000, 7, 1.0000, 3.5000, 2.5000\n", "0.99998 s is 1.0000");
    a.received = None;
    text.clear();
    tx_rx_line(&mut text, Stamp::Session(1.5), &a);
    assert_eq!(text, "1.5000, 7, 1.0000, -1.0, -1.0\n");
}

// KAT scream-lines 6: the receiver's line
#[test]
fn a_gap_is_reported_as_by_the_original() {
    assert_eq!(
        gap_line(49_873, 869),
        "Packet(s) lost or reordered : 49873 was received, previous rcvd is   869 "
    );
}
