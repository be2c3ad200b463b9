//! Scenarios, hosts and what they left behind.

use std::env;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use sojourn_core::Dur;
use sojourn_live::clock::Clock;
use sojourn_live::device::Device;
use sojourn_live::realtime::Measures;
use sojourn_middlebox::{Forwarder, Hosts};
use sojourn_scenario::Scenario;
use sojourn_sim::Ends;
use sojourn_stack::{Host, Report, Seat};
use sojourn_wire::Addresses;

/// Near and far.
pub(crate) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];

/// One link with this queue, 10 ms each way, and these flows.
pub(crate) fn scenario(rate: &str, qdisc: &str, flows: &str) -> Arc<Scenario> {
    let text = format!(
        "name = \"hosts\"\nduration = \"60s\"\nmeasure.from = \"0s\"\nstep = \"20ms\"\n\
         [[link]]\nname = \"bneck\"\nrate = \"{rate}\"\nqdisc = \"{qdisc}\"\ndelay = \"10ms\"\n\
         reverse = {{ rate = \"none\", qdisc = \"pfifo\" }}\n{flows}"
    );
    Arc::new(sojourn_scenario::load(&text, "hosts.toml", &[]).unwrap().scenario)
}

/// A flow with this many bytes to send.
pub(crate) fn flow(name: &str, cc: &str, bytes: usize) -> String {
    format!("[[flow]]\nname = \"{name}\"\ncc = \"{cc}\"\nbytes = \"{bytes}b\"\n")
}

/// A seat of an end point, even ones near and odd ones far.
pub(crate) fn seat(end: usize, device: usize) -> Seat {
    let [source, destination] = [ADDRESSES[end % 2], ADDRESSES[1 - end % 2]];
    Seat { end, device, addresses: Addresses::V4 { source, destination } }
}

/// A thread that runs until it is asked to stop.
pub(crate) struct Running<T> {
    thread: JoinHandle<T>,
    stop: Arc<AtomicBool>,
}

impl<T> Running<T> {
    pub(crate) fn stop(self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }

    pub(crate) fn join(self) -> T {
        self.thread.join().unwrap()
    }
}

/// Set where a program that does not sleep stops the time.
pub(crate) const IN_VIRTUAL_TIME: &str = "SOJOURN_TEST_IN_VIRTUAL_TIME";

fn spin() -> Dur {
    if env::var_os(IN_VIRTUAL_TIME).is_some() { Dur::ZERO } else { Dur::from_micros(25) }
}

/// Runs a host until it is asked to stop, or `is_over`.
pub(crate) fn run(
    host: Host,
    mut is_over: impl FnMut(&mut Ends) -> bool + Send + 'static,
) -> Running<Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    let work = move || {
        let stops = |ends: &mut Ends| stops.load(Ordering::Relaxed) || is_over(ends);
        host.run_with_spin(Clock::start(), spin(), Measures::default(), stops).unwrap()
    };
    Running { thread: thread::spawn(work), stop }
}

/// Runs the network of a scenario until it is asked to stop.
pub(crate) fn forward(
    scenario: &Arc<Scenario>,
    devices: [Arc<dyn Device>; 2],
) -> Running<sojourn_middlebox::Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    let [near, far] = devices;
    let (scenario, hosts) = (Arc::clone(scenario), Hosts::pair(near, far));
    let work = move || {
        let forwarder = Forwarder::new(scenario, hosts, Clock::start()).unwrap().spin(spin());
        forwarder.run(Measures::default(), |_| stops.load(Ordering::Relaxed)).unwrap()
    };
    Running { thread: thread::spawn(work), stop }
}

/// A total of an end point.
pub(crate) fn total(ends: &mut Ends, end: usize, name: &str) -> f64 {
    let totals = ends.get(end).totals().0;
    totals.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, value)| *value)
}
