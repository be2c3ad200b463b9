//! Inside the kernel. Nothing here polls: a loop that does not sleep would stop virtual time for
//! ever. Computing takes no virtual time, so a clock that is read after a wake-up says when the
//! event came.

mod bulk;
mod capture;
mod clock;
mod context;
mod echo;
mod exec;
mod middlebox;
mod names;
mod outcome;
mod probe;
mod queues;
mod request;
mod shell;
mod short;
mod socket;
mod stack;
mod tcp_info;
mod udp;

use std::ffi::c_ulong;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write, stdin, stdout};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, mpsc};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_current_timer_slack;
use serde::Serialize;
use sojourn_live::namespace::seclude;
use sojourn_scenario::Stack;
use sojourn_transport::app::{self, App};

use self::clock::Clock;
use self::context::{Context, Schedule, Watched};
use self::exec::User;
use self::names::Outside;
use self::outcome::{Outcome, failed};
use self::queues::Queues;
use self::shell::{release, shell};
use crate::job::{FlowJob, Job, Line, Place, REQUEST, Request, SAMPLES};
use crate::meeting::UNNAMED;
use crate::network;

const TCP_MEM: &str = "/proc/sys/net/ipv4/tcp_mem";
/// Connections at once, with room for other files.
const FILES: u64 = 1 << 18;

/// Does what is asked for in `folder`, and writes lines there; `-` is standard input and output.
pub(crate) fn run(folder: &Path) -> Outcome {
    let (text, file) = if folder == Path::new(UNNAMED) {
        let lines = stdout().as_fd().try_clone_to_owned().map_err(failed("standard output"))?;
        (io::read_to_string(stdin()).map_err(failed("standard input"))?, File::from(lines))
    } else {
        let text = fs::read_to_string(folder.join(REQUEST)).map_err(failed("request"))?;
        (text, File::create(folder.join(SAMPLES)).map_err(failed("samples"))?)
    };
    let mut out = Lines(BufWriter::new(file));
    let outcome = match serde_json::from_str(&text).map_err(failed("request"))? {
        Request::Run(job) => carry_out(&job, &mut out),
        Request::Probe(place) => {
            settle(place).and_then(|()| probe::ask()).and_then(|found| out.put(&found))
        }
    };
    if let Err(error) = &outcome {
        out.put(&Line::Failed(error.clone()))?;
    }
    out.flush()?;
    outcome
}

/// Leaves the network of this machine, in which nothing is to be seen of a run; in a kernel of its own gives TCP all memory.
fn settle(place: Place) -> Outcome {
    match place {
        Place::Machine => seclude().map_err(|error| error.to_string()),
        Place::Virtual => unlimited(),
    }
}

/// Both hosts share a small machine. Above `tcp_mem` neither send buffers nor receive windows grow (`tcp_under_memory_pressure`
/// in `tcp_should_expand_sndbuf` and `tcp_clamp_window` of Linux), of which the scenario says nothing.
fn unlimited() -> Outcome {
    let machine = rustix::system::sysinfo();
    let units_per_page = rustix::param::page_size() as c_ulong / c_ulong::from(machine.mem_unit);
    let pages = machine.totalram / units_per_page.max(1);
    fs::write(TCP_MEM, format!("{pages} {pages} {pages}")).map_err(failed("tcp_mem"))
}

fn carry_out(job: &Job, out: &mut Lines) -> Outcome {
    let has_programs = job.flows.iter().any(|flow| !flow.programs.is_empty());
    let user = has_programs.then(User::of_sudo).transpose()?;
    let outside = job.names.is_some().then(Outside::here).transpose()?;
    settle(job.place)?;
    if job.middlebox.is_some() {
        middlebox::check()?;
    }
    out.put(&Line::Kernel(release()?))?;
    // Without it the kernel may be 50 us late; threads inherit it.
    set_current_timer_slack(Some(NonZeroU64::MIN)).map_err(failed("timer slack"))?;
    open_more_files().map_err(failed("open files"))?;
    let commands = &job.network.commands;
    let (build, later): (Vec<_>, Vec<_>) = commands.iter().cloned().partition(|c| c.at_ns == 0);
    let mut build: Vec<String> = build.iter().map(network::Command::to_string).collect();
    if has_programs {
        build.push(exec::NO_NAMES.to_owned());
    }
    shell(&build.join("\n"))?;
    let spaces = job.network.namespaces();
    let _names = match (&job.names, outside) {
        (Some(prefix), Some(outside)) => Some(outside.name(prefix, spaces)?),
        _ => None,
    };
    let clock = Clock::starting_in(job.lead_ns);
    let times = later.iter().map(|c| c.at_ns).collect();
    let (context, failures, lines) =
        Context::new(clock, job.network.hosts.clone(), Schedule::new(times), job.seed);
    let (mut stack, mut carrier, mut captures) = (None, None, None);
    let has_own = job.stacks.iter().any(|stack| *stack != Stack::Kernel);
    if job.middlebox.is_some() || has_own || job.captures.is_some() {
        let scenario = sojourn_scenario::load(&job.scenario, "scenario.toml", &[]);
        let scenario = Arc::new(scenario.map_err(failed("scenario"))?.scenario);
        stack = stack::start(&context, job, &scenario)?;
        if let Some(own) = &job.middlebox {
            carrier = Some(middlebox::start(&context, job, own, scenario, stack.take())?);
        } else {
            captures = capture::start(&context, job, &scenario)?;
        }
    }
    let (mut flows, mut programs) = (Vec::new(), Vec::new());
    let of_kernel = job.flows.iter().enumerate().zip(&job.stacks);
    for ((index, flow), _) in of_kernel.filter(|(_, stack)| **stack == Stack::Kernel) {
        if let Some(user) = user.as_ref().filter(|_| !flow.programs.is_empty()) {
            programs.extend(exec::open(&context, user, index, flow, job.duration_ns));
            continue;
        }
        flows.push(open(&context, index, flow).map_err(|error| cause(&failures, error))?);
    }
    for (index, ping) in job.pings.iter().enumerate() {
        echo::open(&context, index, ping).map_err(|error| cause(&failures, error))?;
    }
    let mut before = Queues::open(&job.network.devices)?;
    context.start("schedule".into(), move |context| carry_out_later(context, later, &mut before));
    let mut queues = Queues::open(&job.network.devices)?;
    let steps = job.duration_ns.div_ceil(job.step_ns);
    for step in 0..=steps {
        let at = (step * job.step_ns).min(job.duration_ns);
        clock.sleep_until(at);
        if let Ok(error) = failures.try_recv() {
            return Err(error);
        }
        for flow in &flows {
            flow.sample(at, &mut |line| out.put(&line))?;
        }
        lines.try_iter().try_for_each(|line| out.put(&line))?;
        queues.ask(|index, rows| out.put(&Line::Queues(index, at, rows)))?;
        out.put(&Line::Clock(at))?;
        out.flush()?;
    }
    for program in programs {
        // A defect of it is reported.
        let _ = program.join();
    }
    if let Ok(error) = failures.try_recv() {
        return Err(error);
    }
    if let Some(captures) = captures {
        captures.join().map_err(|_| "captures: a defect of it")??;
    }
    if let Some(carrier) = carrier {
        let carried = carrier.finish(job)?;
        // What it has sent in the meantime comes first.
        lines.try_iter().try_for_each(|line| out.put(&line))?;
        out.put(&Line::Carried(Box::new(carried)))?;
    }
    if let Some(stack) = stack {
        let (columns, carried) = stack::finish(stack, job)?;
        lines.try_iter().try_for_each(|line| out.put(&line))?;
        out.put(&Line::Series(columns))?;
        out.put(&Line::Carried(Box::new(carried)))?;
    }
    Ok(())
}

/// As many as this user may raise the limit to.
fn open_more_files() -> rustix::io::Result<()> {
    let own = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: Some(FILES), maximum: Some(FILES) };
    setrlimit(Resource::Nofile, raised)
        .or_else(|_| setrlimit(Resource::Nofile, Rlimit { current: own.maximum, ..own }))
}

/// Starts the threads of a flow.
fn open(context: &Context, index: usize, job: &FlowJob) -> Result<Arc<dyn Watched>, String> {
    match app::build(&job.app).map_err(failed("application"))? {
        App::Bulk => Ok(bulk::open(context, index, job)?),
        App::Short(params) => short::open(context, index, job, &params),
        App::Request(params) => request::open(context, index, job, &params),
        App::Udp(source) => udp::open(context, index, job, source),
        App::Media(_) | App::Rrul(_) | App::Exec { .. } => {
            unreachable!("no flow of a kernel's has it")
        }
    }
}

/// Why a thread ended before it was ready, if it reported a reason.
fn cause(failures: &mpsc::Receiver<String>, error: String) -> String {
    failures.try_recv().unwrap_or(error)
}

/// The commands of the schedule, each at its instant.
fn carry_out_later(
    context: &Context,
    later: Vec<network::Command>,
    queues: &mut Queues,
) -> Outcome {
    let mut last = None;
    for row in later {
        let at = row.at_ns;
        context.clock.sleep_until(at);
        // A discipline that is replaced takes its counters with it.
        if last.replace(at) != Some(at) {
            queues.before(at, &mut |line| context.report(line))?;
        }
        shell(&row.to_string())?;
        context.schedule.advance();
    }
    Ok(())
}

/// Lines to the file that the other side reads.
struct Lines(BufWriter<File>);

impl Lines {
    fn put(&mut self, line: &impl Serialize) -> Outcome {
        serde_json::to_writer(&mut self.0, line).map_err(failed("samples"))?;
        self.0.write_all(b"\n").map_err(failed("samples"))
    }

    fn flush(&mut self) -> Outcome {
        self.0.flush().map_err(failed("samples"))
    }
}
