//! What both sides of the kernel's wall read and write: the job, and the lines of samples.

use serde::{Deserialize, Serialize};
use sojourn_scenario::Scenario;

/// Name of the job in the folder that both sides see.
pub(crate) const JOB: &str = "job.json";
/// Name of the file of samples.
pub(crate) const SAMPLES: &str = "samples";

/// The network of a scenario as commands of a Linux machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Network {
    /// Commands in order; those at 0 and before are done before the run starts.
    pub commands: Vec<Command>,
    /// Devices whose queues are sampled.
    pub devices: Vec<Device>,
    /// Namespace of the senders.
    pub senders: String,
    /// Namespace of the receivers.
    pub receivers: String,
    /// IPv4 address of the receivers.
    pub server: String,
}

/// A command of the shell.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Command {
    /// Seconds since the start of the run.
    pub at_s: f64,
    /// Text for the shell.
    pub command: String,
}

/// A device, and which of the disciplines on it are queues of the scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Device {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Queues on it.
    pub queues: Vec<QueuePlace>,
}

/// Where a queue stands on its device.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct QueuePlace {
    /// Name of the port, as in [`PortSpec`](sojourn_scenario::PortSpec).
    pub port: String,
    /// Disciplines above it: 0 at the root.
    pub depth: usize,
}

/// All that the inside needs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Job {
    /// The network.
    pub network: Network,
    /// Interval of the samples, ns.
    pub step_ns: u64,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Flows in scenario order.
    pub flows: Vec<FlowJob>,
    /// Pings in scenario order.
    pub pings: Vec<PingJob>,
}

/// A bulk flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FlowJob {
    /// Name for messages.
    pub name: String,
    /// Controller, by the kernel's name.
    pub cc: String,
    /// When it connects, ns.
    pub start_ns: u64,
    /// When its application stops sending, ns.
    pub stop_ns: Option<u64>,
    /// Bytes to send.
    pub bytes: Option<u64>,
    /// TOS byte without its ECN bits.
    pub tos: u8,
    /// Round trips of a control connection before the data connection opens.
    pub control_rtts: u32,
    /// Port of the receiver.
    pub port: u16,
}

/// A train of ICMP echo requests.
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
}

/// A line of the file of samples; times are nanoseconds since the start of the run.
#[derive(Debug, Deserialize, Serialize)]
pub enum Line {
    /// The kernel's release.
    Kernel(String),
    /// A flow at a sample.
    Flow(usize, u64, FlowSample),
    /// An echo reply: ping, arrival, round-trip time in ns.
    Ping(usize, u64, u64),
    /// Requests sent and replies received of a ping so far.
    Pings(usize, u64, u64),
    /// `tc -s -j qdisc show` of a device.
    Queues(usize, u64, String),
    /// Ends every sample.
    Clock(u64),
    /// The run cannot go on.
    Failed(String),
}

/// `TCP_INFO` of both ends, in its own units, and what the receiver's application has read.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FlowSample {
    /// Bytes that the receiver's application has read.
    pub goodput_bytes: u64,
    /// The receiver's advertised window, bytes.
    pub rcv_wnd: u32,
    /// CE marks that the receiver counts (AccECN), packets.
    pub received_ce: u32,
    /// Bytes per second.
    pub delivery_rate: u64,
    /// Smoothed RTT, us.
    pub rtt_us: u32,
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
    /// Segments delivered with CE, whole life.
    pub delivered_ce: u32,
    /// Data segments sent, whole life.
    pub segments_sent: u32,
    /// Retransmission timeouts, whole life.
    pub timeouts: u32,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Data segments that the receiver has got.
    pub segments_received: u32,
    /// Segments that the receiver has sent.
    pub acks_sent: u32,
}

/// First port of the receivers: iperf3's.
const FIRST_PORT: u16 = 5201;

impl Job {
    /// The job of a scenario in a network.
    pub fn new(scenario: &Scenario, network: &Network) -> Self {
        let end = scenario.duration.0;
        let flows = scenario.flows.iter().zip(FIRST_PORT..).map(|(flow, port)| FlowJob {
            name: flow.name.clone(),
            cc: flow.cc.iter().flat_map(|cc| cc.split(' ')).next().unwrap_or_default().to_owned(),
            start_ns: flow.opens(scenario.seed).0,
            stop_ns: flow.stop.map(|at| at.0),
            bytes: flow.bytes,
            tos: flow.tos,
            control_rtts: flow.control_rtts,
            port,
        });
        let pings = scenario.pings.iter().map(|ping| PingJob {
            interval_ns: ping.interval.0,
            start_ns: ping.start.0,
            stop_ns: ping.stop.map_or(end, |at| at.0),
            tos: ping.tos,
            size: ping.size,
        });
        Self {
            network: network.clone(),
            step_ns: scenario.step.0,
            duration_ns: end,
            flows: flows.collect(),
            pings: pings.collect(),
        }
    }
}
