//! Fuzzes what strangers send: SCReAM's two ends with a hostile network between them, and their parsers.
//!
//! Datagrams are lost, repeated, reordered, replayed after seconds, cut, changed in single bits or words,
//! and made up. Nothing may panic, poll without end, or grow; and once the network is itself again,
//! media get through.

use std::collections::VecDeque;
use std::time::Duration;

use sojourn_cc::scream::{AckLine, Config, Stream, Version};
use sojourn_core::wire::ccfb::{Count, Counting, Report};
use sojourn_core::wire::rtp::Datagram;
use sojourn_core::{Dur, Ecn, Rng, Time};
use sojourn_transport::media::scream_rx::{self, REPORT_BYTES, Receiver, Timer};
use sojourn_transport::media::scream_tx::{Encoder, Host, Key, OnOff, Params, Session, Tool};

use crate::computed;

/// More packets or reports than this at one instant are a loop without end.
const ENDLESS: u32 = 20_000;
/// Memory may grow by this much after the first sessions, bytes.
const GROWTH: u64 = 64 << 20;
/// Length of a session: some seconds among strangers, then some in peace.
const HOSTILE: Time = Time(4_000_000_000);
const PEACE: Time = Time(9_000_000_000);
/// Strangers' datagrams to each end at each instant.
const STRANGE: u32 = 8;
/// Their datagrams in a session.
const STRANGERS: u32 = 50_000;
/// Datagrams on their way, at most: a queue.
const LIMIT: usize = 300;
/// Datagrams that the network remembers for replays.
const REPLAYS: usize = 256;

/// Runs sessions until there were `goal` datagrams or the time is over; announces each before it starts.
/// Gives sessions and datagrams.
pub(crate) fn run(
    goal: u64,
    limit: Duration,
    seed: u64,
    mut announce: impl FnMut(String),
) -> Result<(u64, u64), String> {
    let start = computed();
    let (mut sessions, mut datagrams) = (0, 0);
    let mut memory = None;
    while (datagrams < goal && computed() < start + limit) || sessions < 2 {
        announce(format!("session {sessions} of seed {seed}"));
        let rng = Rng::named(seed, &format!("datagrams.{sessions}"));
        datagrams += Lab::new(rng).run().map_err(|fault| format!("session {sessions}: {fault}"))?;
        sessions += 1;
        let now = resident();
        let first = *memory.get_or_insert(now);
        if sessions > 8 && now > first + GROWTH {
            return Err(format!("session {sessions}: {now} bytes of memory, {first} at first"));
        }
    }
    Ok((sessions, datagrams))
}

/// Bytes of memory in use; 0 where that cannot be asked.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}

/// Changes a datagram as only strangers do.
fn spoil(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let len = bytes.len() as u32;
    match rng.below(6) {
        0 => bytes.truncate(rng.below(len + 1) as usize),
        1 => {
            for word in bytes.chunks_mut(4) {
                word.copy_from_slice(&rng.u32().to_le_bytes()[..word.len()]);
            }
        }
        2 => bytes.extend((0..rng.below(400)).map(|n| n as u8)),
        3 => {
            // A word that parsers are tempted by.
            const WORDS: [u16; 8] = [0, 1, 0x3f, 0x40, 0x7fff, 0x8000, 0xfffe, 0xffff];
            let at = 2 * rng.below(len / 2 + 1) as usize;
            if let Some(place) = bytes.get_mut(at..at + 2) {
                place.copy_from_slice(&WORDS[rng.below(8) as usize].to_be_bytes());
            }
        }
        _ => {
            // Headers more often than what they are the headers of.
            let most = if rng.below(2) == 0 { len.min(20) } else { len };
            for _ in 0..=rng.below(4) {
                if let Some(byte) = bytes.get_mut(rng.below(most.max(1)) as usize) {
                    *byte ^= 1 << rng.below(8);
                }
            }
        }
    }
}

/// One direction of the network.
struct Net {
    delay: Dur,
    hostility: u32,
    flight: VecDeque<(Time, Vec<u8>, Ecn)>,
    old: Vec<Vec<u8>>,
}

impl Net {
    fn new(rng: &mut Rng) -> Self {
        let delay = Dur::from_micros(u64::from(rng.below(60_000)));
        Self { delay, hostility: 1 + rng.below(40), flight: VecDeque::new(), old: Vec::new() }
    }

    fn send(&mut self, now: Time, bytes: &[u8], rng: &mut Rng) {
        if self.flight.len() >= LIMIT {
            return;
        }
        let ecn = Ecn::from_tos(rng.below(4) as u8);
        let mut due = now + self.delay;
        if now >= HOSTILE || rng.below(100) >= self.hostility {
            let ecn = if now >= HOSTILE { Ecn::Ect1 } else { ecn };
            self.flight.push_back((due, bytes.to_vec(), ecn));
            return;
        }
        if self.old.len() < REPLAYS {
            self.old.push(bytes.to_vec());
        } else {
            self.old[rng.below(REPLAYS as u32) as usize] = bytes.to_vec();
        }
        let mut bytes = bytes.to_vec();
        match rng.below(5) {
            0 => return,
            1 => self.flight.push_back((due, bytes.clone(), ecn)),
            2 => due += Dur::from_micros(u64::from(rng.below(200_000))),
            3 => bytes.clone_from(&self.old[rng.below(self.old.len() as u32) as usize]),
            _ => spoil(&mut bytes, rng),
        }
        self.flight.push_back((due, bytes, ecn));
    }

    fn due(&self) -> Time {
        self.flight.iter().map(|(due, ..)| *due).min().unwrap_or(Time::NEVER)
    }

    /// A stranger's datagram, made from what it heard.
    fn strange(&self, bytes: &mut Vec<u8>, rng: &mut Rng) -> bool {
        if self.old.is_empty() {
            return false;
        }
        bytes.clone_from(&self.old[rng.below(self.old.len() as u32) as usize]);
        spoil(bytes, rng);
        true
    }

    fn arrived(&mut self, now: Time) -> Option<(Vec<u8>, Ecn)> {
        let at = self.flight.iter().position(|(due, ..)| *due <= now)?;
        self.flight.remove(at).map(|(_, bytes, ecn)| (bytes, ecn))
    }
}

struct Lab {
    rng: Rng,
    session: Session,
    receiver: Receiver,
    forward: Net,
    back: Net,
    datagrams: u64,
    /// A stranger's datagram, and how many are still to come.
    strange: Vec<u8>,
    strangers: u32,
}

impl Lab {
    fn new(mut rng: Rng) -> Self {
        let versions = [Version::V2024, Version::V2024b, Version::Draft, Version::V2026];
        let version = versions[rng.below(4) as usize];
        let parity = rng.below(2) == 0;
        let count = if rng.below(2) == 0 { Count::Exact } else { Count::LessOne };
        let tool = Tool {
            fps: f64::from(1 + rng.below(120)),
            rand: rng.below(101) as f32,
            key: (rng.below(3) == 0)
                .then_some(Key { every: Dur::from_millis(700), times: 1.0 + rng.below(50) as f32 }),
            burst: (rng.below(4) == 0)
                .then_some(OnOff { on: Dur::from_millis(900), off: Dur::from_millis(400) }),
        };
        let streams = if parity { 1 } else { 1 + rng.below(10) };
        let max_rate = 1e6 * (1.0 + rng.below(20) as f32);
        let media = |ssrc| (Stream { max_rate, ..Stream::new(ssrc) }, Encoder::Tool(tool));
        let params = Params {
            config: Config { parity, l4s: rng.below(2) == 0, ..Config::new(version) },
            streams: (100..100 + streams).map(media).collect(),
            microburst: Dur::from_micros(500),
            host: if rng.below(3) == 0 { Host::MODEL } else { Host::default() },
            counting: Counting::default(),
        };
        let receiving = scream_rx::Params {
            count,
            reported: 1 + rng.below(512) as u16,
            ackdiff: (rng.below(2) == 0).then(|| 1 + rng.below(512) as u16),
            timer: if rng.below(2) == 0 { Timer::Exact } else { Timer::Grid },
            ..scream_rx::Params::new(version, parity)
        };
        Self {
            session: Session::new(params, rng.clone()),
            receiver: Receiver::new(receiving, Time::ZERO),
            forward: Net::new(&mut rng),
            back: Net::new(&mut rng),
            rng,
            datagrams: 0,
            strange: Vec::new(),
            strangers: STRANGERS,
        }
    }

    /// Datagrams that were read, or what went wrong.
    fn run(mut self) -> Result<u64, String> {
        self.session.start(Time::ZERO);
        let (mut now, mut instants) = (Time::ZERO, 0_u32);
        let mut before = None;
        while now < PEACE {
            self.instant(now)?;
            if before.is_none() && now >= Time(PEACE.0 - 2_000_000_000) {
                before = Some((self.receiver.counts().packets, self.session.counts().reports));
            }
            let next = self.session.deadline().min(self.receiver.deadline());
            let next = next.min(self.forward.due()).min(self.back.due());
            instants = if next <= now { instants + 1 } else { 0 };
            if instants > ENDLESS {
                return Err(format!("time stands still at {now}"));
            }
            now = next.max(now);
        }
        let (packets, reports) = before.unwrap_or_default();
        let got =
            (self.receiver.counts().packets - packets, self.session.counts().reports - reports);
        if got.0 == 0 || got.1 == 0 {
            return Err(format!("no recovery: {} packets, {} reports in 2 s", got.0, got.1));
        }
        Ok(self.datagrams)
    }

    fn instant(&mut self, now: Time) -> Result<(), String> {
        if self.session.deadline() <= now {
            self.session.on_timer(now);
        }
        while let Some((bytes, ecn)) = self.forward.arrived(now) {
            self.receive(now, &bytes, ecn)?;
        }
        if self.receiver.deadline() <= now {
            self.reports(now)?;
        }
        while let Some((bytes, _)) = self.back.arrived(now) {
            self.report_back(now, &bytes)?;
        }
        let mut bytes = std::mem::take(&mut self.strange);
        let visits = if now < HOSTILE { STRANGE.min(self.strangers) } else { 0 };
        self.strangers -= visits;
        for _ in 0..visits {
            if self.forward.strange(&mut bytes, &mut self.rng) {
                let ecn = Ecn::from_tos(self.rng.below(4) as u8);
                self.receive(now, &bytes, ecn)?;
            }
            if self.back.strange(&mut bytes, &mut self.rng) {
                self.report_back(now, &bytes)?;
            }
        }
        self.strange = bytes;
        let mut sent = 0;
        while let Some(packet) = self.session.poll(now) {
            let mut bytes = packet.header().write().to_vec();
            bytes.resize(packet.rtp.bytes as usize, 0);
            self.forward.send(now, &bytes, &mut self.rng);
            sent += 1;
            if sent > ENDLESS {
                return Err(format!("{sent} packets at {now}"));
            }
        }
        Ok(())
    }

    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) -> Result<(), String> {
        self.datagrams += 1;
        if let Ok(Datagram::Media(header)) = Datagram::parse(bytes) {
            self.receiver.on_rtp(now, &header, bytes.len() as u32, ecn);
            self.reports(now)?;
        }
        Ok(())
    }

    fn report_back(&mut self, now: Time, bytes: &[u8]) -> Result<(), String> {
        self.datagrams += 1;
        let mut lines = 0_u32;
        let detailed = self.rng.below(2) == 0;
        let mut log = |_: &AckLine| lines += 1;
        let _ = self.session.on_feedback(now, bytes, detailed, &mut log); // either is fine
        if lines > ENDLESS {
            return Err(format!("{lines} lines for one report"));
        }
        Ok(())
    }

    fn reports(&mut self, now: Time) -> Result<(), String> {
        let mut out = [0; REPORT_BYTES];
        let mut made = 0;
        while let Some(len) = self.receiver.next_report(now, &mut out) {
            let counting = Counting::fixed(self.receiver.params().count);
            if let Err(error) = Report::parse(&out[..len], &mut { counting }) {
                return Err(format!("own report: {error}"));
            }
            self.back.send(now, &out[..len], &mut self.rng);
            made += 1;
            if made > 200 {
                return Err(format!("{made} reports at {now}"));
            }
        }
        Ok(())
    }
}
