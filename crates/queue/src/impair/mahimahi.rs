//! `mahimahi`: a link that delivers at the instants of a recorded trace. The format and the rules
//! of mahimahi's `mm-link` (R. Netravali et al., USENIX ATC 2015): each opportunity carries up to
//! 1504 bytes, unused ones are lost, unfinished packets go on in the next.

use crate::aqm::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Stats};
use crate::impair::shell::{Overhead, Shell};
use crate::impair::trace::{DIGEST, FILE, FileWords, Opportunities};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "mahimahi",
    summary: "Link that delivers at the instants of a mahimahi trace",
    reference: "mahimahi mm-link, USENIX ATC 2015",
    kernel: Kernel::Nowhere,
    params: &[
        FILE,
        DIGEST,
        Param {
            name: "repeat|once",
            value: "",
            default: "repeat",
            doc: "At the end of the trace, start over or deliver nothing more.",
        },
        Param {
            name: "packet_size",
            value: "SIZE",
            default: "1504b",
            doc: "Bytes that one opportunity carries.",
        },
        Param {
            default: "-10",
            doc: "Added to each packet's layer-2 length, from -64 to 255: mahimahi counts IP bytes \
                  and the 4 of its TUN device.",
            ..Overhead::PARAM
        },
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(Mahimahi::around(args, &env, leaf)?))
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Params {
    trace: FileWords,
    packet_size: u32,
    overhead: Overhead,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "packet_size" => {
                    let size = |w| Bytes::parse_tc(w).filter(|b| (1..=1 << 20).contains(&b.0));
                    self.packet_size = args.value("a size from 1b to 1Mb", size)?.0 as u32;
                }
                "overhead" => self.overhead = Overhead::read(args)?,
                key => self.trace.read(key, "once", args)?,
            }
        }
        Ok(self)
    }
}

/// The link, in front of its queue.
pub struct Mahimahi {
    params: Params,
    trace: Opportunities,
    start: Time,
    /// Milliseconds from `start` to the current repetition of the trace.
    base_ms: u64,
    /// The next opportunity.
    index: usize,
    /// The packet under way, and its bytes still to carry.
    transit: Option<(Packet, u32)>,
    shell: Shell,
    opportunities: u64,
    unused_bytes: u64,
}

impl Mahimahi {
    /// The link that `args` describes (the words after `mahimahi`), in front of `leaf`.
    pub(crate) fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let trace = FileWords::new(true);
        let mut params = Params { trace, packet_size: 1504, overhead: Overhead(-10) }.read(args)?;
        let trace = env.traces.opportunities(&mut params.trace, args)?;
        Ok(Self {
            params,
            trace,
            start: env.start(),
            base_ms: 0,
            index: 0,
            transit: None,
            shell: Shell::new(leaf),
            opportunities: 0,
            unused_bytes: 0,
        })
    }

    /// Instant of the next opportunity.
    #[inline]
    fn next(&self) -> Time {
        self.trace.ms().get(self.index).map_or(Time::NEVER, |ms| {
            self.start + Dur((self.base_ms + ms).saturating_mul(1_000_000))
        })
    }

    #[inline]
    fn pass(&mut self) {
        self.opportunities += 1;
        self.index += 1;
        self.wrap();
    }

    /// Starts the trace over if it is through and repeats.
    #[inline]
    fn wrap(&mut self) {
        if self.params.trace.repeats && self.index == self.trace.ms().len() {
            // The period is the last line, so that a first line of 0 falls on it.
            self.base_ms += self.trace.ms()[self.index - 1];
            self.index = 0;
        }
    }

    /// Passes the opportunities before `now`, which nothing used.
    fn skip(&mut self, now: Time) {
        while self.next() < now {
            self.unused_bytes += u64::from(self.params.packet_size);
            self.pass();
        }
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.transit.is_none() && !self.shell.is_waiting()
    }

    /// Carries the bytes of one opportunity.
    fn deliver(&mut self, now: Time, log: &mut Log) {
        let mut left = self.params.packet_size;
        while left > 0 {
            let Some((pkt, need)) = self.transit.take().or_else(|| self.fetch(now, log)) else {
                break;
            };
            let carried = need.min(left);
            left -= carried;
            if need == carried {
                self.shell.put(pkt);
            } else {
                self.transit = Some((pkt, need - carried));
            }
        }
        self.unused_bytes += u64::from(left);
    }

    /// The next packet of the queue with its size on this link.
    fn fetch(&mut self, now: Time, log: &mut Log) -> Option<(Packet, u32)> {
        let pkt = self.shell.take(now, log)?;
        Some((pkt, self.params.overhead.size(&pkt)))
    }
}

impl Qdisc for Mahimahi {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.is_idle() {
            self.skip(now);
        }
        self.shell.leaf.enqueue(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        self.shell.fetch()
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.shell.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        let leaf = self.shell.leaf.wake();
        if self.is_idle() { leaf } else { leaf.min(self.next()) }
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.shell.wake_leaf(now, log);
        while !self.is_idle() && self.next() <= now {
            self.deliver(now, log);
            self.pass();
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog(self.transit.as_ref().map(|(pkt, _)| pkt))
    }

    /// Sizes and the end of the trace can be changed; another trace is another link.
    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.clone().read(args)?;
        if !params.trace.is_same_file(&self.params.trace) {
            return Err(args.invalid("another `file` needs a replace"));
        }
        self.params = params;
        self.wrap();
        self.skip(now);
        Ok(())
    }

    fn describe(&self) -> String {
        let Params { trace, packet_size, overhead: Overhead(overhead) } = &self.params;
        let size = Bytes(u64::from(*packet_size));
        format!("mahimahi {} packet_size {size} overhead {overhead}", trace.describe("once"))
    }

    fn stats(&self, out: &mut Stats) {
        out.put("opportunities", self.opportunities as f64);
        out.put("unused_bytes", self.unused_bytes as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("opportunities", "packets", self.opportunities as f64);
        self.shell.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.shell.purge(self.transit.take().map(|(pkt, _)| pkt), log);
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.shell.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.shell.leaf)
    }
}

#[cfg(test)]
mod tests;
