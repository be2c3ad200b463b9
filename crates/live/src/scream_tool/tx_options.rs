//! The sender's options: those of the original's builds with their names and meaning
//! (`scream.md` 2.2), and a few of our own.

use super::args::{self, Group, Opt, Parsed, Values};
use super::generation::Generation;
use super::{Count, HELP_HEAD_TX, Local, PORT};

/// What the sender was asked to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TxOptions {
    pub(super) generation: Generation,
    pub(super) log_format: Option<Generation>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) local: Local,
    pub(super) any_source: bool,
    pub(super) count: Count,
    /// -1 Not-ECT, 0 ECT(0), 1 ECT(1), 3 CE.
    pub(super) ect: i8,
    pub(super) gso: Gso,
    pub(super) duration_s: Option<f64>,
    pub(super) parity: bool,
    // Media.
    pub(super) is_paced: bool,
    pub(super) fixed_kbps: Option<f64>,
    pub(super) push_traffic: bool,
    pub(super) key: Option<(f64, f64)>,
    pub(super) burst: Option<(f64, f64)>,
    pub(super) rand_pct: f64,
    pub(super) init_kbps: f64,
    pub(super) min_kbps: f64,
    pub(super) max_kbps: f64,
    pub(super) fps: f64,
    pub(super) mtus: Vec<u32>,
    pub(super) least_packets_in_flight: u32,
    pub(super) microburst_ms: f64,
    // Congestion control.
    pub(super) scale: f64,
    pub(super) delay_target_s: f64,
    pub(super) pace_headroom: f64,
    pub(super) adaptive_pace_headroom: f64,
    pub(super) inflight_headroom: f64,
    pub(super) mul_increase: f64,
    pub(super) open_window: bool,
    pub(super) max_window_headroom: f64,
    pub(super) relaxed_pacing: bool,
    pub(super) clock_drift: bool,
    pub(super) hysteresis: f64,
    pub(super) reorder_s: f64,
    pub(super) gain_down: f64,
    pub(super) ramp_kbps_per_s: f64,
    pub(super) ramp_scale: f64,
    // Output.
    pub(super) verbose: bool,
    pub(super) no_summary: bool,
    pub(super) log: Option<String>,
    pub(super) csv: Option<String>,
    pub(super) json_log: Option<String>,
    pub(super) tx_rx_log: Option<String>,
    pub(super) ntp: bool,
    pub(super) append: bool,
    pub(super) item_list: bool,
    pub(super) detailed: bool,
    pub(super) json: bool,
    pub(super) view: bool,
    /// Lines for the user about options that mean nothing here.
    pub(super) notes: Vec<String>,
    /// Which of these were given: a default steps aside for them.
    has_min: bool,
    has_max: bool,
    has_microburst: bool,
}

/// Whether the kernel or the card cuts packets out of a larger piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gso {
    /// For long bursts.
    #[default]
    Auto,
    On,
    Off,
}

/// Rates that the arithmetic in 32-bit floats carries, kbit/s.
const GREATEST_KBPS: f64 = 100e6;
/// Length of a burst of a fixed rate, which was that of all until 2024-10-31.
const FIXED_MICROBURST_MS: f64 = 1.0;
/// Smaller packets are headers.
const LEAST_MTU: u64 = 50;
/// Largest RTP payload in a UDP datagram over IPv4.
const GREATEST_MTU: u64 = 65507 - 12;

type O = TxOptions;

impl TxOptions {
    /// The defaults of a build (`scream.md` 2.2).
    pub(super) fn new(generation: Generation) -> Self {
        let is_v1 = generation == Generation::V2020;
        let is_newest = generation == Generation::V2026;
        Self {
            generation,
            log_format: None,
            host: String::new(),
            port: 0,
            local: Local::default(),
            any_source: false,
            count: Count::Auto,
            ect: -1,
            gso: Gso::Auto,
            duration_s: None,
            parity: false,
            is_paced: true,
            fixed_kbps: None,
            push_traffic: false,
            key: None,
            burst: None,
            rand_pct: 0.0,
            init_kbps: 1000.0,
            min_kbps: 1000.0,
            max_kbps: if is_newest { 500_000.0 } else { 200_000.0 },
            fps: 50.0,
            mtus: vec![1200],
            least_packets_in_flight: 0,
            microburst_ms: if generation >= Generation::V2024b { 0.5 } else { 1.0 },
            scale: if is_v1 { 0.9 } else { 0.7 },
            delay_target_s: 0.06,
            pace_headroom: 1.5,
            adaptive_pace_headroom: 1.5,
            inflight_headroom: 2.0,
            mul_increase: 0.05,
            open_window: false,
            max_window_headroom: 5.0,
            relaxed_pacing: false,
            clock_drift: false,
            hysteresis: 0.0,
            reorder_s: if is_v1 { 0.01 } else { 0.03 },
            gain_down: 10.0,
            ramp_kbps_per_s: 10_000.0,
            ramp_scale: 0.5,
            verbose: false,
            no_summary: false,
            log: None,
            csv: None,
            json_log: None,
            tx_rx_log: None,
            ntp: false,
            append: false,
            item_list: false,
            detailed: false,
            json: false,
            view: false,
            notes: Vec::new(),
            has_min: false,
            has_max: false,
            has_microburst: false,
        }
    }

    /// Reads a command line without the program's name.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let parsed = Parsed::new(args, OPTIONS)?;
        let generation = match parsed.last("generation") {
            Some(values) => {
                Generation::parse(&values[0]).map_err(|e| format!("-generation: {e}"))?
            }
            None => Generation::default(),
        };
        let mut o = Self::new(generation);
        parsed.apply(&mut o)?;
        let [host, port] = parsed.others.as_slice() else {
            return Err(super::wrong_count(&parsed.others, "receiver's address or name, port"));
        };
        o.host.clone_from(host);
        o.port = args::whole(port, 1, PORT).map_err(|e| format!("port: {e}"))? as u16;
        o.settle()
    }

    /// What options say of each other.
    fn settle(mut self) -> Result<Self, String> {
        if self.push_traffic && self.fixed_kbps.is_none() {
            return Err("-pushtraffic: needs a rate: -fixedrate kbit/s".into());
        }
        if self.view && self.json {
            return Err("-view: not together with -json".into());
        }
        // A limit that was asked for is stronger than a default.
        if self.min_kbps > self.max_kbps {
            match (self.has_min, self.has_max) {
                (true, false) => self.max_kbps = self.min_kbps,
                (false, true) => self.min_kbps = self.max_kbps,
                _ => {
                    return Err(format!(
                        "-minrate: {} is above -maxrate {}",
                        self.min_kbps, self.max_kbps
                    ));
                }
            }
        }
        // Half as many wake-ups, for a rate that answers to no mark.
        if self.fixed_kbps.is_some() && !self.has_microburst {
            self.microburst_ms = FIXED_MICROBURST_MS;
        }
        self.init_kbps = self.init_kbps.max(self.min_kbps).min(self.max_kbps);
        if self.least_packets_in_flight > 0 && self.mtus.len() == 1 {
            self.notes
                .push("-minpktsinflight chooses from the sizes of -mtu, and there is one".into());
        }
        if self.item_list && (self.log.is_none() || self.append) {
            self.notes.push("-itemlist heads a new -log; there is none to head".into());
        }
        if self.ect == 3 {
            self.notes.push("-ect 3 sends packets that say congestion experienced".into());
        }
        Ok(self)
    }

    /// For options of version 1 of the algorithm.
    fn only_v1(&self) -> Result<(), String> {
        if self.generation == Generation::V2020 {
            return Ok(());
        }
        Err("an option of SCReAM version 1: add -generation 2020".into())
    }

    /// For options of version 2 of the algorithm.
    fn only_v2(&self) -> Result<(), String> {
        if self.generation > Generation::V2020 {
            return Ok(());
        }
        Err("an option of SCReAM version 2, not of -generation 2020".into())
    }
}

/// The text of `-help`.
pub(super) fn help() -> String {
    format!("{HELP_HEAD_TX}{}", args::help(OPTIONS))
}

#[expect(clippy::unnecessary_wraps, reason = "an option's answer")]
fn flag(slot: &mut bool) -> Result<(), String> {
    *slot = true;
    Ok(())
}

fn number(slot: &mut f64, v: &Values<'_>, least: f64, greatest: f64) -> Result<(), String> {
    *slot = v.number(0, least, greatest)?;
    Ok(())
}

fn file(slot: &mut Option<String>, v: &Values<'_>) -> Result<(), String> {
    if v.text(0).is_empty() {
        return Err("expected a file name".into());
    }
    *slot = Some(v.text(0).into());
    Ok(())
}

/// `1200` or `500,1000,1400`: at most ten, each larger than the one before.
fn sizes(text: &str) -> Result<Vec<u32>, String> {
    let sizes: Result<Vec<u64>, _> =
        text.split(',').map(|word| args::whole(word, LEAST_MTU, GREATEST_MTU)).collect();
    let sizes = sizes.map_err(|e| format!("{e} (sizes stand with commas: 500,1000,1400)"))?;
    if sizes.len() > 10 || !sizes.is_sorted_by(|a, b| a < b) {
        return Err(format!("expected at most ten increasing sizes, got `{text}`"));
    }
    Ok(sizes.into_iter().map(|n| n as u32).collect())
}

const OPTIONS: &[Group<O>] = &[
    Group {
        heading: "Network",
        options: &[
            Opt {
                names: &["ect"],
                values: &["n"],
                help: "ECN: -1 Not-ECT (default), 0 ECT(0), 1 ECT(1) with L4S congestion control, 3 CE",
                set: |o, v| {
                    let ect = v.number(0, -1.0, 3.0).ok().filter(|n| n.fract() == 0.0 && *n != 2.0);
                    let ect = ect
                        .ok_or_else(|| format!("ect must be -1, 0, 1 or 3, got `{}`", v.text(0)))?;
                    o.ect = ect as i8;
                    Ok(())
                },
            },
            Opt {
                names: &["if"],
                values: &["name"],
                help: "binds the socket to a network interface",
                set: |o, v| file(&mut o.local.interface, v),
            },
            Opt {
                names: &["ipv6"],
                values: &[],
                help: "IPv6 only; without it a name's first address is taken, and an address says it",
                set: |o, _| o.local.family(true),
            },
            Opt {
                names: &["ipv4"],
                values: &[],
                help: "IPv4 only",
                set: |o, _| o.local.family(false),
            },
            Opt {
                names: &["localport"],
                values: &["n"],
                help: "sends from this port; default: the receiver's, as receivers of the original expect;\n                               any port if that one is taken or the receiver is on this host",
                set: |o, v| {
                    o.local.port = Some(v.whole(0, 0, PORT)? as u16);
                    Ok(())
                },
            },
            Opt {
                names: &["anysource"],
                values: &[],
                help: "takes feedback from any address, not only from the receiver's address and port",
                set: |o, _| flag(&mut o.any_source),
            },
            Opt {
                names: &["dscp"],
                values: &["n"],
                help: "DSCP of all packets, 0 to 63, default 0",
                set: |o, v| {
                    o.local.dscp = v.whole(0, 0, 63)? as u8;
                    Ok(())
                },
            },
            Opt {
                names: &["feedback"],
                values: &["coding"],
                help: "how the receiver counts reports: auto (default), legacy (count minus 1), rfc8888",
                set: |o, v| {
                    o.count = Count::ALL[v.word(0, &Count::NAMES)?];
                    Ok(())
                },
            },
            Opt {
                names: &["gso"],
                values: &["when"],
                help: "lets the kernel cut packets out of larger pieces: auto (default: fixed rates,\n                               and adaptive ones above some 250 Mbit/s), on, off",
                set: |o, v| {
                    o.gso = [Gso::Auto, Gso::On, Gso::Off][v.word(0, &["auto", "on", "off"])?];
                    Ok(())
                },
            },
        ],
    },
    Group {
        heading: "Run and media",
        options: &[
            Opt {
                names: &["time", "duration"],
                values: &["s"],
                help: "run time; below 0 or absent: until Ctrl-C; -duration is the same",
                set: |o, v| {
                    let s = v.number(0, f64::MIN, 1e9)?;
                    o.duration_s = (s >= 0.0).then_some(s);
                    Ok(())
                },
            },
            Opt {
                names: &["fixedrate"],
                values: &["kbit/s"],
                help: "an encoder of constant rate; 0: adaptive (default)",
                set: |o, v| {
                    let rate = v.number(0, 0.0, GREATEST_KBPS)?;
                    o.fixed_kbps = (rate > 0.0).then_some(rate);
                    Ok(())
                },
            },
            Opt {
                names: &["pushtraffic"],
                values: &[],
                help: "no congestion control and no feedback; needs -fixedrate",
                set: |o, _| {
                    o.only_v2()?;
                    flag(&mut o.push_traffic)
                },
            },
            Opt {
                names: &["initrate"],
                values: &["kbit/s"],
                help: "start rate, default 1000",
                set: |o, v| number(&mut o.init_kbps, v, 1.0, GREATEST_KBPS),
            },
            Opt {
                names: &["minrate"],
                values: &["kbit/s"],
                help: "least rate, default 1000",
                set: |o, v| {
                    o.has_min = true;
                    number(&mut o.min_kbps, v, 1.0, GREATEST_KBPS)
                },
            },
            Opt {
                names: &["maxrate"],
                values: &["kbit/s"],
                help: "greatest rate, default 500000 (before 2026: 200000)",
                set: |o, v| {
                    o.has_max = true;
                    number(&mut o.max_kbps, v, 1.0, GREATEST_KBPS)
                },
            },
            Opt {
                names: &["fps"],
                values: &["f"],
                help: "frames per second, default 50",
                set: |o, v| number(&mut o.fps, v, 0.1, 10_000.0),
            },
            Opt {
                names: &["mtu"],
                values: &["bytes[,bytes...]"],
                help: "RTP payload, default 1200; up to ten increasing sizes to choose from",
                set: |o, v| {
                    o.mtus = sizes(v.text(0))?;
                    Ok(())
                },
            },
            Opt {
                names: &["minpktsinflight"],
                values: &["n"],
                help: "chooses the size so that so many packets are in flight; 0: the largest (default)",
                set: |o, v| {
                    o.only_v2()?;
                    o.least_packets_in_flight = v.whole(0, 0, 4096)? as u32;
                    Ok(())
                },
            },
            Opt {
                names: &["key"],
                values: &["s", "factor"],
                help: "every s seconds a frame is factor times larger",
                set: |o, v| {
                    o.key = Some((v.number(0, 0.001, 1e9)?, v.number(1, 0.0, 1000.0)?));
                    Ok(())
                },
            },
            Opt {
                names: &["rand"],
                values: &["percent"],
                help: "frame sizes vary by plus and minus this (with -parity by half of it), default 0",
                set: |o, v| number(&mut o.rand_pct, v, 0.0, 100.0),
            },
            Opt {
                names: &["burst"],
                values: &["on", "off"],
                help: "media for so many seconds, then none for so many, and again",
                set: |o, v| {
                    o.burst = Some((v.number(0, 0.001, 1e9)?, v.number(1, 0.0, 1e9)?));
                    Ok(())
                },
            },
        ],
    },
    Group {
        heading: "Congestion control",
        options: &[
            Opt {
                names: &["generation"],
                values: &["build"],
                help: "2020-03-20 (version 1), 2024-10-28, 2024-10-31 or 2026-06-30 (default): algorithm,\n                               defaults and columns of that build; the year is enough",
                // Read before all others, whose defaults it decides.
                set: |_, _| Ok(()),
            },
            Opt {
                names: &["parity"],
                values: &[],
                help: "keeps the original's quirks: limits of its queues, frames left out after a loss, ...",
                set: |o, _| flag(&mut o.parity),
            },
            Opt {
                names: &["delaytarget"],
                values: &["s"],
                help: "queue delay target, default 0.06",
                set: |o, v| number(&mut o.delay_target_s, v, 0.001, 10.0),
            },
            Opt {
                names: &["scale"],
                values: &["f"],
                help: "the window's share that a loss or a classic CE leaves, default 0.7 (2020: 0.9)",
                set: |o, v| number(&mut o.scale, v, 0.1, 1.0),
            },
            Opt {
                names: &["nopace"],
                values: &[],
                help: "no packet pacing",
                set: |o, _| {
                    o.is_paced = false;
                    Ok(())
                },
            },
            Opt {
                names: &["microburstinterval"],
                values: &["ms"],
                help: "packets leave in bursts of this length, 0.2 to 20, default 0.5 (1 with -fixedrate\n                               and before 2024-10-31)",
                set: |o, v| {
                    o.has_microburst = true;
                    number(&mut o.microburst_ms, v, 0.2, 20.0)
                },
            },
            Opt {
                names: &["paceheadroom"],
                values: &["f"],
                help: "pacing rate over media rate, default 1.5",
                set: |o, v| number(&mut o.pace_headroom, v, 1.0, 100.0),
            },
            Opt {
                names: &["adaptivepaceheadroom"],
                values: &["f"],
                help: "greatest further factor for large frames, default 1.5",
                set: |o, v| {
                    o.only_v2()?;
                    number(&mut o.adaptive_pace_headroom, v, 1.0, 100.0)
                },
            },
            Opt {
                names: &["inflightheadroom", "infligtheadroom"],
                values: &["f"],
                help: "the window grows to so many times the bytes in flight, default 2",
                set: |o, v| {
                    o.only_v2()?;
                    number(&mut o.inflight_headroom, v, 1.0, 100.0)
                },
            },
            Opt {
                names: &["maxwindowheadroom", "windowheadroom"],
                values: &["f"],
                help: "bytes in flight may exceed the window by this factor, default 5",
                set: |o, v| {
                    o.only_v2()?;
                    number(&mut o.max_window_headroom, v, 1.0, 100.0)
                },
            },
            Opt {
                names: &["mulincrease"],
                values: &["f"],
                help: "multiplicative increase per RTT, default 0.05",
                set: |o, v| {
                    o.only_v2()?;
                    number(&mut o.mul_increase, v, 0.0, 1.0)
                },
            },
            Opt {
                names: &["hysteresis"],
                values: &["f"],
                help: "a target that changes less (up by f, down by f/4) stays, 0 to 0.2, default 0",
                set: |o, v| {
                    o.only_v2()?;
                    number(&mut o.hysteresis, v, 0.0, 0.2)
                },
            },
            Opt {
                names: &["reordertime"],
                values: &["s"],
                help: "a packet that is overtaken is lost after this time, default 0.03 (2020: 0.01)",
                set: |o, v| number(&mut o.reorder_s, v, 0.0, 10.0),
            },
            Opt {
                names: &["relaxedpacing"],
                values: &[],
                help: "paces faster when the target is near the greatest rate",
                set: |o, _| {
                    o.only_v2()?;
                    flag(&mut o.relaxed_pacing)
                },
            },
            Opt {
                names: &["clockdrift"],
                values: &[],
                help: "compensates for a receiver's clock that is up to 0.05 % faster",
                set: |o, _| {
                    o.only_v2()?;
                    flag(&mut o.clock_drift)
                },
            },
            Opt {
                names: &["openwindow"],
                values: &[],
                help: "no window (2024)",
                set: |o, _| {
                    o.only_v2()?;
                    flag(&mut o.open_window)
                },
            },
            Opt {
                names: &["dscale"],
                values: &["f"],
                help: "version 1: reaction to a delay above the target, default 10",
                set: |o, v| {
                    o.only_v1()?;
                    number(&mut o.gain_down, v, 0.0, 100.0)
                },
            },
            Opt {
                names: &["rateincrease"],
                values: &["kbit/s/s"],
                help: "version 1: greatest rise of the rate per second, default 10000",
                set: |o, v| {
                    o.only_v1()?;
                    number(&mut o.ramp_kbps_per_s, v, 1.0, GREATEST_KBPS)
                },
            },
            Opt {
                names: &["ratescale"],
                values: &["f"],
                help: "version 1: greatest rise of the rate per second as a share of it, default 0.5",
                set: |o, v| {
                    o.only_v1()?;
                    number(&mut o.ramp_scale, v, 0.0, 10.0)
                },
            },
        ],
    },
    Group {
        heading: "Output",
        options: &[
            Opt {
                names: &["verbose"],
                values: &[],
                help: "a line every 200 ms, which the receiver prints as well",
                set: |o, _| flag(&mut o.verbose),
            },
            Opt {
                names: &["nosummary"],
                values: &[],
                help: "no line every 2 s",
                set: |o, _| flag(&mut o.no_summary),
            },
            Opt {
                names: &["view"],
                values: &[],
                help: "a live view of rate, RTT, queue delay and CE instead of lines, on a terminal",
                set: |o, _| flag(&mut o.view),
            },
            Opt {
                names: &["json"],
                values: &[],
                help: "stdout is JSON, one object a line",
                set: |o, _| flag(&mut o.json),
            },
            Opt {
                names: &["log"],
                values: &["file"],
                help: "a line for each report, in the columns of -logformat",
                set: |o, v| file(&mut o.log, v),
            },
            Opt {
                names: &["logformat"],
                values: &["build"],
                help: "the build whose columns log and lines have, default that of -generation",
                set: |o, v| {
                    o.log_format = Some(Generation::parse(v.text(0))?);
                    Ok(())
                },
            },
            Opt {
                names: &["csv"],
                values: &["file"],
                help: "the same log as CSV with a header, names and units in it",
                set: |o, v| file(&mut o.csv, v),
            },
            Opt {
                names: &["jsonlog"],
                values: &["file"],
                help: "the same log as JSON, one object a line",
                set: |o, v| file(&mut o.json_log, v),
            },
            Opt {
                names: &["txrxlog"],
                values: &["file"],
                help: "when each packet was sent and received",
                set: |o, v| file(&mut o.tx_rx_log, v),
            },
            Opt {
                names: &["detailed"],
                values: &[],
                help: "a log line for each acknowledged packet, a line on stdout for each report",
                set: |o, _| flag(&mut o.detailed),
            },
            Opt {
                names: &["itemlist"],
                values: &[],
                help: "heads the -log with the names of its columns",
                set: |o, _| flag(&mut o.item_list),
            },
            Opt {
                names: &["ntp"],
                values: &[],
                help: "logs tell Unix time",
                set: |o, _| flag(&mut o.ntp),
            },
            Opt {
                names: &["append"],
                values: &[],
                help: "logs are continued, not begun anew",
                set: |o, _| flag(&mut o.append),
            },
        ],
    },
    Group {
        heading: "Of other builds of the original",
        options: &[
            Opt {
                names: &["slowonsmallcwnd"],
                values: &[],
                help: "had no effect; taken and left",
                set: |o, _| {
                    o.notes.push("-slowonsmallcwnd never had an effect".into());
                    Ok(())
                },
            },
            Opt {
                names: &["postcongestiondelay"],
                values: &["s"],
                help: "only 4 (2024); 2026 takes 200 round trips",
                set: |o, v| {
                    let s = v.number(0, 0.0, 1000.0)?;
                    let is_2024 = [Generation::V2024, Generation::V2024b].contains(&o.generation);
                    if is_2024 && s == 4.0 {
                        return Ok(());
                    }
                    Err("is 4 in -generation 2024 and 200 round trips in 2026, not to be chosen"
                        .into())
                },
            },
            Opt {
                names: &["sierralog", "emulatecubic", "isslowencoder", "nodelaycc", "newcc"],
                values: &[],
                help: "and -emulatecubic, -isslowencoder, -nodelaycc, -newcc: refused, not of these builds",
                set: |_, _| {
                    let days = "-sierralog (until 2024-03), -isslowencoder (2024-04), -emulatecubic (2024-05 \
                                to 2024-09), -nodelaycc (2025-09 to 2026-03) and -newcc (2022-12 to 2024-07)";
                    Err(format!("not an option of the builds followed here; {days} came and went"))
                },
            },
            Opt {
                names: &[
                    "periodicdropinterval",
                    "fincrease",
                    "txqueuesizefactor",
                    "queuedelayguard",
                ],
                values: &["f"],
                help: "and -fincrease, -txqueuesizefactor, -queuedelayguard: refused, not of these builds",
                set: |_, _| {
                    Err("not an option of the builds followed here: version 1 of 2020-12 to 2024-07".into())
                },
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TxOptions, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        TxOptions::parse(&args)
    }

    fn refused(line: &str) -> String {
        read(line).err().unwrap_or_else(|| panic!("`{line}` was taken"))
    }

    // KAT scream.md 2.2: defaults of the three columns
    #[test]
    fn each_build_has_its_defaults() {
        let [v2020, v2024, newest] =
            ["2020", "2024", "2026"].map(|g| read(&format!("-generation {g} a 1")).unwrap());
        assert_eq!([v2020.scale, v2024.scale, newest.scale], [0.9, 0.7, 0.7]);
        assert_eq!(
            [v2020.max_kbps, v2024.max_kbps, newest.max_kbps],
            [200_000.0, 200_000.0, 500_000.0]
        );
        let bursts = [v2020.microburst_ms, v2024.microburst_ms, newest.microburst_ms];
        assert_eq!(bursts, [1.0, 1.0, 0.5]);
        assert_eq!([v2020.reorder_s, v2024.reorder_s, newest.reorder_s], [0.01, 0.03, 0.03]);
        for o in [&v2020, &v2024, &newest] {
            assert_eq!((o.min_kbps, o.init_kbps, o.fps, o.ect), (1000.0, 1000.0, 50.0, -1));
            assert_eq!((o.mtus.as_slice(), o.delay_target_s), (&[1200][..], 0.06));
            assert_eq!((o.duration_s, o.fixed_kbps, o.rand_pct), (None, None, 0.0));
        }
        assert_eq!((v2020.gain_down, v2020.ramp_kbps_per_s), (10.0, 10_000.0));
        assert_eq!(read("a 1").unwrap(), newest, "the newest is the default");
    }

    #[test]
    fn examples_of_the_documentation_are_taken() {
        for line in [
            "-verbose 10.0.0.2 30122",
            "-log test.txt 10.0.0.2 30122",
            "-key 2 10 10.0.0.2 30122",
            "-minrate 2000 10.0.0.2 30122",
            "-maxrate 20000 10.0.0.2 30122",
            "-delaytarget 0.05 10.0.0.2 30122",
            "-mtu 1360 -ect 1 -rand 50 -microburstinterval 0.25 10.0.0.2 30122",
            "-nosummary -verbose -itemlist -log x -ntp -append -detailed host.example 1",
            "-if wwan0 -ipv6 -time 10 -burst 2 3 -fps 25 -clockdrift fe80::1 1",
            "-generation 2020 -dscale 5 -rateincrease 20000 -ratescale 0.3 h 1",
        ] {
            read(line).unwrap();
        }
        let o = read("-ect -1 -time -1 -mtu 500,1000,1400 -minpktsinflight 4 h 65535").unwrap();
        assert_eq!((o.ect, o.duration_s, o.port), (-1, None, 65535));
        assert_eq!(o.mtus, [500, 1000, 1400]);
        assert_eq!(read("-duration 2.5 h 1").unwrap().duration_s, Some(2.5));
        assert_eq!(read("-fixedrate 0 h 1").unwrap().fixed_kbps, None);
        assert_eq!(read("-fixedrate 9 h 1").unwrap().microburst_ms, 1.0);
        let chosen = read("-microburstinterval 0.5 -fixedrate 9 h 1").unwrap();
        assert_eq!(chosen.microburst_ms, 0.5);
    }

    // KAT scream.md 2.1: limits of ect, microburstinterval and hysteresis, pushtraffic without rate
    #[test]
    fn what_the_original_refuses_is_refused_in_one_line() {
        assert_eq!(refused("-ect 2 h 1"), "-ect: ect must be -1, 0, 1 or 3, got `2`");
        assert_eq!(
            refused("-microburstinterval 0.1 h 1"),
            "-microburstinterval: expected a number between 0.2 and 20, got `0.1`"
        );
        assert_eq!(
            refused("-hysteresis 0.3 h 1"),
            "-hysteresis: expected a number between 0 and 0.2, got `0.3`"
        );
        assert_eq!(refused("-pushtraffic h 1"), "-pushtraffic: needs a rate: -fixedrate kbit/s");
        assert_eq!(
            refused("-rateinc 1000 h 1"),
            "unknown option -rateinc (did you mean -rateincrease?); -help lists all",
            "an example in the slides, accepted nowhere"
        );
        assert_eq!(
            refused("-nopacing h 1"),
            "unknown option -nopacing (did you mean -nopace?); -help lists all",
            "the user guide's name for it"
        );
    }

    #[test]
    fn a_command_line_that_makes_no_sense_is_refused_in_one_line() {
        for (line, said) in [
            ("", "expected receiver's address or name, port; got nothing"),
            ("h", "expected receiver's address or name, port; got `h`"),
            ("h 1 2", "expected receiver's address or name, port; got `h 1 2`"),
            ("h 0", "port: expected a whole number between 1 and 65535, got `0`"),
            ("h x", "port: expected a whole number between 1 and 65535, got `x`"),
            ("-minrate 900 -maxrate 800 h 1", "-minrate: 900 is above -maxrate 800"),
            ("-mtu 90,80 h 1", "-mtu: expected at most ten increasing sizes, got `90,80`"),
            (
                "-mtu 10;20 h 1",
                "-mtu: expected a whole number between 50 and 65495, got `10;20` (sizes stand with \
                 commas: 500,1000,1400)",
            ),
            ("-dscale 5 h 1", "-dscale: an option of SCReAM version 1: add -generation 2020"),
            (
                "-generation 2020 -mulincrease 0.1 h 1",
                "-mulincrease: an option of SCReAM version 2, not of -generation 2020",
            ),
            ("-view -json h 1", "-view: not together with -json"),
            ("-ipv4 -ipv6 h 1", "-ipv6: not together with -ipv4"),
        ] {
            assert_eq!(refused(line), said, "{line}");
        }
        assert!(refused("-sierralog h 1").starts_with("-sierralog: not an option of the builds"));
        assert!(refused("-newcc h 1").contains("2022-12"));
    }

    #[test]
    fn a_limit_that_was_asked_for_moves_the_other_ones_default() {
        let o = read("-maxrate 500 h 1").unwrap();
        assert_eq!((o.min_kbps, o.init_kbps, o.max_kbps), (500.0, 500.0, 500.0));
        // 2.1: a start below the least rate is the least rate.
        let o = read("-minrate 5000 -initrate 2000 h 1").unwrap();
        assert_eq!(o.init_kbps, 5000.0);
    }

    #[test]
    fn the_help_names_every_option_and_an_example() {
        let text = help();
        for group in OPTIONS {
            for opt in group.options {
                assert!(text.contains(&format!("  -{}", opt.names[0])), "{}", opt.names[0]);
            }
        }
        assert!(text.contains("Example"));
    }
}
