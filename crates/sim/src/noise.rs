//! Hosts that take time: what arrives waits until its host looks at it, and timers are late, those of an emulated
//! path, too.

use std::collections::VecDeque;

use sojourn_core::{Dur, Packet, Rng, Time};
use sojourn_scenario::{Noise, Quantiles, Scenario};

use crate::events::Slot;
use crate::host::hosts;
use crate::sources::{Source, Sources};

/// The hosts of a scenario, numbered as those of packets.
pub(crate) struct NoisyHosts {
    noise: Noise,
    list: Vec<Host>,
    /// Of each host; of an emulation there is one machine.
    wake_ups: Vec<WakeUps>,
    /// Host of each end point.
    of_end: Vec<u16>,
    /// Of each end point, the deadline that has passed and when its late timer fires.
    late: Vec<Late>,
    /// The timers of queues and lines, by slot; none on a path that is no emulation.
    path: Vec<Option<PathTimer>>,
}

/// A deadline that has passed, and when its timer fires.
#[derive(Clone, Copy)]
struct Late {
    of: Time,
    fires: Time,
}

impl Late {
    const NONE: Self = Self { of: Time::NEVER, fires: Time::NEVER };

    /// The deadline has come; gives when its timer fires, if that is later than `now`.
    fn expire(&mut self, now: Time, deadline: Time, late: impl FnOnce() -> Dur) -> Option<Time> {
        let fires = if self.of == deadline { self.fires } else { now + late() };
        if fires > now {
            *self = Self { of: deadline, fires };
            return Some(fires);
        }
        *self = Self::NONE;
        None
    }
}

/// A timer of the path, as of netem or a shaper.
struct PathTimer {
    rng: Rng,
    late: Late,
    /// When it last fired.
    fired: Time,
}

struct Host {
    rng: Rng,
    /// The last interrupt of its card.
    interrupt: Time,
    /// What has arrived, for which end point, and when it is handled; in order of both.
    inbox: VecDeque<(Time, u32, Packet)>,
}

/// The last wake-ups of a host, or of the machine that all hosts share.
#[derive(Clone)]
struct WakeUps {
    /// In a ring, whose oldest is the next one to go.
    last: [Time; WAKE_UPS],
    next: usize,
    before: Time,
}

const WAKE_UPS: usize = 8;
/// What comes sooner after a wake-up finds the processor awake.
const AWAKE: Dur = Dur::from_micros(15);

impl WakeUps {
    const NONE: Self = Self { last: [Time::ZERO; WAKE_UPS], next: 0, before: Time::ZERO };

    fn note(&mut self, now: Time) {
        if now > self.before + AWAKE {
            self.last[self.next] = now;
            self.next = (self.next + 1) % WAKE_UPS;
            self.before = now;
        }
    }

    /// Whether the last ones, and one at `now`, are further apart on average than `idle_after`.
    fn are_rare(&self, now: Time, idle_after: Dur) -> bool {
        now.since(self.last[self.next]) >= idle_after * WAKE_UPS as u64
    }
}

impl NoisyHosts {
    /// Those of `scenario`, if they have noise; [`NoisyHosts::emulate`] adds the path's.
    pub(crate) fn of(scenario: &Scenario) -> Option<Box<Self>> {
        let noise = scenario.noise?;
        let of_end: Vec<u16> = hosts(scenario).into_iter().map(|(own, _)| own).collect();
        let names = scenario.hosts();
        let count = of_end.iter().copied().max().map_or(0, |most| usize::from(most) + 1);
        // A host's dice have its name, so that another host disturbs none of them.
        let host = |index: usize| {
            let name =
                names.get(index).map_or_else(|| index.to_string(), |n| scenario.nodes[*n].clone());
            Host {
                rng: Rng::named(scenario.seed, &format!("host.{name}.noise")),
                interrupt: Time::ZERO,
                inbox: VecDeque::new(),
            }
        };
        let late = vec![Late::NONE; of_end.len()];
        let list: Vec<Host> = (0..count).map(host).collect();
        let wake_ups = vec![WakeUps::NONE; if noise.emulated { 1 } else { list.len() }];
        Some(Box::new(Self { noise, list, wake_ups, of_end, late, path: Vec::new() }))
    }

    /// Makes the timers of an emulated path late: those of queues, shapers, netem and lines. `name` is that of a port.
    pub(crate) fn emulate<'a>(
        &mut self,
        seed: u64,
        sources: &Sources,
        name: impl Fn(u32) -> &'a str,
    ) {
        if !self.noise.emulated {
            return;
        }
        let timer = |slot| {
            let (port, what) = match sources.get(slot) {
                Source::Queue(port) => (port, "queue"),
                Source::Line(port) => (port, "line"),
                _ => return None,
            };
            let rng = Rng::named(seed, &format!("link.{}.{what}.noise", name(port)));
            Some(PathTimer { rng, late: Late::NONE, fired: Time::ZERO })
        };
        self.path = (0..sources.len() as Slot).map(timer).collect();
    }

    /// The machine of a host.
    fn machine(&self, host: usize) -> usize {
        if self.noise.emulated { 0 } else { host }
    }

    /// Whether a host has had little to do until `now`.
    fn is_idle(&self, host: usize, now: Time) -> bool {
        self.wake_ups[self.machine(host)].are_rare(now, self.noise.idle_after)
    }

    fn wakes(&mut self, host: usize, now: Time) {
        let machine = self.machine(host);
        self.wake_ups[machine].note(now);
    }

    /// A timer that was set at about `set`: a processor sleeps no deeper than the time to it allows.
    fn timer(&self, host: usize, now: Time, set: Time) -> Quantiles {
        let is_far = now >= set + self.noise.idle_after;
        if is_far && self.is_idle(host, now) { self.noise.timer_idle } else { self.noise.timer }
    }

    /// A timer of the path is due; gives when it fires, if that is later.
    pub(crate) fn expire_on_path(&mut self, now: Time, slot: Slot, deadline: Time) -> Option<Time> {
        let fired = self.path.get(slot as usize)?.as_ref()?.fired;
        let of = self.timer(0, now, fired);
        let timer = self.path[slot as usize].as_mut()?;
        let fires = timer.late.expire(now, deadline, || of.draw(&mut timer.rng));
        if fires.is_none() {
            timer.fired = now;
        }
        fires
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Packets that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.list.iter().map(|host| host.inbox.len()).sum()
    }

    /// A packet arrives for an end point; gives its host, and when that handles it.
    pub(crate) fn arrive(&mut self, now: Time, end: usize, pkt: Packet) -> (usize, Time) {
        let index = usize::from(self.of_end[end]);
        let idle = self.is_idle(index, now);
        let (host, noise) = (&mut self.list[index], &self.noise);
        let mut at = now;
        // One interrupt serves what has arrived until it is handled, and then there is none for a while.
        if noise.coalesce > Dur::ZERO {
            if at > host.interrupt {
                host.interrupt = at.max(host.interrupt + noise.coalesce);
            }
            at = at.max(host.interrupt);
        }
        // What has come before and waits has woken the host.
        let before = host.inbox.back().map_or(Time::ZERO, |(before, ..)| *before);
        let of = if idle && before < at { noise.turn_idle } else { noise.turn };
        // In order: what has come before is handled before.
        let at = (at + of.draw(&mut host.rng)).max(before);
        host.inbox.push_back((at, end as u32, pkt));
        (index, host.inbox[0].0)
    }

    /// What a host handles now.
    pub(crate) fn take(&mut self, now: Time, host: usize) -> Option<(usize, Packet)> {
        let inbox = &mut self.list[host].inbox;
        inbox.front().filter(|(at, ..)| *at <= now)?;
        let (_, end, pkt) = inbox.pop_front()?;
        self.wakes(host, now);
        Some((end as usize, pkt))
    }

    /// When a host handles the next packet.
    pub(crate) fn due(&self, host: usize) -> Time {
        self.list[host].inbox.front().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// A timer of an end point is due; gives when it fires, if that is later.
    pub(crate) fn expire(&mut self, now: Time, end: usize, deadline: Time) -> Option<Time> {
        let index = usize::from(self.of_end[end]);
        let of = self.timer(index, now, self.wake_ups[self.machine(index)].before);
        let host = &mut self.list[index];
        let fires = self.late[end].expire(now, deadline, || of.draw(&mut host.rng));
        if fires.is_none() {
            self.wakes(index, now);
        }
        fires
    }

    /// When the event of an end point's timer is: when it is due, or when it fires, late, if it has been.
    pub(crate) fn wanted(&self, end: usize, deadline: Time) -> Time {
        let late = self.late[end];
        if late.of == deadline { late.fires } else { deadline }
    }
}
