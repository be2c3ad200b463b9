//! The sender's options: those of the original's builds with their names and meaning
//! (EricssonResearch/scream, scream_sender.cpp), and a few of our own.

mod table;

use table::OPTIONS;

use super::args::{self, Parsed};
use super::generation::Generation;
use super::{Count, HELP_HEAD_TX, Local};

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

/// Length of a burst of a fixed rate, which was that of all until 2024-10-31.
const FIXED_MICROBURST_MS: f64 = 1.0;

impl TxOptions {
    /// The defaults of a build.
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
        o.port = super::port(port)?;
        o.settle(|name| parsed.last(name).is_some())
    }

    /// What options say of each other; a default steps aside for what `is_given`.
    fn settle(mut self, is_given: impl Fn(&str) -> bool) -> Result<Self, String> {
        if self.push_traffic && self.fixed_kbps.is_none() {
            return Err("-pushtraffic: needs a rate: -fixedrate kbit/s".into());
        }
        if self.view && self.json {
            return Err("-view: not together with -json".into());
        }
        if self.min_kbps > self.max_kbps {
            match (is_given("minrate"), is_given("maxrate")) {
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
        if self.fixed_kbps.is_some() && !is_given("microburstinterval") {
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

const PARITY: &str = "
Comparing with the original's figures
  Name the build that made them with -generation, and add -parity: it keeps the quirks of that build that change
  results (frames left out after a loss, a small RTP queue, half of -rand, an RTT that starts at 50 ms and falls
  slowly). Without it these are fixed, and rates are often higher. Take the same -mtu, -fps, -rand, -maxrate and
  -microburstinterval; -log writes that build's columns. The rate is RTP, 2 to 4 % below that of IP packets; the 2 s
  lines are means with a memory of 50 samples, so leave out the first 10 s. Example, October 2024:
    scream-bw-test-tx -generation 2024-10-28 -parity -ect 1 -mtu 1360 -microburstinterval 0.5 -log tx.csv HOST PORT
";

/// The text of `-help`.
pub(super) fn help() -> String {
    format!("{HELP_HEAD_TX}{}{PARITY}", args::help(OPTIONS))
}

#[cfg(test)]
mod tests;
