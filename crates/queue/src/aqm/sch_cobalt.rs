//! `cobalt`: one FIFO under one COBALT2, with SCE. chromi/sce sch_cobalt, 2022. The law is in
//! `cobalt2`; CAKE's COBALT, without SCE, is in `cobalt`.

use super::cobalt2::{Cobalt2, Judged, Law, Params};
use super::plain_queue::PlainQueue;
use super::sce_shell::{LIMIT, LawWords, describe_law, law_params};
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

const PARAMS: [Param; 6] = {
    let [rtt, target, divisor, switch, interval] = law_params("sce-thresh 4");
    [LIMIT, rtt, target, divisor, switch, interval]
};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "cobalt",
    summary: "FIFO under COBALT2: CoDel for CE and for SCE, and BLUE",
    reference: "chromi/sce sch_cobalt, 2022",
    kernel: Kernel::Tree("chromi/sce"),
    params: &PARAMS,
    build: |args, env| Ok(Box::new(SchCobalt::parse(args, env)?)),
};

/// Age of the kernel when the run starts: fresh instants, all zero, lie in the past.
const UPTIME: Dur = Dur::from_secs(1000);

/// A FIFO under one control law.
#[derive(Debug)]
pub struct SchCobalt {
    params: Params,
    queue: PlainQueue,
    cobalt: Cobalt2,
    rng: Rng,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

impl SchCobalt {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let mut cobalt = Self {
            params: Params::new(Law::V2022, Dur::from_millis(25)),
            queue: PlainQueue::default(),
            cobalt: Cobalt2::default(),
            rng: env.rng,
            delay: Dur::ZERO,
        };
        cobalt.read(args)?;
        Ok(cobalt)
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<(), GrammarError> {
        let (mut limit, mut params, mut law) = (self.queue.limit, self.params, LawWords::default());
        while let Some(key) = args.key() {
            if key == "limit" {
                limit = Some(args.number(1..=u64::from(u32::MAX))? as u32);
            } else if !law.read(&mut params, key, args)? {
                return Err(args.unknown());
            }
        }
        law.apply(&mut params);
        (self.queue.limit, self.params) = (limit, params);
        Ok(())
    }
}

impl Qdisc for SchCobalt {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        let clock = now.0.wrapping_add(UPTIME.0);
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            // The last packet is not judged.
            if self.queue.backlog.bytes == 0 {
                self.cobalt.queue_empty(&self.params, clock);
                return Some(pkt);
            }
            let judged = Judged::plain(clock, self.delay.0);
            let (cobalt, rng) = (&mut self.cobalt, &mut self.rng);
            match cobalt.should_drop(&self.params, &judged, &mut pkt, rng, log) {
                Some(why) => log.drop(&pkt, why),
                None => return Some(pkt),
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.read(args)
    }

    fn describe(&self) -> String {
        format!("cobalt {}{}", self.queue.describe(), describe_law(&self.params))
    }

    /// The kernel counts nothing.
    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("ce_count", "1", f64::from(self.cobalt.ce_count));
        out.put("sce_count", "1", f64::from(self.cobalt.sce_count));
        out.put("p_blue", "1", f64::from(self.cobalt.p_drop) / 4_294_967_296.0);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.cobalt = Cobalt2::default();
    }
}

#[cfg(test)]
mod tests;
