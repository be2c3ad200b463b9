//! Inside the kernel. Nothing here polls: a loop that does not sleep would stop virtual time for
//! ever. Computing takes no virtual time, so a clock that is read after a wake-up tells when the
//! event came.

mod echo;
mod tcp_info;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{set_ip_tos, set_tcp_congestion};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketType, accept, bind, connect, listen, recv,
    send, shutdown, socket,
};
use rustix::thread::{
    LinkNameSpaceType, clock_nanosleep_absolute, move_into_link_name_space, set_current_timer_slack,
};
use rustix::time::{ClockId, Timespec, clock_gettime};

use self::echo::echo;
use self::tcp_info::sample;
use crate::job::{FlowJob, JOB, Job, Line, SAMPLES};

const SECOND: u64 = 1_000_000_000;
/// From the end of the set-up to the start of the run.
const LEAD_NS: u64 = SECOND;
/// What an application hands over or takes at once.
const CHUNK: usize = 128 << 10;

type Outcome = Result<(), String>;

/// One flow, as its threads and the sampler share it.
#[derive(Default)]
struct Flow {
    sender: OnceLock<OwnedFd>,
    receiver: OnceLock<OwnedFd>,
    read: AtomicU64,
    is_over: AtomicBool,
}

#[derive(Clone, Copy)]
struct Clock {
    start: u64,
}

impl Clock {
    fn now(self) -> u64 {
        monotonic().saturating_sub(self.start)
    }

    fn sleep_until(self, at: u64) {
        let at = self.start + at;
        let at = Timespec { tv_sec: (at / SECOND) as i64, tv_nsec: (at % SECOND) as i64 };
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
    }
}

fn monotonic() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

/// How many of the commands are done: a flow opens after those of its instant.
#[derive(Default)]
struct Done {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Done {
    fn wait(&self, wanted: usize) {
        let guard = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(guard, |count| *count < wanted));
    }

    fn advance(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }
}

/// Runs the job of `folder` and writes its samples there.
pub(crate) fn run(folder: &Path) -> Outcome {
    let text = fs::read_to_string(folder.join(JOB)).map_err(said("job"))?;
    let job: Job = serde_json::from_str(&text).map_err(said("job"))?;
    let file = File::create(folder.join(SAMPLES)).map_err(said("samples"))?;
    let mut out = Lines(BufWriter::new(file));
    let outcome = carry_out(&job, &mut out);
    if let Err(error) = &outcome {
        out.put(&Line::Failed(error.clone()))?;
    }
    out.flush()?;
    outcome
}

fn carry_out(job: &Job, out: &mut Lines) -> Outcome {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(said("release"))?;
    out.put(&Line::Kernel(release.trim().to_owned()))?;
    // Without it the kernel may be 50 us late; threads inherit it.
    set_current_timer_slack(Some(NonZeroU64::MIN)).map_err(said("timer slack"))?;
    let commands = &job.network.commands;
    let (build, later): (Vec<_>, Vec<_>) = commands.iter().partition(|c| c.at_s <= 0.0);
    let build: Vec<&str> = build.iter().map(|c| c.command.as_str()).collect();
    shell(&build.join("\n"))?;
    let clock = Clock { start: monotonic() + LEAD_NS };
    let (failed, failures) = mpsc::channel::<String>();
    let (pinged, replies) = mpsc::channel::<Line>();
    let done = Arc::new(Done::default());
    let watch = |what: String, work: Box<dyn FnOnce() -> Outcome + Send>| {
        let failed = failed.clone();
        thread::spawn(move || {
            if let Err(error) = work() {
                // Nobody listens any more after the end.
                let _ = failed.send(format!("{what}: {error}"));
            }
        });
    };
    let server: Ipv4Addr = job.network.server.parse().map_err(said("server"))?;
    let mut flows: Vec<Arc<Flow>> = Vec::new();
    for flow in &job.flows {
        let shared = Arc::new(Flow::default());
        flows.push(Arc::clone(&shared));
        let (rx, namespace) = (Arc::clone(&shared), job.network.receivers.clone());
        let (ready, listening) = mpsc::channel();
        let wanted = flow.clone();
        watch(
            format!("receiver of flow `{}`", flow.name),
            Box::new(move || receive(&wanted, &namespace, &rx, &ready)),
        );
        // The port is open before anybody knocks; if not, the receiver says why.
        if listening.recv().is_err() {
            return Err(failures.recv().unwrap_or_default());
        }
        let before = later.iter().filter(|c| nanoseconds(c.at_s) <= flow.start_ns).count();
        let (wanted, namespace) = (flow.clone(), job.network.senders.clone());
        let done = Arc::clone(&done);
        watch(
            format!("flow `{}`", flow.name),
            Box::new(move || {
                clock.sleep_until(wanted.start_ns);
                done.wait(before);
                transmit(&wanted, &namespace, server, clock, &shared)
            }),
        );
    }
    for (index, ping) in job.pings.iter().enumerate() {
        let (ping, namespace) = (ping.clone(), job.network.senders.clone());
        let pinged = pinged.clone();
        watch(
            format!("ping {index}"),
            Box::new(move || echo(index, &ping, &namespace, server, clock, &pinged)),
        );
    }
    let later: Vec<_> = later.into_iter().cloned().collect();
    watch(
        "schedule".into(),
        Box::new(move || {
            later.into_iter().try_for_each(|c| {
                clock.sleep_until(nanoseconds(c.at_s));
                shell(&c.command)?;
                done.advance();
                Ok(())
            })
        }),
    );
    let mut queues = Queues::open(job)?;
    let mut has_ended = vec![false; flows.len()];
    let steps = job.duration_ns.div_ceil(job.step_ns);
    for step in 0..=steps {
        let at = (step * job.step_ns).min(job.duration_ns);
        clock.sleep_until(at);
        if let Ok(error) = failures.try_recv() {
            return Err(error);
        }
        for (index, flow) in flows.iter().enumerate() {
            let is_over = flow.is_over.load(Ordering::Relaxed);
            if let (Some(tx), Some(rx)) = (flow.sender.get(), flow.receiver.get())
                // The end of a flow is sampled once, however short it was.
                && !std::mem::replace(&mut has_ended[index], is_over)
            {
                let read = flow.read.load(Ordering::Relaxed);
                out.put(&Line::Flow(index, at, sample(tx.as_fd(), rx.as_fd(), read)?))?;
            }
        }
        replies.try_iter().try_for_each(|line| out.put(&line))?;
        queues.sample(job, at, out)?;
        out.put(&Line::Clock(at))?;
        out.flush()?;
    }
    Ok(())
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

/// Lines to the file that the other side reads.
struct Lines(BufWriter<File>);

impl Lines {
    fn put(&mut self, line: &Line) -> Outcome {
        serde_json::to_writer(&mut self.0, line).map_err(said("samples"))?;
        self.0.write_all(b"\n").map_err(said("samples"))
    }

    fn flush(&mut self) -> Outcome {
        self.0.flush().map_err(said("samples"))
    }
}

fn said<E: Display>(what: &'static str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Runs commands; the error names the one that failed and what it said.
fn shell(text: &str) -> Outcome {
    const HEAD: &str = "set -e -o pipefail; trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR\n";
    let done = Command::new("bash")
        .arg("-c")
        .arg(format!("{HEAD}{text}"))
        .stdin(Stdio::null())
        .output()
        .map_err(said("bash"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    // The reason stands before the line of the trap; warnings of earlier commands before that.
    Err(lines[lines.len().saturating_sub(3)..].join("; "))
}

/// Moves this thread into a namespace.
fn enter(namespace: &str) -> Outcome {
    let file = File::open(format!("/run/netns/{namespace}")).map_err(said("namespace"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(said("namespace"))
}

fn tcp() -> Result<OwnedFd, String> {
    socket(AddressFamily::INET, SocketType::STREAM, None).map_err(said("socket"))
}

fn receive(job: &FlowJob, namespace: &str, flow: &Flow, ready: &mpsc::Sender<()>) -> Outcome {
    enter(namespace)?;
    let listener = tcp()?;
    // Both ends, as `iperf3 -C` has it: a DCTCP receiver echoes each mark, and only to such a listener does an
    // ECN-capable SYN not look as if the network had set its bits.
    set_tcp_congestion(&listener, &job.cc).map_err(|e| format!("controller `{}`: {e}", job.cc))?;
    set_ip_tos(&listener, job.tos).map_err(said("tos"))?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, job.port)).map_err(said("bind"))?;
    listen(&listener, 2).map_err(said("listen"))?;
    ready.send(()).map_err(said("start"))?;
    let mut buffer = vec![0; CHUNK];
    // Held open as long as the test: its end is no part of the run.
    let _control = (job.control_rtts > 0).then(|| control_answers(&listener, job)).transpose()?;
    let data = accept(&listener).map_err(said("accept"))?;
    let data = flow.receiver.get_or_init(|| data);
    loop {
        match recv(data, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => break,
            Ok((read, _)) => flow.read.fetch_add(read as u64, Ordering::Relaxed),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(format!("recv: {error}")),
        };
    }
    flow.is_over.store(true, Ordering::Relaxed);
    Ok(())
}

/// The receiver's half of the control connection: every byte is answered by one.
fn control_answers(listener: &OwnedFd, job: &FlowJob) -> Result<OwnedFd, String> {
    let control = accept(listener).map_err(said("accept"))?;
    for _ in 1..job.control_rtts {
        let mut byte = [0_u8; 1];
        recv(&control, &mut byte[..], RecvFlags::empty()).map_err(said("control"))?;
        send(&control, &byte, SendFlags::NOSIGNAL).map_err(said("control"))?;
    }
    Ok(control)
}

fn transmit(
    job: &FlowJob,
    namespace: &str,
    server: Ipv4Addr,
    clock: Clock,
    flow: &Flow,
) -> Outcome {
    enter(namespace)?;
    let to = SocketAddrV4::new(server, job.port);
    let control = tcp()?;
    if job.control_rtts > 0 {
        connect(&control, &to).map_err(said("control"))?;
        for _ in 1..job.control_rtts {
            let mut byte = [0_u8; 1];
            send(&control, &byte, SendFlags::NOSIGNAL).map_err(said("control"))?;
            recv(&control, &mut byte[..], RecvFlags::empty()).map_err(said("control"))?;
        }
    }
    let data = tcp()?;
    // Before it connects, since the controller decides what ECN it asks for.
    set_tcp_congestion(&data, &job.cc).map_err(|e| format!("controller `{}`: {e}", job.cc))?;
    set_ip_tos(&data, job.tos).map_err(said("tos"))?;
    connect(&data, &to).map_err(said("connect"))?;
    let data = flow.sender.get_or_init(|| data);
    let buffer = vec![0_u8; CHUNK];
    let mut left = job.bytes.unwrap_or(u64::MAX);
    while left > 0 && wait_for(data.as_fd(), PollFlags::OUT, job.stop_ns, clock)? {
        let chunk = &buffer[..left.min(CHUNK as u64) as usize];
        match send(data, chunk, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    shutdown(data, Shutdown::Write).map_err(said("shutdown"))
}

/// Waits until `fd` is ready: false once `until` has come.
fn wait_for(
    fd: BorrowedFd<'_>,
    events: PollFlags,
    until: Option<u64>,
    clock: Clock,
) -> Result<bool, String> {
    let left = until.map(|until| until.saturating_sub(clock.now()));
    if left == Some(0) {
        return Ok(false);
    }
    let left =
        left.map(|ns| Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 });
    match poll(&mut [PollFd::new(&fd, events)], left.as_ref()) {
        Ok(0) => Ok(false),
        Ok(_) | Err(Errno::INTR) => Ok(true),
        Err(error) => Err(format!("poll: {error}")),
    }
}

/// One `tc` per namespace that answers all questions: starting one for each would be slow.
struct Queues(Vec<(usize, ChildStdin, BufReader<ChildStdout>)>);

impl Queues {
    fn open(job: &Job) -> Result<Self, String> {
        let open = |(index, device): (usize, &crate::job::Device)| {
            let child = Command::new("ip")
                .args(["netns", "exec", &device.namespace, "tc", "-s", "-j", "-force", "-b", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(said("tc"))?;
            let (Some(questions), Some(answers)) = (child.stdin, child.stdout) else {
                return Err("tc: no pipes".to_owned());
            };
            Ok((index, questions, BufReader::new(answers)))
        };
        job.network.devices.iter().enumerate().map(open).collect::<Result<_, _>>().map(Self)
    }

    fn sample(&mut self, job: &Job, at: u64, out: &mut Lines) -> Outcome {
        for (index, questions, answers) in &mut self.0 {
            let device = &job.network.devices[*index].name;
            writeln!(questions, "qdisc show dev {device}").map_err(said("tc"))?;
            let mut answer = String::new();
            if answers.read_line(&mut answer).map_err(said("tc"))? == 0 {
                return Err(format!("tc: no answer on {device}"));
            }
            out.put(&Line::Queues(*index, at, answer.trim_end().to_owned()))?;
        }
        Ok(())
    }
}
