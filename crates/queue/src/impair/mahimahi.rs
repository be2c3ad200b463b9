//! `mahimahi`: a link that delivers at the instants of a recorded trace. The format and the rules
//! of mahimahi's `mm-link` (R. Netravali et al., USENIX ATC 2015): each opportunity carries up to
//! 1504 bytes, unused ones are lost, unfinished packets go on in the next.

use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Spec, Stats, TXQUEUELEN, accepts,
    entry, spec,
};
use crate::impair::shell::{Shell, overhead, size_on_link};
use crate::traces::{Opportunities, digest, file};
use sojourn_core::grammar::forms::{custom, maybe};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "mahimahi",
    "Link that delivers at the instants of a mahimahi trace",
    "mahimahi mm-link, USENIX ATC 2015",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `mahimahi`.
    pub(crate) struct Params {
        /// Trace file, relative to the scenario file; a space in its name is written `%20`.
        file: Option<String> = None => maybe(file()), default "(required)";
        /// What the file's content must give; the resolved scenario states it.
        digest: Option<String> = None => maybe(digest()), default "that of the file";
        /// At the end of the trace, start over or deliver nothing more.
        repeats: bool = true, name "repeat|once";
        /// Bytes that one opportunity carries.
        packet_size: u32 = 1504 => custom("SIZE", read_size, |size| Bytes((*size).into()).to_string());
        /// Added to each packet's layer-2 length, from -64 to 255: mahimahi counts IP bytes
        /// and the 4 of its TUN device.
        overhead: i32 = -10 => overhead();
    }
    keeps {
        /// The file's content, once checked.
        trace: Option<Opportunities> = None;
    }
}

fn read_size(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    let size = |word| Bytes::parse_tc(word).filter(|bytes| (1..=1 << 20).contains(&bytes.0));
    args.value("a size from 1b to 1Mb", size).map(|bytes| bytes.0 as u32)
}

impl Discipline for Params {
    fn check(&mut self, env: &Env) -> Result<(), String> {
        if self.trace.is_some() {
            return Ok(()); // A change keeps it.
        }
        self.trace = Some(env.traces.find("file", self.file.as_deref(), &mut self.digest)?);
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        Box::new(Mahimahi {
            params: self.clone(),
            trace: self.trace.clone().expect("checked"),
            start: env.start(),
            base_ms: 0,
            index: 0,
            transit: None,
            shell: Shell::new(leaf),
            opportunities: 0,
            unused_bytes: 0,
        })
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| (&to.file, &to.digest) == (&self.file, &self.digest),
            "another `file` needs a replace",
        )
    }
}

/// The link, in front of its queue.
struct Mahimahi {
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

    /// Starts the trace over if it is through and repeats. mahimahi's `mm-link`.
    #[inline]
    fn wrap(&mut self) {
        if self.params.repeats && self.index == self.trace.ms().len() {
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

    /// Carries the bytes of one opportunity. mahimahi's `mm-link`.
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
        Some((pkt, size_on_link(&pkt, self.params.overhead)))
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
    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(to) = to.params::<Params>() {
            self.params = to.clone();
            self.wrap();
            self.skip(now);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params.clone())
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
