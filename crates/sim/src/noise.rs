//! Hosts that take time: what arrives waits until its host looks at it, and timers are late.

use std::collections::VecDeque;

use sojourn_core::{Dur, Packet, Rng, Time};
use sojourn_scenario::{Noise, Scenario};

use crate::host::hosts;

/// The hosts of a scenario, numbered as those of packets.
pub(crate) struct NoisyHosts {
    noise: Noise,
    list: Vec<Host>,
    /// Host of each end point.
    of_end: Vec<u16>,
    /// Of each end point, the deadline that has passed and when its late timer fires.
    late: Vec<(Time, Time)>,
}

struct Host {
    rng: Rng,
    /// When it last did something.
    active: Time,
    /// The last interrupt of its card.
    interrupt: Time,
    /// What has arrived, for which end point, and when it is handled; in order of both.
    inbox: VecDeque<(Time, u32, Packet)>,
}

impl Host {
    fn timer(&mut self, now: Time, noise: &Noise) -> Dur {
        let idle = now >= self.active + noise.idle_after;
        let of = if idle { noise.timer_idle } else { noise.timer };
        of.draw(&mut self.rng)
    }

    /// `before` is when it handles what has come before: what wakes it for that wakes it once.
    fn turn(&mut self, now: Time, before: Time, noise: &Noise) -> Dur {
        let idle = now >= self.active.max(before) + noise.idle_after;
        let of = if idle { noise.turn_idle } else { noise.turn };
        of.draw(&mut self.rng)
    }
}

impl NoisyHosts {
    /// Those of `scenario`, if they have noise.
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
                active: Time::ZERO,
                interrupt: Time::ZERO,
                inbox: VecDeque::new(),
            }
        };
        let late = vec![(Time::NEVER, Time::NEVER); of_end.len()];
        Some(Box::new(Self { noise, list: (0..count).map(host).collect(), of_end, late }))
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
        let (host, noise) = (&mut self.list[index], &self.noise);
        let mut at = now;
        if noise.emulated {
            at = at + host.timer(at, noise);
        }
        // One interrupt serves what has arrived until it is handled, and then there is none for a while.
        if noise.coalesce > Dur::ZERO {
            if at > host.interrupt {
                host.interrupt = at.max(host.interrupt + noise.coalesce);
            }
            at = at.max(host.interrupt);
        }
        let before = host.inbox.back().map_or(Time::ZERO, |(before, ..)| *before);
        at = at + host.turn(at, before, noise);
        // In order: what has come before is handled before.
        at = at.max(before);
        host.inbox.push_back((at, end as u32, pkt));
        (index, host.inbox[0].0)
    }

    /// What a host handles now.
    pub(crate) fn take(&mut self, now: Time, host: usize) -> Option<(usize, Packet)> {
        let host = &mut self.list[host];
        host.inbox.front().filter(|(at, ..)| *at <= now)?;
        let (_, end, pkt) = host.inbox.pop_front()?;
        host.active = now;
        Some((end as usize, pkt))
    }

    /// When a host handles the next packet.
    pub(crate) fn due(&self, host: usize) -> Time {
        self.list[host].inbox.front().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// A timer of an end point is due; gives when it fires, if that is later.
    pub(crate) fn expire(&mut self, now: Time, end: usize, deadline: Time) -> Option<Time> {
        let host = &mut self.list[usize::from(self.of_end[end])];
        let (of, fires) = self.late[end];
        let fires = if of == deadline { fires } else { now + host.timer(now, &self.noise) };
        self.late[end] = (deadline, fires);
        if fires > now {
            return Some(fires);
        }
        self.late[end] = (Time::NEVER, Time::NEVER);
        host.active = now;
        None
    }

    /// When the event of an end point's timer is: when it is due, or when it fires, late, if it has been.
    pub(crate) fn wanted(&self, end: usize, deadline: Time) -> Time {
        let (of, fires) = self.late[end];
        if of == deadline { fires } else { deadline }
    }
}
