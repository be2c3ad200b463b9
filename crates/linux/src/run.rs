//! A kernel in virtual time as one of the engines. It runs ahead of whoever reads what it samples: a
//! pause is one of the reader.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sojourn_core::{Dur, Time};
use sojourn_scenario::{Capture, Engine, Run, Scenario, Status, command_line};
use sojourn_trace::{Column, Output};

use crate::capabilities::Capabilities;
use crate::check::{Refusal, check, check_programs, stacks};
use crate::collect::Collector;
use crate::job::{FlowJob, Job, MiddleboxJob, Place, ProgramJob, Request, SAMPLES};
use crate::kernel::{Guest, Launch, POLL};
use crate::meeting::{INSIDE, Meeting};
use crate::network::{Command, Network, Outside};

/// Bytes of samples in memory after they were read.
const KEPT: u64 = 8 << 20;
/// A few milliseconds of work.
const LINES_PER_TURN: usize = 512;

/// The engine that is a Linux kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Version of the build, and what distinguishes this kernel from others.
    pub version: String,
    /// How it is started.
    pub launch: Launch,
    /// What it has.
    pub capabilities: Capabilities,
    /// Where the hosts are.
    pub place: Place,
    /// What carries the packets between them.
    pub carrier: Carrier,
    /// Before the names that its hosts have in `ip netns` while a run lasts; without it nobody else sees them.
    pub names: Option<String>,
    /// Whether a scenario may have programs run. The file may be a stranger's.
    pub allows_exec: bool,
}

/// What carries the packets between the hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carrier {
    /// The kernel, with its own queues.
    Kernel,
    /// The simulator's network, in a middlebox.
    Middlebox {
        /// Lateness that 99 of 100 packets may not exceed.
        bound: Dur,
        /// Whether hosts may send several packets as one, up to 64 kB, which queues count as one.
        has_super_packets: bool,
        /// Whether idle CPUs poll meanwhile, in real time.
        keeps_awake: bool,
    },
}

impl Kernel {
    /// What is to be done inside. The error is one line.
    fn job(&self, scenario: &Scenario) -> Result<Job, String> {
        check_programs(scenario, self.place, self.carrier, self.allows_exec)?;
        let job = self.network(scenario).map_err(|refusal| refusal.to_string())?;
        Ok(Job { names: self.names.clone(), ..job })
    }

    fn network(&self, scenario: &Scenario) -> Result<Job, Refusal> {
        let stacks = stacks(scenario, &self.capabilities, self.place, self.carrier)?;
        let Carrier::Middlebox { bound, has_super_packets, keeps_awake } = self.carrier else {
            return Ok(Job::new(scenario, Network::of(scenario)?, stacks, self.place, None));
        };
        let Outside { network, uplinks, seats } =
            Network::of_hosts(scenario, &stacks, has_super_packets)?;
        let middlebox =
            MiddleboxJob { uplinks, seats, bound_ns: bound.0, has_super_packets, keeps_awake };
        Ok(Job::new(scenario, network, stacks, self.place, Some(middlebox)))
    }
}

impl Engine for Kernel {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        check_programs(scenario, self.place, self.carrier, self.allows_exec)?;
        check(scenario, &self.capabilities, self.place, self.carrier)
            .map_err(|refusal| refusal.to_string())
    }

    fn commands(&self, scenario: &Scenario) -> Result<Vec<String>, String> {
        let job = self.job(scenario)?;
        let build = job.network.commands.iter().filter(|c| c.at_ns == 0).map(Command::to_string);
        let program = |flow: &FlowJob, own: &ProgramJob| {
            let host = &job.network.hosts[flow.host(own.end)].namespace;
            format!("ip netns exec {host} {}", command_line(&own.words))
        };
        let programs =
            job.flows.iter().flat_map(|flow| flow.programs.iter().map(|own| program(flow, own)));
        Ok(build.chain(programs).collect())
    }

    fn names(&self, scenario: &Scenario) -> Result<Vec<String>, String> {
        let Some(prefix) = &self.names else { return Ok(Vec::new()) };
        let job = self.job(scenario)?;
        Ok(job.network.namespaces().map(|host| format!("{prefix}-{host}")).collect())
    }

    fn start(
        &self,
        scenario: Arc<Scenario>,
        captures: Option<&Path>,
    ) -> Result<Box<dyn Run>, String> {
        let mut job = self.job(&scenario)?;
        let captures = captures.filter(|_| !scenario.captures.is_empty()).map(Path::to_owned);
        job.captures = captures.clone().map(|folder| match self.place {
            Place::Virtual => PathBuf::from(INSIDE),
            Place::Machine => folder,
        });
        let devices = job.network.devices.clone();
        let meeting = Meeting::new(&self.launch, &Request::Run(Box::new(job)).text())?;
        let samples = meeting.samples()?;
        let launch = self.launch.lasting(scenario.duration, scenario.step);
        let guest = Guest::start(&launch, &meeting)?;
        let names = scenario.captures.iter().map(Capture::file_name).collect();
        Ok(Box::new(KernelRun {
            captures: captures.map(|folder| (folder, names)),
            end: Time::ZERO + scenario.duration,
            collector: Collector::new(scenario, &devices),
            samples: BufReader::new(samples),
            line: Vec::new(),
            read: 0,
            forgotten: 0,
            idle: Duration::ZERO,
            has_ended: false,
            launch,
            guest,
            meeting,
        }))
    }
}

struct KernelRun {
    /// Where capture files go, and their names.
    captures: Option<(PathBuf, Vec<String>)>,
    end: Time,
    collector: Collector,
    samples: BufReader<File>,
    /// What has been written of a line.
    line: Vec<u8>,
    /// Bytes of samples that were read, and of these those whose memory was given back.
    read: u64,
    forgotten: u64,
    /// For how long its clock has stood still.
    idle: Duration,
    has_ended: bool,
    launch: Launch,
    /// Ends before its folder goes.
    guest: Guest,
    meeting: Meeting,
}

impl KernelRun {
    /// Takes some of the lines that are whole, up to `until`; whether there was any.
    fn read(&mut self, until: Time) -> Result<bool, String> {
        let mut has_read = false;
        for _ in 0..LINES_PER_TURN {
            if self.collector.clock() >= until {
                break;
            }
            let read = self.samples.read_until(b'\n', &mut self.line);
            self.read += read.map_err(|e| format!("{SAMPLES}: {e}"))? as u64;
            if self.line.pop_if(|end| *end == b'\n').is_none() {
                break;
            }
            let text = str::from_utf8(&self.line).map_err(|e| format!("{SAMPLES}: {e}"))?;
            self.collector.take(text)?;
            self.line.clear();
            has_read = true;
        }
        if self.read - self.forgotten > KEPT {
            self.meeting.forget(self.forgotten..self.read);
            self.forgotten = self.read;
        }
        Ok(has_read)
    }
}

impl Run for KernelRun {
    fn now(&self) -> Time {
        self.collector.clock()
    }

    fn advance(&mut self, until: Time) -> Result<Status, String> {
        if self.has_ended {
            return Ok(Status::Ended);
        }
        // Asked before it is read: what it wrote until then is there.
        let ended = self.guest.ended()?;
        // Lines follow the last sample.
        let until = if until < self.end { until } else { Time::NEVER };
        let has_read = self.read(until)?;
        if self.collector.clock() >= until {
            return Ok(Status::Paused);
        }
        match ended {
            _ if has_read => self.idle = Duration::ZERO,
            Some(true) if self.collector.has_begun() => {
                self.has_ended = true;
                return Ok(Status::Ended);
            }
            Some(_) => return Err(self.guest.failure(&self.meeting, &self.launch)),
            None if self.idle > self.launch.stall => {
                self.guest.stop();
                let (now, stall) = (self.now().as_secs_f64(), self.launch.stall.as_secs());
                let what = self.launch.what();
                return Err(format!("{what}: the clock stands at {now:.2} s since {stall} s"));
            }
            None => {
                thread::sleep(POLL);
                self.idle += POLL;
            }
        }
        Ok(Status::Going)
    }

    fn drain(&mut self, columns: &mut Vec<Column>) {
        columns.extend(self.collector.drain());
    }

    fn finish(mut self: Box<Self>) -> Result<Output, String> {
        if !self.has_ended {
            self.guest.stop();
            if !self.collector.has_begun() {
                return Err(self.guest.failure(&self.meeting, &self.launch));
            }
        }
        if let Some((folder, names)) = &self.captures
            && self.has_ended
        {
            self.meeting.hand_over(names, folder)?;
        }
        Ok(self.collector.finish(self.has_ended))
    }
}
