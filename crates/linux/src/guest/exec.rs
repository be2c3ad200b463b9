//! Programs of the user's own at the hosts, with as few rights as they can do with.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, getpid, getppid, kill_process_group, pidfd_open,
    set_parent_process_death_signal,
};
use sojourn_scenario::command_line;
use sojourn_trace::{ProgramEnd, ProgramSummary};

use super::clock::Clock;
use super::context::Context;
use super::outcome::{Outcome, failed};
use super::socket::{enter, wait_for};
use crate::job::{FlowJob, Line, ProgramJob};

/// From the signal that asks a program to end to the one that ends it, ns.
const GRACE_NS: u64 = 1_000_000_000;
/// How long a client waits for its server at most, ns.
const READY_NS: u64 = 10_000_000_000;
/// Between two looks for it, ns.
const LOOK_NS: u64 = 10_000_000;
/// What is kept of a stream: this many bytes of its beginning, and as many of its end.
const KEPT: usize = 32 << 10;

/// With whose rights programs run: those of who has become root by `sudo`, which says so to its programs.
#[derive(Clone)]
pub(super) struct User(Option<[u32; 2]>);

impl User {
    /// Asked before this process becomes root of a user namespace, which has no other users. An error if the
    /// user is not known.
    pub(super) fn of_sudo() -> Result<Self, String> {
        if geteuid().is_root() {
            Self::read(["SUDO_UID", "SUDO_GID"].map(env::var_os))
        } else {
            Ok(Self(None))
        }
    }

    fn read(ids: [Option<OsString>; 2]) -> Result<Self, String> {
        if ids.iter().all(Option::is_none) {
            return Ok(Self(None));
        }
        match ids.map(|id| id?.to_str()?.parse().ok()) {
            [Some(user), Some(group)] => Ok(Self(Some([user, group]))),
            _ => Err("SUDO_UID, SUDO_GID: expected two numbers".to_owned()),
        }
    }
}

/// Has whoever asks for a host's name find no server of names at once, instead of waiting for one that no packet
/// reaches: this process's own view of the file system ends with it.
pub(super) const NO_NAMES: &str = "if [ -e /etc/resolv.conf ]; then \
    echo nameserver 127.0.0.1 >/run/netns/resolv.conf; \
    mount --bind /run/netns/resolv.conf /etc/resolv.conf; fi";

/// Starts the threads of a flow's programs; each ends with its program, which is ended at the end of the run.
pub(super) fn open(
    context: &Context,
    user: &User,
    index: usize,
    job: &FlowJob,
    end: u64,
) -> Vec<JoinHandle<()>> {
    // A client's thread drops the one when it ends, for which its server waits at the other.
    let (runs, client) = mpsc::channel::<()>();
    let (mut runs, mut client) = (Some(runs), Some(client));
    let mut threads = Vec::new();
    for program in &job.programs {
        // A server starts at once.
        let (start, runs, client) = match program.end {
            ProgramEnd::Client => (Some(job.start_ns), runs.take(), None),
            ProgramEnd::Server => (None, None, client.take()),
        };
        let (context, user, program) = (context.clone(), user.clone(), program.clone());
        let what = format!("flow `{}`", job.name);
        let (host, until) = (job.host(program.end), job.stop_ns.unwrap_or(end));
        let (awaited, port) = (job.awaited_server(), job.port);
        threads.push(thread::spawn(move || {
            let attend = || {
                if let Some(at) = start {
                    context.wait_until(at);
                    if let Some(server) = awaited {
                        enter(context.host(server)?)?;
                        wait_for_listener(port, until.min(at + READY_NS), context.clock);
                    }
                }
                enter(context.host(host)?)?;
                let summary = attend(&program, &user, until, client.as_ref(), context.clock)?;
                context.report(Line::Program(index, summary))
            };
            // What failed is reported.
            let _: Outcome = context.watched(&what, attend);
            drop(runs);
        }));
    }
    threads
}

fn attend(
    program: &ProgramJob,
    user: &User,
    until: u64,
    client: Option<&mpsc::Receiver<()>>,
    clock: Clock,
) -> Result<ProgramSummary, String> {
    let mut child = confined(&program.words, user).spawn().map_err(failed("unshare"))?;
    let stdout = kept(child.stdout.take().expect("it is piped"));
    let stderr = kept(child.stderr.take().expect("it is piped"));
    let pid = Pid::from_child(&child);
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(failed("a program"))?;
    let was_stopped = !has_ended(&mut child, &ended, until, clock)?;
    if was_stopped {
        // Without its server a client would fail. This ends when the client's thread has dropped the other end.
        if let Some(client) = client {
            let _ = client.recv();
        }
        // It may just have ended.
        let _ = kill_process_group(pid, Signal::TERM);
        if !has_ended(&mut child, &ended, clock.now() + GRACE_NS, clock)? {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
    let status = child.wait().map_err(failed("a program"))?;
    let lines = |reader: JoinHandle<String>| {
        let text = reader.join().unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    Ok(ProgramSummary {
        end: program.end,
        command: command_line(&program.words),
        exit_code: status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or_default(),
        was_stopped,
        stdout: lines(stdout),
        stderr: lines(stderr),
    })
}

/// Waits for the end of a program: false once `until` has come.
fn has_ended(child: &mut Child, ended: &OwnedFd, until: u64, clock: Clock) -> Result<bool, String> {
    while child.try_wait().map_err(failed("a program"))?.is_none() {
        if !wait_for(ended.as_fd(), PollFlags::IN, Some(until), clock)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits until something at this thread's host listens at a port, or until `until`.
fn wait_for_listener(port: u16, until: u64, clock: Clock) {
    // A connection that listens is in this state, and so is a UDP socket without a peer (tcp_states.h).
    const TABLES: [(&str, &str); 4] =
        [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
    while clock.now() < until {
        for (table, state) in TABLES {
            // A kernel without IPv6 lacks half of them.
            let rows = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
            if rows.is_ok_and(|rows| listens(&rows, port, state)) {
                return;
            }
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// Whether a table of `/proc/net` has a socket at this port in this state.
fn listens(rows: &str, port: u16, state: &str) -> bool {
    let end = format!(":{port:04X}");
    rows.lines().any(|row| {
        let mut fields = row.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&end)) && fields.nth(1) == Some(state)
    })
}

/// A program that gains no rights and has no capability. What it starts ends with it, in a PID namespace of
/// which `timeout` is the first process, since that passes signals on; all of it ends with this thread.
fn confined(words: &[String], user: &User) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]);
    command.args(["timeout", "--foreground", "0", "setpriv", "--no-new-privs"]);
    command.args(["--inh-caps=-all", "--bounding-set=-all"]);
    if let User(Some([user, group])) = user {
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        command.arg("--clear-groups");
    }
    command.arg("--").args(words).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // No packet reaches the proxies of this machine's network.
    for (name, _) in env::vars_os().filter(|(name, _)| names_proxy(name)) {
        command.env_remove(name);
    }
    let parent = getpid();
    #[expect(unsafe_code, reason = "between fork and exec")]
    // SAFETY: `detach` only makes system calls.
    unsafe {
        command.pre_exec(move || detach(parent));
    }
    command
}

/// Whether a variable is one of `http_proxy`, `ALL_PROXY`, `no_proxy` and others.
fn names_proxy(variable: &OsStr) -> bool {
    variable.to_ascii_lowercase().as_encoded_bytes().ends_with(b"_proxy")
}

/// Ends this process with its parent, and has the program that it becomes get none of its files but standard
/// input, output and error. It allocates nothing.
fn detach(parent: Pid) -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // prctl(2): the signal of a parent that has ended before does not come.
    if getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    #[expect(unsafe_code, reason = "no crate here has this call")]
    // SAFETY: it takes numbers only, and closes nothing.
    let status = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a stream to its end, and keeps its beginning and end.
fn kept(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut head, mut tail, mut left_out) = (Vec::new(), Vec::new(), 0);
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = stream.read(&mut chunk) {
            let (first, rest) = chunk[..len].split_at(len.min(KEPT - head.len()));
            head.extend_from_slice(first);
            tail.extend_from_slice(rest);
            let beyond = tail.len().saturating_sub(KEPT);
            left_out += beyond;
            tail.drain(..beyond);
        }
        if left_out > 0 {
            head.extend_from_slice(format!("\n[{left_out} bytes left out]\n").as_bytes());
        }
        head.append(&mut tail);
        String::from_utf8_lossy(&head).into_owned()
    })
}

#[cfg(test)]
mod tests;
