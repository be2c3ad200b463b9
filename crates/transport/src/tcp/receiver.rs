//! The receiving half: reassembly, acknowledgement policy (delayed, quick and compressed ACKs),
//! SACK, window growth and ECN counting, as Linux 5.4 does them. The application reads at once.

use sojourn_core::cc::{Feedback, Needs};
use sojourn_core::{Dur, Ecn, Kind, Probe, Time};

use super::Config;
use super::ecn::{EcnReceiver, Negotiation, Role, codepoint};
use super::reassembly::Reassembly;
use super::segment::{Flags, Segment};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// `TCP_ATO_MIN`: shortest delayed-ACK timeout.
const ATO_MIN: Dur = Dur::from_millis(40);
/// `TCP_DELACK_MAX`.
const DELACK_MAX: Dur = Dur::from_millis(200);
/// `TCP_MAX_QUICKACKS`.
const MAX_QUICKACKS: u32 = 16;
/// Receiver-side threshold of silence after which quick ACKs start again.
const QUICKACK_IDLE: Dur = Dur::from_millis(200);
/// SACKs sent at once before compression starts, and the most that one timer may hold back.
const UNCOMPRESSED_SACKS: u32 = 3;
const COMPRESSED_SACKS: u32 = 44;
const COMPRESSION_MAX: Dur = Dur::from_millis(1);

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    mss: u32,
    open: bool,
    /// Sequence number after the peer's FIN, once it was seen.
    fin: Option<u64>,
    ecn: EcnReceiver,
    /// Of this end's controller, which chooses the codepoint of ACKs.
    needs: Needs,
    rcv_nxt: u64,
    /// What the last ACK acknowledged.
    acked: u64,
    out_of_order: Reassembly,
    duplicate: Option<(u64, u64)>,
    window: DynamicWindow,
    echo: Time,
    quick: u32,
    ato: Dur,
    last_arrival: Time,
    delayed_at: Time,
    compressed_at: Time,
    compressed: u32,
    compressed_for: u64,
    ack_now: bool,
    pending: Option<Segment>,
    ce: u64,
    /// Segments with ECT(1): SCE where the sender uses ECT(0).
    sce: u64,
    segments: u64,
    acks: u64,
    duplicates: u64,
}

impl Receiver {
    /// A listening end whose controller has these `needs`: it chooses the codepoint of ACKs.
    pub fn new(config: Config, needs: Needs) -> Self {
        let mss = config.mss();
        Self {
            mss,
            open: false,
            fin: None,
            ecn: EcnReceiver::default(),
            needs,
            rcv_nxt: 0,
            acked: 0,
            out_of_order: Reassembly::new(),
            duplicate: None,
            window: DynamicWindow::new(&config, mss),
            echo: Time::NEVER,
            quick: 0,
            ato: Dur::ZERO,
            last_arrival: Time::ZERO,
            delayed_at: Time::NEVER,
            compressed_at: Time::NEVER,
            compressed: 0,
            compressed_for: 0,
            ack_now: false,
            pending: None,
            ce: 0,
            sce: 0,
            segments: 0,
            acks: 0,
            duplicates: 0,
            config,
        }
    }

    /// Payload bytes delivered in order.
    pub fn delivered(&self) -> u64 {
        let closed = self.fin.is_some_and(|fin| self.rcv_nxt >= fin);
        self.rcv_nxt.saturating_sub(1 + u64::from(closed))
    }

    fn on_syn(&mut self, segment: &Segment, ecn: Ecn) {
        let (mode, ace) = Negotiation::answer(self.config.ecn, segment.ace, ecn);
        self.ecn = EcnReceiver::new(mode, self.config.accecn_option, self.config.sce_feedback);
        self.open = true;
        self.rcv_nxt = 1;
        self.acked = 1;
        self.echo = segment.tsval;
        self.pending = Some(Segment {
            flags: Flags { syn: true, ack: true, ..Flags::default() },
            ack: 1,
            ace,
            window: self.window.advertised,
            tsecr: segment.tsval,
            ..Segment::default()
        });
    }

    fn on_data(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.segments += 1;
        self.ce += u64::from(ecn == Ecn::Ce);
        self.sce += u64::from(ecn == Ecn::Ect1);
        let range = (segment.seq, segment.end());
        let newer = self.echo == Time::NEVER || segment.tsval >= self.echo;
        if segment.seq <= self.acked && newer {
            self.echo = segment.tsval; // RFC 7323 4.3, for duplicates too (tcp_replace_ts_recent)
        }
        if range.1 <= self.rcv_nxt || self.out_of_order.holds(range) {
            // RFC 2883: report the duplicate, and tell the sender quickly.
            self.duplicates += 1;
            self.duplicate = Some(range);
            self.enter_quickack(MAX_QUICKACKS);
            self.ack_now = true;
            return;
        }
        if self.ecn.divides(ecn) {
            self.close_run(now);
        }
        if self.ecn.on_data(ecn, segment.ace, segment.len) {
            self.enter_quickack(2);
        }
        if segment.flags.fin {
            self.fin = Some(segment.end());
        }
        self.window.measure_rtt(now, segment);
        if segment.seq > self.rcv_nxt {
            if self.compressed_at != Time::NEVER && self.out_of_order.forgets(range) {
                self.pending = Some(self.ack(now));
            }
            self.out_of_order.store(range);
            self.schedule_sack(now);
            return;
        }
        self.rcv_nxt = segment.end();
        self.ack_now |= segment.flags.fin;
        let had_holes = !self.out_of_order.is_empty();
        self.rcv_nxt = self.out_of_order.absorb(self.rcv_nxt);
        self.track_arrivals(now);
        if self.window.on_data(now, self.rcv_nxt) {
            self.quick = self.quick.max(1); // a growing window is shown at once (tcp_grow_window)
        }
        if had_holes && self.out_of_order.is_empty() {
            self.ack_now = true; // RFC 5681 §4.2: a filled gap is acknowledged at once
        }
        // Linux tcp_cleanup_rbuf (6.6): the reader has emptied the queue, and the sender waits for nothing else.
        let pushed = self.config.kernel.ack_pushed && segment.flags.psh;
        let second = self.rcv_nxt - self.acked > u64::from(self.mss);
        if self.ack_now || self.quick > 0 || second || pushed {
            self.ack_now = true;
        } else if !self.out_of_order.is_empty() {
            self.schedule_sack(now);
        } else if self.delayed_at == Time::NEVER {
            self.delayed_at = now + self.ato.min(self.max_ato());
        }
    }

    /// The ECN state changes with this segment: what waits to be acknowledged is reported first.
    fn close_run(&mut self, now: Time) {
        if self.delayed_at != Time::NEVER {
            self.pending = Some(self.ack(now));
        }
        if self.ecn.mode() == Feedback::Sce {
            self.enter_quickack(0);
        }
    }

    /// Linux's adaptive delayed-ACK timeout, and quick ACKs at the start and after a pause.
    fn track_arrivals(&mut self, now: Time) {
        let gap = now.since(self.last_arrival);
        if self.ato == Dur::ZERO {
            self.quick = self.quick.max(self.quickack_credit(MAX_QUICKACKS));
            self.ato = ATO_MIN;
        } else if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = self.ato / 2 + gap;
        } else if gap > QUICKACK_IDLE + self.window.rtt {
            self.quick = self.quick.max(self.quickack_credit(MAX_QUICKACKS));
        }
        self.last_arrival = now;
    }

    fn quickack_credit(&self, most: u32) -> u32 {
        let half_window = (self.window.advertised / (2 * u64::from(self.mss))) as u32;
        half_window.max(2).min(most)
    }

    fn enter_quickack(&mut self, most: u32) {
        self.quick = self.quick.max(self.quickack_credit(most));
        self.ato = ATO_MIN;
    }

    fn max_ato(&self) -> Dur {
        (self.window.rtt).max(ATO_MIN).min(DELACK_MAX)
    }

    /// While data is missing, every arrival is acknowledged; after a few, SACKs are held back for
    /// 5 % of the RTT, at most 1 ms.
    fn schedule_sack(&mut self, now: Time) {
        if self.compressed_for != self.rcv_nxt {
            self.compressed_for = self.rcv_nxt;
            self.compressed = 0;
        }
        self.compressed += 1;
        let at_once = self.quick > 0 || self.compressed <= UNCOMPRESSED_SACKS;
        if at_once || self.compressed >= COMPRESSED_SACKS {
            self.ack_now = true;
        } else if self.compressed_at == Time::NEVER {
            let kernel = &self.config.kernel;
            let share = self.window.rtt * u64::from(kernel.comp_sack_rtt_percent) / 100;
            self.compressed_at = now + COMPRESSION_MAX.min(share) + kernel.comp_sack_slack;
        }
    }

    fn ack(&mut self, now: Time) -> Segment {
        let sack = self.out_of_order.report(self.duplicate.take());
        let ace = self.ecn.ace(self.rcv_nxt - self.acked);
        self.acks += 1;
        self.quick = self.quick.saturating_sub(1);
        self.acked = self.rcv_nxt;
        self.ack_now = false;
        self.delayed_at = Time::NEVER;
        self.compressed_at = Time::NEVER;
        // Linux tcp_event_ack_sent: what was held back has been reported.
        self.compressed = self.compressed.min(UNCOMPRESSED_SACKS);
        Segment {
            seq: 1,
            ack: self.rcv_nxt,
            window: self.window.advertise(),
            flags: Flags { ack: true, ..Flags::default() },
            ace,
            sack,
            tsval: now,
            tsecr: self.echo,
            accecn: self.ecn.option(),
            ..Segment::default()
        }
    }

    fn transmit(&self, segment: Segment) -> Transmit {
        let role = if segment.flags.syn { Role::SynAck } else { Role::PureAck };
        let ecn = if segment.flags.control {
            Ecn::NotEct
        } else {
            codepoint(role, self.ecn.mode(), self.needs, self.config.ecn_plus_plus)
        };
        Transmit {
            body: Body::Tcp(segment),
            len: segment.frame_len(self.config.timestamps),
            tos: ecn.on_tos(self.config.tos),
            kind: if segment.flags.syn || segment.flags.control {
                Kind::TcpControl
            } else {
                Kind::TcpAck
            },
        }
    }
}

impl Endpoint for Receiver {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if segment.flags.control {
            self.pending = Some(*segment);
        } else if segment.flags.syn && self.rcv_nxt > 1 {
            self.ack_now = true; // Linux tcp_send_challenge_ack: the connection is open
        } else if segment.flags.syn {
            self.on_syn(segment, ecn);
            if let Some(answer) = &mut self.pending {
                answer.tsval = now;
            }
        } else if self.open && segment.end() > segment.seq {
            self.on_data(now, segment, ecn);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if let Some(segment) = self.pending.take() {
            return Some(self.transmit(segment));
        }
        if !self.ack_now {
            return None;
        }
        let segment = self.ack(now);
        Some(self.transmit(segment))
    }

    fn deadline(&self) -> Time {
        self.delayed_at.min(self.compressed_at)
    }

    fn on_timer(&mut self, now: Time) {
        if self.delayed_at <= now {
            self.ato = (self.ato * 2).min(DELACK_MAX);
            self.ack_now = true;
        }
        if self.compressed_at <= now {
            self.ack_now = true;
        }
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("goodput_bytes", "bytes", self.delivered() as f64);
        probe.put("rcv_wnd", "bytes", self.window.advertised as f64);
        probe.put("ce_received", "packets", self.ce as f64);
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = vec![
            ("delivered_bytes", self.delivered() as f64),
            ("segments_received", self.segments as f64),
            ("ce_received", self.ce as f64),
            ("duplicates_received", self.duplicates as f64),
            ("acks_sent", self.acks as f64),
        ];
        if self.ecn.mode() == Feedback::Sce {
            totals.push(("sce_received", self.sce as f64));
        }
        FlowProbe(totals)
    }
}

/// Dynamic right-sizing (Linux 5.4 `tcp_rcv_space_adjust`): the advertised window follows twice
/// what the application reads per RTT, at most the share of the receive buffer that counts as
/// payload.
#[derive(Clone, Debug)]
struct DynamicWindow {
    mss: u64,
    /// Window that is advertised now, bytes.
    advertised: u64,
    /// Right edge advertised last; a window never shrinks.
    edge: u64,
    /// `rcv_ssthresh`: what segments' truesize has earned so far.
    ssthresh: u64,
    /// `window_clamp`: half of the receive buffer.
    clamp: u64,
    clamp_max: u64,
    /// Receiver's own RTT estimate, from timestamps.
    rtt: Dur,
    rtt_echo: Time,
    measured_from: Time,
    measured_seq: u64,
    space: u64,
    rcv_nxt: u64,
}

impl DynamicWindow {
    fn new(config: &Config, mss: u32) -> Self {
        let mss = u64::from(mss);
        let held = |buffer: u64| buffer * u64::from(config.kernel.window_share) / 256;
        let clamp = held(config.rmem_default);
        let initial = clamp.min(65_535) / mss * mss;
        Self {
            mss,
            advertised: initial,
            edge: 0,
            ssthresh: initial,
            clamp,
            clamp_max: held(config.rmem_max),
            rtt: Dur::ZERO,
            rtt_echo: Time::NEVER,
            measured_from: Time::ZERO,
            measured_seq: 1,
            space: 10 * mss,
            rcv_nxt: 1,
        }
    }

    fn measure_rtt(&mut self, now: Time, segment: &Segment) {
        if segment.tsecr == Time::NEVER || segment.tsecr == self.rtt_echo {
            return;
        }
        self.rtt_echo = segment.tsecr;
        let sample = Dur(now.since(segment.tsecr).0.div_ceil(1_000_000) * 1_000_000);
        self.rtt = if self.rtt == Dur::ZERO {
            sample
        } else {
            Dur(self.rtt.0 - self.rtt.0 / 8 + sample.0 / 8)
        };
    }

    /// In-order data up to `rcv_nxt` was read. Returns whether the window grew.
    fn on_data(&mut self, now: Time, rcv_nxt: u64) -> bool {
        self.rcv_nxt = rcv_nxt;
        let grows = self.ssthresh < self.clamp;
        self.ssthresh = (self.ssthresh + 2 * self.mss).min(self.clamp);
        if self.rtt == Dur::ZERO || now.since(self.measured_from) < self.rtt {
            return grows;
        }
        let copied = rcv_nxt - self.measured_seq;
        if copied > self.space {
            let window = 2 * copied + 16 * self.mss;
            let grow = window * (copied - self.space) / self.space;
            self.clamp = self.clamp.max((window + 2 * grow).min(self.clamp_max));
            self.space = copied;
        }
        self.measured_seq = rcv_nxt;
        self.measured_from = now;
        grows
    }

    fn advertise(&mut self) -> u64 {
        self.edge = self.edge.max(self.rcv_nxt + self.ssthresh);
        self.advertised = self.edge - self.rcv_nxt;
        self.advertised
    }
}

#[cfg(test)]
mod tests {
    use sojourn_core::Rng;

    use super::*;
    use crate::tcp::SceFeedback;
    use crate::tcp::segment::{AE, ECE};

    const L4S: Needs = Needs {
        owns_cwnd: true,
        pacing: true,
        feedback: Some(Feedback::AccEcn),
        codepoint: Some(Ecn::Ect1),
        ect_on_control: true,
    };

    fn open() -> Receiver {
        open_with(Config::default())
    }

    fn open_with(config: Config) -> Receiver {
        let mut rx = Receiver::new(config, L4S);
        let syn = Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ace: Negotiation::syn(Feedback::AccEcn),
            tsval: Time(1),
            tsecr: Time::NEVER,
            ..Segment::default()
        };
        rx.on_packet(Time(1), &Body::Tcp(syn), Ecn::Ect1);
        let answer = rx.poll(Time(1)).expect("a SYN/ACK");
        assert_eq!(answer.tos, 0, "the SYN/ACK is Not-ECT");
        rx
    }

    fn data(n: u64) -> Body {
        Body::Tcp(Segment {
            seq: 1 + n * 1448,
            len: 1448,
            flags: Flags { ack: true, ..Flags::default() },
            tsval: Time(n),
            tsecr: Time::NEVER,
            ..Segment::default()
        })
    }

    fn acks(rx: &mut Receiver, now: Time) -> Vec<Segment> {
        std::iter::from_fn(|| rx.poll(now))
            .map(|t| match t.body {
                Body::Tcp(s) => s,
                Body::Icmp(_) | Body::Udp(_) | Body::Counted(_) => unreachable!("TCP sends TCP"),
            })
            .collect()
    }

    #[test]
    fn a_fresh_flow_gets_sixteen_quick_acks_then_one_for_two() {
        let mut rx = open();
        let mut count = Vec::new();
        for n in 0..24 {
            let now = Time(1_000_000 * (n + 2));
            rx.on_packet(now, &data(n), Ecn::Ect1);
            count.push(acks(&mut rx, now).len());
        }
        assert_eq!(&count[..16], [1; 16]);
        assert_eq!(&count[16..], [0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn a_pushed_segment_is_acknowledged_at_once_where_the_kernel_does_so() {
        for (ack_pushed, psh, at_once) in [(false, true, 0), (true, false, 0), (true, true, 1)] {
            let mut config = Config::default();
            config.kernel.ack_pushed = ack_pushed;
            let mut rx = open_with(config);
            for n in 0..16 {
                let now = Time(1_000_000 * (n + 2));
                rx.on_packet(now, &data(n), Ecn::Ect1);
                acks(&mut rx, now);
            }
            let Body::Tcp(mut last) = data(16) else { unreachable!("data are TCP") };
            last.flags.psh = psh;
            let now = Time(18_000_000);
            rx.on_packet(now, &Body::Tcp(last), Ecn::Ect1);
            assert_eq!(acks(&mut rx, now).len(), at_once, "{ack_pushed} {psh}");
            assert_eq!(rx.deadline() == Time::NEVER, at_once == 1, "else the delayed ACK waits");
        }
    }

    /// ACKs of a receiver in this mode for segments that arrive a millisecond apart, quick ACKs being
    /// used up: the segments that each covers, and AE, CWR, ECE.
    fn answers(mode: Feedback, sce_feedback: SceFeedback, arrivals: &[Ecn]) -> Vec<(u64, u8)> {
        let config = Config { ecn: mode, sce_feedback, ..Config::default() };
        let mut rx = Receiver::new(config, Needs::default());
        let syn = Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ace: Negotiation::syn(mode),
            tsval: Time(1),
            tsecr: Time::NEVER,
            ..Segment::default()
        };
        rx.on_packet(Time(1), &Body::Tcp(syn), Ecn::NotEct);
        rx.poll(Time(1)).expect("a SYN/ACK");
        let (mut covered, mut answers) = (1 + 16 * 1448, Vec::new());
        for (n, ecn) in std::iter::repeat_n(&Ecn::Ect0, 16).chain(arrivals).enumerate() {
            let now = Time(1_000_000 * (n as u64 + 2));
            rx.on_packet(now, &data(n as u64), *ecn);
            for ack in acks(&mut rx, now).iter().filter(|_| n >= 16) {
                answers.push(((ack.ack - covered) / 1448, ack.ace));
                covered = ack.ack;
            }
        }
        rx.on_timer(Time(1_000_000_000));
        let last = acks(&mut rx, Time(1_000_000_000));
        answers.extend(last.iter().map(|ack| ((ack.ack - covered) / 1448, ack.ace)));
        answers
    }

    const N: Ecn = Ecn::Ect0;
    const S: Ecn = Ecn::Ect1;
    const C: Ecn = Ecn::Ce;

    fn sce(arrivals: &[Ecn]) -> Vec<(u64, u8)> {
        answers(Feedback::Sce, SceFeedback::Advanced, arrivals)
    }

    // KAT cc.md §9 #38
    #[test]
    fn two_marked_segments_between_unmarked_ones_make_one_esce_ack() {
        assert_eq!(sce(&[N, N, S, S, N, N]), [(2, 0), (2, AE), (2, 0)]);
    }

    // KAT cc.md §2.6
    #[test]
    fn alternate_marks_make_an_ack_of_each_segment_and_steady_ones_none() {
        assert_eq!(sce(&[N, S, N, S]), [(1, 0), (1, AE), (1, 0), (1, AE)]);
        assert_eq!(sce(&[S, S, S, S, S, S]), [(2, AE), (2, AE), (2, AE)]);
        assert_eq!(sce(&[N, N, N, N]), [(2, 0), (2, 0)]);
    }

    // KAT cc.md §2.6: CE is sticky ECE until CWR and two quick ACKs, whatever ESCE does
    #[test]
    fn ce_and_esce_are_independent() {
        assert_eq!(sce(&[N, N, C, N, N, N]), [(2, 0), (1, ECE), (1, ECE), (2, ECE)]);
        assert_eq!(sce(&[S, C, N, N]), [(2, AE | ECE), (1, ECE), (1, ECE)]);
    }

    // KAT cc.md §2.6: the dithered branch keeps one ACK per two segments
    #[test]
    fn dithered_esce_covers_as_many_bytes_as_were_marked() {
        let dithered = |arrivals: &[Ecn]| answers(Feedback::Sce, SceFeedback::Dithered, arrivals);
        assert_eq!(dithered(&[N, S, N, S]), [(2, AE), (2, 0)]);
        assert_eq!(dithered(&[N, N, S, N, N, N, S, N]), [(2, 0), (2, AE), (2, 0), (2, 0)]);
        assert_eq!(dithered(&[S, S, S, S]), [(2, AE), (2, AE)]);
        let mut rng = Rng::named(1, "dithered");
        let marks: Vec<Ecn> = (0..5000).map(|_| if rng.unit() < 0.3 { S } else { N }).collect();
        let (mut marked, mut echoed, mut arrived) = (0_i64, 0_i64, 0);
        for (segments, ace) in dithered(&marks) {
            assert_eq!(segments, 2, "no additional ACKs");
            let new = &marks[arrived..arrived + 2];
            marked += new.iter().filter(|ecn| **ecn == S).count() as i64;
            arrived += 2;
            echoed += 2 * i64::from(ace == AE);
            assert!((marked - echoed).abs() <= 1, "{marked} marked, {echoed} echoed");
        }
    }

    // KAT cc.md §2.5
    #[test]
    fn dctcp_divides_the_runs_and_tells_each_ack_s_state() {
        let dctcp = |arrivals: &[Ecn]| answers(Feedback::Dctcp, SceFeedback::Advanced, arrivals);
        assert_eq!(dctcp(&[N, N, C, C, N, N]), [(2, 0), (2, ECE), (2, 0)]);
        assert_eq!(dctcp(&[N, C, C, N, C]), [(1, 0), (2, ECE), (1, 0), (1, ECE)]);
        assert_eq!(dctcp(&[C, C, C, C]), [(2, ECE), (2, ECE)]);
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_the_delayed_ack_timeout() {
        let mut rx = open();
        for n in 0..17 {
            rx.on_packet(Time(1_000_000 * (n + 2)), &data(n), Ecn::Ect1);
            acks(&mut rx, Time(1_000_000 * (n + 2)));
        }
        let due = rx.deadline();
        assert_eq!(due, Time(18_000_000) + ATO_MIN);
        rx.on_timer(due);
        assert_eq!(acks(&mut rx, due).len(), 1);
        assert_eq!(rx.deadline(), Time::NEVER);
    }

    #[test]
    fn holes_are_reported_newest_first_and_filling_one_acks_at_once() {
        let mut rx = open();
        let now = Time(5_000_000);
        for n in [0, 2, 4] {
            rx.on_packet(now, &data(n), Ecn::Ect1);
        }
        let ack = acks(&mut rx, now).pop().expect("an ACK with SACK");
        let block = |n: u64| (1 + n * 1448, 1 + (n + 1) * 1448);
        assert_eq!(ack.ack, 1 + 1448);
        assert_eq!(ack.sack.holes_above(), [block(4), block(2)]);
        rx.on_packet(now, &data(1), Ecn::Ect1);
        rx.on_packet(now, &data(3), Ecn::Ect1);
        assert_eq!(acks(&mut rx, now).pop().map(|a| a.ack), Some(1 + 5 * 1448));
    }

    #[test]
    fn a_duplicate_is_reported_in_the_first_block() {
        let mut rx = open();
        let now = Time(5_000_000);
        rx.on_packet(now, &data(0), Ecn::Ect1);
        acks(&mut rx, now);
        rx.on_packet(now, &data(0), Ecn::Ect1);
        let ack = acks(&mut rx, now).pop().expect("an ACK for the duplicate");
        assert!(ack.sack.duplicate);
        assert_eq!(ack.sack.as_slice(), [(1, 1449)]);
        assert_eq!(ack.sack.holes_above(), [] as [(u64, u64); 0]);
    }

    #[test]
    fn window_grows_with_what_is_read_and_never_shrinks() {
        let mut window = DynamicWindow::new(&Config::default(), 1448);
        assert_eq!(window.advertised, 65_160);
        window.rtt = Dur::from_millis(10);
        let (mut last, mut rcv_nxt) = (0, 1);
        for ms in 1..400 {
            rcv_nxt += 20 * 1448;
            window.on_data(Time(ms * 1_000_000), rcv_nxt);
            let edge = rcv_nxt + window.advertise();
            assert!(edge >= last);
            last = edge;
        }
        assert!(window.advertised > 500_000 && window.advertised <= 3_145_728);
    }
}
