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
  slowly). Without it these are mended, and rates are often higher. Take the same -mtu, -fps, -rand, -maxrate and
  -microburstinterval; -log writes that build's columns. The rate is RTP, 2 to 4 % below that of IP packets; the 2 s
  lines are means with a memory of 50 samples, so leave out the first 10 s. Example, October 2024:
    scream-bw-test-tx -generation 2024-10-28 -parity -ect 1 -mtu 1360 -microburstinterval 0.5 -log tx.csv HOST PORT
";

/// The text of `-help`.
pub(super) fn help() -> String {
    format!("{HELP_HEAD_TX}{}{PARITY}", args::help(OPTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TxOptions, String> {
        TxOptions::parse(&args::words(line))
    }

    fn refused(line: &str) -> String {
        read(line).err().unwrap_or_else(|| panic!("`{line}` was taken"))
    }

    // KAT scream-tx 2: defaults of the three columns
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

    // The usage text and the examples of the slides of 2020-03-20, dashes as they print them.
    #[test]
    fn every_option_of_the_slides_of_2020_is_taken_with_its_meaning() {
        let usage = "-generation 2020 -nopace -fixedrate 5000 -key 2.0 5.0 -initrate 2000 -minrate 1000 -maxrate 10000 \
                     -rateinc 1000 -ect -1 -scale 0.9 -dscale 10.0 -delaytarget 0.06 -mtu 1200 -fps 50 \
                     \u{2013}verbose -nosummary \u{2013}log test.txt -sierralog 10.0.0.2 30122";
        let o = read(usage).unwrap();
        assert!(!o.is_paced && o.verbose && o.no_summary);
        assert_eq!((o.fixed_kbps, o.key, o.ect, o.fps), (Some(5000.0), Some((2.0, 5.0)), -1, 50.0));
        assert_eq!([o.init_kbps, o.min_kbps, o.max_kbps], [2000.0, 1000.0, 10_000.0]);
        assert_eq!((o.ramp_kbps_per_s, o.scale, o.gain_down), (1000.0, 0.9, 10.0));
        assert_eq!(
            (o.delay_target_s, &o.mtus[..], o.log.as_deref()),
            (0.06, &[1200][..], Some("test.txt"))
        );
        assert_eq!(o.notes.len(), 1);
        assert!(o.notes[0].starts_with("-sierralog has no effect: "), "{:?}", o.notes);
        let long = read("-generation 2020 -rateincrease 1000 h 1").unwrap();
        assert_eq!(read("-generation 2020 -rateinc 1000 h 1").unwrap(), long);
    }

    // KAT scream-tx 1: limits of ect, microburstinterval and hysteresis, pushtraffic without rate
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
        assert_eq!(
            refused("-sierralog h 1"),
            "-sierralog: an option of SCReAM version 1: add -generation 2020"
        );
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
        for opt in OPTIONS.iter().flat_map(|(_, options)| *options) {
            assert!(text.contains(&format!("  -{}", opt.name())), "{}", opt.name());
        }
        assert!(text.contains("Example"));
    }
}
