//! The models of the specification's appendix A: media, transmission, one link and a receiver in
//! steps of 1/65536 s.

use std::collections::VecDeque;

use sojourn_cc::scream::{AckLine, Config, Permit, Rtp, Sender, Stream, Summary, Ticks, Version};
use sojourn_core::Ecn;

use super::receiver::{Receiver, Report};

const PER_SECOND: u32 = 65_536;
const FIRST: u32 = 65;

/// When packets leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transmit {
    /// Each at its time.
    Paced,
    /// In bursts of this length in seconds, on a machine with slack.
    Bursts(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) config: Config,
    pub(crate) max_rate: f32,
    pub(crate) ecn: Ecn,
    pub(crate) seconds: u32,
    /// bit/s from these seconds on.
    pub(crate) rates: Vec<(u32, f64)>,
    /// Delay to the receiver and back, ticks.
    pub(crate) forward: u32,
    pub(crate) back: u32,
    /// Of the link's queue, bytes.
    pub(crate) limit: u32,
    /// Packets that waited longer and have others behind them are marked, ticks.
    pub(crate) threshold: f64,
    /// Of a packet, and what the link adds to it and its RTP header, bytes.
    pub(crate) payload: u32,
    pub(crate) overhead: u32,
    pub(crate) transmit: Transmit,
    /// Of the frames' sizes, percent, half of it up.
    pub(crate) variation: f32,
    /// This share of the packets is marked, too, evenly.
    pub(crate) mark: Option<f64>,
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) lines: Vec<AckLine>,
    pub(crate) drops: u32,
    pub(crate) received: u32,
    pub(crate) summary: Summary,
}

/// The model of this name as one of the tools runs in it.
pub(crate) fn model(name: char, version: Version) -> Model {
    let tool = Config { parity: true, ..Config::new(version) };
    let a = Model {
        config: Config { l4s: true, ..tool.clone() },
        max_rate: 200e6,
        ecn: Ecn::Ect1,
        seconds: 30,
        rates: vec![(0, 50e6)],
        forward: 819,
        back: 819,
        limit: 1_000_000,
        threshold: 66.0,
        payload: 1200,
        overhead: 28,
        transmit: Transmit::Paced,
        variation: 0.0,
        mark: None,
    };
    match name {
        'A' => a,
        'B' => Model {
            config: tool,
            ecn: Ecn::NotEct,
            rates: vec![(0, 20e6)],
            forward: 1638,
            back: 1638,
            limit: 500_000,
            ..a
        },
        'C' => Model {
            config: tool,
            ecn: Ecn::Ect0,
            rates: vec![(0, 20e6)],
            limit: 500_000,
            threshold: 328.0,
            ..a
        },
        'D' => Model { rates: vec![(0, 50e6), (10, 10e6), (20, 50e6)], ..a },
        'E' => Model {
            config: tool,
            ecn: Ecn::NotEct,
            rates: vec![(0, 10e6)],
            forward: 1311,
            back: 1311,
            limit: 30_000,
            ..a
        },
        'F' => Model {
            config: Config { least_cwnd: 2 * 1372, mtus: vec![1360], ..a.config },
            rates: vec![(0, 100e6)],
            forward: 3,
            back: 1638,
            limit: 5_000_000,
            payload: 1360,
            overhead: 42,
            transmit: Transmit::Bursts(0.5e-3),
            ..a
        },
        _ => panic!("no model {name}"),
    }
}

struct Queued {
    at: u32,
    bytes: u32,
    seq: u16,
    marker: bool,
}

const SSRC: u32 = 100;
const HEADER: u32 = 12;
const FPS: u32 = 50;

pub(crate) fn run(model: &Model) -> Outcome {
    let mut out = Outcome::default();
    let mut sender = Sender::new(model.config.clone(), Ticks(FIRST));
    let stream = Stream { max_rate: model.max_rate, ..Stream::new(SSRC) };
    let stream = sender.add_stream(stream).unwrap();
    let mut receiver = Receiver::new(model.config.version);
    let mut on_the_way: VecDeque<(u32, Queued)> = VecDeque::new();
    let mut queue: VecDeque<Queued> = VecDeque::new();
    let mut queued_bytes = 0;
    let mut link_free = 0.0_f64;
    let mut reports: VecDeque<(u32, Report)> = VecDeque::new();
    let mut seq = 0_u16;
    let mut scheduled = None;
    let (mut busy, mut burst) = (0.0_f64, 0.0_f32);
    let mut dice = sojourn_core::Rng::named(1, "frames");
    let mut marks = 0.0;
    for n in FIRST..FIRST + model.seconds * PER_SECOND {
        let now = Ticks(n);
        let mut event = false;
        if (n - FIRST).is_multiple_of(PER_SECOND / FPS) {
            event = true;
            let timestamp = (n as f32 / 65536.0 * 90_000.0) as u32;
            let rate = sender.target(now, stream).unwrap_or(0.0);
            let random = dice.unit() as f32 - 0.5;
            let mut bytes =
                (rate / FPS as f32 / 8.0 * (1.0 + random * model.variation / 100.0)) as u32;
            while bytes > 0 {
                let payload = bytes.min(model.payload);
                bytes -= payload;
                let rtp = Rtp {
                    seq,
                    bytes: payload + HEADER,
                    timestamp,
                    marker: bytes == 0,
                    queued: now,
                    handle: u64::from(seq),
                };
                sender.push(now, stream, rtp);
                seq = seq.wrapping_add(1);
            }
            while sender.take_discarded().is_some() {}
        }
        while on_the_way.front().is_some_and(|&(at, _)| at <= n) {
            let (_, packet) = on_the_way.pop_front().unwrap();
            let bytes = packet.bytes + model.overhead;
            if queued_bytes + bytes > model.limit {
                out.drops += 1;
                continue;
            }
            queued_bytes += bytes;
            queue.push_back(Queued { at: n, ..packet });
        }
        let second = n / PER_SECOND;
        let rate = model.rates.iter().rev().find(|&&(from, _)| from <= second).unwrap().1;
        while let Some(packet) = queue.front() {
            let start = link_free.max(f64::from(packet.at));
            let finish = start + f64::from((packet.bytes + model.overhead) * 8) / rate * 65536.0;
            if finish > f64::from(n) {
                break;
            }
            link_free = finish;
            let sojourn = start - f64::from(packet.at);
            let mut ecn = model.ecn;
            if ecn.is_capable() && sojourn > model.threshold && queue.len() >= 2 {
                ecn = Ecn::Ce;
            }
            if let Some(share) = model.mark {
                marks += share;
                if marks >= 1.0 {
                    marks -= 1.0;
                    ecn = Ecn::Ce;
                }
            }
            let packet = queue.pop_front().unwrap();
            queued_bytes -= packet.bytes + model.overhead;
            out.received += 1;
            receiver.receive(n, packet.seq, ecn, packet.marker, packet.bytes);
            let made = std::iter::from_fn(|| receiver.report(n));
            reports.extend(made.map(|report| (n + model.back, report)));
        }
        if n.is_multiple_of(33) {
            reports.extend(receiver.report(n).map(|report| (n + model.back, report)));
        }
        while reports.front().is_some_and(|&(at, _)| at <= n) {
            let (_, report) = reports.pop_front().unwrap();
            for (begin, metrics) in report {
                let mut log = |line: &AckLine| out.lines.push(*line);
                sender.on_block(now, SSRC, begin, metrics.into_iter(), false, &mut log);
            }
            event = true;
        }
        let mut send = |sender: &mut Sender| {
            let departure = sender.transmit(now, stream)?;
            let packet = departure.packet;
            let packet =
                Queued { at: n, bytes: packet.bytes, seq: packet.seq, marker: packet.marker };
            on_the_way.push_back((n + model.forward, packet));
            Some(departure.pace)
        };
        match model.transmit {
            Transmit::Paced => {
                if !event && scheduled.is_none_or(|at| at > n) {
                    continue;
                }
                scheduled = None;
                loop {
                    match sender.may_transmit(now) {
                        Permit::No => break,
                        Permit::Send { after, .. } if after > 0.0 => {
                            scheduled = Some(n + ((65536.0 * after) as u32).max(1));
                            break;
                        }
                        Permit::Send { .. } => {
                            send(&mut sender);
                        }
                    }
                }
            }
            Transmit::Bursts(interval) => {
                let t = f64::from(n) / 65536.0;
                while t >= busy {
                    if sender.may_transmit(now) == Permit::No {
                        busy = t + 10e-6 + 60e-6;
                        break;
                    }
                    let acc = f64::from(burst);
                    if acc > interval {
                        let sleep = if acc > 1.1 * interval { acc } else { interval } - 100e-6;
                        busy = t + sleep.max(10e-6) + 60e-6;
                        burst = 0.0;
                        break;
                    }
                    burst += send(&mut sender).unwrap_or(0.0);
                    busy = busy.max(t) + 5e-6;
                }
            }
        }
    }
    out.summary = sender.summary();
    out
}
