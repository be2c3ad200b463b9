//! `rate_trace`: a link whose rate follows a recorded series of steps, such as the "time bandwidth"
//! files of cellular and broadband measurements. One packet at a time is serialised, exactly over
//! the steps that it spans, and is delivered when its last bit is through.

use crate::aqm::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Stats};
use crate::impair::shell::{Overhead, Shell};
use crate::impair::trace::{DIGEST, FILE, FileWords, RateCursor, UNIT, read_unit};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "rate_trace",
    summary: "Link whose rate follows a trace of times and bandwidths",
    reference: "Piecewise constant \"time bandwidth\" traces",
    kernel: Kernel::Nowhere,
    params: &[
        FILE,
        DIGEST,
        UNIT,
        Param {
            name: "repeat|hold",
            value: "",
            default: "repeat",
            doc: "After the last step, which lasts as long as the one before, start over; or keep \
                  its rate.",
        },
        Overhead::PARAM,
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(RateTrace::around(args, &env, leaf)?))
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Params {
    trace: FileWords,
    unit: Rate,
    overhead: Overhead,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "unit" => self.unit = read_unit(args)?,
                "overhead" => self.overhead = Overhead::read(args)?,
                key => self.trace.read(key, "hold", args)?,
            }
        }
        Ok(self)
    }
}

/// The link, in front of its queue.
pub struct RateTrace {
    params: Params,
    rate: RateCursor,
    /// The packet under way, and when its last bit is through.
    transit: Option<(Packet, Time)>,
    shell: Shell,
}

impl RateTrace {
    /// The link that `args` describes (the words after `rate_trace`), in front of `leaf`.
    pub(crate) fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let trace = FileWords::new(true);
        let mut params = Params { trace, unit: Rate(1000), overhead: Overhead(0) }.read(args)?;
        let rate = env.traces.rates(&mut params.trace, params.unit, args, env.start())?;
        Ok(Self { params, rate, transit: None, shell: Shell::new(leaf) })
    }

    /// Starts the next packet if nothing is under way.
    #[inline]
    fn begin(&mut self, now: Time, log: &mut Log) {
        if self.transit.is_none()
            && let Some(pkt) = self.shell.take(now, log)
        {
            let len = self.params.overhead.size(&pkt);
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

    /// Only the overhead can be changed: another trace is another link.
    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.clone().read(args)?;
        if params != (Params { overhead: params.overhead, ..self.params.clone() }) {
            return Err(
                args.invalid("only `overhead` can be changed; another trace needs a replace")
            );
        }
        self.params = params;
        Ok(())
    }

    fn describe(&self) -> String {
        let Params { trace, unit, overhead: Overhead(overhead) } = &self.params;
        format!("rate_trace {} unit {unit} overhead {overhead}", trace.describe("hold"))
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
