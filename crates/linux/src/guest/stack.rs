//! End points of ours at the hosts, for flows that the kernel does not have: a thread that drives them.

use std::thread::{self, JoinHandle};

use sojourn_core::{Dur, Time};
use sojourn_live::realtime::Measures;
use sojourn_scenario::{Scenario, Stack};
use sojourn_sim::Ends;
use sojourn_stack::{Host, Report, Seat};
use sojourn_wire::Addresses;

use super::context::Context;
use super::middlebox::{REPORT_EVERY, open};
use super::outcome::failed;
use crate::job::{Job, Line, MiddleboxJob};

/// The thread.
pub(super) type Running = JoinHandle<Result<Report, String>>;

/// Starts it, if any flow has end points of ours; they begin with the run. In virtual time it never spins.
pub(super) fn start(
    context: &Context,
    job: &Job,
    own: &MiddleboxJob,
    scenario: &Scenario,
    wanted: Measures,
    is_virtual: bool,
) -> Result<Option<Running>, String> {
    let flows = job.network.flows.iter().zip(&own.stacks).enumerate();
    let flows = flows.filter(|(_, (_, stack))| **stack == Stack::Sojourn);
    let seats: Vec<Seat> = flows.flat_map(|(n, (pair, _))| seats(own, n, *pair)).collect();
    if seats.is_empty() {
        return Ok(None);
    }
    let devices = own.seats.iter().map(|seat| open(&seat.end)).collect::<Result<_, _>>()?;
    let host = Host::new(scenario, &seats, devices).map_err(|error| error.to_string())?;
    // What is the whole process's or machine's the middlebox has asked for.
    let wanted = Measures { locked_memory: false, no_idle: false, ..wanted };
    let context = context.clone();
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

/// The two ends of the flow `n`, at the host that opens it and at the other one.
fn seats(own: &MiddleboxJob, n: usize, [opener, peer]: [usize; 2]) -> [Seat; 2] {
    let seat = |end, at: usize, to: usize| {
        let [source, destination] = [at, to].map(|host| own.seats[host].address);
        Seat { end, device: at, addresses: Addresses::V4 { source, destination } }
    };
    [seat(2 * n, opener, peer), seat(2 * n + 1, peer, opener)]
}
