//! From the scenario to ports with queues that have been there for a while.

use sojourn_core::{Dur, Rng, Time};
use sojourn_queue::Medium;
use sojourn_queue::aqm::{Env, Log, Qdisc};
use sojourn_queue::impair::tunnel::{InnerHeaders, Tunnel};
use sojourn_scenario::Scenario;
use sojourn_scenario::topology::{PortSpec, Role, Topology};

use crate::link::Port;

/// Why building cannot fail here.
pub(crate) const CHECKED: &str = "the scenario has built every algorithm once";

/// Surroundings of what is built at `now`, on the clock of a queue of this age.
pub(crate) fn env(
    scenario: &Scenario,
    name: &str,
    role: Role,
    now: Time,
    age: Dur,
    medium: &Medium,
) -> Env {
    let at_ingress = matches!(role, Role::Ingress(_));
    let (traces, medium) = (scenario.traces.clone(), medium.clone());
    let rng = Rng::named(scenario.seed, name);
    let origin = Time::ZERO + age;
    Env { name: name.to_owned(), at_ingress, now, origin, traces, medium, ..Env::ethernet(rng) }
}

/// The ports with their queues, and what the tunnels' ends know of the packets between them. The
/// two ends of a tunnel's direction follow one another.
pub(crate) fn ports(
    topology: &Topology,
    scenario: &Scenario,
    ends: usize,
    media: &[Medium],
) -> (Vec<Port>, Vec<InnerHeaders>) {
    let mut inner = Vec::new();
    let ages: Vec<Dur> = scenario.links.iter().map(|link| age(scenario, &link.name)).collect();
    let mut exit = None;
    let port = |spec: &PortSpec| {
        let age = ages[spec.link];
        let qdisc = match spec.role {
            Role::Ingress(_) | Role::Egress => link_queue(spec, scenario, age, &media[spec.link]),
            Role::Encap(index) => {
                let (encap, decap, headers) = tunnel(scenario, index, spec.forward).ends();
                exit = Some(decap);
                inner.push(headers);
                encap
            }
            Role::Decap(_) => exit.take().expect("its ingress stands before it"),
        };
        Port::new(spec, qdisc, age, ends, 1 + scenario.windows.len())
    };
    let ports = topology.ports.iter().map(port).collect();
    (ports, inner)
}

/// How old the queues of a link are when the scenario starts: `queue_age`, and a random part of as
/// much again, but below 1 s, so that no timer's phase is special. Both directions may share a
/// medium, and with it a clock.
fn age(scenario: &Scenario, link: &str) -> Dur {
    let mut rng = Rng::named(scenario.seed, &format!("link.{link}.age"));
    let phase = rng.unit() * scenario.queue_age.min(Dur::from_secs(1)).0 as f64;
    // Clocks of 64 and of 1024 ns (tc's and CoDel's) tick at the same instants at any age.
    scenario.queue_age + Dur(phase as u64 & !1023)
}

/// The queue with its shaper, which has run for `age` without traffic.
fn link_queue(spec: &PortSpec, scenario: &Scenario, age: Dur, medium: &Medium) -> Box<dyn Qdisc> {
    let env = |part: &str| {
        let name = format!("link.{}.{part}", spec.name);
        env(scenario, &name, spec.role, Time::ZERO, age, medium)
    };
    let mut qdisc = spec.qdisc.as_ref().expect("a queue, not a tunnel's end").build(env("qdisc"));
    for (part, wrapper) in [("shaper", &spec.shaper), ("stab", &spec.stab)] {
        qdisc = match wrapper {
            Some(wrapper) => wrapper.around(env(part), qdisc),
            None => qdisc,
        };
    }
    idle_until(Time::ZERO + age, qdisc.as_mut());
    qdisc
}

/// Serves the timers of an empty queue before `start`.
fn idle_until(start: Time, qdisc: &mut dyn Qdisc) {
    let mut log = Log::default();
    loop {
        let at = qdisc.wake();
        if at >= start {
            return;
        }
        qdisc.on_wake(at, &mut log);
        assert!(qdisc.wake() > at, "`{}` serves its timer", qdisc.describe());
    }
}

fn tunnel(scenario: &Scenario, index: usize, forward: bool) -> Tunnel {
    let spec = &scenario.tunnels[index];
    let mut hashes = Rng::named(scenario.seed, &format!("tunnel.{}.hash", spec.name));
    let hashes = [hashes.u32(), hashes.u32()];
    // Flows run between hosts 0 and 1, in a graph between those of the nodes; each tunnel has two of its
    // own.
    let first = scenario.hosts().len().max(2);
    let [near, far] = [2 * index, 2 * index + 1].map(|host| (first + host) as u16);
    Tunnel {
        mode: spec.ecn,
        dscp: spec.dscp,
        entropy: spec.entropy,
        hash: hashes[usize::from(!forward)],
        hosts: if forward { (near, far) } else { (far, near) },
        replay_window: spec.replay_window,
    }
}
