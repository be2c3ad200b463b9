//! The wrapper. Inside it a packet's length is what the table says, outside it the true one.

use super::{SizeTable, SizeTableParams};
use crate::aqm::{
    Backlog, Discipline, Entry, Env, Event, Fifo, Kernel, Log, Qdisc, Spec, Stats, TXQUEUELEN,
    changed, entry, spec,
};
use sojourn_core::grammar::{Args, Given, GrammarError, Parameter, Parameters, Written};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::spec::Family as _;
use sojourn_core::units::{Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "stab",
    "Size table: lets the discipline inside count what a frame weighs on the link",
    "Linux 6.12 qdisc_calculate_pkt_len, tc-stab(8)",
    Kernel::Mainline("2.6.27"),
);

/// A table's parameters and the discipline inside, which comes last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    table: SizeTableParams,
    inside: Option<Spec>,
    /// What the text that was read last states of the discipline inside.
    stated: Option<Given>,
}

const QDISC: &str = "QDISC";

impl Parameters for Params {
    fn table(&mut self, lines: &mut Vec<Parameter>) {
        self.table.table(lines);
        lines.push(Parameter {
            name: QDISC,
            value: "...",
            default: "pfifo".to_owned(),
            doc: "The discipline inside with its parameters; it comes last.",
            is_tc: true,
        });
    }

    fn take(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
        given: &mut Given,
    ) -> Result<bool, GrammarError> {
        if self.table.take(key, args, given)? {
            return Ok(true);
        }
        if <dyn Discipline>::lines().entry(key).is_err() {
            return Ok(false);
        }
        let text = format!("{key} {}", args.remainder());
        let (inside, stated) = match &self.inside {
            Some(inside) => changed(inside, &text)?,
            None => (text.parse()?, Given::default()),
        };
        (self.inside, self.stated) = (Some(inside), Some(stated));
        given.add(QDISC);
        Ok(true)
    }

    fn write(&mut self, parts: &mut Vec<Written>) {
        self.table.write(parts);
        let inside = self.inside.as_ref().map(Spec::to_string);
        parts.extend(inside.map(|text| Written { name: QDISC, text, is_tc: true }));
    }

    fn begin(&mut self) {
        self.stated = None;
    }

    fn settle(&mut self, given: &Given) -> Result<(), String> {
        self.table.settle(given)
    }
}

impl Discipline for Params {
    fn suits(&self, around: bool) -> Result<(), String> {
        match &self.inside {
            Some(inside) if around && self.stated.is_some() => {
                Err(format!("`{}`: around a queue it names none itself", inside.name()))
            }
            _ => Ok(()),
        }
    }

    fn check(&mut self, env: &Env) -> Result<(), String> {
        let Some(inside) = &mut self.inside else { return Ok(()) };
        inside.check(env).map_err(|why| format!("{}: {why}", inside.name()))
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        let inner = match &self.inside {
            Some(inside) => inside.build(env.clone()),
            None => Box::new(Fifo::pfifo(TXQUEUELEN)),
        };
        self.around(env, inner)
    }

    fn around(&self, _env: Env, inner: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let (params, table) = (self.table, SizeTable::new(self.table));
        Box::new(Stab { params, table, inner, lens: Vec::new(), held: Backlog::default() })
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        let Some(inside) = &mut self.inside else {
            return Err("there is no rate to change".to_owned());
        };
        let mut stated = Given::default();
        stated.add("rate");
        self.stated = Some(stated);
        inside.set_rate(rate)
    }

    fn capacity(&self) -> Option<Rate> {
        self.inside.as_ref()?.capacity()
    }

    fn delays(&self) -> bool {
        self.inside.as_ref().is_some_and(|inside| inside.delays())
    }
}

/// A size table around a discipline.
pub struct Stab {
    params: SizeTableParams,
    table: SizeTable,
    inner: Box<dyn Qdisc>,
    /// True lengths by packet id, which are small and dense.
    lens: Vec<u32>,
    /// What is inside, in true bytes.
    held: Backlog,
}

impl Stab {
    #[inline]
    fn true_packet(&self, pkt: Packet) -> Packet {
        Packet { len: self.lens[pkt.id as usize], ..pkt }
    }

    /// Calls the discipline inside, and gives the packets that it logs their true lengths.
    #[inline]
    fn inside<T>(
        &mut self,
        log: &mut Log,
        call: impl FnOnce(&mut Box<dyn Qdisc>, &mut Log) -> T,
    ) -> T {
        let before = log.events().len();
        let result = call(&mut self.inner, log);
        for event in log.since_mut(before) {
            match event {
                Event::Mark(pkt, _) => *pkt = self.true_packet(*pkt),
                Event::Drop(pkt, _) => {
                    *pkt = self.true_packet(*pkt);
                    self.held.remove(pkt);
                }
                Event::Duplicate(pkt) => {
                    *pkt = self.true_packet(*pkt);
                    self.held.add(pkt);
                }
            }
        }
        result
    }
}

impl Qdisc for Stab {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let id = pkt.id as usize;
        if id >= self.lens.len() {
            self.lens.resize((id + 1).next_power_of_two(), 0);
        }
        self.lens[id] = pkt.len;
        self.held.add(&pkt);
        let weighed = Packet { len: self.table.map(pkt.len), ..pkt };
        self.inside(log, |inner, log| inner.enqueue(now, weighed, log));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        let pkt = self.inside(log, |inner, log| inner.dequeue(now, log))?;
        let pkt = self.true_packet(pkt);
        self.held.remove(&pkt);
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.inner.wake()
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.inside(log, |inner, log| inner.on_wake(now, log));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }

    fn capacity(&self) -> Option<Rate> {
        self.inner.capacity()
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        let Some(to) = to.params::<Params>() else { return };
        if let (Some(inside), Some(stated)) = (&to.inside, &to.stated) {
            self.inside(log, |inner, log| inner.change(now, inside, stated, log));
        }
        if to.table != self.params {
            self.params = to.table;
            self.table = SizeTable::new(to.table);
        }
    }

    fn spec(&self) -> Spec {
        let inside = Some(self.inner.spec());
        spec(&ENTRY, Params { table: self.params, inside, stated: None })
    }

    fn stats(&self, out: &mut Stats) {
        self.inner.stats(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.inner.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.inside(log, |inner, log| inner.purge(log));
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(self.inner.as_ref())
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.inner)
    }

    fn reach_in(&mut self, log: &mut Log, act: &mut dyn FnMut(&mut Box<dyn Qdisc>, &mut Log)) {
        self.inside(log, act);
    }
}

#[cfg(test)]
mod tests;
