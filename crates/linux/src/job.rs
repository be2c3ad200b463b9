//! What both sides of the kernel's wall read and write: the job, and the lines of samples.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sojourn_core::{Dur, Rate, Rng};
use sojourn_scenario::{Exec, FlowSeries, Program, Scenario, Stack, to_toml};
use sojourn_trace::{
    Column, FlowSummary, Middlebox, ProgramEnd, ProgramSummary, QueueSummary, WindowSummary,
};
use sojourn_transport::tcp::Config;

use crate::network::{End, Network, tcp_ecn};

/// Name of the request in the folder that both sides see.
pub(crate) const REQUEST: &str = "request.json";
/// Name of the file of samples.
pub(crate) const SAMPLES: &str = "samples";

/// What the inside is started for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Request {
    /// Carry out a job.
    Run(Box<Job>),
    /// Report what the kernel has that is there.
    Probe(Place),
}

impl Request {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data serialises")
    }
}

/// All that the inside needs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Job {
    /// The network.
    pub network: Network,
    /// Seed of the random streams.
    pub seed: u64,
    /// From the end of the set-up to the start of the run, ns.
    pub lead_ns: u64,
    /// Interval of the samples, ns.
    pub step_ns: u64,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Flows in scenario order.
    pub flows: Vec<FlowJob>,
    /// Pings in scenario order.
    pub pings: Vec<PingJob>,
    /// The scenario in its own format.
    pub scenario: String,
    /// Whose end points each flow has.
    pub stacks: Vec<Stack>,
    /// Where it runs.
    pub place: Place,
    /// What carries the packets, if it is not the kernel.
    pub middlebox: Option<MiddleboxJob>,
    /// Before the names under which other programs see the hosts; without it they do not.
    pub names: Option<String>,
    /// The folder, as it is seen inside, for capture files, if any are to be written.
    pub captures: Option<PathBuf>,
}

/// Where the hosts are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum Place {
    /// In a kernel of their own, in virtual time.
    #[default]
    Virtual,
    /// In namespaces of this machine's kernel, which no other program sees.
    Machine,
}

/// A middlebox between the hosts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct MiddleboxJob {
    /// The device of each host that leads to it.
    pub uplinks: Vec<End>,
    /// Where end points of ours with all headers are, by host; empty if no flow has them.
    pub seats: Vec<Seat>,
    /// Lateness that 99 of 100 packets may not exceed, ns.
    pub bound_ns: u64,
    /// Whether hosts may send several packets as one.
    pub has_super_packets: bool,
    /// Whether idle CPUs poll meanwhile.
    pub keeps_awake: bool,
}

/// Where the end points of ours are at a host: behind a device to which its kernel routes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Seat {
    /// The device.
    pub end: End,
    /// Their address.
    pub address: Ipv4Addr,
}

/// A flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FlowJob {
    /// Name, for messages and random streams.
    pub name: String,
    /// Application in its grammar.
    pub app: String,
    /// Controller, by the kernel's name; empty over UDP.
    pub cc: String,
    /// `tcp_ecn` of the end that opens it.
    pub ecn: u8,
    /// Index of the host that opens it.
    pub opener: usize,
    /// Index of the other host.
    pub peer: usize,
    /// When it connects, ns.
    pub start_ns: u64,
    /// When its application stops sending, ns.
    pub stop_ns: Option<u64>,
    /// Bytes to send.
    pub bytes: Option<u64>,
    /// TOS byte; of TCP without its ECN bits.
    pub tos: u8,
    /// Round trips of a control connection before the data connection opens.
    pub control_rtts: u32,
    /// Port of the end that does not open it.
    pub port: u16,
    /// What the socket bounds the pacing rate to, bytes/s; with it the socket paces, not a discipline of the host.
    pub max_pacing: Option<u64>,
    /// The programs that are its end points; without any it has sockets.
    pub programs: Vec<ProgramJob>,
}

/// Any bound of the rate has TCP pace at the rate of its controller: all ones would be none (`sk_setsockopt`,
/// SO_MAX_PACING_RATE).
fn max_pacing(tcp: &Config, by_socket: bool) -> Option<u64> {
    let bound = tcp.max_pacing_rate.0.map(Rate::bytes_per_sec);
    bound.or_else(|| (tcp.pacing && by_socket).then_some(u64::MAX - 1))
}

impl FlowJob {
    /// Index of the host at one of its ends.
    pub fn host(&self, end: ProgramEnd) -> usize {
        match end {
            ProgramEnd::Client => self.opener,
            ProgramEnd::Server => self.peer,
        }
    }

    /// The host of a server that the client waits for.
    pub(crate) fn awaited_server(&self) -> Option<usize> {
        let is_awaited =
            |program: &ProgramJob| program.end == ProgramEnd::Server && program.names_port;
        self.programs.iter().any(is_awaited).then_some(self.peer)
    }
}

/// A program at an end of a flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProgramJob {
    /// Where.
    pub end: ProgramEnd,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether it names the flow's port, at which a client waits for it.
    pub names_port: bool,
}

impl ProgramJob {
    /// Those of a flow between these addresses.
    pub(crate) fn of(exec: &Exec, client: Ipv4Addr, server: Ipv4Addr, port: u16) -> Vec<Self> {
        let own = |end, program: &Program| Self {
            end,
            words: program.words(client, server, port),
            names_port: program.names_port(),
        };
        // What answers starts first.
        let first = exec.server.iter().map(|program| own(ProgramEnd::Server, program));
        first.chain([own(ProgramEnd::Client, &exec.client)]).collect()
    }
}

/// A train of echo requests.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PingJob {
    /// Time between requests, ns.
    pub interval_ns: u64,
    /// First request, ns.
    pub start_ns: u64,
    /// No request after this, ns.
    pub stop_ns: u64,
    /// TOS byte.
    pub tos: u8,
    /// IP bytes of a request.
    pub size: u32,
    /// Indices of the host that asks, and of the one that answers.
    pub hosts: [usize; 2],
    /// Whether it goes over UDP, and the port of the far host.
    pub udp: Option<u16>,
}

/// A line of the file of samples; times are nanoseconds since the start of the run.
#[derive(Debug, Deserialize, Serialize)]
pub enum Line {
    /// The kernel's release.
    Kernel(String),
    /// A TCP connection at a sample.
    Flow(usize, u64, FlowSample),
    /// Requests sent and responses complete of a flow so far.
    Answers(usize, u64, u64),
    /// A flow of connections that come and go, at a sample.
    Short(usize, u64, ShortSample),
    /// A one-way UDP flow at a sample.
    Udp(usize, u64, UdpSample),
    /// What has arrived of a one-way UDP flow since the last such line.
    Arrivals(usize, Vec<Arrival>),
    /// A transfer or a response is complete: flow, when, how long it took, bytes.
    Done(usize, u64, u64, u64),
    /// An echo reply: ping, arrival, round-trip time in ns.
    Ping(usize, u64, u64),
    /// Requests sent and replies received of a ping so far.
    Pings(usize, u64, u64),
    /// `tc -s -j qdisc show` of a device.
    Queues(usize, u64, String),
    /// The same, just before commands are carried out.
    Before(usize, u64, String),
    /// A program of a flow has ended.
    Program(usize, ProgramSummary),
    /// Ends every sample.
    Clock(u64),
    /// What was sampled in the middlebox, or of end points of ours, since the last such line.
    Series(Vec<Column>),
    /// What middlebox and end points of ours carried in the whole run.
    Carried(Box<Carried>),
    /// The run cannot go on.
    Failed(String),
}

/// What a middlebox has carried, and end points of ours have sent.
#[derive(Debug, Deserialize, Serialize)]
pub struct Carried {
    /// The queues of its network.
    pub queues: Vec<QueueSummary>,
    /// The flows whose end points are ours.
    pub flows: Vec<FlowSummary>,
    /// The windows with a name: these queues and flows in them.
    pub windows: Vec<WindowSummary>,
    /// What a middlebox records of itself.
    pub record: Option<Middlebox>,
}

/// `TCP_INFO` of both ends, and what the receiver's application has read.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FlowSample {
    /// Bytes that the receiver's application has read.
    pub read: u64,
    /// The end that sends the data.
    pub tx: Sending,
    /// The end that receives them.
    pub rx: Receiving,
}

/// `TCP_INFO` of the end that sends the data, in its own units.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Sending {
    /// Bytes per second.
    pub delivery_rate: u64,
    /// Smoothed RTT, us.
    pub rtt_us: u32,
    /// Smallest RTT, us.
    pub min_rtt_us: u32,
    /// Segments.
    pub cwnd: u32,
    /// Segments.
    pub ssthresh: u32,
    /// Segments.
    pub in_flight: u32,
    /// Bytes per second; `u64::MAX` is unlimited.
    pub pacing_rate: u64,
    /// Segments, whole life.
    pub retransmits: u32,
    /// Segments that had arrived before, as the receiver reported (DSACK), whole life.
    pub dsack_dups: u32,
    /// Segments delivered with CE, whole life.
    pub delivered_ce: u32,
    /// Data segments sent, whole life.
    pub segments_sent: u32,
    /// Retransmission timeouts, whole life.
    pub timeouts: u32,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
}

/// `TCP_INFO` of the end that receives the data, in its own units.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Receiving {
    /// The advertised window, bytes.
    pub rcv_wnd: u32,
    /// CE marks that it counts, packets; 0 of kernels before 7.0.
    pub received_ce: u32,
    /// Data segments that it has got.
    pub segments_received: u32,
    /// Segments that it has sent.
    pub acks_sent: u32,
}

impl Sending {
    /// Adds the totals of another connection.
    pub fn add(&mut self, other: &Self) {
        self.retransmits += other.retransmits;
        self.dsack_dups += other.dsack_dups;
        self.delivered_ce += other.delivered_ce;
        self.segments_sent += other.segments_sent;
        self.timeouts += other.timeouts;
        self.acked_bytes += other.acked_bytes;
    }
}

impl Receiving {
    /// Adds the totals of another connection.
    pub fn add(&mut self, other: &Self) {
        self.received_ce += other.received_ce;
        self.segments_received += other.segments_received;
        self.acks_sent += other.acks_sent;
    }
}

/// A flow of connections that come and go.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ShortSample {
    /// Connections that are open.
    pub open: u32,
    /// Connections that arrived so far, those turned away among them.
    pub arrived: u64,
    /// Of these, above the limit.
    pub turned_away: u64,
    /// Transfers that are complete.
    pub completed: u64,
    /// Sums over all connections; the smallest RTT is that of the complete ones.
    pub sums: FlowSample,
}

/// A one-way UDP flow; all since its start.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct UdpSample {
    /// Packets sent.
    pub sent: u64,
    /// Bytes of payload sent.
    pub sent_bytes: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Bytes of payload that arrived.
    pub received_bytes: u64,
    /// Packets that arrived, by ECN codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub codepoints: [u64; 4],
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Arrival {
    /// When, ns.
    pub at: u64,
    /// Its number from 0.
    pub seq: u64,
    /// When it was sent, ns.
    pub sent: u64,
}

/// Time for the threads to get ready; a guest's timers are not exact before.
const LEAD_NS: u64 = 1_000_000_000;
/// First port of the receivers: iperf3's.
pub(crate) const FIRST_PORT: u16 = 5201;

impl Job {
    /// The job of a scenario in a network.
    pub fn new(
        scenario: &Scenario,
        network: Network,
        stacks: Vec<Stack>,
        place: Place,
        middlebox: Option<MiddleboxJob>,
    ) -> Self {
        let end = scenario.duration.0;
        let programs = |exec: &Exec, ends: [usize; 2], port| {
            let [client, server] = ends.map(|host| network.hosts[host].address);
            ProgramJob::of(exec, client, server, port)
        };
        let flows = scenario.flows.iter().zip(&network.flows).zip(FIRST_PORT..);
        let flows = flows.map(|((flow, [opener, peer]), port)| FlowJob {
            name: flow.name.clone(),
            app: flow.app.to_string(),
            ecn: tcp_ecn(flow.tcp.ecn),
            opener: *opener,
            peer: *peer,
            cc: flow.cc.as_ref().map_or("", |cc| cc.name()).to_owned(),
            start_ns: flow.opens(scenario.seed).0,
            stop_ns: flow.stop.map(|at| at.0),
            bytes: flow.bytes,
            tos: flow.tos,
            control_rtts: flow.control_rtts,
            port,
            max_pacing: max_pacing(&flow.tcp, middlebox.is_some()),
            programs: flow
                .exec
                .iter()
                .flat_map(|exec| programs(exec, [*opener, *peer], port))
                .collect(),
        });
        let pings = scenario.pings.iter().zip(&network.pings).zip(FIRST_PORT..);
        let pings = pings.map(|((ping, hosts), port)| PingJob {
            interval_ns: ping.interval.0,
            start_ns: ping.start.0,
            stop_ns: ping.stop.map_or(end, |at| at.0),
            tos: ping.tos,
            size: ping.size,
            hosts: *hosts,
            // Behind those of the flows.
            udp: ping.udp.then_some(port.saturating_add(scenario.flows.len() as u16)),
        });
        Self {
            flows: flows.collect(),
            pings: pings.collect(),
            seed: scenario.seed,
            lead_ns: match middlebox {
                None => lead(scenario),
                // Its queues have their age from the start.
                Some(_) => LEAD_NS,
            },
            // Every flow is sampled, as those of the kernel are.
            scenario: to_toml(&Scenario { series: FlowSeries::Flows, ..scenario.clone() }),
            stacks,
            place,
            middlebox,
            names: None,
            captures: None,
            step_ns: scenario.step.0,
            duration_ns: end,
            network,
        }
    }
}

/// The queues' age and a phase that depends on the seed, as in the simulator.
fn lead(scenario: &Scenario) -> u64 {
    let age = scenario.queue_age;
    let phase = Rng::named(scenario.seed, "queue_age").unit() * age.min(Dur::from_secs(1)).0 as f64;
    (age.0 + phase as u64).max(LEAD_NS)
}
