//! The least port that can drive a queue: an infinitely fast wire, as a veth pair is.

use sojourn_core::grammar::GrammarError;
use sojourn_core::packet::{FlowId, Kind, Packet};
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;
use sojourn_queue::aqm::{Env, Event, Log, Qdisc, Stats};
use sojourn_queue::qdiscs;

use crate::cases::Case;
use crate::guest::{Judged, SILENCE_S};
use crate::{Arrival, Passage};

/// The guest's clock moves in steps of 256 ns: a timer fires at the first step that is not early.
const CLOCK_NS: u64 = 256;

/// How the guest's instants are read: its clock is read several times on a packet's way, and each
/// reading moves it a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// From the noted to the real instant of sending, in nanoseconds.
    pub sent_ns: i64,
    /// From a timer to the service that it starts, in nanoseconds.
    pub service_ns: u64,
    /// Serve when Linux did, where that is after the timer and less than [`TOLERANCE_NS`] later:
    /// `service_ns` is then how much earlier than the departure that was noted.
    pub follows: bool,
}

/// Four steps of the guest's clock, which is read several times on a packet's way.
pub const TOLERANCE_NS: u64 = 4 * CLOCK_NS;

struct Port<'a> {
    /// Departures from Linux.
    instants: &'a [Arrival],
    phase: Phase,
    qdisc: Box<dyn Qdisc>,
    log: Log,
    passage: Passage,
    bytes: u64,
    drops: u64,
}

impl Port<'_> {
    fn serve(&mut self, now: u64) {
        while let Some(pkt) = self.qdisc.dequeue(Time(now), &mut self.log) {
            self.bytes += u64::from(pkt.len);
            self.passage.left.push(Arrival { seq: pkt.id, time_ns: now, tos: pkt.tos });
        }
        let dropped = self.log.drain().filter(|e| matches!(e, Event::Drop(..))).count();
        self.drops += dropped as u64;
    }

    /// When the queue's next timer is served.
    fn next(&self) -> Option<u64> {
        let at = self.qdisc.wake();
        if at == Time::NEVER {
            return None;
        }
        let at = at.0.next_multiple_of(CLOCK_NS);
        if !self.phase.follows {
            return Some(at + self.phase.service_ns);
        }
        let first = self.instants.partition_point(|a| a.time_ns < at);
        let noted = self.instants.get(first).filter(|a| a.time_ns - at < TOLERANCE_NS);
        Some(noted.map_or(at, |a| at.max(a.time_ns - self.phase.service_ns)))
    }

    /// Serves what is due at `until` or earlier.
    fn wake(&mut self, until: u64) {
        while let Some(now) = self.next().filter(|&now| now <= until) {
            self.qdisc.on_wake(Time(now), &mut self.log);
            self.serve(now);
        }
    }
}

/// Sends the packets that Linux got through a queue created at the same instant, and waits as long after the last
/// departure as the guest does before it reads the counters.
pub fn run(case: &Case, linux: &Judged, phase: Phase, seed: u64) -> Result<Passage, GrammarError> {
    let (offered, created_ns) = (&linux.offered, linux.created_ns);
    let silence_ns = SILENCE_S * 1_000_000_000;
    let env = |name| Env { now: Time(created_ns), ..Env::ethernet(Rng::named(seed, name)) };
    let mut qdisc = qdiscs::build(case.ours.unwrap_or(case.qdisc), env("qdisc"))?;
    if let Some(shaper) = case.shaper {
        qdisc = qdiscs::build_shaped(shaper, qdisc, &env("shaper"))?;
    }
    let mut port = Port {
        instants: &linux.passage.left,
        phase,
        qdisc,
        log: Log::default(),
        passage: Passage::default(),
        bytes: 0,
        drops: 0,
    };
    for (p, id) in offered.iter().zip(0..) {
        let now = p.time_ns.saturating_add_signed(phase.sent_ns);
        port.wake(now);
        let packet = Packet {
            id,
            flow: FlowId(u32::from(p.flow) * 2),
            // Far apart in every hash table.
            hash: u32::from(p.flow).wrapping_mul(0x9E37_79B1),
            len: p.len,
            tos: p.tos,
            kind: Kind::Udp,
            segs: 1,
            ..Packet::default()
        };
        port.qdisc.enqueue(Time(now), packet, &mut port.log);
        port.serve(now);
    }
    let last = offered.last().map_or(created_ns, |p| p.time_ns);
    while let Some(next) = port.next().filter(|_| port.qdisc.backlog().packets > 0) {
        port.wake(next);
    }
    let end = port.passage.left.last().map_or(last, |a| a.time_ns.max(last)) + silence_ns;
    port.wake(end);

    let mut stats = Stats::default();
    let qdisc = port.qdisc.as_ref();
    let leaf = if case.shaper.is_some() { qdisc.leaf().unwrap_or(qdisc) } else { qdisc };
    leaf.stats(&mut stats);
    let mut passage = port.passage;
    let common = [
        ("bytes", port.bytes),
        ("packets", passage.left.len() as u64),
        ("drops", port.drops),
        ("backlog", qdisc.backlog().bytes),
        ("qlen", u64::from(qdisc.backlog().packets)),
    ];
    passage.stats = common.map(|(name, value)| (name.to_string(), value as f64)).into();
    // The counters of CAKE's tins, `best_effort.pkts`, by the place of the tin, as in tc's JSON.
    let mut tins: Vec<&str> = Vec::new();
    passage.stats.extend(stats.0.iter().map(|(name, value)| match name.split_once('.') {
        Some((tin, counter)) => {
            if tins.last() != Some(&tin) {
                tins.push(tin);
            }
            (format!("tin {} {counter}", tins.len() - 1), *value)
        }
        None => ((*name).to_string(), *value),
    }));
    Ok(passage)
}
