//! The receiver on a socket.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use serde_json::json;
use sojourn_core::wire::ccfb;
use sojourn_core::wire::rtp::{Datagram, Header};
use sojourn_core::{Dur, Ecn, Time};
use sojourn_transport::media::scream_rx::{Params, REPORT_BYTES, Receiver};

use super::ecn_path::Arrived;
use super::gaps::{Allowance, Gaps};
use super::notice::{Notice, REPLY_BYTES, Reply};
use super::peer::{Peer, Source};
use super::rx_options::RxOptions;
use super::screen::{Screen, harmless};
use super::{Count, Failure};
use sojourn_live::clock::{Clock, cpu_seconds};
use sojourn_live::udp::{self, Inbox, Opening, Socket};
use sojourn_live::wait::{Interest, StopSignal, exact_timers, wait};

/// Silence after which a byte is sent to keep NATs open.
const KEEP_ALIVE: Dur = Dur::from_millis(500);
/// Silence after which a sender that was not named is not kept alive.
const FORGOTTEN: Dur = Dur::from_secs(30);
/// The longest report that the receiver makes without parity, bytes.
const LONGEST_REPORT: usize = 1200;
/// Between two JSON objects.
const INTERVAL: Dur = Dur::from_secs(2);
/// Reads of the socket between two looks at the clock.
const READS: usize = 8;

/// Totals over all sessions.
#[derive(Debug, Default)]
struct Totals {
    packets: u64,
    payload: u64,
    duplicates: u64,
    /// Numbers that earlier sessions spanned.
    spanned: u64,
    /// Packets that the senders threw away, as they say: in earlier sessions, and in this one.
    discarded: [u64; 2],
    arrived: Arrived,
    malformed: u64,
    foreign_texts: u64,
    reports: u64,
    reports_bytes: u64,
    unsent: u64,
    first: Option<Time>,
    last: Time,
    numbers: Option<Numbers>,
}

/// Sequence numbers of a session without their wrap.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    first: u64,
    highest: u64,
}

impl Totals {
    fn count(&mut self, at: Time, header: &Header, ecn: Ecn) {
        self.first.get_or_insert(at);
        self.last = at;
        self.packets += 1;
        self.payload += u64::from(header.payload);
        self.arrived.add(ecn);
        // A number that is far behind is one of the next round.
        let start = u64::from(header.seq) + (1 << 16);
        let numbers = self.numbers.get_or_insert(Numbers { first: start, highest: start });
        let step = header.seq.wrapping_sub(numbers.highest as u16);
        if step < 1 << 15 {
            numbers.highest += u64::from(step);
        }
    }

    /// A session ends.
    fn close(&mut self) {
        self.spanned = self.spanned();
        self.discarded = [self.discarded(), 0];
        self.numbers = None;
    }

    fn spanned(&self) -> u64 {
        self.spanned + self.numbers.map_or(0, |n| n.highest - n.first + 1)
    }

    /// Numbers without a packet.
    fn missing(&self) -> u64 {
        self.spanned().saturating_sub(self.packets - self.duplicates.min(self.packets))
    }

    fn discarded(&self) -> u64 {
        self.discarded.iter().fold(0_u64, |sum, n| sum.saturating_add(*n)).min(self.missing())
    }

    fn lost(&self) -> u64 {
        self.missing() - self.discarded()
    }

    /// Of the packets that left.
    fn lost_pct(&self) -> f64 {
        100.0 * self.lost() as f64 / (self.spanned() - self.discarded()).max(1) as f64
    }

    /// Payload rate while packets came, kbit/s.
    fn rate_kbps(&self) -> f64 {
        let s = self.first.map_or(0.0, |first| self.last.since(first).as_secs_f64());
        if s > 0.0 { self.payload as f64 * 8e-3 / s } else { 0.0 }
    }
}

struct Rx<'a> {
    o: &'a RxOptions,
    screen: Screen,
    socket: Socket,
    clock: Clock,
    named: Option<SocketAddr>,
    peer: Peer,
    params: Params,
    receiver: Receiver,
    gaps: Gaps,
    texts: Allowance,
    totals: Totals,
    /// When something was sent last.
    sent: Time,
    /// When the next JSON object, or count of what was left out, is due.
    interval: Time,
    hinted: bool,
    /// Packets that overflowed the socket's buffer at the last look, and before this session.
    overflowed: u32,
    overflowed_before: u32,
    report: [u8; REPORT_BYTES],
}

/// Runs the receiver until its time is over or a signal comes.
pub(super) fn run(o: &RxOptions) -> Result<(), Failure> {
    let named = match &o.host {
        Some(host) => Some(udp::look_up(host, o.port, o.local.is_v6).map_err(Failure::usage)?),
        None => None,
    };
    // A named sender says the family; else both.
    let is_v6 = o.local.is_v6.unwrap_or_else(|| named.is_none_or(|a| a.is_ipv6()));
    let only_v6 = o.local.is_v6 == Some(true) || named.is_some_and(|a| a.is_ipv6());
    let open = |is_v6: bool| {
        Socket::open(&Opening {
            address: None,
            is_v6,
            only_v6: is_v6 && only_v6,
            port: o.port,
            interface: o.local.interface.clone(),
            tos: o.local.dscp << 2,
            gro: true,
        })
    };
    let socket = open(is_v6).or_else(|e| match o.local.is_v6 {
        // A machine without IPv6.
        None if named.is_none() => open(false),
        _ => Err(e),
    });
    let socket = socket.map_err(|e| Failure::network(format!("port {}: {e}", o.port)))?;
    let clock = Clock::start();
    let mut params = Params::new(o.generation.version(), false);
    params.ackdiff = Some(o.ack_diff);
    params.reported = o.reported;
    params.count =
        if o.count == Count::Rfc8888 { ccfb::Count::Exact } else { ccfb::Count::LessOne };
    params.check().map_err(Failure::usage)?;
    let mut rx = Rx {
        o,
        screen: Screen::new(o.json),
        socket,
        clock,
        named,
        peer: Peer::new(named.map(|a| a.ip())),
        params,
        receiver: Receiver::new(params, clock.now()),
        gaps: Gaps::default(),
        texts: Allowance::default(),
        totals: Totals::default(),
        sent: Time::ZERO,
        interval: Time::ZERO + INTERVAL,
        hinted: false,
        overflowed: 0,
        overflowed_before: 0,
        report: [0; REPORT_BYTES],
    };
    rx.greet();
    rx.go()
}

impl Rx<'_> {
    fn greet(&self) {
        let buffer = self.socket.receive_buffer().unwrap_or(0);
        let family =
            if self.named.is_some_and(|a| a.is_ipv4()) { "IP_RECVTOS" } else { "IPV6_RECVTCLASS" };
        self.screen.note(&format!("socket set to {family}"));
        self.screen.note(&format!("socket SO_RCVBUF set to {buffer}"));
        if buffer < udp::BUFFER {
            self.screen.note(&super::buffer_hint("rmem", buffer));
        }
        self.screen.note(&format!("Listen on port {} to receive RTP from sender ", self.o.port));
    }

    fn go(&mut self) -> Result<(), Failure> {
        let stop = StopSignal::new().map_err(|e| Failure::network(format!("signals: {e}")))?;
        exact_timers();
        let end = self.o.duration_s.map(|s| Time((s * 1e9) as u64));
        let mut inbox = Inbox::new(16, 1 << 16);
        if self.named.is_some() {
            self.keep_alive(Time::ZERO);
        }
        loop {
            let until = self.next_moment(end);
            let woken =
                wait(self.socket.as_fd(), Some(&stop), Interest::Reading, Some(until), self.clock)
                    .map_err(|e| Failure::network(format!("poll: {e}")))?;
            if woken.is_readable {
                self.read(&mut inbox);
            }
            let now = self.clock.now();
            self.report(now);
            self.on_time(now, inbox.overflowed());
            let is_over = end.is_some_and(|end| now >= end);
            if woken.is_stopped || is_over || self.screen.is_closed() {
                break;
            }
        }
        drop(stop);
        self.farewell(&inbox);
        Ok(())
    }

    fn next_moment(&self, end: Option<Time>) -> Time {
        let mut next = self.interval;
        if self.keeps_alive() {
            next = next.min(self.sent + KEEP_ALIVE);
        }
        // Without credit a report waits for the next packet.
        if self.peer.can_pay(LONGEST_REPORT) {
            next = next.min(self.receiver.deadline());
        }
        end.map_or(next, |end| next.min(end))
    }

    fn read(&mut self, inbox: &mut Inbox) {
        for _ in 0..READS {
            match inbox.receive(self.socket.as_fd(), self.clock) {
                Ok(0) => break,
                Ok(_) => {}
                // An answer to an earlier report or keep-alive: the sender is not there (yet).
                Err(_) => continue,
            }
            for d in inbox.datagrams() {
                self.take(&d);
            }
            if !inbox.is_full() {
                break;
            }
        }
    }

    fn take(&mut self, d: &udp::Datagram<'_>) {
        match Datagram::parse(d.bytes) {
            Ok(Datagram::KeepAlive) => {}
            Ok(Datagram::Statistics(text)) => self.show(d, text),
            Ok(Datagram::Media(header)) => self.media(d, &header),
            Err(_) => self.totals.malformed += 1,
        }
    }

    /// A line of the sender for this screen.
    fn show(&mut self, d: &udp::Datagram<'_>, text: &[u8]) {
        let notice = Notice::parse(text);
        if let Some(Notice::Answer(challenge)) = notice {
            return self.peer.answers(d.from, challenge);
        }
        if !self.peer.is(d.from) || !self.texts.take(d.at) {
            self.totals.foreign_texts += 1;
            return;
        }
        match notice {
            Some(Notice::Ends) => return self.peer.ends(d.from),
            Some(Notice::Discarded(packets)) => {
                let known = &mut self.totals.discarded[1];
                *known = packets.max(*known);
                return;
            }
            _ => {}
        }
        let text = harmless(text);
        self.screen.line(&text);
        self.screen.object(&json!({"type": "sender", "text": text}));
    }

    fn media(&mut self, d: &udp::Datagram<'_>, header: &Header) {
        let source = self.peer.judge(d.at, d.from, header.ssrc, header.seq);
        match source {
            Source::Peer => {}
            Source::Unknown => return self.turn_away(d),
            source => self.greet_sender(source, d),
        }
        self.peer.earn(d.bytes.len());
        let before = self.receiver.counts().duplicates;
        let arrival = self.receiver.on_rtp(d.at, header, d.bytes.len() as u32, d.ecn);
        self.totals.duplicates += self.receiver.counts().duplicates - before;
        if arrival.reset {
            if self.totals.packets > 0 {
                self.totals.close();
            }
            self.screen.note("Receiver state reset due to idle input");
        }
        self.totals.count(d.at, header, d.ecn);
        // Nothing is missing before the first packet of a session.
        let begins = arrival.reset || matches!(source, Source::Learned | Source::Next);
        if let Some(previous) = arrival.jumped_from.filter(|_| !begins)
            && let Some(lines) = self.gaps.on(d.at, header.seq, previous)
        {
            self.screen.note(&lines);
        }
        self.report(d.at);
    }

    fn greet_sender(&mut self, source: Source, d: &udp::Datagram<'_>) {
        let kind = match source {
            Source::Moved => "Sender source address changed; re-latched feedback target",
            Source::Next => "Another sender",
            _ => "Learned sender address from first RTP packet",
        };
        if source == Source::Next {
            self.totals.close();
            self.overflowed_before = self.overflowed;
            self.receiver = Receiver::new(self.params, d.at);
        }
        self.screen.note(&format!("{kind}: {}", d.from));
        self.screen.object(&json!({
            "type": "source", "time_s": d.at.as_secs_f64(), "address": d.from.to_string(),
            "what": match source { Source::Moved => "moved", Source::Next => "next", _ => "learned" },
        }));
    }

    /// Notifies somebody else who sends that there is a session.
    fn turn_away(&mut self, d: &udp::Datagram<'_>) {
        if self.peer.is_leaving() {
            return; // its packets count in a moment
        }
        self.hint(d.from);
        if let Some(challenge) = self.peer.challenge(d.at, d.from)
            && d.bytes.len() >= REPLY_BYTES
        {
            // It may be lost, as any packet may be.
            let _ = self.socket.send_to(&Reply::Busy(challenge).bytes(), d.from);
        }
    }

    /// Says once that somebody else sends, too.
    fn hint(&mut self, from: SocketAddr) {
        if std::mem::replace(&mut self.hinted, true) {
            return;
        }
        let why = match self.named {
            Some(named) if named.ip() != from.ip() => format!(
                "the sender was expected to be {}; leave the address out to answer whoever sends",
                named.ip()
            ),
            _ => "another sender is being answered".into(),
        };
        self.screen.note(&format!("note: packets from {from} stay without reports: {why}"));
    }

    /// Sends the reports that are due and that the session has paid for.
    fn report(&mut self, now: Time) {
        let Some(to) = self.peer.addr() else { return };
        while self.peer.can_pay(LONGEST_REPORT)
            && let Some(len) = self.receiver.next_report(now, &mut self.report)
        {
            self.peer.pay(len);
            match self.socket.send_to(&self.report[..len], to) {
                Ok(()) => {
                    self.totals.reports += 1;
                    self.totals.reports_bytes += len as u64;
                }
                Err(_) => self.totals.unsent += 1,
            }
            self.sent = self.clock.now();
        }
    }

    fn keeps_alive(&self) -> bool {
        let is_fresh = |last: Time| self.clock.now().since(last) < FORGOTTEN;
        self.named.is_some() || (self.peer.is_proven() && self.peer.last().is_some_and(is_fresh))
    }

    fn keep_alive(&mut self, now: Time) {
        // The session's address, which a NAT may have given; before it the one that was named.
        let Some(to) = self.peer.addr().or(self.named) else { return };
        // Nobody may be there yet.
        let _ = self.socket.send_to(&[0], to);
        self.sent = now;
        self.screen.dot();
    }

    fn on_time(&mut self, now: Time, overflowed: u32) {
        if self.keeps_alive() && now.since(self.sent) >= KEEP_ALIVE {
            self.keep_alive(now);
        }
        if now < self.interval {
            return;
        }
        self.interval = now + INTERVAL;
        let has_news = overflowed > std::mem::replace(&mut self.overflowed, overflowed);
        if has_news
            && self.peer.can_pay(REPLY_BYTES)
            && let Some(to) = self.peer.addr()
        {
            self.peer.pay(REPLY_BYTES);
            let reply = Reply::Full(overflowed - self.overflowed_before);
            let _ = self.socket.send_to(&reply.bytes(), to);
        }
        if let Some(unreported) = self.gaps.unreported() {
            self.screen.note(&unreported);
        }
        if self.screen.is_json() {
            let object = self.object("interval", now);
            self.screen.object(&object);
        }
    }

    fn object(&self, kind: &str, now: Time) -> serde_json::Value {
        let t = &self.totals;
        let [not_ect, ect0, ect1, ce] = t.arrived.percent();
        json!({
            "type": kind, "time_s": now.as_secs_f64(),
            "sender": self.peer.addr().map(|a| a.to_string()),
            "packets": t.packets, "payload_bytes": t.payload, "rate_kbps": t.rate_kbps(),
            "lost_packets": t.lost(), "discarded_by_sender": t.discarded(),
            "duplicates": t.duplicates,
            "not_ect_pct": not_ect, "ect0_pct": ect0, "ect1_pct": ect1, "ce_pct": ce,
            "reports": t.reports, "report_bytes": t.reports_bytes,
            "unknown_source_packets": self.peer.unknown(), "malformed": t.malformed,
        })
    }

    fn farewell(&mut self, inbox: &Inbox) {
        if let Some(unreported) = self.gaps.unreported() {
            self.screen.note(&unreported);
        }
        let now = self.clock.now();
        if !self.o.no_summary {
            let mut object = self.object("summary", now);
            object["schema"] = "sojourn/scream-rx/1".into();
            object["cpu_s"] = cpu_seconds().into();
            object["buffer_overflows"] = inbox.overflowed().into();
            self.screen.result(&object);
            let text = self.summary(inbox);
            self.screen.block(&text);
        }
    }

    fn summary(&self, inbox: &Inbox) -> String {
        let t = &self.totals;
        let [not_ect, ect0, ect1, ce] = t.arrived.percent();
        let mut text = format!(
            "\n======================== Summary ==========================\n \
             Packets / payload bytes             : {} / {}\n \
             Bitrate of payload [kbps]           : {:.0}\n \
             Packets lost / duplicates           : {} ({:.3}%) / {}\n \
             ECN/L4S NotECT/ECT(0)/ECT(1)/CE [%] : {not_ect:4.1}/{ect0:4.1}/{ect1:4.1}/{ce:4.1}\n \
             Reports                             : {}\n",
            t.packets,
            t.payload,
            t.rate_kbps(),
            t.lost(),
            t.lost_pct(),
            t.duplicates,
            t.reports,
        );
        for (count, what) in [
            (t.discarded(), "Packets discarded by the sender"),
            (self.peer.unknown(), "Packets of unknown sources, ignored"),
            (t.malformed + inbox.truncated(), "Malformed datagrams, ignored"),
            (t.foreign_texts, "Texts that were not printed"),
            (inbox.overflowed().into(), "Receive buffer full, packets lost"),
        ] {
            if count > 0 {
                text.push_str(&format!(" {what:35} : {count}\n"));
            }
        }
        text.push_str("===========================================================\n");
        text
    }
}
