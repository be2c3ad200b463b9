//! `rate_trace`: a link whose rate follows a recorded series of steps, such as the "time bandwidth"
//! files of cellular and broadband measurements. One packet at a time is serialised, exactly over
//! the steps that it spans, and is delivered when its last bit is through.

use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Spec, Stats, TXQUEUELEN, accepts,
    entry, spec,
};
use crate::impair::shell::{Shell, overhead, size_on_link};
use crate::traces::{RateCursor, RateSteps, Steps, digest, file, unit};
use sojourn_core::grammar::forms::maybe;
use sojourn_core::grammar::{Given, written};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "rate_trace",
    "Link whose rate follows a trace of times and bandwidths",
    "Piecewise constant \"time bandwidth\" traces",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `rate_trace`.
    pub(crate) struct Params {
        /// Trace file, relative to the scenario file; a space in its name is written `%20`.
        file: Option<String> = None => maybe(file()), default "(required)";
        /// What the file's content must give; the resolved scenario states it.
        digest: Option<String> = None => maybe(digest()), default "that of the file";
        /// What a bandwidth of 1 in the file means.
        unit: Rate = Rate(1000) => unit();
        /// After the last step, which lasts as long as the one before, start over; or keep
        /// its rate.
        repeats: bool = true, name "repeat|hold";
        /// Added to each packet's layer-2 length, from -64 to 255.
        overhead: i32 = 0 => overhead();
    }
    keeps {
        /// The file's content, once checked.
        steps: Option<Steps<Rate>> = None;
    }
}

impl Discipline for Params {
    fn check(&mut self, env: &Env) -> Result<(), String> {
        if self.steps.is_some() {
            return Ok(()); // A change keeps them.
        }
        let trace: RateSteps = env.traces.find("file", self.file.as_deref(), &mut self.digest)?;
        self.steps = Some(trace.in_unit(self.unit, self.repeats)?);
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let steps = self.steps.clone().expect("checked");
        Box::new(RateTrace {
            params: self.clone(),
            rate: RateCursor::new(steps, self.repeats, env.start()),
            transit: None,
            shell: Shell::new(leaf),
        })
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| written(&Self { overhead: to.overhead, ..self.clone() }) == written(to),
            "only `overhead` can be changed; another trace needs a replace",
        )
    }
}

/// The link, in front of its queue.
struct RateTrace {
    params: Params,
    rate: RateCursor,
    /// The packet under way, and when its last bit is through.
    transit: Option<(Packet, Time)>,
    shell: Shell,
}

impl RateTrace {
    /// Starts the next packet if nothing is under way.
    /// Linux 6.12 `packet_time_ns` serialises at one rate; this does over the steps that a packet
    /// spans.
    #[inline]
    fn begin(&mut self, now: Time, log: &mut Log) {
        if self.transit.is_none()
            && let Some(pkt) = self.shell.take(now, log)
        {
            let len = size_on_link(&pkt, self.params.overhead);
            self.transit = Some((pkt, self.rate.serve(now, u64::from(len))));
        }
    }
}

impl Qdisc for RateTrace {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.shell.leaf.enqueue(now, pkt, log);
        self.begin(now, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.begin(now, log);
        self.shell.fetch()
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.shell.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        self.transit.map_or(Time::NEVER, |(_, through)| through).min(self.shell.leaf.wake())
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.shell.wake_leaf(now, log);
        self.begin(now, log);
        while let Some((pkt, through)) = self.transit
            && through <= now
        {
            self.transit = None;
            self.shell.put(pkt);
            self.begin(now, log);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog(self.transit.as_ref().map(|(pkt, _)| pkt))
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(to) = to.params::<Params>() {
            self.params = to.clone();
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params.clone())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("rate", self.rate.rate().0 as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("rate", "Mbit/s", self.rate.rate().as_mbps());
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
