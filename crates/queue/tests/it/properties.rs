//! Invariants of every registered discipline under random traffic.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use sojourn_core::{Bytes, Ecn, FlowId, Kind, Packet, Rate, Rng, Time};
use sojourn_queue::aqm::psched::{self, LinkLayer, RateConfig};
use sojourn_queue::aqm::{Backlog, Env, Event, Log, Qdisc, Stats};
use sojourn_queue::qdiscs::{self, REGISTRY};
use sojourn_queue::traces::{Opportunities, RateSteps, Traces};

/// Configurations of each discipline: defaults, and small limits that make it act.
fn configurations(name: &str) -> &'static [&'static str] {
    match name {
        "ackthin" => &["", "hold 3ms", "every 3 hold 2ms careless"],
        "bfifo" => &["", "limit 20000"],
        "blue" => &[
            "",
            "limit 30 increment 0.3 decrement 0.01 freeze 1ms",
            "limit 40 threshold 5 increment 0.2 freeze 0 noecn",
        ],
        "brickwall" => &["", "limit 40 sce-threshold 300us ecn-threshold 1ms drop-threshold 4ms"],
        "cake" => &[
            "",
            "bandwidth 20Mbit ack-filter ingress overhead 22 ptm diffserv4 dual-srchost",
            "bandwidth 3Mbit flowblind besteffort sce memlimit 60kb",
            "unlimited precedence hosts memlimit 20kb rtt 200us sce-thresh 4 fresh-root max",
            "bandwidth 100Mbit autorate-ingress diffserv8 ack-filter-aggressive sce-single",
        ],
        "cnq_cobalt" | "cnq_codel_af" => &[
            "",
            "limit 40 bandwidth 20Mbit sce-thresh 4 target 200us rtt 2ms",
            "bandwidth 50Mbit sce law 2022 conservative uptime 0s",
            "law 2019 sce-interval 1ms target 100us rtt 100us overhead 24 mpu 84 ptm",
        ],
        "cobalt" => &[
            "",
            "limit 40 sce-thresh 8 target 200us rtt 2ms",
            "no-sce target 100us rtt 100us",
            "sce-interval 1ms rtt 300us",
        ],
        "codel" => &["", "limit 30 ecn target 200us interval 2ms", "noecn target 0ms interval 1us"],
        "deltic" => &[
            "",
            "limit 40 sce-resonance 2000 ecn-resonance 800 drop-resonance 100",
            "sce-resonance 900 ecn-resonance 300 drop-resonance 50 version 2023a",
            "sce-resonance 900 no-ecn drop-resonance 50 version 2024a limit 50",
            "sce-resonance 900.5 ecn-resonance 300.25 no-drop version 2024",
        ],
        "curvy_red" => &[
            "",
            "limit 60kb min_th 0 g_c 1 s_c -8 scheduler wrr classic_weight 0.5",
            "limit 30kb rate 10Mbit min_th 1ms s_c -10 curviness 2 tshift 2ms step_thresh 100us",
        ],
        "deltic_boroshne" => &[
            "",
            "limit 40 bandwidth 20Mbit sce-resonance 2000 ecn-resonance 500 drop-resonance 100",
            "bandwidth 60Mbit no-sce pppoe-llcsnap",
            "ecn-resonance 500 version early limit 60",
        ],
        "deltic_polya" => &[
            "",
            "limit 40 sce-resonance 1500.5 ecn-resonance 700 no-drop",
            "limit 40 sce-resonance 1500 ecn-resonance 700 drop-resonance 100 version 2024a",
        ],
        "deltim" => &["", "limit 40 version 2 burst 1ms tau 4", "burst 500us tau 16"],
        "docsis_ll" => &[
            "",
            "rate 10Mbit limit 60kb target 1ms interval 1ms a 10 b 100 nonqb",
            "limit 40kb target 100us interval 2ms b 300 signal random min_th 0 lg_range 4 sanction drop",
            "rate 100Mbit bi_size 0 attempts 1 lg_aging 0 critical_ql 0 critical_ql_score 0 max_score 1s",
        ],
        "docsis_pie" => &[
            "msr 20Mbit",
            "msr 5Mbit peak_rate 8Mbit max_burst_bytes 9000 limit 30000 target 1ms interval 1ms \
             alpha 10 beta 100 burst_reset_timeout 20ms",
            "msr 1Mbit limit 20000 target 100us interval 2ms alpha 100 beta 100 max_burst 0 \
             latency_high 2ms mean_pktsize 300 min_pktsize 60",
        ],
        "dualpi2" => &[
            "",
            "version 2020 limit 60",
            "version l4steam limit 60 target 1ms alpha 10 beta 100 tupdate 1ms",
            "target 1ms tupdate 1ms alpha 10 beta 100 limit 80 memlimit 100kb",
            "any_ect overflow drop_enqueue target 100us tupdate 2ms beta 200 step_thresh 3p",
            "coupling_factor 9 classic_protection 70% min_qlen_step 2 target 0ms alpha 100",
        ],
        "dualq" => &[
            "",
            "limit 60kb target 1ms tupdate 1ms alpha 10 beta 100",
            "limit 40kb target 0 max_rtt 2ms scheduler tsfifo tshift 3ms signal random l_aqm step",
            "rate 5Mbit coupling_factor 9 p_lmax 0.5 p_cmax 0.4 th_len 0 range 0 alpha 50",
        ],
        "fq" => &[
            "",
            "limit 20 flow_limit 5 maxrate 5Mbit quantum 300 initial_quantum 3000 timer_slack 1ms",
            "maxrate 400kbit limit 30 ce_threshold 1us orphan_mask 1 refill_delay 1ms",
            "bands 3 priomap 2 0 0 0 1 1 0 1 0 1 1 1 1 1 1 1 weights 16384 20000 16384 limit 9",
        ],
        "fq_codel" => &[
            "",
            "flows 1 limit 40",
            "flows 4 limit 50 drop_batch 3 target 200us interval 2ms noecn",
            "memory_limit 60kb quantum 300 ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        ],
        "fq_pie" => &[
            "",
            "flows 1 limit 40 target 1ms tupdate 1ms alpha 32 beta 32 ecn",
            "flows 3000 limit 50 target 500us tupdate 2ms ecn ecn_prob 100 quantum 300",
            "flows 4 memory_limit 10kb target 500us tupdate 1ms bytemode dq_rate_estimator",
        ],
        "grant" => &[
            "rate 10Mbit",
            "rate 20Mbit slot 500us loss 30% harq 3ms attempts 2 request 4ms",
            "file t unit 2kbit loss 20% harq 2ms attempts 1 um",
        ],
        "htb" => &[
            "rate 10Mbit",
            "rate 50Mbit ceil 20Mbit burst 9000 cburst 3000 overhead 24",
            "default 20 class 1:1 rate 20Mbit class 1:10 parent 1:1 rate 2Mbit ceil 20Mbit \
             class 1:20 parent 1:1 rate 5Mbit ceil 20Mbit prio 1 leaf { fq_codel flows 4 limit 30 } \
             filter match ip src 1 flowid 1:10",
            "r2q 1000 direct_qlen 5 class 1:1 rate 3Mbit class 1:3 parent 1:1 rate 1Mbit \
             class 1:2 parent 1:3 rate 500kbit ceil 3Mbit leaf { netem delay 3ms } \
             class 1:4 rate 4Mbit leaf { codel limit 9 } filter match ip src 1 flowid 1:2 \
             filter match ip src 0 flowid 1:4",
        ],
        "mahimahi" => &["file t", "file t packet_size 700 overhead 30"],
        "netem" => &[
            "",
            "delay 3ms",
            "delay 20ms limit 30",
            "delay 5ms 4ms 30% distribution paretonormal limit 25",
            "delay 2ms 2ms loss 10% 20% ecn duplicate 20% 5% corrupt 5% 1% limit 40",
            "delay 4ms loss gemodel 5% 30% 90% 1% reorder 20% 10% gap 3 seed 7",
            "loss state 10% 30% 5% 60% 2% delay 1ms rate 20Mbit -14 48 5",
            "delay 200us slot 800us 10ms packets 4 bytes 9000 duplicate 100%",
            "slot distribution normal 3ms 1ms packets 2 rate 50Mbit 24",
        ],
        "pfifo" => &["", "limit 20", "limit 0"],
        "pi2" => &[
            "",
            "limit 60 target 1ms tupdate 1ms alpha 10 beta 100",
            "limit 50 target 0 tupdate 2ms alpha 100 coupling_factor 5 noecn",
        ],
        "pie" => &[
            "",
            "limit 60 target 1ms tupdate 1ms alpha 32 beta 32 ecn bytemode",
            "limit 50 target 500us tupdate 2ms alpha 32 ecn dq_rate_estimator",
            "version 5.4 target 1us tupdate 1ms",
        ],
        "ramp" => &["", "limit 40 min 100us max 3ms tau 4", "bandwidth 1Gbit max 2ms signal recur"],
        "rate_trace" => &["file t", "file t unit 3kbit hold overhead -14"],
        "red" => &[
            "limit 400000 avpkt 1000 adaptive bandwidth 50Mbit ecn",
            "limit 20000 min 3000 max 9000 avpkt 500 burst 7 probability 0.3 ecn nodrop gentle",
            "limit 20000 min 3000 max 9000 avpkt 500 adaptive ecn harddrop idle exact",
            "limit 20000 min 3000 max 9000 avpkt 500 ecn sce_max 5000 sce_probability 0.7",
        ],
        "red_classic" => &[
            "bandwidth 20Mbit",
            "bandwidth 20Mbit min_th 2 max_th 8 max_p 0.3 w 0.2 ecn gentle limit 20",
            "bandwidth 5Mbit bytes min_th 2000 max_th 9000 w 0.3 avpkt 700 ecn limit 15000",
            "bandwidth 20Mbit adaptive target 1ms avpkt 600",
        ],
        "sfb" => &[
            "",
            "limit 30 max 10 target 3 increment 0.3 penalty_rate 50 rehash 40 db 20",
            "limit 60 target 1 increment 0.1 decrement 0.01 penalty_burst 0",
        ],
        "sfq" => &[
            "",
            "limit 30 depth 8 flows 9 divisor 16 perturb 1 headdrop",
            "quantum 300 redflowlimit 9000 min 1000 max 4000 avpkt 500 burst 5 probability 0.3 ecn headdrop",
            "redflowlimit 9000 min 1000 max 4000 avpkt 500 burst 5 ecn harddrop",
        ],
        "pfifo_fast" => &[""],
        "quartz" => &["", "version early", "floor 3"],
        "pfifo_head_drop" => &["", "limit 7", "limit 0"],
        "drop" => {
            &["all", "percent 20%", "rule ect1 every 3 burst 2 rule list 2,5,9 rule nth 20 data"]
        }
        "mangle" => &[
            "",
            "rule ect0 percent 50% ce-everything rule ect1 sce-strip",
            "rule ect0 ect1 every 4 burst 2 set-ecn ce rule ack clear-flags ae,ece",
            "rule not-ect no-data set-ecn ect0 rule dscp 10 nth 9 set-tos 0x01 rule tos-mask 0xe0",
        ],
        "police" => &[
            "rate 10Mbit burst 15kb drop",
            "rate 10Mbit burst 9kb peakrate 50Mbit mtu 1514 overhead 24 conform-exceed drop/continue",
            "pkts_rate 500 pkts_burst 10",
        ],
        "stab" => &[
            "",
            "overhead 24 mpu 84 linklayer atm htb rate 20Mbit",
            "overhead -14 mtu 1600 tsize 64 mpu 64 netem delay 3ms duplicate 20%",
            "overhead 38 fq_codel flows 4 target 200us interval 2ms",
        ],
        "tbf" => &[
            "rate 10Mbit burst 5kb latency 20ms",
            "rate 20Mbit burst 3000 limit 20000 peakrate 50Mbit mtu 1514 overhead 24 mpu 84",
            "rate 5Mbit burst 1000 limit 9000 linklayer atm",
        ],
        "lfq_cobalt" => &[
            "",
            "memlimit 40kb bandwidth 20Mbit sce-thresh 8 target 200us rtt 2ms",
            "law 2019 sce target 100us rtt 1ms docsis limit 30",
        ],
        "twin_codel_af" => &[
            "",
            "bandwidth 20Mbit sce-thresh 4 target 200us rtt 2ms limit 50",
            "chooser early no-sce target 100us rtt 1ms ethernet ether-vlan",
        ],
        "wifi" => &[
            "rate 60Mbit",
            "rate 20Mbit poisson 1ms geometric 2.5 bytes 4000b half-duplex",
            "rate 80Mbit access 0 preamble 0 packets 2 overhead 30",
        ],
        other => panic!("`{other}` has no configurations for these properties"),
    }
}

/// An Ethernet device that knows the traces `t`.
fn env(rng: Rng) -> Env {
    let mut traces = Traces::default();
    traces.add("t", Opportunities::parse("0\n1\n1\n4\n9\n").unwrap());
    traces.add("t", RateSteps::parse("0 9000\n0.002 400\n0.004 30000\n").unwrap());
    Env { traces, ..Env::ethernet(rng) }
}

/// The most that a description allows to wait: packets, or bytes for those named here.
fn limit(text: &str) -> Backlog {
    // The limit of a leaf in a tree is not that of the tree.
    let own = text.split(" class ").next().unwrap_or_default();
    let mut options = own.split_whitespace().skip_while(|w| *w != "limit").skip(1);
    let mut most = Backlog { packets: u32::MAX, bytes: u64::MAX };
    if let Some(word) = options.next() {
        let in_bytes = ["bfifo", "curvy_red", "docsis_ll", "docsis_pie", "dualq", "red ", "tbf"];
        if in_bytes.iter().any(|name| text.starts_with(name)) {
            most.bytes = Bytes::parse_tc(word).unwrap().0;
        } else if text.starts_with("red_classic") && text.contains(" bytes ") {
            most.bytes = word.parse().unwrap();
        } else {
            most.packets = word.trim_end_matches('p').parse().unwrap();
            // Linux counts each band by itself, and the eight packets of the fast path not at all.
            if text.starts_with("fq ") {
                most.packets = most.packets * 3 + 8;
            }
            // Linux tests a duplicated packet against the limit before it queues the copy.
            most.packets = most.packets.saturating_add(text.contains("duplicate").into());
        }
    }
    most
}

fn is_fifo_within_flows(text: &str) -> bool {
    // Dual queues send packets of one flow with different codepoints through different queues; netem
    // reorders by jitter and by request, and its copies are no younger than their originals;
    // deltic_boroshne moves a flow to another queue while older packets wait in the first.
    // In unacknowledged mode grant releases packets as they complete.
    let reorders = [" um", "reorder", "duplicate", "4ms 30%", "2ms 2ms"];
    let duals = ["curvy_red", "docsis_ll", "dualpi2", "dualq"];
    !(duals.iter().any(|name| text.contains(name))
        || text.contains("deltic_boroshne")
        || reorders.iter().any(|options| text.contains(options)))
}

/// Whether the discipline may turn ECT(0) into ECT(1), SCE's mark.
fn marks_sce(text: &str) -> bool {
    let families = ["brickwall", "cnq", "cobalt", "delti", "lfq", "quartz", "ramp", "twin"];
    text.contains(" sce") || families.iter().any(|family| text.contains(family))
}

#[derive(Clone, Debug)]
struct Step {
    pause_ns: u64,
    arrivals: Vec<(u8, u8, u32)>,
    departures: u8,
}

fn traffic() -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![Just(0_u64), 1..2_000_000_u64, 1..80_000_000_u64];
    let arrival = (0..6_u8, 0..4_u8, prop_oneof![Just(1514_u32), 60..1515_u32]);
    let step = (pause, prop::collection::vec(arrival, 0..12), 0..10_u8)
        .prop_map(|(pause_ns, arrivals, departures)| Step { pause_ns, arrivals, departures });
    prop::collection::vec(step, 1..120)
}

/// What left a discipline, in order: packet, instant, whether it was dropped.
type Record = Vec<(u32, Time, bool, u8)>;

struct Bench {
    qdisc: Box<dyn Qdisc>,
    is_fifo: bool,
    marks_sce: bool,
    /// A mangler writes what its rules say.
    rewrites: bool,
    /// tc prints the peak under the name of the current memory.
    shows_peak_memory: bool,
    log: Log,
    /// When a packet arrived, its form then, and how many copies of it are held.
    inside: BTreeMap<u32, (Time, Packet, u32)>,
    held: Backlog,
    last_of_flow: HashMap<FlowId, u32>,
    record: Record,
}

impl Bench {
    fn new(text: &str, seed: u64) -> Self {
        let qdisc = qdiscs::build(text, env(Rng::named(seed, "qdisc"))).unwrap();
        Self {
            qdisc,
            is_fifo: is_fifo_within_flows(text),
            marks_sce: marks_sce(text),
            rewrites: text.starts_with("mangle"),
            shows_peak_memory: text.split_whitespace().any(|word| word == "cake"),
            log: Log::default(),
            inside: BTreeMap::new(),
            held: Backlog::default(),
            last_of_flow: HashMap::new(),
            record: Vec::new(),
        }
    }

    fn enqueue(&mut self, now: Time, pkt: Packet) {
        self.inside.insert(pkt.id, (now, pkt, 1));
        self.held.add(&pkt);
        self.qdisc.enqueue(now, pkt, &mut self.log);
        self.settle(now);
    }

    /// A copy of packet `id` is gone: when it arrived, and its form then.
    fn take(&mut self, id: u32) -> (Time, Packet) {
        let (since, original, copies) = self.inside.get_mut(&id).expect("one of those it held");
        let taken = (*since, *original);
        *copies -= 1;
        if *copies == 0 {
            self.inside.remove(&id);
        }
        self.held.remove(&taken.1);
        taken
    }

    fn dequeue(&mut self, now: Time) -> bool {
        let sent = self.qdisc.dequeue(now, &mut self.log);
        self.settle_log(now);
        if let Some(pkt) = sent {
            let (since, original) = self.take(pkt.id);
            assert!(now >= since && pkt.stamp >= since && pkt.stamp <= now);
            assert_eq!((pkt.len, pkt.flow), (original.len, original.flow));
            if !self.rewrites {
                assert_eq!(pkt.tos >> 2, original.tos >> 2);
                let sce = original.ecn() == Ecn::Ect0 && pkt.ecn() == Ecn::Ect1 && self.marks_sce;
                assert!(pkt.ecn() == original.ecn() || pkt.ecn() == Ecn::Ce || sce, "{pkt:?}");
                assert!(original.ecn() != Ecn::NotEct || pkt.ecn() == Ecn::NotEct, "{pkt:?}");
            }
            if self.is_fifo {
                let before = self.last_of_flow.insert(pkt.flow, pkt.id);
                assert!(before.is_none_or(|id| id < pkt.id), "{before:?} before {}", pkt.id);
            }
            self.record.push((pkt.id, now, false, pkt.tos));
        }
        assert_eq!(self.qdisc.backlog(), self.held);
        sent.is_some()
    }

    fn advance(&mut self, from: Time, to: Time) {
        let mut wakes = 0;
        while self.qdisc.wake() <= to {
            let due = self.qdisc.wake().0.max(from.0);
            self.qdisc.on_wake(Time(due), &mut self.log);
            self.settle(Time(due));
            wakes += 1;
            assert!(wakes < 1_000_000, "wakes without end");
        }
    }

    fn settle(&mut self, now: Time) {
        self.settle_log(now);
        assert_eq!(self.qdisc.backlog(), self.held);
    }

    fn settle_log(&mut self, now: Time) {
        let mut log = std::mem::take(&mut self.log);
        for event in log.drain() {
            match event {
                Event::Mark(pkt, _) => {
                    let (_, original, _) = self.inside.get(&pkt.id).expect("marked what it held");
                    assert!(original.ecn() != Ecn::NotEct || self.rewrites);
                    assert_ne!(pkt.ecn(), original.ecn());
                }
                Event::Drop(pkt, _) => {
                    self.take(pkt.id);
                    self.record.push((pkt.id, now, true, pkt.tos));
                }
                Event::Duplicate(pkt) => {
                    self.inside.get_mut(&pkt.id).expect("copied what it held").2 += 1;
                    self.held.add(&pkt);
                }
            }
        }
        self.log = log;
    }

    /// Runs `steps`, then serves the queue until it is empty.
    fn run(&mut self, steps: &[Step]) {
        let (mut now, mut id) = (Time::ZERO, 0);
        let most = limit(&self.qdisc.describe());
        for step in steps {
            let then = Time(now.0 + step.pause_ns);
            self.advance(now, then);
            now = then;
            for (flow, tos, len) in &step.arrivals {
                let flow_id = u32::from(*flow);
                let pkt = Packet {
                    id,
                    flow: FlowId(flow_id),
                    hash: flow_id.wrapping_mul(0x9E37_79B9),
                    len: *len,
                    tos: 0x28 | tos,
                    kind: if *len < 400 { Kind::TcpAck } else { Kind::TcpData },
                    ack: id,
                    src: u16::from(flow % 3),
                    dst: u16::from(flow % 2),
                    ..Packet::default()
                };
                id += 1;
                self.enqueue(now, pkt);
                let held = self.held;
                let fits = held.packets <= most.packets && held.bytes <= most.bytes;
                assert!(fits, "{held:?} in {}", self.qdisc.describe());
            }
            for _ in 0..step.departures {
                self.dequeue(now);
            }
        }
        let mut idle = 0;
        while self.held.packets > 0 {
            if self.dequeue(now) {
                idle = 0;
            } else if self.held.packets > 0 {
                assert_ne!(self.qdisc.wake(), Time::NEVER, "starves with {:?}", self.held);
                now = now.max(self.qdisc.wake());
                self.qdisc.on_wake(now, &mut self.log);
                idle += 1;
                // Some tick: a grant's slots pass while it repeats a block.
                assert!(idle < 1000, "`{}` is woken but sends nothing", self.qdisc.describe());
            }
        }
        // Under this name tc prints the peak of cake.
        if !self.shows_peak_memory {
            let mut stats = Stats::default();
            self.qdisc.stats(&mut stats);
            assert!(stats.value("memory_used").is_none_or(|bytes| bytes == 0.0), "{stats:?}");
        }
    }
}

#[test]
fn registry_is_sorted_by_name() {
    assert!(REGISTRY.windows(2).all(|w| w[0].name < w[1].name));
}

#[test]
fn every_parameter_and_default_is_on_its_page() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms");
    for entry in REGISTRY {
        let page = std::fs::read_to_string(format!("{pages}/{}.md", entry.name)).unwrap();
        for param in entry.table() {
            let name = param.name.replace('|', "` \\| `");
            let row = page.lines().find(|l| l.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("{}: no row for `{name}`", entry.name));
            assert!(row.contains(&param.default) && row.contains(param.doc), "{row}");
        }
    }
}

#[test]
fn description_parses_to_the_same_discipline() {
    for entry in REGISTRY {
        for options in configurations(entry.name) {
            let env = || env(Rng::named(1, "t"));
            let text = format!("{} {options}", entry.name);
            let once = qdiscs::build(&text, env()).unwrap().describe();
            let twice = qdiscs::build(&once, env()).unwrap().describe();
            assert_eq!(once, twice, "{text}");
        }
    }
}

#[test]
fn unknown_parameters_and_missing_values_are_one_line_errors() {
    for entry in REGISTRY {
        let rate = match entry.name {
            "htb" => "rate 1Mbit",
            "police" => "rate 1Mbit burst 5kb",
            "tbf" => "rate 1Mbit burst 5kb latency 1s",
            _ => "",
        };
        for options in ["frobnicate", "limit", "rate", "5ms"] {
            let text = format!("{} {rate} {options}", entry.name);
            let error = qdiscs::build(&text, env(Rng::named(1, "t"))).err().expect(&text).0;
            assert!(error.starts_with(entry.name) && error.lines().count() == 1, "{error}");
        }
    }
}

#[test]
fn change_without_parameters_or_to_an_error_changes_nothing() {
    for entry in REGISTRY {
        for options in configurations(entry.name) {
            let text = format!("{} {options}", entry.name);
            let mut q = qdiscs::build(&text, env(Rng::named(1, "t"))).unwrap();
            let before = q.describe();
            // A change sets most of netem's parameters anew, so that this one repeats them.
            let same = if entry.name == "netem" { &before } else { entry.name };
            let mut log = Log::default();
            for id in 0..5 {
                let len = 200;
                q.enqueue(Time::ZERO, Packet { id, len, ..Packet::default() }, &mut log);
            }
            let held = q.backlog();
            log.drain();
            qdiscs::change(&mut *q, Time::ZERO, same, &mut log).unwrap();
            assert_eq!(q.describe(), before);
            let wrong = format!("{before} frobnicate");
            assert!(qdiscs::change(&mut *q, Time::ZERO, &wrong, &mut log).is_err());
            assert_eq!(q.describe(), before);
            assert!(q.backlog() == held && log.is_empty(), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn packets_are_conserved_in_order_and_marked_only_if_capable(
        steps in traffic(),
        seed in any::<u64>(),
    ) {
        for entry in REGISTRY {
            for options in configurations(entry.name) {
                let text = format!("{} {options}", entry.name);
                let mut first = Bench::new(&text, seed);
                first.run(&steps);
                prop_assert!(first.inside.is_empty());
                let mut again = Bench::new(&text, seed);
                again.run(&steps);
                prop_assert_eq!(first.record, again.record);
            }
        }
    }

    #[test]
    fn leaf_under_a_shaper_keeps_the_same_invariants(steps in traffic(), seed in any::<u64>()) {
        for entry in REGISTRY {
            for options in configurations(entry.name) {
                let text = format!("{} {options}", entry.name);
                let env = env(Rng::named(seed, "qdisc"));
                let mut bench = Bench::new(&text, seed);
                bench.qdisc = qdiscs::build_shaped("htb rate 20Mbit", bench.qdisc, &env).unwrap();
                bench.run(&steps);
                prop_assert!(bench.inside.is_empty());
                for shaper in [
                    "tbf rate 20Mbit burst 5kb",
                    "netem delay 2ms limit 9999",
                    "ackthin hold 1ms",
                    "grant rate 20Mbit loss 10%",
                    "mahimahi file t",
                    "rate_trace file t",
                    "wifi rate 40Mbit access 0 100us",
                ] {
                    let mut bench = Bench::new(&text, seed);
                    bench.qdisc = qdiscs::build_shaped(shaper, bench.qdisc, &env).unwrap();
                    bench.run(&steps);
                    prop_assert!(bench.inside.is_empty());
                }
            }
        }
    }

    #[test]
    fn purge_discards_everything_and_leaves_a_usable_queue(steps in traffic()) {
        for entry in REGISTRY {
            for options in configurations(entry.name) {
                let text = format!("{} {options}", entry.name);
                let mut bench = Bench::new(&text, 1);
                let last = Packet { len: 1000, ..Packet::default() };
                for (id, (flow, tos, len)) in steps.iter().flat_map(|s| &s.arrivals).enumerate() {
                    let (id, flow) = (id as u32, FlowId(u32::from(*flow)));
                    bench.enqueue(Time::ZERO, Packet { id, flow, tos: *tos, len: *len, ..last });
                }
                bench.qdisc.purge(&mut bench.log);
                bench.settle(Time::ZERO);
                prop_assert!(bench.inside.is_empty());
                bench.run(&steps);
            }
        }
    }

    #[test]
    fn shaper_never_exceeds_its_rate_and_one_burst(steps in traffic()) {
        let (rate, burst) = (Rate(20_000_000), psched::burst_time(Bytes(1600), Rate(20_000_000)));
        let config = RateConfig::new(rate, 0, 0, LinkLayer::Ethernet);
        let mut bench = Bench::new("htb rate 20Mbit", 1);
        let lens: Vec<u32> = steps.iter().flat_map(|s| s.arrivals.iter().map(|a| a.2)).collect();
        bench.run(&steps);
        let sent: Vec<(u64, u64)> = bench
            .record
            .iter()
            .filter(|(_, _, dropped, _)| !dropped)
            .map(|(id, at, _, _)| (at.0, config.l2t(lens[*id as usize])))
            .collect();
        for (i, (start, _)) in sent.iter().enumerate() {
            let mut used = 0;
            for (at, time) in &sent[i..] {
                // The last packet of a burst may run into debt.
                prop_assert!(used <= burst.0 + (at - start));
                used += time;
            }
        }
    }
}
