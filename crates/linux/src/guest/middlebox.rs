//! The middlebox between the hosts: a thread that carries their packets through the network of the
//! scenario, and what it reports.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sojourn_core::{Dur, Time};
use sojourn_live as live;
use sojourn_live::lateness::Lateness;
use sojourn_live::realtime::Measures;
use sojourn_live::tun::Tun;
use sojourn_middlebox::{Device, Forwarder, Hosts, Report};
use sojourn_scenario::Scenario;
use sojourn_trace::middlebox::{self as record, Middlebox};
use sojourn_wire::{Ip, icmp, ip, tcp, udp};

use super::capture::epoch;
use super::context::Context;
use super::outcome::{Outcome, failed};
use super::socket::enter;
use super::stack::{Running, keep_own};
use crate::job::{Carried, FIRST_PORT, FlowJob, Job, Line, MiddleboxJob, Place};
use crate::network::End;

/// Between two reports of what was sampled.
pub(super) const REPORT_EVERY: Dur = Dur::from_millis(100);

/// Where the thread works.
struct Surroundings {
    /// What it asks the machine for.
    wanted: Measures,
    is_virtual: bool,
    /// The folder for capture files.
    captures: Option<PathBuf>,
}

/// The thread, and what it leaves behind.
pub(super) struct Carrier {
    thread: JoinHandle<Result<Passage, String>>,
    bound: Dur,
}

/// What passed.
struct Passage {
    report: Report,
    /// By host: packets that its device dropped before they were read.
    overruns: Vec<u64>,
    /// Of end points of ours.
    own_lateness: Lateness,
}

/// Refuses a machine that has no TUN devices, or not for this user.
pub(super) fn check() -> Outcome {
    Tun::open("sojourn").map(drop).map_err(|error| error.to_string())
}

/// Starts it; its network begins with the run.
pub(super) fn start(
    context: &Context,
    job: &Job,
    own: &MiddleboxJob,
    scenario: Arc<Scenario>,
    stack: Option<Running>,
) -> Result<Carrier, String> {
    let ends = job.network.flows.iter().chain(&job.network.pings).flatten().copied();
    let ends: Vec<usize> = ends.collect();
    let programs = programs(job);
    let flows = job.flows.len();
    let device = |uplink| {
        if own.has_super_packets {
            opened(uplink, Tun::open_for_super_packets)
        } else {
            open(uplink)
        }
    };
    let hosts = Hosts {
        devices: own.uplinks.iter().map(device).collect::<Result<_, _>>()?,
        of_ends: ends.iter().copied().map(Some).collect(),
        sender: Box::new(move |host, packet| {
            let ip = Ip::parse(packet).ok()?;
            let of_number = |number: usize| {
                // The ends of a flow are at different hosts.
                [2 * number, 2 * number + 1].into_iter().find(|end| ends.get(*end) == Some(&host))
            };
            let of_program = || {
                let to = ip.addresses().destination();
                programs
                    .iter()
                    .find(|(from, at, _)| (*from, *at) == (host, to))
                    .map(|(.., end)| *end)
            };
            number(&ip, flows).and_then(of_number).or_else(of_program)
        }),
    };
    let is_virtual = job.place == Place::Virtual;
    // In virtual time computing takes none, but without FIFO scheduling a wait may still be late.
    let wanted = Measures {
        fifo: true,
        exact_timers: true,
        no_idle: !is_virtual && !own.keeps_awake,
        awake: !is_virtual && own.keeps_awake,
        locked_memory: !is_virtual,
        cpu: None,
    };
    let surroundings = Surroundings { wanted, is_virtual, captures: job.captures.clone() };
    let context = context.clone();
    let uplinks = own.uplinks.clone();
    let work = move || {
        context.watched("middlebox", || {
            forward(&context, scenario, hosts, &uplinks, stack, surroundings)
        })
    };
    let thread = thread::Builder::new().name("middlebox".into()).spawn(work);
    let thread = thread.map_err(failed("a thread"))?;
    let bound = Dur(own.bound_ns);
    Ok(Carrier { thread, bound })
}

/// The flow or ping that a packet belongs to: ports and identifiers number the flows, then the pings.
pub(super) fn number(ip: &Ip<'_>, flows: usize) -> Option<usize> {
    // RFC 791 3.2: only the first fragment begins with a transport header, and no flow or ping sends one.
    if ip.is_fragment {
        return None;
    }
    if let Some((echo, _)) = icmp::Header::parse(ip) {
        return Some(flows + usize::from(echo.identifier.checked_sub(1)?));
    }
    let (source, destination) = tcp::Header::parse(ip.payload())
        .ok()
        .filter(|_| ip.protocol == ip::TCP)
        .map(|(tcp, _)| (tcp.source, tcp.destination))
        .or_else(|| udp::Header::parse(ip).map(|(udp, _)| (udp.source, udp.destination)))?;
    // What opens a connection has a port of its kernel's choice, which is above these.
    source.min(destination).checked_sub(FIRST_PORT).map(usize::from)
}

/// Where packets of programs come from and go to, and the end point that sends them: all packets between two
/// hosts that no other flow or ping has, since programs choose their ports themselves.
fn programs(job: &Job) -> Vec<(usize, IpAddr, usize)> {
    let flows = job.flows.iter().enumerate().filter(|(_, flow)| !flow.programs.is_empty());
    let ways = |(n, flow): (usize, &FlowJob)| {
        let address = |host: usize| IpAddr::V4(job.network.hosts[host].address);
        let FlowJob { opener, peer, .. } = *flow;
        [(opener, address(peer), 2 * n), (peer, address(opener), 2 * n + 1)]
    };
    flows.flat_map(ways).collect()
}

/// The device of a host.
pub(super) fn open(uplink: &End) -> Result<Arc<dyn Device>, String> {
    opened(uplink, Tun::open)
}

fn opened(
    uplink: &End,
    open: fn(&str) -> Result<Tun, live::error::Error>,
) -> Result<Arc<dyn Device>, String> {
    let End { namespace, device } = uplink.clone();
    let inside = move || {
        enter(&namespace)?;
        open(&device).map_err(|error| error.to_string())
    };
    let tun = thread::spawn(inside).join().map_err(|_| "a thread panicked")??;
    Ok(Arc::new(tun))
}

fn forward(
    context: &Context,
    scenario: Arc<Scenario>,
    hosts: Hosts,
    uplinks: &[End],
    mut stack: Option<Running>,
    Surroundings { wanted, is_virtual, captures }: Surroundings,
) -> Result<Passage, String> {
    let clock = context.clock;
    let (mut own_lateness, mut failure, mut overruns) = (Lateness::default(), None, None);
    let (mut next, end) = (Time::ZERO + REPORT_EVERY, Time::ZERO + scenario.duration);
    let epoch = epoch(context, is_virtual);
    let tap = captures.map(|folder| sojourn_tap::into_folder(&scenario, &folder, epoch));
    let forwarder = Forwarder::new(scenario, hosts, clock.0).map_err(failed("epoll"))?;
    // In virtual time a program that does not sleep stops the time.
    let forwarder = if is_virtual { forwarder.spin(Dur::ZERO) } else { forwarder };
    let forwarder = match tap.transpose()?.flatten() {
        Some(tap) => forwarder.tapped(tap),
        None => forwarder,
    };
    clock.sleep_until(0);
    let report = forwarder.run(wanted, |simulation| {
        let now = simulation.now();
        if now >= end {
            // While the devices are open: later nobody reads what the hosts still send.
            overruns.get_or_insert_with(|| uplinks.iter().map(overrun).collect());
        }
        // What end points of ours have recorded is the simulation's then; those of the kernel record nothing here.
        match stack.take_if(|_| now >= end).map(JoinHandle::join) {
            Some(Ok(Ok(ended))) => {
                simulation.adopt(ended.ends);
                own_lateness = ended.lateness;
            }
            Some(Ok(Err(error))) => failure = Some(error),
            Some(Err(_)) => failure = Some("end points: a defect of it".to_owned()),
            None => {}
        }
        if now >= next.min(end) {
            next = now + REPORT_EVERY;
            // After the end nobody listens.
            let _ = context.report(Line::Series(simulation.drain().collect()));
        }
        false
    });
    let report = report.map_err(|error| error.to_string())?;
    failure.map_or(Ok(()), Err)?;
    let overruns: Result<Vec<u64>, String> = overruns.unwrap_or_else(|| Ok(Vec::new()));
    Ok(Passage { report, overruns: overruns?, own_lateness })
}

impl Carrier {
    /// What it leaves behind, once the run is over.
    pub(super) fn finish(self, job: &Job) -> Result<Carried, String> {
        let passage = self.thread.join().map_err(|_| "the middlebox has a defect")??;
        let Passage { report, overruns, own_lateness } = passage;
        let exceeds = |lateness: &Lateness| lateness.quantile(0.99).is_some_and(|l| l > self.bound);
        let mut is_late = exceeds(&own_lateness);
        let mut hosts = Vec::new();
        for ((side, overrun), host) in
            report.sides.into_iter().zip(overruns).zip(&job.network.hosts)
        {
            is_late |= exceeds(&side.lateness) || overrun > 0;
            let named = side.received.named().into_iter().map(|(name, n)| (name, n as f64));
            hosts.push(record::Carried {
                host: host.namespace.clone(),
                received: named.collect(),
                super_packets: side.super_packets,
                strays: side.strays,
                refused: side.refused,
                overrun,
                lateness_ms: side.lateness.statistics(),
            });
        }
        let granted = report.granted.named().into_iter();
        let record = Middlebox {
            hosts,
            granted: granted.filter(|(_, is)| *is).map(|(name, _)| name.to_owned()).collect(),
            refused: report.refused,
            own_lateness_ms: own_lateness.statistics(),
            bound_ms: self.bound.as_millis_f64(),
            is_late,
        };
        let summary = report.output.summary;
        let (flows, windows) = (summary.flows, summary.windows);
        let mut carried =
            Carried { queues: report.output.queues, flows, windows, record: Some(record) };
        keep_own(job, &mut carried);
        Ok(carried)
    }
}

/// Packets that the device dropped because the middlebox did not read them in time: the 12th number of its
/// line in `/proc/net/dev`, which is the network's of the thread that reads it.
fn overrun(uplink: &End) -> Result<u64, String> {
    let End { namespace, device } = uplink.clone();
    let inside = move || {
        enter(&namespace)?;
        fs::read_to_string("/proc/thread-self/net/dev").map_err(failed("/proc/net/dev"))
    };
    let table = thread::spawn(inside).join().map_err(|_| "a thread panicked")??;
    let of_device =
        |line: &str| line.trim_start().strip_prefix(&*device)?.strip_prefix(':').map(str::to_owned);
    let numbers = table.lines().find_map(of_device).unwrap_or_default();
    numbers
        .split_whitespace()
        .nth(11)
        .and_then(|n| n.parse().ok())
        .ok_or_else(|| "/proc/net/dev: no count of drops".to_owned())
}

#[cfg(test)]
mod tests;
