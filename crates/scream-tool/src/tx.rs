//! The sender on a socket.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use serde_json::json;
use sojourn_core::wire::rtp::{Header, TOOL_SSRC, write_statistics};
use sojourn_core::{Dur, Ecn, Time};

use super::diagnosis::{Diagnosis, Facts};
use super::hearing::Hearing;
use super::logs::Logs;
use super::media::Media;
use super::notice::{Notice, Reply};
use super::objects;
use super::screen::Screen;
use super::tx_options::{Gso, TxOptions};
use super::view::{Sample, View};
use super::{Failure, Generation};
use sojourn_live::clock::{Clock, cpu_seconds, unix_ns};
use sojourn_live::udp::{self, Inbox, Opening, Outbox, Socket};
use sojourn_live::wait::{Interest, StopSignal, exact_timers, wait};

/// Interval of the original's main loop, which prints.
const TICK: Dur = Dur::from_millis(50);
const SUMMARY: Dur = Dur::from_secs(2);
const VERBOSE: Dur = Dur::from_millis(200);
const FLUSH: Dur = Dur::from_secs(1);
/// Packets handed to the kernel at once.
const BATCH: usize = 64;
/// Batches between two looks at the feedback.
const BATCHES: usize = 8;
/// A burst of this many packets leaves in larger pieces that the kernel cuts, of this many packets. A
/// queue on this machine may take a piece for one packet and mark all of it, which a fixed rate does
/// not answer to; an adaptive one has pieces from some 250 Mbit/s on, where it needs them.
const LONG_BURST: usize = 16;
const LONG_FIXED_BURST: usize = 3;
const TRAIN: usize = 8;
/// A fixed rate waits for no report: those that come so shortly before the next burst are read with it.
const SHORT: Dur = Dur::from_micros(1500);
/// Reports are at most 1200 bytes from us, 1472 from others.
const REPORT: usize = 2048;
/// Notes of one sort are not repeated earlier.
const PATIENCE: Dur = Dur::from_secs(10);
/// A busy receiver's challenge is not answered earlier again.
const ANSWER: Dur = Dur::from_millis(100);
/// The end is announced twice, this far apart.
const REPEAT: std::time::Duration = std::time::Duration::from_millis(20);

struct Tx<'a> {
    o: &'a TxOptions,
    columns: Generation,
    screen: Screen,
    view: Option<View>,
    socket: Socket,
    to: SocketAddr,
    sent_as: Ecn,
    clock: Clock,
    media: Media,
    outbox: Outbox,
    logs: Logs,
    /// What the media know is not later.
    latest: Time,
    is_warned: bool,
    /// Reports, and datagrams that are none.
    reports: u64,
    malformed: u64,
    foreign: u64,
    hearing: Hearing,
    packets: u64,
    discards: Discards,
    diagnosis: Diagnosis,
    due: Due,
}

/// Packets that never left: how many of them were reported.
#[derive(Default)]
struct Discards {
    /// On the screen.
    shown: u64,
    /// When the receiver was first heard: before that it does not miss them.
    unmissed: u64,
    /// To the receiver.
    notified: u64,
}

/// When what is printed next.
struct Due {
    tick: Time,
    summary: Time,
    verbose: Time,
    silence: Time,
    flush: Time,
    network_note: Time,
    answer: Time,
}

/// Runs the sender until its time is over or a signal comes.
pub(super) fn run(o: &TxOptions) -> Result<(), Failure> {
    let to = udp::look_up(&o.host, o.port, o.local.is_v6).map_err(Failure::usage)?;
    let columns = o.log_format.unwrap_or(o.generation);
    let logs = Logs::open(o, columns).map_err(Failure::usage)?;
    let screen = Screen::new(o.json);
    o.notes.iter().for_each(|note| screen.note(&format!("note: {note}")));
    let sent_as = match o.ect {
        0 => Ecn::Ect0,
        1 => Ecn::Ect1,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    };
    let (socket, port) = open(o, to, sent_as, &screen)?;
    if !o.any_source {
        socket.connect(to).map_err(|e| Failure::network(format!("{to}: {e}")))?;
    }
    let clock = Clock::start();
    let media = Media::new(o, clock.now()).map_err(Failure::usage)?;
    let buffer = socket.receive_buffer().unwrap_or(0);
    if buffer < udp::BUFFER && media.greatest_kbps() > 200_000.0 {
        screen.note(&super::buffer_hint("wmem", buffer));
    }
    if columns == Generation::V2026 {
        screen.note(&o.mtus[0].to_string());
    }
    screen.note(&format!("Listen on port {port} to receive RTCP from decoder "));
    match o.fixed_kbps.filter(|_| o.push_traffic) {
        Some(rate) => {
            screen.note(&format!("Scream sender started in push traffic mode {rate:.0}kbps"));
        }
        None => screen.note("Scream sender started! "),
    }
    let greatest = o.mtus.last().copied().unwrap_or(1200) as usize;
    let view = o.view.then(|| View::open(format!("SCReAM to {to}, {}", sent_as.name()))).flatten();
    if o.view && view.is_none() {
        screen.note("note: -view needs a terminal; lines instead");
    }
    let mut outbox = Outbox::new(BATCH, greatest);
    if o.any_source {
        outbox.address(to);
    }
    let now = clock.now();
    let mut tx = Tx {
        o,
        columns,
        screen,
        view,
        socket,
        to,
        sent_as,
        clock,
        media,
        outbox,
        logs,
        latest: now,
        is_warned: false,
        reports: 0,
        malformed: 0,
        foreign: 0,
        hearing: Hearing::default(),
        packets: 0,
        discards: Discards::default(),
        diagnosis: Diagnosis::default(),
        due: Due {
            tick: now + TICK,
            summary: now + SUMMARY,
            verbose: now + VERBOSE,
            silence: now,
            flush: now + FLUSH,
            network_note: now,
            answer: now,
        },
    };
    tx.go()
}

/// The socket and its port: the receiver's number, unless that is taken or the receiver is here.
fn open(
    o: &TxOptions,
    to: SocketAddr,
    ecn: Ecn,
    screen: &Screen,
) -> Result<(Socket, u16), Failure> {
    let opening = |port| Opening {
        is_v6: to.is_ipv6(),
        only_v6: to.is_ipv6(),
        port,
        interface: o.local.interface.clone(),
        tos: ecn.on_tos(o.local.dscp << 2),
        ..Opening::default()
    };
    let wanted = match o.local.port {
        Some(port) => port,
        None if udp::is_own(to) => 0,
        None => to.port(),
    };
    let opened = match Socket::open(&opening(wanted)) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && o.local.port.is_none() => {
            screen.note(&format!(
                "note: port {wanted} is taken here, another is used; a receiver of the original \
                 with a named sender would answer to {wanted}"
            ));
            Socket::open(&opening(0))
        }
        other => other,
    };
    let socket = opened.map_err(|e| match &o.local.interface {
        Some(name) if e.kind() != io::ErrorKind::AddrInUse => {
            Failure::network(format!("-if {name}: {e}"))
        }
        _ => Failure::network(format!("port {wanted}: {e}")),
    })?;
    let port = socket.local_addr().map_or(wanted, |a| a.port());
    Ok((socket, port))
}

impl Tx<'_> {
    fn go(&mut self) -> Result<(), Failure> {
        let stop = StopSignal::new().map_err(|e| Failure::network(format!("signals: {e}")))?;
        exact_timers();
        let end = self.o.duration_s.map_or(Time::NEVER, |s| Time((s * 1e9) as u64));
        let mut inbox = Inbox::new(16, REPORT);
        loop {
            let waits_for_room = !self.outbox.is_empty();
            let mut until = self.due.tick.min(end);
            if !waits_for_room {
                until = until.min(self.media.deadline());
            }
            let sleeps = self.o.fixed_kbps.is_some()
                && !waits_for_room
                && until.since(self.clock.now()) < SHORT;
            let interest = match () {
                () if sleeps => Interest::Nothing,
                () if waits_for_room => Interest::Both,
                () => Interest::Reading,
            };
            let woken = wait(self.socket.as_fd(), Some(&stop), interest, Some(until), self.clock)
                .map_err(|e| Failure::network(format!("poll: {e}")))?;
            if !woken.is_readable && !woken.is_stopped {
                self.diagnosis.woke(self.clock.now().since(until));
            }
            if woken.is_readable || sleeps {
                self.read(&mut inbox);
            }
            self.transmit();
            let now = self.clock.now();
            if now >= self.due.tick {
                self.due.tick = now + TICK;
                self.on_tick(now);
            }
            if woken.is_stopped || now >= end || self.screen.is_closed() {
                break;
            }
        }
        drop(stop);
        self.farewell()
    }

    fn read(&mut self, inbox: &mut Inbox) {
        loop {
            match inbox.receive(self.socket.as_fd(), self.clock) {
                Ok(0) => return,
                Ok(_) => {}
                Err(e) => {
                    if e.kind() == io::ErrorKind::ConnectionRefused {
                        self.hearing.refused();
                    }
                    return;
                }
            }
            for d in inbox.datagrams() {
                if d.bytes.len() < 2 {
                    continue; // keep-alives
                }
                if !self.o.any_source && d.from != self.to {
                    self.foreign += 1;
                    continue;
                }
                match Reply::parse(d.bytes) {
                    Some(Reply::Busy(challenge)) => self.on_busy(d.from, challenge),
                    Some(Reply::Full(packets)) => self.hearing.overflowed = packets,
                    None => self.on_feedback(d.at, d.bytes),
                }
            }
            if !inbox.is_full() {
                return;
            }
        }
    }

    /// The receiver has another sender.
    fn on_busy(&mut self, from: SocketAddr, challenge: u32) {
        let now = self.clock.now();
        if from != self.to || self.hearing.is_fresh() || now < self.due.answer {
            return;
        }
        self.due.answer = now + ANSWER;
        self.notify_receiver(&Notice::Answer(challenge).to_string());
        if self.hearing.busy() {
            if self.view.is_none() {
                let to = self.to;
                self.screen
                    .note(&format!("note: {to} is busy with another sender; waiting for it"));
            }
            self.screen.object(&json!({"type": "busy", "time_s": now.as_secs_f64()}));
        }
    }

    fn on_feedback(&mut self, at: Time, bytes: &[u8]) {
        // Not before what the sender did last: it may have sent while the report waited.
        let now = at.max(self.latest);
        self.latest = now;
        let (logs, screen) = (&mut self.logs, &self.screen);
        let unix_s = if self.o.ntp { unix_ns() as f64 / 1e9 } else { 0.0 };
        let is_detailed = self.o.detailed;
        let logs = RefCell::new(logs);
        let warn = |written: Result<(), String>| {
            if let Err(e) = written {
                screen.note(&format!("warning: {e}"));
            }
        };
        let arrived = self.media.arrived().total();
        let read = self.media.on_feedback(
            now,
            bytes,
            is_detailed,
            &mut |a| warn(logs.borrow_mut().ack(a, unix_s)),
            &mut |a| warn(logs.borrow_mut().fate(a, unix_s)),
        );
        if read.is_err() {
            self.malformed += 1;
            return;
        }
        self.reports += 1;
        if self.media.arrived().total() > arrived {
            if !self.hearing.has_heard() {
                self.discards.unmissed = self.never_left();
            }
            self.hearing.heard(now);
        }
        if is_detailed && !self.screen.is_json() {
            let line = self.media.debug_line(now, bytes);
            self.screen.line(&line);
        }
    }

    /// Hands the kernel what is due.
    fn transmit(&mut self) {
        for _ in 0..BATCHES {
            if self.outbox.is_empty() {
                // Taken before the packets leave: a preempted sender must not stamp them late.
                let now = self.clock.now();
                self.latest = now;
                self.media.on_timer(now);
                while !self.outbox.is_full()
                    && let Some(header) = self.media.poll(now)
                {
                    self.outbox.push(Header::write(&header), header.payload);
                }
            }
            let waiting = self.outbox.len();
            if waiting == 0 {
                return;
            }
            let gso = match self.o.gso {
                Gso::Auto if self.o.fixed_kbps.is_some() && waiting >= LONG_FIXED_BURST => BATCH,
                Gso::Auto if waiting >= LONG_BURST => TRAIN,
                Gso::On => BATCH,
                Gso::Auto | Gso::Off => 1,
            };
            let done = self.send(gso);
            self.packets += (waiting - self.outbox.len()) as u64;
            self.hearing.sent(self.latest);
            if !done {
                return;
            }
        }
    }

    fn send(&mut self, gso: usize) -> bool {
        match self.outbox.send(self.socket.as_fd(), gso) {
            Ok(done) => done,
            Err(e) => {
                let now = self.clock.now();
                if e.kind() == io::ErrorKind::ConnectionRefused {
                    self.hearing.refused();
                } else if now >= self.due.network_note {
                    self.due.network_note = now + PATIENCE;
                    self.screen.note(&format!("warning: packets are not sent: {e}"));
                }
                self.outbox.is_empty()
            }
        }
    }

    fn on_tick(&mut self, now: Time) {
        if now >= self.due.flush {
            self.due.flush = now + FLUSH;
            self.flush_logs();
            self.judge_path();
        }
        if self.o.push_traffic {
            self.on_tick_of_push(now);
            return;
        }
        self.report_discards(now);
        if self.hearing.is_fresh()
            && let Some(moment) = self.media.moment()
        {
            self.diagnosis.sample(moment);
        }
        if self.hearing.is_silent() {
            if now >= self.due.silence {
                self.due.silence = now + SUMMARY;
                self.report_silence();
            }
        } else if now > self.due.summary && self.hearing.has_heard() {
            self.due.summary = now + SUMMARY;
            self.summary(now);
            self.notify_discards();
        }
        if now > self.due.verbose && (self.o.verbose || self.view.is_some()) {
            self.due.verbose = now + VERBOSE;
            self.verbose(now);
        }
    }

    /// What the diagnosis rests on beside its samples.
    fn facts(&self, now: Time) -> Facts<'_> {
        Facts {
            sent_as: self.sent_as,
            arrived: self.media.arrived(),
            is_fixed: self.o.fixed_kbps.is_some(),
            run: now.since(Time::ZERO),
            without_feedback: self.hearing.missing(now),
            overflowed: self.hearing.overflowed,
            refused: self.outbox.dropped(),
        }
    }

    fn flush_logs(&mut self) {
        for warning in self.logs.flush() {
            self.screen.note(&format!("warning: {warning}"));
        }
    }

    /// Packets that were thrown away at this end.
    fn never_left(&self) -> u64 {
        self.media.discarded() + self.outbox.dropped()
    }

    fn report_discards(&mut self, now: Time) {
        let discarded = self.media.discarded();
        let before = std::mem::replace(&mut self.discards.shown, discarded);
        // Without any feedback this is no news.
        if discarded > before && self.hearing.has_heard() && self.view.is_none() {
            // The original reports more of it, and without bound.
            let (t, n) = (now.as_secs_f64(), discarded - before);
            self.screen
                .note(&format!(" {t:.3} RTP queue {n} packets discarded for SSRC {TOOL_SSRC}"));
        }
    }

    /// The receiver sees gaps where packets never left.
    fn notify_discards(&mut self) {
        let discarded = self.never_left() - self.discards.unmissed;
        if std::mem::replace(&mut self.discards.notified, discarded) < discarded {
            self.notify_receiver(&Notice::Discarded(discarded).to_string());
        }
    }

    fn on_tick_of_push(&mut self, now: Time) {
        if now > self.due.summary {
            let payload = self.media.take_pushed();
            let s = (now.since(self.due.summary) + SUMMARY).as_secs_f64();
            let rate = payload as f64 * 8e-3 / s;
            self.due.summary = now + SUMMARY;
            let t = now.as_secs_f64();
            if !self.o.no_summary {
                self.screen.line(&format!(" summary {t:5.1}  Transmit rate = {rate:5.0}kbps"));
                self.screen.object(&json!({"type": "summary", "time_s": t, "rate_kbps": rate}));
            }
        }
    }

    fn report_silence(&self) {
        if self.view.is_some() {
            return;
        }
        self.screen.note("No RTCP feedback received");
        if self.hearing.is_refused() {
            let to = self.to;
            self.screen.note(&format!(
                "hint: nobody listens at {to}; is scream-bw-test-rx running there?"
            ));
        } else if self.hearing.reason().is_none() && !self.hearing.has_heard() {
            let text = "hint: is the receiver running, and is this UDP port open at both ends? \
                        Start the end behind a NAT or firewall first";
            self.screen.note(text);
        }
    }

    fn summary(&mut self, now: Time) {
        let Some(line) = self.media.summary_line(now) else { return };
        if self.o.no_summary || self.view.is_some() {
            return;
        }
        self.screen.line(&line.text(self.columns));
        self.screen.object(&objects::summary(&line));
    }

    fn verbose(&mut self, now: Time) {
        let is_measured = self.hearing.is_fresh();
        let Some(line) = self.media.verbose_line(now, is_measured) else { return };
        let diagnosis = self.view.is_some().then(|| self.diagnosis.line(&self.facts(now)));
        if let Some(view) = &mut self.view {
            let known = |value: f32| if is_measured { value } else { f32::NAN };
            let loss_pct = self.media.summary_line(now).map_or(0.0, |s| s.loss_pct[0]);
            let share = |kbps: f32| 100.0 * kbps / line.rate_kbps.max(1.0);
            view.draw(
                line.time_s,
                Sample {
                    rate_kbps: line.rate_kbps,
                    target_kbps: self.media.target_kbps(),
                    rtt_ms: known(line.srtt_s * 1e3),
                    queue_delay_ms: known(line.queue_delay_s * 1e3),
                    ce_pct: known(share(line.ce_kbps)),
                    loss_pct: known(loss_pct),
                    cwnd: line.cwnd,
                    in_flight: line.in_flight,
                },
                &diagnosis.unwrap_or_default(),
            );
        }
        if !self.o.verbose {
            return;
        }
        let text = line.text(self.columns);
        if self.view.is_none() {
            self.screen.line(&text);
            self.screen.object(&objects::verbose(&line));
        }
        self.notify_receiver(&text);
    }

    /// The line for the receiver's screen.
    fn notify_receiver(&self, text: &str) {
        let mut datagram = [0; 452];
        let len = write_statistics(&mut datagram, text);
        // It is lost as any packet may be.
        let _ = if self.o.any_source {
            self.socket.send_to(&datagram[..len], self.to)
        } else {
            self.socket.send(&datagram[..len])
        };
    }

    fn judge_path(&mut self) {
        if self.is_warned {
            return;
        }
        if let Some(warning) = self.media.arrived().warning(self.sent_as) {
            self.is_warned = true;
            if self.view.is_none() {
                self.screen.note(&format!("warning: {warning}"));
            }
            self.screen.object(&json!({"type": "warning", "what": "ecn", "text": warning}));
        }
    }

    fn farewell(&mut self) -> Result<(), Failure> {
        self.view = None; // gives the terminal back
        let now = self.clock.now();
        self.notify_discards();
        self.notify_receiver(&Notice::Ends.to_string());
        std::thread::sleep(REPEAT);
        self.notify_receiver(&Notice::Ends.to_string());
        self.flush_logs();
        let missing = self.hearing.missing(now).as_secs_f64();
        if let Some(last) = self.media.final_summary() {
            let discarded = self.never_left() - self.discards.unmissed;
            self.screen.block(&last.text(discarded));
            let mut object = objects::last(&last);
            if self.hearing.has_heard() {
                let facts = self.facts(now);
                let line = self.diagnosis.line(&facts);
                object["diagnosis"] = self.diagnosis.object(&facts);
                self.screen.block(&format!("Diagnosis: {line}\n"));
            }
            let s = now.as_secs_f64();
            object["schema"] = "sojourn/scream-tx/1".into();
            object["time_s"] = s.into();
            object["without_feedback_s"] = missing.into();
            object["packets"] = self.packets.into();
            object["reports"] = self.reports.into();
            object["malformed"] = self.malformed.into();
            object["discarded"] = self.media.discarded().into();
            object["not_sent"] = self.outbox.dropped().into();
            object["cpu_s"] = cpu_seconds().into();
            self.screen.result(&object);
        }
        if let Some(warning) = self.media.arrived().warning(self.sent_as) {
            self.screen.note(&format!("warning: {warning}"));
        }
        for (count, what) in [
            (
                self.diagnosis.missed().into(),
                "deadlines were missed by 5 ms or more on this machine",
            ),
            (self.outbox.dropped(), "packets were refused by this machine's network"),
            (self.malformed, "datagrams were no feedback and were ignored"),
            (self.foreign, "datagrams came from elsewhere and were ignored"),
        ] {
            if count > 0 {
                self.screen.note(&format!("note: {count} {what}"));
            }
        }
        self.judge_hearing(now)
    }

    /// Whether the receiver was heard to the end.
    fn judge_hearing(&self, now: Time) -> Result<(), Failure> {
        if self.o.push_traffic {
            return Ok(());
        }
        let (to, hearing) = (self.to, &self.hearing);
        let missing =
            if hearing.has_heard() { hearing.missing(now) } else { now.since(Time::ZERO) };
        if missing > Dur::ZERO {
            let (x, y) = (missing.as_secs_f64(), now.as_secs_f64());
            self.screen.note(&format!("warning: no feedback for {x:.1} of {y:.1} s"));
        }
        if hearing.is_fresh() {
            return Ok(());
        }
        let why = hearing.reason().map_or(String::new(), |why| format!(": {why}"));
        let what = if hearing.has_heard() { "was lost before the end" } else { "gave no feedback" };
        Err(Failure::network(format!("the receiver {to} {what}{why}")))
    }
}
