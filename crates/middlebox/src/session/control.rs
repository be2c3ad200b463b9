//! The socket by which a middlebox is asked and changed: one JSON object per line, and one in answer.
//!
//! `{"request": "stats"}`, `{"request": "change", "direction": "down", "qdisc": "dualpi2 target 5ms"}`, `replace`
//! likewise, `{"request": "rate", "direction": "up", "rate": "2mbit"}`, `delay` likewise; `link` names one of
//! several. The answer is `{"ok": ...}` or `{"error": "one line"}`. A change is one of the scenario's schedule
//! at this moment, read by the scenario's loader.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::umask;
use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_core::Time;
use sojourn_live::clock::Clock;
use sojourn_scenario::{Change, Scenario, load};
use sojourn_sim::{Simulation, Standstill};

use super::reading::Latest;
use super::settings::text;

/// Bytes of a line at most.
const LONGEST: u64 = 16 << 10;
/// Connections at a time.
const CLIENTS: usize = 8;
/// Changes of a run at most: each is read again with the next.
const CHANGES: usize = 2000;
/// For a silent client, and for the forwarding thread.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "request", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Stats,
    Change { direction: Direction, qdisc: String, link: Option<String> },
    Replace { direction: Direction, qdisc: String, link: Option<String> },
    Rate { direction: Direction, rate: String, link: Option<String> },
    Delay { direction: Direction, delay: String, link: Option<String> },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Down,
    Up,
}

/// Changes for the forwarding thread, and whom to tell that they are made.
pub(super) struct Order {
    changes: Vec<Change>,
    done: SyncSender<()>,
}

impl Order {
    pub(super) fn carry_out(self, simulation: &mut Simulation) -> Result<(), Standstill> {
        self.changes.iter().try_for_each(|change| simulation.change(change))?;
        let _ = self.done.try_send(());
        Ok(())
    }
}

/// The network as it was planned, and what was changed since.
pub(super) struct Plan {
    text: String,
    links: Vec<String>,
    changes: usize,
    last: Time,
    clock: Clock,
    orders: SyncSender<Order>,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario, clock: Clock, orders: SyncSender<Order>) -> Self {
        let links = scenario.links.iter().map(|link| link.name.clone()).collect();
        Self { text: text(scenario), links, changes: 0, last: Time::ZERO, clock, orders }
    }

    /// Makes a change; gives the loader's warnings.
    fn change(
        &mut self,
        table: &str,
        way: Direction,
        link: Option<String>,
        (key, value): (&str, &str),
    ) -> Result<(), String> {
        if self.changes == CHANGES {
            return Err(format!("{CHANGES} changes were made; expected a new start before more"));
        }
        let link = link.unwrap_or_else(|| self.links[0].clone());
        if !self.links.contains(&link) {
            return Err(format!("link {link:?}: expected one of {}", self.links.join(", ")));
        }
        let way = match way {
            Direction::Down => "forward",
            Direction::Up => "reverse",
        };
        let at = self.clock.now().max(Time(self.last.0 + 1));
        let quoted = |text: &str| Value::from(text).to_string();
        let name = quoted(&format!("link.{link}.{way}.{key}"));
        let entry = format!(
            "\n[[schedule]]\nat = \"{}ns\"\n{table} = {{ {name} = {} }}\n",
            at.0,
            quoted(value)
        );
        let text = format!("{}{entry}", self.text);
        let scenario = load(&text, "middlebox", &[]).map_err(|error| error.message)?.scenario;
        let changes = scenario.schedule.into_iter().filter(|change| change.at == at).collect();
        let (done, made) = sync_channel(1);
        self.orders.try_send(Order { changes, done }).map_err(|_| "it has ended".to_owned())?;
        (self.text, self.last, self.changes) = (text, at, self.changes + 1);
        made.recv_timeout(PATIENCE).map_err(|_| "it has ended".to_owned())
    }

    fn answer(&mut self, line: &[u8], latest: &Latest) -> Result<Value, String> {
        let request = serde_json::from_slice(line).map_err(|error| format!("request: {error}"))?;
        let made = match request {
            Request::Stats => {
                let latest = latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
                return latest.map_or_else(
                    || Err("no reading yet; the first one comes after an interval".to_owned()),
                    |reading| serde_json::to_value(&*reading).map_err(|error| error.to_string()),
                );
            }
            Request::Change { direction, qdisc, link } => {
                self.change("set", direction, link, ("qdisc", &qdisc))
            }
            Request::Replace { direction, qdisc, link } => {
                self.change("replace", direction, link, ("qdisc", &qdisc))
            }
            Request::Rate { direction, rate, link } => {
                self.change("set", direction, link, ("rate", &rate))
            }
            Request::Delay { direction, delay, link } => {
                self.change("set", direction, link, ("delay", &delay))
            }
        };
        made.map(|()| Value::Bool(true))
    }
}

/// The socket. It is removed when this ends.
pub(super) struct Control {
    path: PathBuf,
    listener: Option<UnixListener>,
    thread: Option<JoinHandle<()>>,
    /// Closed when it ends.
    alive: Option<UnixStream>,
}

impl Control {
    /// A socket of this name that only this user may connect to. One that nobody listens at any more is
    /// replaced.
    pub(super) fn bind(path: &Path) -> io::Result<Self> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
        if is_socket {
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::other("another middlebox listens there"));
            }
            fs::remove_file(path)?;
        }
        // From its first moment on.
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(path);
        umask(before);
        Ok(Self { path: path.to_owned(), listener: Some(listener?), thread: None, alive: None })
    }

    /// Answers from now on.
    pub(super) fn serve(mut self, plan: Plan, latest: Latest) -> io::Result<Self> {
        let shared = Arc::new((Mutex::new(plan), latest));
        let (alive, ends) = UnixStream::pair()?;
        let Some(listener) = self.listener.take() else { return Ok(self) };
        let serve = move || {
            let clients = Arc::new(AtomicUsize::new(0));
            while is_wanted(&listener, &ends) {
                let Ok((stream, _)) = listener.accept() else { continue };
                let (shared, clients) = (Arc::clone(&shared), Arc::clone(&clients));
                if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
                    let _ = answered(&stream, Err(format!("{CLIENTS} connections are open")));
                    clients.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let thread = thread::Builder::new().name("control".into());
                let own = Arc::clone(&clients);
                let begun = thread.spawn(move || {
                    let _ = talk(&stream, &shared.0, &shared.1);
                    own.fetch_sub(1, Ordering::Relaxed);
                });
                if begun.is_err() {
                    clients.fetch_sub(1, Ordering::Relaxed);
                }
            }
        };
        self.thread = Some(thread::Builder::new().name("control".into()).spawn(serve)?);
        self.alive = Some(alive);
        Ok(self)
    }
}

/// Waits for a connection; false when the other end of `ends` is closed.
fn is_wanted(listener: &UnixListener, ends: &UnixStream) -> bool {
    let mut both = [PollFd::new(listener, PollFlags::IN), PollFd::new(ends, PollFlags::IN)];
    let _ = poll(&mut both, None::<&Timespec>);
    both[1].revents().is_empty()
}

impl Drop for Control {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Answers one client until it has no more to say.
fn talk(stream: &UnixStream, plan: &Mutex<Plan>, latest: &Latest) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if len == 0 {
            return Ok(());
        }
        if len as u64 == LONGEST && !line.ends_with(b"\n") {
            return answered(stream, Err(format!("request: expected at most {LONGEST} bytes")));
        }
        let answer = plan.lock().unwrap_or_else(PoisonError::into_inner).answer(&line, latest);
        answered(stream, answer)?;
    }
}

fn answered(mut stream: &UnixStream, answer: Result<Value, String>) -> io::Result<()> {
    let answer = match answer {
        Ok(value) => json!({ "ok": value }),
        // A line, whatever the request held.
        Err(error) => json!({ "error": error.replace(char::is_control, " ") }),
    };
    stream.write_all(format!("{answer}\n").as_bytes())
}

/// Sends a request to the middlebox at `path`; gives its answer, one line of JSON.
///
/// # Errors
/// Nobody listens there, or no answer comes.
pub fn request(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests;
