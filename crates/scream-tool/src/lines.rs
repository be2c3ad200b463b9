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

/// What is printed at the end.
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

/// A value and whether it was measured; a dash if it was not, null in JSON.
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

/// How a log writes the time.
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
mod tests;
