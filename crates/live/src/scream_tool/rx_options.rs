//! The receiver's options (`scream.md` 2.3).

use super::args::{self, Group, Opt, Parsed};
use super::generation::Generation;
use super::{Count, HELP_HEAD_RX, Local, PORT};

/// What the receiver was asked to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RxOptions {
    pub(super) generation: Generation,
    /// The sender, if it was named.
    pub(super) host: Option<String>,
    pub(super) port: u16,
    pub(super) local: Local,
    pub(super) count: Count,
    /// A report is due after so many new packets.
    pub(super) ack_diff: u16,
    /// Sequence numbers in a report.
    pub(super) reported: u16,
    pub(super) duration_s: Option<f64>,
    pub(super) json: bool,
    pub(super) no_summary: bool,
}

/// Entries of the history that a report is made from.
const GREATEST_REPORT: u64 = 512;

impl RxOptions {
    /// Reads a command line without the program's name.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let parsed = Parsed::new(args, OPTIONS)?;
        let mut o = Self { reported: 64, ..Self::default() };
        parsed.apply(&mut o)?;
        let (host, port) = match parsed.others.as_slice() {
            [host, port] => (Some(host.clone()), port),
            [port] => (None, port),
            others => {
                return Err(super::wrong_count(
                    others,
                    "sender's address or name (may be left out), port",
                ));
            }
        };
        o.host = host;
        o.port = args::whole(port, 1, PORT).map_err(|e| format!("port: {e}"))? as u16;
        if o.ack_diff == 0 {
            let share = if o.generation == Generation::V2020 { 4 } else { 2 };
            o.ack_diff = (o.reported / share).max(1);
        }
        Ok(o)
    }
}

/// The text of `-help`.
pub(super) fn help() -> String {
    format!("{HELP_HEAD_RX}{}", args::help(OPTIONS))
}

const OPTIONS: &[Group<RxOptions>] = &[
    Group {
        heading: "Feedback",
        options: &[
            Opt {
                names: &["ackdiff"],
                values: &["n"],
                help: "a report after n new sequence numbers, default half of -nreported (2020: a quarter)",
                set: |o, v| {
                    o.ack_diff = v.whole(0, 1, GREATEST_REPORT)? as u16;
                    Ok(())
                },
            },
            Opt {
                names: &["nreported"],
                values: &["n"],
                help: "sequence numbers in a report, default 64",
                set: |o, v| {
                    o.reported = v.whole(0, 1, GREATEST_REPORT)? as u16;
                    Ok(())
                },
            },
            Opt {
                names: &["feedback"],
                values: &["coding"],
                help: "how reports count: legacy (count minus 1, as the original; default) or rfc8888",
                set: |o, v| {
                    o.count = [Count::Legacy, Count::Rfc8888][v.word(0, &["legacy", "rfc8888"])?];
                    Ok(())
                },
            },
            Opt {
                names: &["generation"],
                values: &["build"],
                help: "2020-03-20, 2024-10-28, 2024-10-31 or 2026-06-30 (default): when that build reports",
                set: |o, v| {
                    o.generation = Generation::parse(v.text(0))?;
                    Ok(())
                },
            },
        ],
    },
    Group {
        heading: "Network",
        options: &[
            Opt {
                names: &["if"],
                values: &["name"],
                help: "binds the socket to a network interface",
                set: |o, v| {
                    o.local.interface = Some(v.text(0).into());
                    Ok(())
                },
            },
            Opt {
                names: &["ipv6"],
                values: &[],
                help: "IPv6 only; without it the sender's address says it, and both if none is given",
                set: |o, _| o.local.family(true),
            },
            Opt {
                names: &["ipv4"],
                values: &[],
                help: "IPv4 only",
                set: |o, _| o.local.family(false),
            },
            Opt {
                names: &["dscp"],
                values: &["n"],
                help: "DSCP of the feedback, 0 to 63, default 0",
                set: |o, v| {
                    o.local.dscp = v.whole(0, 0, 63)? as u8;
                    Ok(())
                },
            },
        ],
    },
    Group {
        heading: "Run and output",
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
                names: &["nosummary"],
                values: &[],
                help: "no counts at the end",
                set: |o, _| {
                    o.no_summary = true;
                    Ok(())
                },
            },
            Opt {
                names: &["json"],
                values: &[],
                help: "stdout is JSON, one object a line",
                set: |o, _| {
                    o.json = true;
                    Ok(())
                },
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<RxOptions, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        RxOptions::parse(&args)
    }

    // KAT scream.md 2.3: half of the reported numbers, a quarter in 2020, at least one
    #[test]
    fn a_report_is_due_after_half_of_what_it_reports() {
        let due = |line: &str| read(line).map(|o| (o.ack_diff, o.reported)).unwrap();
        assert_eq!(due("10.0.0.1 30122"), (32, 64));
        assert_eq!(due("-generation 2020 10.0.0.1 30122"), (16, 64));
        assert_eq!(due("-nreported 1 10.0.0.1 30122"), (1, 1));
        // The options of 2020 are no longer bound to an order.
        assert_eq!(due("-nreported 128 -ackdiff 8 10.0.0.1 30122"), (8, 128));
        assert_eq!(due("-ackdiff 1 -nreported 1 10.0.0.1 30122"), (1, 1));
    }

    #[test]
    fn the_sender_may_be_left_out() {
        assert_eq!(read("30122").unwrap().host, None);
        assert_eq!(read("sender.example 30122").unwrap().host.as_deref(), Some("sender.example"));
    }

    #[test]
    fn what_would_break_the_original_is_refused_in_one_line() {
        for (line, said) in [
            ("", "expected sender's address or name (may be left out), port; got nothing"),
            ("1 2 3", "expected sender's address or name (may be left out), port; got `1 2 3`"),
            (
                "-nreported 513 1",
                "-nreported: expected a whole number between 1 and 512, got `513`",
            ),
            ("-ackdiff 0 1", "-ackdiff: expected a whole number between 1 and 512, got `0`"),
            ("-nreport 1 1", "unknown option -nreport (did you mean -nreported?); -help lists all"),
            ("-feedback new 1", "-feedback: expected legacy, rfc8888, got `new`"),
        ] {
            assert_eq!(read(line).unwrap_err(), said, "{line}");
        }
    }

    #[test]
    fn the_help_names_every_option_and_an_example() {
        let text = help();
        for opt in OPTIONS.iter().flat_map(|g| g.options) {
            assert!(text.contains(&format!("  -{}", opt.names[0])), "{}", opt.names[0]);
        }
        assert!(text.contains("Example"));
    }
}
