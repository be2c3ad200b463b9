//! The wrapper. Inside it a packet's length is what the table says, outside it the true one.

use super::{SizeTable, SizeTableParams};
use crate::aqm::psched::LinkLayer;
use crate::aqm::{Backlog, Event, Kernel, Log, OldEntry, Qdisc, Registry, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "stab",
    summary: "Size table: lets the discipline inside count what a frame weighs on the link",
    reference: "Linux 6.12 qdisc_calculate_pkt_len, tc-stab(8)",
    kernel: Kernel::Mainline("2.6.27"),
    params: &[
        Param {
            name: "mtu",
            value: "BYTES",
            default: "2047",
            doc: "Largest size with an entry of its own in the table.",
        },
        Param { name: "tsize", value: "NUMBER", default: "512", doc: "Entries of the table." },
        Param { name: "mpu", value: "BYTES", default: "0", doc: "Least size." },
        Param {
            name: "overhead",
            value: "BYTES",
            default: "0",
            doc: "Added to each frame; may be negative.",
        },
        Param {
            name: "linklayer",
            value: "ethernet|atm|adsl",
            default: "ethernet",
            doc: "Framing: as it is, or cells of 53 bytes for each 48 begun.",
        },
        Param {
            name: "QDISC",
            value: "...",
            default: "pfifo",
            doc: "The discipline inside with its words; it comes last.",
        },
    ],
    build: |args, env| {
        let registry = env.registry;
        let (params, inside) = read(SizeTableParams::default(), args, registry)?;
        let inner = registry.build(&inside.unwrap_or_else(|| "pfifo".into()), env)?;
        Ok(Box::new(Stab::new(params, registry, inner)))
    },
};

/// The table's words, and the text of the discipline after them.
fn read(
    mut params: SizeTableParams,
    args: &mut Args<'_>,
    registry: Registry,
) -> Result<(SizeTableParams, Option<String>), GrammarError> {
    let mut inside = None;
    while let Some(key) = args.key() {
        match key {
            "mtu" => params.mtu = args.number(0..=MAX)? as u32,
            "tsize" => params.tsize = args.number(0..=MAX_TSIZE)? as u32,
            "mpu" => params.mpu = args.number(0..=MAX)? as u32,
            "overhead" => {
                params.overhead = args.value("a whole number from -65536 to 65536", |word| {
                    word.parse().ok().filter(|n: &i32| n.unsigned_abs() <= 65536)
                })?;
            }
            "linklayer" => {
                params.layer = LinkLayer::from_index(args.choice(&LinkLayer::WORDS)?);
            }
            name if (registry.entry)(name).is_ok() => {
                inside = Some(format!("{name} {}", args.remainder()));
            }
            _ => return Err(args.unknown()),
        }
    }
    Ok((params, inside))
}

/// More is a slip.
const MAX: u64 = 1 << 24;
const MAX_TSIZE: u64 = 1 << 16;

/// A size table around a discipline.
pub struct Stab {
    params: SizeTableParams,
    table: SizeTable,
    registry: Registry,
    inner: Box<dyn Qdisc>,
    /// True lengths by packet id, which are small and dense.
    lens: Vec<u32>,
    /// What is inside, in true bytes.
    held: Backlog,
}

impl Stab {
    /// The wrapper that `args` describes (the words after `stab`), around `inner`.
    pub fn around(
        args: &mut Args<'_>,
        registry: Registry,
        inner: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let (params, inside) = read(SizeTableParams::default(), args, registry)?;
        match inside {
            None => Ok(Self::new(params, registry, inner)),
            Some(text) => Err(args.invalid(format_args!(
                "`{}`: around a queue it names none itself",
                text.trim_end()
            ))),
        }
    }

    fn new(params: SizeTableParams, registry: Registry, inner: Box<dyn Qdisc>) -> Self {
        let table = SizeTable::new(params);
        Self { params, table, registry, inner, lens: Vec::new(), held: Backlog::default() }
    }

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

    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        log: &mut Log,
    ) -> Result<(), GrammarError> {
        let registry = self.registry;
        let (params, inside) = read(self.params, args, registry)?;
        if let Some(text) = inside {
            self.inside(log, |inner, log| registry.change(inner.as_mut(), now, &text, log))?;
        }
        if params != self.params {
            self.params = params;
            self.table = SizeTable::new(params);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let mut text = String::from("stab");
        let mut word = |name: &str, value: i64| {
            if value != 0 {
                text += &format!(" {name} {value}");
            }
        };
        word("mtu", p.mtu.into());
        word("tsize", p.tsize.into());
        word("mpu", p.mpu.into());
        word("overhead", p.overhead.into());
        if p.layer != LinkLayer::Ethernet {
            text += &format!(" linklayer {}", p.layer.name());
        }
        format!("{text} {}", self.inner.describe())
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
