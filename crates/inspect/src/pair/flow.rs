//! What of a flow two points have seen.

use std::collections::BTreeMap;

use sojourn_core::Ecn;

use super::packet::{Ends, kinds};
use super::window::Seen;
use crate::clock::{Delays, Fit, Floor};
use crate::diagnose;
use crate::report::pair::{self, DscpChange};
use crate::report::{Protocol, Transitions};

/// Changes of DSCP that are listed.
const MOST_CHANGES: usize = 64;
/// TCP's flags from the lowest bit on (RFC 9293 3.1, RFC 9768 3.1).
const FLAGS: [&str; 9] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];

/// A flow of the first capture, or one that the second alone has.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) ends: Ends,
    /// The lower end sent the first packet.
    pub(super) low_opened: bool,
    /// The flow that the other capture has in its place, and whether its lower end is this one's higher.
    pub(super) partner: Option<(u32, bool)>,
    /// From the lower end, from the higher end.
    pub(super) ways: [Way; 2],
}

/// A direction. "First" and "second" are the captures.
#[derive(Debug, Default)]
pub(super) struct Way {
    both: u64,
    only: [u64; 2],
    reordered: u64,
    last: Option<[u64; 2]>,
    path: Transitions,
    dscp: Vec<DscpChange>,
    flags: [[u64; 2]; FLAGS.len()],
    /// Kinds of options that only the second or only the first has.
    options: BTreeMap<u8, [u64; 2]>,
    hops: Option<[i16; 2]>,
    wrong: [u64; 2],
    /// Second clock less first, and the opposite: their lowest are the empty path's, whichever point is before.
    pub(super) floors: [Floor; 2],
    /// Second clock less first, of all packets, of those with CE at one point, and of those with ECT at both.
    delays: Delays,
    marked: Delays,
    unmarked: Delays,
}

impl Flow {
    pub(super) fn new(ends: Ends, low_opened: bool) -> Self {
        Self { ends, low_opened, partner: None, ways: Default::default() }
    }

    /// Whether packets of the lower end pass the first point first: their delays forward and back are together those
    /// of the empty path, whatever the clocks show, and less than nothing if the points are in the other order.
    pub(super) fn low_is_first(&self) -> Option<bool> {
        let [low, high] = &self.ways;
        let sum = |a: &Floor, b: &Floor| Some(a.lowest()? + b.lowest()?);
        let forward = sum(&low.floors[0], &high.floors[1])?;
        let backward = sum(&low.floors[1], &high.floors[0])?;
        (forward.max(backward) >= 0.0 && forward != backward).then_some(forward > backward)
    }

    /// The report; `low_is_first` where something else than the flow tells, and `second` are the ends in the second
    /// capture.
    pub(super) fn report(
        self,
        low_is_first: Option<bool>,
        second: Option<(Ends, bool)>,
        fit: Option<&Fit>,
    ) -> pair::Flow {
        let Self { ends, low_opened, ways: [low, high], .. } = self;
        let translated = second.map(|(second, is_flipped)| {
            let opener = low_opened != is_flipped;
            [second.end(opener), second.end(!opener)]
        });
        let low = low.report(low_is_first, fit, ends.protocol());
        let high = high.report(low_is_first.map(|first| !first), fit, ends.protocol());
        let (mut forward, mut backward) = if low_opened { (low, high) } else { (high, low) };
        forward.diagnoses = diagnose::way(&forward);
        backward.diagnoses = diagnose::way(&backward);
        pair::Flow {
            protocol: ends.protocol(),
            opener: ends.end(low_opened),
            peer: ends.end(!low_opened),
            translated,
            forward,
            backward,
        }
    }
}

impl Way {
    /// A packet that only one capture has.
    pub(super) fn miss(&mut self, point: usize) {
        self.only[point] += 1;
    }

    /// What else was missed in this direction.
    pub(super) fn add_missed(&mut self, other: &Self) {
        self.only.iter_mut().zip(other.only).for_each(|(own, more)| *own += more);
    }

    /// A packet as both captures have it; no more than `most` delays are kept of each kind.
    pub(super) fn join(&mut self, seen: [&Seen; 2], most: usize) {
        let [first, second] = seen.map(|seen| &seen.packet);
        self.both += 1;
        if let Some(last) = self.last {
            self.reordered += u64::from((seen[0].number > last[0]) != (seen[1].number > last[1]));
        }
        self.last = Some([seen[0].number, seen[1].number]);
        let ecn = [first, second].map(|packet| Ecn::from_tos(packet.tos));
        self.path.add(ecn[0], ecn[1]);
        self.change_dscp(first.tos >> 2, second.tos >> 2);
        for (bit, counts) in self.flags.iter_mut().enumerate() {
            let [before, behind] = [first, second].map(|packet| packet.flags >> bit & 1);
            counts[0] += u64::from(before < behind);
            counts[1] += u64::from(before > behind);
        }
        if let (Some(before), Some(behind)) = (first.options, second.options)
            && before != behind
        {
            for (at, bits) in [behind & !before, before & !behind].into_iter().enumerate() {
                kinds(bits).for_each(|kind| self.options.entry(kind).or_default()[at] += 1);
            }
        }
        let hops = i16::from(first.ttl) - i16::from(second.ttl);
        let [least, greatest] = self.hops.unwrap_or([hops; 2]);
        self.hops = Some([least.min(hops), greatest.max(hops)]);
        for (wrong, packet) in self.wrong.iter_mut().zip([first, second]) {
            *wrong += u64::from(packet.is_valid == Some(false));
        }
        let (at, delay) =
            (seen[0].at as f64 / 1e9, seen[1].at.saturating_sub(seen[0].at) as f64 / 1e9);
        self.floors[0].record(at, delay);
        self.floors[1].record(at, -delay);
        self.delays.record(at, delay, most);
        // Which of the points is before is not known yet: the mark is at one of them.
        match ecn {
            [Ecn::Ect0 | Ecn::Ect1, Ecn::Ce] | [Ecn::Ce, Ecn::Ect0 | Ecn::Ect1] => {
                self.marked.record(at, delay, most);
            }
            [Ecn::Ect0 | Ecn::Ect1, Ecn::Ect0 | Ecn::Ect1] => self.unmarked.record(at, delay, most),
            _ => {}
        }
    }

    fn change_dscp(&mut self, from: u8, to: u8) {
        if from == to {
            return;
        }
        let known = self.dscp.iter_mut().find(|change| (change.from, change.to) == (from, to));
        if let Some(change) = known {
            change.packets += 1;
        } else {
            self.dscp.push(DscpChange { from, to, packets: 1 });
            self.dscp.truncate(MOST_CHANGES);
        }
    }

    fn report(
        self,
        first_before: Option<bool>,
        fit: Option<&Fit>,
        protocol: Protocol,
    ) -> pair::Way {
        let is_first = first_before.unwrap_or(true);
        let order = |pair: [u64; 2]| if is_first { pair } else { [pair[1], pair[0]] };
        let [lost, added] = order(self.only);
        let way = usize::from(!is_first);
        let queue = |delays: &Delays| fit.and_then(|fit| delays.over_ms(fit, way, 0.0));
        let base = fit.and_then(|fit| fit.clocks().offset_error_s);
        let one_way = fit.zip(base).and_then(|(fit, base)| self.delays.over_ms(fit, way, base));
        let mut report = pair::Way {
            first_before,
            both: self.both,
            lost,
            added,
            reordered: self.reordered,
            path: if is_first { self.path } else { self.path.reversed() },
            dscp: self.dscp,
            hops: self.hops.map(|[a, b]| if is_first { [a, b] } else { [-b, -a] }),
            wrong_checksums: self.wrong,
            one_way_ms: one_way,
            queue_delay_ms: queue(&self.delays),
            queue_delay_marked_ms: queue(&self.marked),
            queue_delay_unmarked_ms: queue(&self.unmarked),
            ..pair::Way::default()
        };
        if !is_first {
            for change in &mut report.dscp {
                (change.from, change.to) = (change.to, change.from);
            }
        }
        if protocol == Protocol::Tcp {
            for (name, counts) in FLAGS.into_iter().zip(self.flags) {
                let [set, cleared] = order(counts);
                if set + cleared > 0 {
                    report.tcp_flags.insert(name.to_owned(), pair::FlagChange { set, cleared });
                }
            }
            for (kind, counts) in self.options {
                let [added, removed] = order(counts);
                let places =
                    [(&mut report.options_added, added), (&mut report.options_removed, removed)];
                for (place, packets) in places.into_iter().filter(|(_, packets)| *packets > 0) {
                    place.insert(kind, packets);
                }
            }
        }
        report
    }
}
