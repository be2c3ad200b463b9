//! Programs that run while a test talks to them.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A program, its lines so far, and how it ended.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<(Stream, String)>,
    pub(crate) out: Vec<String>,
    pub(crate) err: Vec<String>,
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

pub(crate) fn tx(args: &str) -> Program {
    Program::start(env!("CARGO_BIN_EXE_scream-bw-test-tx"), args)
}

/// A receiver that is ready.
pub(crate) fn rx(args: &str) -> Program {
    let mut rx = Program::start(env!("CARGO_BIN_EXE_scream-bw-test-rx"), args);
    rx.wait_for("Listen on port");
    rx
}

impl Program {
    pub(crate) fn start(path: &str, args: &str) -> Self {
        // Whoever runs the tests may ignore SIGHUP, as `nohup` does, and children inherit that.
        let mut command = Command::new("env");
        Self::spawn(command.args(["--default-signal=HUP", path]).args(args.split_whitespace()))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::spawn_to(command, Stdio::piped())
    }

    /// With another stdout.
    pub(crate) fn spawn_to(command: &mut Command, out: Stdio) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let (sender, lines) = channel();
        let err = child.stderr.take().expect("piped");
        if let Some(out) = child.stdout.take() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(out)
                    .lines()
                    .map_while(Result::ok)
                    .all(|l| sender.send((Stream::Out, l)).is_ok())
            });
        }
        std::thread::spawn(move || {
            BufReader::new(err)
                .lines()
                .map_while(Result::ok)
                .all(|l| sender.send((Stream::Err, l)).is_ok())
        });
        Self { child, lines, out: Vec::new(), err: Vec::new() }
    }

    /// Takes lines until one holds `text`, and gives that one.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let Ok((stream, line)) = self.lines.recv_timeout(PATIENCE) else {
                panic!("no `{text}` in {:#?} and {:#?}", self.out, self.err);
            };
            let found = line.contains(text).then(|| line.clone());
            match stream {
                Stream::Out => self.out.push(line),
                Stream::Err => self.err.push(line),
            }
            if let Some(line) = found {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Greatest memory so far, kB.
    pub(crate) fn peak_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let lines = BufReader::new(File::open(path).expect("it runs")).lines();
        let peak = lines.map_while(Result::ok).find(|l| l.starts_with("VmHWM:")).expect("Linux");
        peak.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
    }

    /// Waits for the end; the exit code.
    pub(crate) fn end(&mut self) -> i32 {
        while let Ok((stream, line)) = self.lines.recv_timeout(PATIENCE) {
            match stream {
                Stream::Out => self.out.push(line),
                Stream::Err => self.err.push(line),
            }
        }
        assert!(self.child.try_wait().is_ok(), "still running: {:#?} {:#?}", self.out, self.err);
        self.child.wait().expect("a child").code().unwrap_or(-1)
    }

    /// Ends it as Ctrl-C does; the exit code.
    pub(crate) fn interrupt(&mut self) -> i32 {
        self.signal(Signal::INT);
        self.end()
    }

    /// The number behind `label` in the summary on stdout.
    pub(crate) fn number(&self, label: &str) -> f64 {
        let line = self.out.iter().find(|l| l.contains(label));
        let line = line.unwrap_or_else(|| panic!("no `{label}` in {:#?}", self.out));
        let value = line.split(':').nth(1).expect("a value").trim();
        let digits = value.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        digits.and_then(|d| d.parse().ok()).unwrap_or_else(|| panic!("no number in `{line}`"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody has: below those that the kernel gives to sockets without one, so that no other
/// test is given it before the program has it.
pub(crate) fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 100) as u16 * 100;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if UdpSocket::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

/// An empty folder for the test called `name`.
pub(crate) fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sojourn-tool-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
