//! The interface of a queue discipline.

use std::borrow::Cow;

use super::Spec;
use super::log::Log;
use crate::DelayLine;
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

/// A queue discipline: owns packets between `enqueue` and `dequeue`, never a clock.
///
/// The port that drives it calls `dequeue` until it returns `None` (or the wire is busy) after
/// each `enqueue` and each `on_wake`.
pub trait Qdisc: Send {
    /// Takes `pkt`, or drops it and says so in `log`.
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log);

    /// The next packet that may leave at `now`. Packets dropped on the way are in `log`.
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet>;

    /// Bytes of the packet that the next `dequeue` gives, if that is known without taking it.
    fn next_len(&self) -> Option<u32> {
        None
    }

    /// Whether [`Qdisc::next_len`] always knows, so that a shaper takes no packet out to look at it
    /// and does not ask an empty queue.
    fn shows_next(&self) -> bool {
        false
    }

    /// What a shaper around it has taken from it to look at, and not yet sent. In Linux such packets
    /// still count as the discipline's, for its limit and in its control law (`qdisc_peek_dequeued`).
    fn peeked(&mut self, _held: Backlog) {}

    /// When the discipline next needs [`Qdisc::on_wake`] and another `dequeue`: a shaper's
    /// watchdog or a control law's timer. [`Time::NEVER`] if only an arrival can change anything.
    fn wake(&self) -> Time {
        Time::NEVER
    }

    /// Whether `dequeue` would give nothing at `now` and change nothing, so that its owner need not ask after
    /// an arrival: a shaper without tokens, a packet before its time. `false` if that is not known.
    fn is_asleep(&self, _now: Time) -> bool {
        false
    }

    /// The line that it is, if packets wait equally long in it and nothing else can happen to them: its
    /// owner may then put them in and take them out there.
    fn line(&mut self) -> Option<&mut DelayLine> {
        None
    }

    /// The instant from [`Qdisc::wake`] has come.
    fn on_wake(&mut self, _now: Time, _log: &mut Log) {}

    /// What is held now, children included.
    fn backlog(&self) -> Backlog;

    /// The rate that bounds what leaves, for the utilisation: by default what the parameters say.
    fn capacity(&self) -> Option<Rate> {
        self.spec().capacity()
    }

    /// What it delays every packet by, on the mean, without a queue; a shaper not for its leaf.
    fn delay(&self) -> Dur {
        Dur::ZERO
    }

    /// `tc qdisc change`: new parameters, same packets and control state. `to` is this discipline's
    /// [`Qdisc::spec`] with the parameters that the text states, which are `given`. Where Linux
    /// discards packets on the occasion, they are in `log`.
    fn change(&mut self, now: Time, to: &Spec, given: &Given, log: &mut Log);

    /// Its name and parameters.
    fn spec(&self) -> Spec;

    /// Name and parameters in tc's grammar; parsing it gives an equal discipline.
    fn describe(&self) -> String {
        self.spec().to_string()
    }

    /// Counters under the names of `tc -s`, beyond those that [`Port statistics`](Stats) hold.
    fn stats(&self, out: &mut Stats);

    /// Control state for the trace.
    fn probe(&self, _out: &mut Probe<'_>) {}

    /// Whether the segments of a super-packet are queued one by one: the owner splits it before
    /// [`Qdisc::enqueue`]. A shaper does as the discipline inside does.
    fn splits(&self, pkt: &Packet) -> bool {
        self.leaf().is_some_and(|leaf| leaf.splits(pkt))
    }

    /// Discards everything held, children included, with [`Reason::Purge`](super::Reason::Purge):
    /// what `tc qdisc replace` does to the packets of the old discipline.
    fn purge(&mut self, log: &mut Log);

    /// The discipline inside a shaper, if any.
    fn leaf(&self) -> Option<&dyn Qdisc> {
        None
    }

    /// The discipline inside a shaper, if any: the target of a `change` or `replace` of the leaf.
    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        None
    }

    /// Lets `act` do something to the discipline inside, whose marks and drops go to `log` as this
    /// wrapper sees them: one under which packets look otherwise translates them.
    fn reach_in(&mut self, log: &mut Log, act: &mut dyn FnMut(&mut Box<dyn Qdisc>, &mut Log)) {
        act(self.leaf_mut().expect("a wrapper"), log);
    }
}

/// Packets and bytes held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Layer-2 bytes.
    pub bytes: u64,
}

impl std::ops::Add for Backlog {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl Backlog {
    /// Adds one packet.
    #[inline]
    pub fn add(&mut self, pkt: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(pkt.len);
    }

    /// Removes one packet.
    #[inline]
    pub fn remove(&mut self, pkt: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(pkt.len);
    }
}

/// Counters by `tc -s` name, in the order in which they are put.
#[derive(Clone, Debug, Default)]
pub struct Stats(pub Vec<(Cow<'static, str>, f64)>);

impl Stats {
    /// Adds a counter or gauge.
    pub fn put(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<f64>) {
        self.0.push((name.into(), value.into()));
    }

    /// The value called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }
}
