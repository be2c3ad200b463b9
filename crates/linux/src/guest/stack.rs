//! End points of ours at the hosts, for flows that the kernel does not have: a thread that drives them, behind a
//! TUN device of their host or over its kernel's UDP.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sojourn_core::{Dur, Time};
use sojourn_live::device::Device;
use sojourn_live::realtime::Measures;
use sojourn_scenario::{Scenario, Stack};
use sojourn_sim::Ends;
use sojourn_stack::{FIRST_PORT, Host, Report, Seat, UdpPort};
use sojourn_trace::Column;
use sojourn_wire::Addresses;

use super::context::Context;
use super::middlebox::{REPORT_EVERY, open};
use super::outcome::failed;
use super::socket::enter;
use crate::job::{Carried, Job, Line, Place};

/// The thread.
pub(super) type Running = JoinHandle<Result<Report, String>>;

/// Starts it, if any flow has end points of ours; they begin with the run. In virtual time it never spins.
pub(super) fn start(
    context: &Context,
    job: &Job,
    scenario: &Scenario,
) -> Result<Option<Running>, String> {
    let (seats, devices) = seats(context, job)?;
    if seats.is_empty() {
        return Ok(None);
    }
    let host = Host::new(scenario, &seats, devices).map_err(|error| error.to_string())?;
    // What is the whole process's or machine's a middlebox asks for.
    let wanted = Measures { fifo: true, exact_timers: true, ..Measures::default() };
    let (context, is_virtual) = (context.clone(), job.place == Place::Virtual);
    let drive = move |context: &Context| {
        let clock = context.clock;
        clock.sleep_until(0);
        let mut next = Time::ZERO + REPORT_EVERY;
        let stops = |ends: &mut Ends| {
            let now = clock.0.now();
            if now >= next {
                next = now + REPORT_EVERY;
                // After the end nobody listens.
                let _ = context.report(Line::Series(ends.drain().collect()));
            }
            false
        };
        let run = if is_virtual {
            host.run_with_spin(clock.0, Dur::ZERO, wanted, stops)
        } else {
            host.run(clock.0, wanted, stops)
        };
        run.map_err(|error| error.to_string())
    };
    let work = move || context.watched("end points", || drive(&context));
    let thread = thread::Builder::new().name("stack".into()).spawn(work);
    Ok(Some(thread.map_err(failed("a thread"))?))
}

type Devices = Vec<Arc<dyn Device>>;

/// Where the two ends of each flow of ours are: at the host that opens it, and at the other one.
fn seats(context: &Context, job: &Job) -> Result<(Vec<Seat>, Devices), String> {
    let behind = job.middlebox.as_ref().map_or(&[][..], |own| &own.seats);
    let mut devices = behind.iter().map(|seat| open(&seat.end)).collect::<Result<Devices, _>>()?;
    let mut seats = Vec::new();
    for (n, (&[opener, peer], stack)) in job.network.flows.iter().zip(&job.stacks).enumerate() {
        for (end, at, to) in [(2 * n, opener, peer), (2 * n + 1, peer, opener)] {
            let (device, [source, destination]) = match stack {
                Stack::Kernel => continue,
                Stack::Sojourn => (at, [at, to].map(|host| behind[host].address)),
                Stack::Scream => {
                    let addresses = [context.address(at)?, context.address(to)?];
                    devices.push(port(context.host(at)?, addresses[0], n)?);
                    (devices.len() - 1, addresses)
                }
            };
            seats.push(Seat { end, device, addresses: Addresses::V4 { source, destination } });
        }
    }
    Ok((seats, devices))
}

/// A socket of the flow `n` at a host.
fn port(namespace: &str, address: Ipv4Addr, n: usize) -> Result<Arc<dyn Device>, String> {
    let (namespace, number) = (namespace.to_owned(), FIRST_PORT + n as u16);
    let inside = move || {
        enter(&namespace)?;
        UdpPort::open(address.into(), number).map_err(failed("socket"))
    };
    let port = thread::spawn(inside).join().map_err(|_| "a thread panicked")??;
    Ok(Arc::new(port))
}

/// What they leave behind where no middlebox takes it.
pub(super) fn finish(running: Running, job: &Job) -> Result<(Vec<Column>, Carried), String> {
    let Report { mut ends, until, .. } = running.join().map_err(|_| "a thread panicked")??;
    // Transfers alone are judged by what the path carries.
    let rates = vec![None; job.flows.len()];
    let mut carried = Carried {
        queues: Vec::new(),
        flows: ends.flow_summaries(until, &rates),
        windows: ends.window_summaries(until, &rates),
        record: None,
    };
    keep_own(job, &mut carried);
    Ok((ends.drain().collect(), carried))
}

/// Keeps of all flows and pings the flows of end points of ours, and of programs, of which nobody else knows what
/// they got; and names their stacks.
pub(super) fn keep_own(job: &Job, carried: &mut Carried) {
    let is_own = |n: usize| job.stacks[n] != Stack::Kernel || !job.flows[n].programs.is_empty();
    for (flow, stack) in carried.flows.iter_mut().zip(&job.stacks) {
        flow.stack = Some(stack.name().to_owned());
    }
    carried.flows = pick(std::mem::take(&mut carried.flows), is_own);
    for window in &mut carried.windows {
        window.flows = pick(std::mem::take(&mut window.flows), is_own);
        window.pings.clear();
    }
}

fn pick<T>(all: Vec<T>, is_wanted: impl Fn(usize) -> bool) -> Vec<T> {
    let numbered = all.into_iter().enumerate();
    numbered.filter(|(n, _)| is_wanted(*n)).map(|(_, one)| one).collect()
}
