//! What the SCE team's queues have in common: parameters, shaper, admission, and COBALT2's law for
//! both classes. chromi/sce, trees of 2019 and 2020.

use std::fmt::Debug;

use super::cobalt2::{Law, LawParams, Version};
use super::plain_queue::Limit;
use super::virtual_clock::{Shaping, VirtualClock};
use super::{Backlog, Discipline, Entry, Env, Log, Qdisc, Reason, Spec, Stats, accepts, spec};
use sojourn_core::grammar::{Given, Parameters};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

parameters! {
    /// Parameters of every one of these queues.
    #[derive(Copy, PartialEq)]
    pub(super) struct Common {
        /// Version of COBALT2.
        version: Version = Version::V2020, name "law", tc false;
        /// Age of the kernel when the run starts, seen by fresh state.
        uptime: Dur = Dur::from_secs(1000), tc false;
    }
    groups {
        law: LawParams = LawParams::default();
        limit: Limit = Limit::default();
        shaping: Shaping = Shaping::default();
    }
}

impl Common {
    /// With SCE at this `sce-thresh`.
    pub(super) fn with_sce(divisor: u16) -> Self {
        Self { law: LawParams::with_divisor(divisor), ..Self::default() }
    }
}

/// Buckets of the flow hash.
pub(super) const FLOWS: usize = 1 << 16;

/// The flow of a packet.
#[inline]
pub(super) const fn flow_of(pkt: &Packet) -> usize {
    pkt.hash as usize % FLOWS
}

/// Whether the packet asks for the low-latency class: DSCP 4. chromi/sce sch_twin_codel_af.
#[inline]
pub(super) const fn is_low_latency(pkt: &Packet) -> bool {
    pkt.tos >> 2 == 4
}

/// Parameters of one of these queues.
pub(super) trait Shelled:
    Parameters + Copy + Default + Debug + Send + Sync + 'static
{
    /// The line of the registry.
    const ENTRY: &'static Entry;
    /// The queue.
    type Queue: Inside<Params = Self>;

    fn common(&self) -> &Common;
    fn common_mut(&mut self) -> &mut Common;
}

/// One of these queues, which its shell makes a discipline.
pub(super) trait Inside: Debug + Send + 'static {
    /// Its parameters.
    type Params: Shelled<Queue = Self>;

    /// Empty.
    fn new() -> Self;
    /// Makes room for a packet; false if there is none and it is dropped.
    #[inline]
    fn fits(&mut self, _shell: &mut Shell<Self::Params>, _pkt: &Packet, _log: &mut Log) -> bool {
        true
    }
    /// Takes a packet, of which the shell has taken account.
    fn push(&mut self, pkt: Packet);
    /// The next packet; the shaper's clock allows one.
    fn pop(&mut self, shell: &mut Shell<Self::Params>, now: Time, log: &mut Log) -> Option<Packet>;
    /// Whether super-packets are queued segment by segment.
    fn splits(_params: &Self::Params) -> bool {
        true
    }
    /// Counters beside the shaper's.
    fn counters(&self, _out: &mut Stats) {}
    /// Control state for the trace.
    fn state(&self, out: &mut Probe<'_>);
    /// Discards packets and state.
    fn clear(&mut self, log: &mut Log);
}

/// A queue in its shell.
#[derive(Debug)]
pub(super) struct InShell<Q: Inside> {
    pub(super) shell: Shell<Q::Params>,
    pub(super) inside: Q,
}

/// Shaper, admission and laws of one queue.
#[derive(Debug)]
pub(super) struct Shell<P> {
    pub(super) params: P,
    /// Laws of the ordinary and of the low-latency class.
    pub(super) law: Law,
    pub(super) low: Law,
    clock: VirtualClock,
    pub(super) backlog: Backlog,
    pub(super) rng: Rng,
}

impl<P: Shelled> Shell<P> {
    pub(super) fn new(params: P, env: Env) -> Self {
        let common = params.common();
        let law = Law::new(&common.law, common.version);
        Self {
            law,
            low: law.fifth(),
            clock: VirtualClock::new(&common.shaping),
            params,
            backlog: Backlog::default(),
            rng: env.rng,
        }
    }

    /// Nanoseconds since the kernel's start.
    #[inline]
    pub(super) fn kernel_time(&self, now: Time) -> u64 {
        now.0.wrapping_add(self.params.common().uptime.0)
    }

    /// Takes account of an arrival; false if it was dropped at the limit.
    /// chromi/sce, trees of 2019 and 2020.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, pkt: &mut Packet, log: &mut Log) -> bool {
        if self.params.common().limit.limit.is_some_and(|limit| self.backlog.packets >= limit) {
            log.drop(pkt, Reason::TailLimit);
            return false;
        }
        if self.backlog.bytes == 0 {
            self.clock.restart(now);
        }
        pkt.stamp = now;
        self.backlog.add(pkt);
        true
    }
}

impl<P: Shelled> Discipline for P {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(InShell::<P::Queue>::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        let same = |to: &P| to.common().uptime == self.common().uptime;
        accepts(to, same, "`uptime` is fixed at creation; use replace")
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        self.common_mut().shaping.bandwidth = Some(rate);
        Ok(())
    }

    fn capacity(&self) -> Option<Rate> {
        self.common().shaping.capacity()
    }
}

impl<Q: Inside> InShell<Q> {
    pub(super) fn new(params: Q::Params, env: Env) -> Self {
        Self { shell: Shell::new(params, env), inside: Q::new() }
    }

    /// The discipline with these options, for tests of its state.
    #[cfg(test)]
    pub(super) fn read(options: &str) -> Self {
        let spec: Spec =
            format!("{} {options}", Q::Params::ENTRY.name).parse().expect("valid options");
        let env = Env::ethernet(Rng::named(1, "t"));
        Self::new(*spec.params().expect("its own parameters"), env)
    }
}

impl<Q: Inside> Qdisc for InShell<Q> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.inside.fits(&mut self.shell, &pkt, log) && self.shell.admit(now, &mut pkt, log) {
            self.inside.push(pkt);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.shell.clock.is_blocked(now) {
            return None;
        }
        let pkt = self.inside.pop(&mut self.shell, now, log)?;
        self.shell.clock.charge(pkt.len);
        Some(pkt)
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

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Q::Params>() {
            let (shell, common) = (&mut self.shell, params.common());
            shell.params = *params;
            shell.law = Law::new(&common.law, common.version);
            shell.low = shell.law.fifth();
            shell.clock.set(&common.shaping);
        }
    }

    fn spec(&self) -> Spec {
        spec(Q::Params::ENTRY, self.shell.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.shell.clock.overlimits as f64);
        self.inside.counters(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.inside.state(out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        Q::splits(&self.shell.params)
    }

    fn purge(&mut self, log: &mut Log) {
        self.inside.clear(log);
        self.shell.backlog = Backlog::default();
    }
}
