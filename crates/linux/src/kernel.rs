//! Outside of the kernel: starts one for a run, watches its clock, and ends it when it has stood
//! still or run for too long.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use sojourn_scenario::Scenario;

use crate::collect::{Collector, Measured};
use crate::job::{JOB, Job, Line, Network, SAMPLES};

const SCRIPT: &str = "guest.sh";
pub(crate) const POLL: Duration = Duration::from_millis(50);
/// From the polite end of a guest to the other.
const GRACE: Duration = Duration::from_secs(5);

/// How a kernel is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// `run`, which takes `--out DIR SCRIPT ARG...` and sees `DIR` inside as `/run/out`, with the
    /// arguments that precede these.
    pub launcher: Vec<String>,
    /// What calls [`inside`](crate::inside) there; the folder is its last argument.
    pub agent: Vec<String>,
    /// Wall time without progress after which a guest is ended.
    pub stall: Duration,
    /// Wall time after which it is ended in any case.
    pub limit: Duration,
}

/// Runs a scenario on a kernel, with `folder` for what passes between inside and outside.
/// `progress` receives the fraction of the run and returns false to stop it. The error is one line.
pub fn run(
    scenario: &Scenario,
    network: &Network,
    launch: &Launch,
    folder: &Path,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Measured, String> {
    let job = serde_json::to_string(&Job::new(scenario, network)).expect("plain data serialises");
    write(folder, JOB, &job)?;
    let script = guest_script(folder)?;
    let samples = write(folder, SAMPLES, "")?;
    let mut guest = Guest::start(launch, folder, &script)?;
    let total = scenario.duration.as_secs_f64();
    // Its clock, and for how long that has stood still.
    let mut seen = (0.0, Duration::ZERO);
    let complete = loop {
        if let Some(ok) = guest.ended()? {
            break ok;
        }
        let now = clock_s(&samples).unwrap_or(seen.0);
        if now > seen.0 {
            seen = (now, Duration::ZERO);
        }
        if seen.1 > launch.stall {
            guest.stop();
            return Err(format!(
                "the kernel's clock stands at {now:.2} s since {} s",
                launch.stall.as_secs()
            ));
        }
        if !progress(now / total) {
            guest.stop();
            break false;
        }
        thread::sleep(POLL);
        seen.1 += POLL;
    };
    let mut collector = Collector::new(scenario, &network.devices);
    let file = File::open(&samples).map_err(|e| format!("{SAMPLES}: {e}"))?;
    let mut has_lines = false;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|e| format!("{SAMPLES}: {e}"))?;
        // A guest that was ended may have left half a line.
        let Ok(text) = str::from_utf8(&line) else { break };
        if !complete && serde_json::from_str::<Line>(text).is_err() {
            break;
        }
        collector.take(text)?;
        has_lines = true;
    }
    if !has_lines || (!complete && !guest.stopped) {
        return Err(guest.failure(folder, launch.limit));
    }
    Ok(collector.finish(complete))
}

/// The script that calls the agent.
pub(crate) fn guest_script(folder: &Path) -> Result<PathBuf, String> {
    write(folder, SCRIPT, "#!/bin/bash\nexec \"$@\"\n")
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// The instant of the last whole sample, seconds.
fn clock_s(samples: &Path) -> Option<f64> {
    let mut file = File::open(samples).ok()?;
    let end = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(end.saturating_sub(64))).ok()?;
    let mut tail = String::new();
    file.read_to_string(&mut tail).ok()?;
    let line = tail.lines().last()?;
    match serde_json::from_str(line) {
        Ok(Line::Clock(ns)) => Some(ns as f64 / 1e9),
        _ => None,
    }
}

pub(crate) struct Guest {
    child: Child,
    stopped: bool,
    status: Option<i32>,
}

impl Guest {
    pub(crate) fn start(launch: &Launch, folder: &Path, script: &Path) -> Result<Self, String> {
        let log = |name: &str| File::create(folder.join(name)).map_err(|e| format!("{name}: {e}"));
        // `timeout` holds the bound, and ends the guest when this process is no more, however it ended.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "timeout", "--kill-after=5"])
            .arg(launch.limit.as_secs().max(1).to_string())
            .args(&launch.launcher)
            .arg("--out")
            .arg(folder)
            .arg(script)
            .args(&launch.agent)
            .arg("/run/out")
            .stdin(Stdio::null())
            .stdout(log("stdout")?)
            .stderr(log("stderr")?)
            .spawn()
            .map_err(|e| format!("setpriv: {e}"))?;
        Ok(Self { child, stopped: false, status: None })
    }

    /// Whether it ended well, once it has ended.
    pub(crate) fn ended(&mut self) -> Result<Option<bool>, String> {
        let status = self.child.try_wait().map_err(|e| format!("the kernel: {e}"))?;
        self.status = status.and_then(|s| s.code());
        Ok(status.map(|s| s.success()))
    }

    /// Ends it, first by the signal on which `run` takes the whole guest with it.
    fn stop(&mut self) {
        self.stopped = true;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, Signal, kill_process};
            // It may have ended by itself.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            for _ in 0..GRACE.as_millis() / POLL.as_millis() {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    break;
                }
                thread::sleep(POLL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Why there are no results, from its last output.
    pub(crate) fn failure(&self, folder: &Path, limit: Duration) -> String {
        const TIMED_OUT: i32 = 124;
        if self.status == Some(TIMED_OUT) {
            return format!("the kernel did not end within {} s", limit.as_secs());
        }
        let said = ["stderr", "stdout"]
            .into_iter()
            .filter_map(|name| fs::read_to_string(folder.join(name)).ok())
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .rfind(|line| !line.trim().is_empty());
        format!("the kernel failed: {}", said.unwrap_or_else(|| "it said nothing".into()))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}
