//! The lines of the original's builds, to the byte (EricssonResearch/scream, scream_sender.cpp and
//! ScreamV2Tx.cpp).

use std::fmt::{self, Write as _};

use sojourn_cc::scream::AckLine;

use super::generation::Generation;

/// What the 2 s line says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SummaryLine {
    pub(super) time_s: f64,
    pub(super) rate_kbps: f32,
    /// Lost packets, the last seconds and all the time, percent.
    pub(super) loss_pct: [f32; 2],
    /// Marked packets, the last seconds and all the time, percent.
    pub(super) ce_pct: [f32; 2],
    /// Acknowledged packets as Not-ECT, ECT(0), ECT(1), CE, percent.
    pub(super) ecn_pct: [f32; 4],
    pub(super) rtt_s: f32,
    pub(super) queue_delay_s: f32,
    /// RTP payload, bytes.
    pub(super) mtu: u32,
}

impl SummaryLine {
    /// Without the end of the line.
    pub(super) fn text(&self, columns: Generation) -> String {
        let Self { time_s, rate_kbps, loss_pct: [short, long], rtt_s, queue_delay_s, .. } = self;
        // Only the tool of 2020 begins without the library's tag, which is empty, and a blank.
        let head = if columns == Generation::V2020 { "" } else { " summary " };
        let mut text = format!(
            "{head}{time_s:5.1}  Transmit rate = {rate_kbps:5.0}kbps, PLR = {short:5.2}%({long:5.2}%)"
        );
        if columns > Generation::V2020 {
            let [short, long] = self.ce_pct;
            let [not_ect, ect0, ect1, ce] = self.ecn_pct;
            push(
                &mut text,
                format_args!(
                    ", CE = {short:5.2}%({long:5.2}%)[{not_ect:4.1}%, {ect0:4.1}%, {ect1:4.1}%, {ce:4.1}%]"
                ),
            );
        }
        push(&mut text, format_args!(", RTT = {rtt_s:5.3}s, Queue delay = {queue_delay_s:5.3}s"));
        if columns == Generation::V2026 {
            push(&mut text, format_args!(", MTU = {}", self.mtu));
        }
        text
    }
}

/// What the 200 ms line says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct VerboseLine {
    pub(super) time_s: f64,
    pub(super) queue_delay_s: f32,
    pub(super) srtt_s: f32,
    /// Window, bytes.
    pub(super) cwnd: u32,
    /// Most bytes in flight since the line before.
    pub(super) in_flight: u32,
    pub(super) rate_kbps: f32,
    pub(super) lost_kbps: f32,
    pub(super) ce_kbps: f32,
    /// There is feedback: else queue delay, RTT, loss and marks are not known.
    pub(super) is_measured: bool,
}

impl VerboseLine {
    /// A value that only feedback gives.
    pub(super) fn known(&self, value: f32) -> Known {
        Known(value, self.is_measured)
    }

    /// Without the end of the line; it ends in a comma and blanks.
    pub(super) fn text(&self, columns: Generation) -> String {
        let Self { time_s, cwnd, in_flight, rate_kbps, .. } = self;
        let [queue_delay_s, srtt_s, lost_kbps, ce_kbps] =
            [self.queue_delay_s, self.srtt_s, self.lost_kbps, self.ce_kbps].map(|v| self.known(v));
        let tag = if columns == Generation::V2020 { "" } else { " " };
        let mut text = format!(
            "{time_s:8.3}, {tag}{queue_delay_s:4.3}, {srtt_s:4.3}, {cwnd:6}, {in_flight:6}, \
             {rate_kbps:6.0}, {lost_kbps:5.0}, "
        );
        if columns > Generation::V2020 {
            push(&mut text, format_args!("{ce_kbps:5.0}, "));
        }
        text.push(' ');
        text
    }
}

/// What is said at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FinalSummary {
    /// Least, greatest and mean.
    pub(super) rate_kbps: [f32; 3],
    /// Least, greatest and mean.
    pub(super) rtt_s: [f32; 3],
    /// Greatest and mean.
    pub(super) queue_delay_s: [f32; 2],
    pub(super) loss_pct: f32,
    /// Acknowledged packets as Not-ECT, ECT(0), ECT(1), CE, percent.
    pub(super) ecn_pct: [f32; 4],
    /// There was feedback: else nothing is known.
    pub(super) is_measured: bool,
}

impl FinalSummary {
    /// Values that only feedback gives.
    pub(super) fn known<const N: usize>(&self, values: [f32; N]) -> [Known; N] {
        values.map(|value| Known(value, self.is_measured))
    }

    /// The lines of 2026, which is the build that has them, and one for packets that never left; with
    /// the end of the last line.
    pub(super) fn text(&self, discarded: u64) -> String {
        let [least_rate, most_rate, rate] = self.known(self.rate_kbps);
        let [least_rtt, most_rtt, rtt] = self.known(self.rtt_s);
        let [most_delay, delay] = self.known(self.queue_delay_s);
        let [not_ect, ect0, ect1, ce] = self.known(self.ecn_pct);
        let [loss] = self.known([self.loss_pct]);
        let discarded = match discarded {
            0 => String::new(),
            n => format!(" Packets discarded at this end       : {n}\n"),
        };
        format!(
            "\n======================== Summary ==========================\n \
             Bitrate min/max/avg [kbps]          : {least_rate:5.0}/{most_rate:5.0}/{rate:5.0}\n \
             RTT     min/max/avg [s]             : {least_rtt:2.3}/{most_rtt:2.3}/{rtt:2.3}\n \
             Queue delay max/avg [s]             : {most_delay:2.3}/{delay:2.3}\n \
             Packet loss avg [%]                 : {loss:4.3}\n \
             ECN/L4S NotECT/ECT(0)/ECT(1)/CE [%] : {not_ect:4.1}/{ect0:4.1}/{ect1:4.1}/{ce:4.1}\n\
             {discarded}\
             ===========================================================\n"
        )
    }
}

/// A value and whether it was measured; a dash stands for one that was not, null in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known(f32, bool);

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, is_measured) = self;
        if *is_measured {
            return value.fmt(f);
        }
        write!(f, "{:>1$}", "-", f.width().unwrap_or(0))
    }
}

impl From<Known> for serde_json::Value {
    fn from(Known(value, is_measured): Known) -> Self {
        is_measured.then_some(value).into()
    }
}

/// How a log tells the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stamp {
    /// Since the start, s.
    Session(f64),
    /// Unix time, s.
    Unix(f64),
}

impl Stamp {
    fn write(self, text: &mut String, places: usize) {
        match self {
            Self::Session(s) => push(text, format_args!("{s:.places$}")),
            Self::Unix(s) => push(text, format_args!("{s:.6}")),
        }
    }
}

/// Appends a line of the per-ACK log, with its end, to `text`.
pub(super) fn ack_line(text: &mut String, columns: Generation, time: Stamp, a: &AckLine) {
    if columns == Generation::V2020 {
        time.write(text, 3);
        push(
            text,
            format_args!(
                ",{:.3},{:.3}, {},{},{:.0},{},{},{},{:.0},{:.0},{:.0},{:.0},\n",
                a.queue_delay,
                a.rtt,
                a.cwnd,
                a.in_flight,
                a.total_rate,
                a.stream,
                a.acked,
                a.acked_ce,
                a.media_rate,
                a.sent_rate,
                a.acked_rate,
                a.lost_rate,
            ),
        );
        return;
    }
    time.write(text, 4);
    let last = if columns == Generation::V2026 { ", " } else { " " };
    push(
        text,
        format_args!(
            ",{:.4},{:.4}, {},{},{},",
            a.queue_delay,
            a.rtt,
            a.cwnd,
            a.in_flight,
            u8::from(a.fast_increase),
        ),
    );
    rates(text, a);
    push(text, format_args!(",{:.3}{last}{}\n", a.rtp_queue_delay, a.cwnd_i));
}

/// The columns that the per-ACK log of 2024 and the CSV log write alike, from the total rate to the
/// target.
fn rates(text: &mut String, a: &AckLine) {
    push(
        text,
        format_args!(
            "{:.0},{},{},{},{},{:.0},{:.0},{:.0},{:.0},{:.0},{},{:.0}",
            a.total_rate,
            a.stream,
            a.seq,
            a.acked,
            a.acked_ce,
            a.media_rate,
            a.sent_rate,
            a.acked_rate,
            a.lost_rate,
            a.ce_rate,
            u8::from(a.marker),
            a.target,
        ),
    );
}

/// The head that `-itemlist` writes: the first 17 columns only, as the original does.
pub(super) const ITEM_LIST: &str = "\"Time [s]\",\"Estimated queue delay [s]\",\"RTT [s]\",\
    \"Congestion window [byte]\",\"Bytes in flight [byte]\",\"Fast increase mode\",\
    \"Total transmit bitrate [bps]\",\"Stream ID\",\"RTP SN\",\"Bytes newly ACKed\",\
    \"Bytes newly ACKed and CE marked\",\"Media coder bitrate [bps]\",\"Transmitted bitrate [bps]\",\
    \"ACKed bitrate [bps]\",\"Lost bitrate [bps]\",\"CE Marked bitrate [bps]\",\"Marker bit set\"\n";

/// The head of the CSV log.
pub(super) const CSV_HEAD: &str = "time_s,queue_delay_s,rtt_s,cwnd_bytes,in_flight_bytes,\
    total_rate_bps,stream,seq,acked_bytes,acked_ce_bytes,media_rate_bps,sent_rate_bps,acked_rate_bps,\
    lost_rate_bps,ce_rate_bps,marker,target_bps,rtp_queue_delay_s,cwnd_i_bytes\n";

/// Appends a line of the CSV log.
pub(super) fn csv_line(text: &mut String, time: Stamp, a: &AckLine) {
    time.write(text, 6);
    push(text, format_args!(",{:.6},{:.6},{},{},", a.queue_delay, a.rtt, a.cwnd, a.in_flight));
    rates(text, a);
    push(text, format_args!(",{:.6},{}\n", a.rtp_queue_delay, a.cwnd_i));
}

/// Appends a line of the JSON log: the names are those of the CSV log.
pub(super) fn json_line(text: &mut String, time: Stamp, a: &AckLine) {
    let mut values = String::new();
    csv_line(&mut values, time, a);
    text.push('{');
    let names = CSV_HEAD.trim_end().split(',');
    for (at, (name, value)) in names.zip(values.trim_end().split(',')).enumerate() {
        let comma = if at == 0 { "" } else { "," };
        push(text, format_args!("{comma}\"{name}\":{value}"));
    }
    text.push_str("}\n");
}

/// Appends a line of the tx/rx log: when a packet was sent and when it arrived, each in its own
/// end's clock, and the difference, which has an arbitrary offset.
pub(super) fn tx_rx_line(text: &mut String, time: Stamp, a: &AckLine) {
    time.write(text, 4);
    push(text, format_args!(", {}, {}", a.seq, Q16(a.sent.0)));
    match a.received {
        Some(at) => push(text, format_args!(", {}, {}\n", Q16(at.0), Q16(at.since(a.sent)))),
        None => text.push_str(", -1.0, -1.0\n"),
    }
}

/// 1/65536 s as seconds with four decimals. The original carries no rounding into the seconds and
/// prints .99995 as `.10000`.
struct Q16(u32);

impl fmt::Display for Q16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (u64::from(self.0) * 10_000 + 32_768) >> 16;
        write!(f, "{}.{:04}", rounded / 10_000, rounded % 10_000)
    }
}

/// A gap that the receiver saw: the blank before the end is the original's.
pub(super) fn gap_line(received: u16, previous: u16) -> String {
    format!(
        "Packet(s) lost or reordered : {received:5} was received, previous rcvd is {previous:5} "
    )
}

fn push(text: &mut String, args: fmt::Arguments<'_>) {
    text.write_fmt(args).expect("a String takes any text");
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            line.text(V2026),
            "  41.925,     -,    -, 345787, 221223,  23605,     -,     -,  "
        );
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
    fn a_gap_is_told_as_the_original_does() {
        assert_eq!(
            gap_line(49_873, 869),
            "Packet(s) lost or reordered : 49873 was received, previous rcvd is   869 "
        );
    }
}
