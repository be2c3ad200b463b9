//! Two captures of the same packets, at two points of their path: what happened between.
//!
//! Packets are matched by what does not change on their way: protocol, addresses and ports, lengths, TCP's sequence
//! and acknowledgement numbers, or the first 32 bytes of the payload; of packets that are alike, those with the same
//! identification and timestamps. A packet waits for its like no longer than [`Options::window_s`] after the other
//! capture has come to its time, and [`Options::window_packets`] wait in each capture at the most, 120 bytes for
//! each: memory is 65 MB by default, and 1 MB for each long flow and direction as long as there are few.
//!
//! The clocks of the points are compared with [`Moon, Skelly and Towsley's`](crate::report::Clocks) method.

mod flow;
mod packet;
mod window;

use std::collections::HashMap;
use std::hash::RandomState;
use std::net::IpAddr;

use sojourn_capture::layers::{Layers, dissect};
use sojourn_capture::read::Capture;
use sojourn_core::Time;

use crate::clock::{Fit, Floor, KEPT};
use crate::report::pair::{FORMAT, Report};
use flow::Flow;
use packet::{Ends, Packet};
use window::{Seen, Window};

/// Clocks that are this far apart, ns, were not set by the same: the captures are aligned by their first packets.
const UNSET: u64 = 3_600_000_000_000;
/// Flows of one capture; packets of later ones are skipped.
const MOST_FLOWS: usize = 1 << 20;
/// Delays that are kept of all flows together.
const MOST_DELAYS: usize = 1 << 22;
/// Matches after which the identification of IPv4 is known to be kept on the way or not.
const ID_TRIALS: u64 = 64;

/// How packets are matched.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Addresses and ports are translated between the points: a flow of one capture is that of the other in which
    /// its packets are.
    pub translated: bool,
    /// Packets that wait for their like in each capture.
    pub window_packets: usize,
    /// How long, s.
    pub window_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { translated: false, window_packets: 1 << 18, window_s: 10.0 }
    }
}

/// Packets of two captures in, a report out.
#[derive(Debug)]
pub struct Joiner {
    options: Options,
    hashes: RandomState,
    /// Flows of the first capture, and of the second where addresses are translated.
    tables: [HashMap<Ends, u32>; 2],
    flows: [Vec<Flow>; 2],
    windows: [Window; 2],
    points: [Point; 2],
    /// First packet of the first capture that was read, ns since 1970.
    epoch: Option<u64>,
    /// What the second capture's times are ahead, ns.
    ahead: i64,
    matched: u64,
    same_id: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Point {
    packets: u64,
    skipped: u64,
    given_up: u64,
    outside: u64,
    latest: Option<i64>,
    has_ended: bool,
    /// First and last packet that the other point has too.
    matched: Option<(i64, i64)>,
}

impl Joiner {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            hashes: RandomState::new(),
            tables: Default::default(),
            flows: Default::default(),
            windows: Default::default(),
            points: Default::default(),
            epoch: None,
            ahead: 0,
            matched: 0,
            same_id: 0,
        }
    }

    /// Which capture, 0 or 1, to read from next; None when both have ended.
    pub fn wants(&self) -> Option<usize> {
        match self.points.map(|point| point.has_ended) {
            [true, true] => None,
            [true, false] => Some(1),
            [false, true] => Some(0),
            [false, false] => Some(match self.points.map(|point| point.latest) {
                [None, _] => 0,
                [_, None] => 1,
                [Some(first), Some(second)] => {
                    usize::from(first.saturating_add(self.ahead) > second)
                }
            }),
        }
    }

    /// The next packet of a capture.
    pub fn packet(&mut self, point: usize, time: Time, layers: &Layers<'_>) {
        let epoch = *self.epoch.get_or_insert(time.0);
        let at = time.0.wrapping_sub(epoch) as i64;
        if point == 1 && self.points[1].latest.is_none() && at.unsigned_abs() > UNSET {
            self.ahead = at;
        }
        let number = self.points[point].packets;
        self.points[point].packets += 1;
        let latest = self.points[point].latest.map_or(at, |latest| latest.max(at));
        self.points[point].latest = Some(latest);
        let read = Packet::read(&layers.ip, &self.hashes);
        let found = read.and_then(|(packet, ends, from_low)| {
            let flow = self.flow(point, ends, from_low)?;
            Some(Seen { packet, at, flow, from_low, number })
        });
        let Some(seen) = found else {
            self.points[point].skipped += 1;
            return;
        };
        match self.like(point, &seen) {
            Some(other) if point == 0 => self.join(&seen, &other),
            Some(other) => self.join(&other, &seen),
            None => self.windows[point].push(seen),
        }
        self.forget();
    }

    /// A record without an IP packet that can be read.
    pub fn skip(&mut self, point: usize) {
        self.points[point].skipped += 1;
    }

    /// A capture has no more packets.
    pub fn end(&mut self, point: usize) {
        self.points[point].has_ended = true;
    }

    /// Index of a flow in its capture's list.
    fn flow(&mut self, point: usize, ends: Ends, from_low: bool) -> Option<u32> {
        let list = if self.options.translated { point } else { 0 };
        let (table, flows) = (&mut self.tables[list], &mut self.flows[list]);
        if let Some(index) = table.get(&ends) {
            return Some(*index);
        }
        if flows.len() == MOST_FLOWS {
            return None;
        }
        let index = flows.len() as u32;
        flows.push(Flow::new(ends, from_low));
        table.insert(ends, index);
        Some(index)
    }

    /// The same packet at the other point, if it waits there.
    fn like(&mut self, point: usize, seen: &Seen) -> Option<Seen> {
        let keeps_id = self.matched >= ID_TRIALS && self.same_id * 100 >= self.matched * 99;
        let Self { options, flows, windows, .. } = self;
        let is_flows = |other: &Seen| {
            if !options.translated {
                return other.flow == seen.flow && other.from_low == seen.from_low;
            }
            let [own, its] = [(point, seen), (1 - point, other)]
                .map(|(list, seen)| flows[list][seen.flow as usize].partner);
            match (own, its) {
                (None, None) => true,
                (Some((partner, is_flipped)), Some(_)) => {
                    partner == other.flow && (other.from_low == seen.from_low) != is_flipped
                }
                _ => false,
            }
        };
        windows[1 - point].take(seen.packet.key, |other| {
            let (own, its) = (&seen.packet, &other.packet);
            let same_id = own.id == its.id;
            if !is_flows(other) || (keeps_id && !same_id) {
                return None;
            }
            let same_times = own.timestamps == its.timestamps;
            // Timestamps that both have and that differ are those of two packets.
            if !same_times && own.timestamps.is_some() && its.timestamps.is_some() {
                return None;
            }
            Some(2 * u32::from(same_id) + u32::from(same_times))
        })
    }

    /// A packet of both.
    fn join(&mut self, first: &Seen, second: &Seen) {
        self.matched += 1;
        self.same_id += u64::from(first.packet.id == second.packet.id);
        self.ahead = second.at.saturating_sub(first.at);
        for (point, seen) in self.points.iter_mut().zip([first, second]) {
            let (from, to) = point.matched.unwrap_or((seen.at, seen.at));
            point.matched = Some((from.min(seen.at), to.max(seen.at)));
        }
        let flows = self.flows[0].len();
        if self.options.translated {
            let is_flipped = first.from_low != second.from_low;
            self.flows[0][first.flow as usize].partner = Some((second.flow, is_flipped));
            self.flows[1][second.flow as usize].partner = Some((first.flow, is_flipped));
        }
        let way = &mut self.flows[0][first.flow as usize].ways[usize::from(!first.from_low)];
        way.join([first, second], (MOST_DELAYS / flows).clamp(64, KEPT));
    }

    /// Packets that have waited too long are in one capture only.
    fn forget(&mut self) {
        let wait = (self.options.window_s * 1e9) as i64;
        for point in 0..2 {
            self.windows[point].trim();
            let ahead = if point == 0 { self.ahead } else { self.ahead.saturating_neg() };
            let other = self.points[1 - point].latest;
            let is_aligned = self.matched > 0;
            let is_late = |oldest: i64| {
                is_aligned
                    && other.is_some_and(|other| {
                        oldest.saturating_add(ahead).saturating_add(wait) < other
                    })
            };
            while self.windows[point].oldest().is_some_and(is_late) {
                if let Some(seen) = self.windows[point].pop() {
                    self.miss(point, &seen);
                }
            }
            if self.windows[point].len() > self.options.window_packets
                && let Some(seen) = self.windows[point].pop()
            {
                self.points[point].given_up += 1;
                self.miss(point, &seen);
            }
        }
    }

    /// A packet that only this point has seen. Packets behind the last match are missed at the end only, unless
    /// there is another match behind them.
    fn miss(&mut self, point: usize, seen: &Seen) {
        let Point { matched, has_ended, .. } = self.points[point];
        let both_ended = has_ended && self.points[1 - point].has_ended;
        let is_outside =
            matched.is_none_or(|(from, to)| seen.at < from || (both_ended && seen.at > to));
        if is_outside {
            self.points[point].outside += 1;
            return;
        }
        let list = if self.options.translated { point } else { 0 };
        let (mut flow, mut from_low, mut to) = (seen.flow, seen.from_low, list);
        if let Some((partner, is_flipped)) = self.flows[list][seen.flow as usize].partner
            && point == 1
        {
            (flow, from_low, to) = (partner, from_low != is_flipped, 0);
        }
        self.flows[to][flow as usize].ways[usize::from(!from_low)].miss(point);
    }

    /// What was seen.
    pub fn finish(mut self) -> Report {
        for point in 0..2 {
            self.points[point].has_ended = true;
        }
        for point in 0..2 {
            while self.windows[point].len() > 0 {
                if let Some(seen) = self.windows[point].pop() {
                    self.miss(point, &seen);
                }
            }
        }
        // What a flow of the second capture missed before its partner was known is the partner's.
        let [first, second] = &mut self.flows;
        for flow in second.iter() {
            let Some((partner, is_flipped)) = flow.partner else { continue };
            for (at, way) in flow.ways.iter().enumerate() {
                first[partner as usize].ways[at ^ usize::from(is_flipped)].add_missed(way);
            }
        }
        let sides = Sides::new(&self.flows[0]);
        let orders: Vec<_> = self.flows[0].iter().map(|flow| sides.low_is_first(flow)).collect();
        let [mut forward, mut backward] = [Floor::default(), Floor::default()];
        for (flow, order) in self.flows[0].iter().zip(&orders) {
            let Some(low_is_first) = order else { continue };
            let [low, high] = &flow.ways;
            let (before, behind) = if *low_is_first { (low, high) } else { (high, low) };
            forward.add(&before.floors[0]);
            backward.add(&behind.floors[1]);
        }
        // Nothing says which point is before: the first, as its place in the call says.
        if forward.lowest().is_none() && backward.lowest().is_none() {
            let ways = self.flows[0].iter().flat_map(|flow| &flow.ways);
            ways.for_each(|way| forward.add(&way.floors[0]));
        }
        let fit = Fit::new(&forward, &backward);
        let points = self.points;
        let [first, second] = self.flows;
        let seconds: Vec<Ends> = second.iter().map(|flow| flow.ends).collect();
        let alone = second.into_iter().filter(|flow| flow.partner.is_none());
        let firsts = first.into_iter().zip(orders).map(|(flow, order)| {
            let second = flow.partner.map(|(at, is_flipped)| (seconds[at as usize], is_flipped));
            flow.report(order, second, fit.as_ref())
        });
        let mut flows: Vec<_> = firsts.collect();
        flows.extend(alone.map(|flow| flow.report(None, None, fit.as_ref())));
        Report {
            format: FORMAT,
            packets: points.map(|point| point.packets),
            matched: self.matched,
            outside: points.map(|point| point.outside),
            skipped: points.map(|point| point.skipped),
            given_up: points.map(|point| point.given_up),
            clocks: fit.map(|fit| fit.clocks()),
            flows,
        }
    }
}

/// Which hosts are on the first point's side: flows of one direction are ordered by them.
struct Sides(HashMap<IpAddr, bool>);

impl Sides {
    fn new(flows: &[Flow]) -> Self {
        let mut first = HashMap::new();
        for flow in flows {
            if let Some(low_is_first) = flow.low_is_first() {
                first.entry(flow.ends.low.0).or_insert(low_is_first);
                first.entry(flow.ends.high.0).or_insert(!low_is_first);
            }
        }
        Self(first)
    }

    fn low_is_first(&self, flow: &Flow) -> Option<bool> {
        let by_low = self.0.get(&flow.ends.low.0).copied();
        let by_hosts = by_low.or_else(|| self.0.get(&flow.ends.high.0).map(|first| !first));
        flow.low_is_first().or(by_hosts)
    }
}

/// Reads two captures to their ends and compares them.
pub fn compare(first: &mut Capture, second: &mut Capture, options: Options) -> Report {
    let mut joiner = Joiner::new(options);
    let captures = [first, second];
    while let Some(point) = joiner.wants() {
        match captures[point].next() {
            Some(record) => match dissect(record.link, record.bytes) {
                Ok(layers) => joiner.packet(point, record.time, &layers),
                Err(_) => joiner.skip(point),
            },
            None => joiner.end(point),
        }
    }
    joiner.finish()
}

#[cfg(test)]
mod tests;
