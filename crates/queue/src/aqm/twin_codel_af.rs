//! `twin_codel_af`: an ordinary and a low-latency queue of CNQ's kind with "CoDel Approximate
//! Fairness" and fair service between flows of both. chromi/sce sch_twin_codel_af, commits
//! 03a785e (early) and acc6ad66 (later), 2020.

use super::cnq::Cnq;
use super::cnq_codel_af::{FlowStates, weight};
use super::cobalt2::Judged;
use super::sce_shell::{Shell, flow_of, is_low_latency, params_and};
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

const PARAMS: [Param; 15] = params_and(
    "sce-thresh 4: 25ms",
    Param {
        name: "chooser",
        value: "early|later",
        default: "later",
        doc: "Version of the rule between the classes; not a word of tc.",
    },
);

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "twin_codel_af",
    summary: "Ordinary and low-latency class (DSCP 4) with a COBALT2 per flow, and a shaper",
    reference: "chromi/sce sch_twin_codel_af, 2020",
    kernel: Kernel::Tree("chromi/sce"),
    params: &PARAMS,
    build: |args, env| Ok(Box::new(TwinCodelAf::parse(args, env)?)),
};

/// The rule by which a class is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Chooser {
    /// Ignores that the ordinary class may be empty: then nothing leaves until it gets a packet.
    Early,
    #[default]
    Later,
}

impl Chooser {
    const WORDS: [&'static str; 2] = ["early", "later"];

    fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        if key == "chooser" {
            *self = if args.choice(&Self::WORDS)? == 0 { Self::Early } else { Self::Later };
        }
        Ok(key == "chooser")
    }
}

/// Two classes of two FIFOs, a control law per flow.
#[derive(Debug)]
pub struct TwinCodelAf {
    shell: Shell,
    chooser: Chooser,
    classes: [Cnq; 2],
    /// What each class has been served beyond the other, in flows of the other.
    deficits: [u64; 2],
    states: FlowStates,
    /// Sojourn of the packet of each class that left last.
    delays: [Dur; 2],
}

impl TwinCodelAf {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let mut chooser = Chooser::default();
        let sce_interval = Dur::from_millis(25);
        let shell = Shell::parse(sce_interval, args, env, |key, args| chooser.read(key, args))?;
        Ok(Self {
            shell,
            chooser,
            classes: [Cnq::new(), Cnq::new()],
            deficits: [0; 2],
            states: FlowStates::new(),
            delays: [Dur::ZERO; 2],
        })
    }

    #[inline]
    fn choose(&self) -> usize {
        let is_turn = self.deficits[0] >= self.deficits[1];
        let low = match self.chooser {
            Chooser::Early => !self.classes[1].is_empty() && is_turn,
            Chooser::Later => self.classes[0].is_empty() || !self.classes[1].is_empty() && is_turn,
        };
        usize::from(low)
    }

    #[inline]
    fn account(&mut self, served: usize) {
        self.deficits[served] += u64::from(self.classes[1 - served].sending_flows());
        let least = self.deficits[0].min(self.deficits[1]);
        self.deficits = self.deficits.map(|deficit| deficit - least);
    }
}

impl Qdisc for TwinCodelAf {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.shell.admit(now, &mut pkt, log) {
            self.classes[usize::from(is_low_latency(&pkt))].enqueue(pkt);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.shell.clock.is_blocked(now) {
            return None;
        }
        let clock = self.shell.kernel_time(now);
        loop {
            if self.chooser == Chooser::Later {
                self.classes.iter_mut().for_each(Cnq::drop_leading_dummies);
            }
            let class = self.choose();
            if self.chooser == Chooser::Later && !self.classes[class].is_empty() {
                self.account(class);
            }
            let (mut pkt, is_bulk) = self.classes[class].pop()?;
            self.shell.backlog.remove(&pkt);
            self.delays[class] = now.since(pkt.stamp);
            let params = if class == 0 { *self.shell.params() } else { self.shell.low };
            let flow = flow_of(&pkt);
            let cobalt = self.states.of(flow);
            if is_bulk {
                let queue = &self.classes[class];
                let weight = weight(queue, flow, self.shell.backlog.packets);
                let judged = Judged { now: clock, sojourn: self.delays[class].0, weight };
                let rng = &mut self.shell.rng;
                if let Some(why) = cobalt.should_drop(&params, &judged, &mut pkt, rng, log)
                    && queue.count(flow) > 0
                {
                    log.drop(&pkt, why);
                    continue;
                }
            } else {
                cobalt.queue_empty(&params, clock);
            }
            if self.chooser == Chooser::Early {
                self.account(class);
            }
            self.shell.clock.charge(pkt.len);
            let (classes, params) = (&self.classes, self.shell.params());
            let is_idle = |flow| classes.iter().all(|class| class.count(flow) == 0);
            self.states.relax_one(params, clock, is_idle);
            return Some(pkt);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.shell.clock.wake()
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.shell.clock.on_wake(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let mut chooser = self.chooser;
        self.shell.change(args, |key, args| chooser.read(key, args))?;
        self.chooser = chooser;
        Ok(())
    }

    fn describe(&self) -> String {
        let chooser = Chooser::WORDS[self.chooser as usize];
        format!("twin_codel_af {} chooser {chooser}", self.shell.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.shell.clock.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delays[0].as_millis_f64());
        out.put("delay_low", "ms", self.delays[1].as_millis_f64());
        out.put("active_flows", "1", f64::from(self.classes[0].sending_flows()));
        out.put("active_flows_low", "1", f64::from(self.classes[1].sending_flows()));
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.classes.iter_mut().for_each(|class| class.purge(log));
        self.deficits = [0; 2];
        self.states.reset();
        self.shell.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests;
