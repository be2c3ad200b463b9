//! The sender's options, in the order of the help.

use super::{Gso, TxOptions};
use crate::args::{self, Group, Opt, Values, flag, opt};
use crate::generation::Generation;
use crate::{Count, PORT};

/// Rates that the arithmetic in 32-bit floats carries, kbit/s.
const GREATEST_KBPS: f64 = 100e6;
/// Smaller packets are headers.
const LEAST_MTU: u64 = 50;
/// Largest RTP payload in a UDP datagram over IPv4.
const GREATEST_MTU: u64 = 65507 - 12;

pub(super) const OPTIONS: &[Group<TxOptions>] = &[
    ("Network", NETWORK),
    ("Run and media", MEDIA),
    ("Congestion control", CONGESTION_CONTROL),
    ("Output", OUTPUT),
    ("Of other builds of the original", OTHER_BUILDS),
];

const NETWORK: &[Opt<TxOptions>] = &[
    opt(
        "ect n",
        "ECN: -1 Not-ECT (default), 0 ECT(0), 1 ECT(1) with L4S congestion control, 3 CE",
        |o, v| {
            let ect = v.number(0, -1.0, 3.0).ok().filter(|n| n.fract() == 0.0 && *n != 2.0);
            let wrong = || format!("ect must be -1, 0, 1 or 3, got `{}`", v.text(0));
            ect.map(|n| o.ect = n as i8).ok_or_else(wrong)
        },
    ),
    opt("if name", "binds the socket to a network interface", |o, v| {
        file(&mut o.local.interface, v)
    }),
    opt(
        "ipv6",
        "IPv6 only; without it a name's first address is taken, and an address says it",
        |o, _| o.local.family(true),
    ),
    opt("ipv4", "IPv4 only", |o, _| o.local.family(false)),
    opt(
        "localport n",
        "sends from this port; default: the receiver's, as receivers of the original expect;\n\
         any port if that one is taken or the receiver is on this host",
        |o, v| v.whole(0, 0, PORT).map(|n| o.local.port = Some(n)),
    ),
    opt(
        "anysource",
        "takes feedback from any address, not only from the receiver's address and port",
        |o, _| flag(&mut o.any_source),
    ),
    opt("dscp n", "DSCP of all packets, 0 to 63, default 0", |o, v| {
        v.whole(0, 0, 63).map(|n| o.local.dscp = n)
    }),
    opt(
        "feedback coding",
        "how the receiver counts reports: auto (default), legacy (count minus 1), rfc8888",
        |o, v| v.choice(0, &Count::NAMES).map(|at| o.count = Count::ALL[at]),
    ),
    opt(
        "gso when",
        "lets the kernel cut packets out of larger pieces: auto (default: fixed rates,\n\
         and adaptive ones above some 250 Mbit/s), on, off",
        |o, v| {
            v.choice(0, &["auto", "on", "off"]).map(|at| o.gso = [Gso::Auto, Gso::On, Gso::Off][at])
        },
    ),
];

const MEDIA: &[Opt<TxOptions>] = &[
    opt(
        "time|duration s",
        "run time; below 0 or absent: until Ctrl-C; -duration is the same",
        |o, v| v.duration(0).map(|s| o.duration_s = s),
    ),
    opt("fixedrate kbit/s", "an encoder of constant rate; 0: adaptive (default)", |o, v| {
        v.number(0, 0.0, GREATEST_KBPS).map(|n| o.fixed_kbps = (n > 0.0).then_some(n))
    }),
    opt("pushtraffic", "no congestion control and no feedback; needs -fixedrate", |o, _| {
        o.only_v2()?;
        flag(&mut o.push_traffic)
    }),
    opt("initrate kbit/s", "start rate, default 1000", |o, v| {
        v.number(0, 1.0, GREATEST_KBPS).map(|n| o.init_kbps = n)
    }),
    opt("minrate kbit/s", "least rate, default 1000", |o, v| {
        v.number(0, 1.0, GREATEST_KBPS).map(|n| o.min_kbps = n)
    }),
    opt("maxrate kbit/s", "greatest rate, default 500000 (before 2026: 200000)", |o, v| {
        v.number(0, 1.0, GREATEST_KBPS).map(|n| o.max_kbps = n)
    }),
    opt("fps f", "frames per second, default 50", |o, v| {
        v.number(0, 0.1, 10_000.0).map(|n| o.fps = n)
    }),
    opt(
        "mtu bytes[,bytes...]",
        "RTP payload, default 1200; up to ten increasing sizes to choose from",
        |o, v| sizes(v.text(0)).map(|sizes| o.mtus = sizes),
    ),
    opt(
        "minpktsinflight n",
        "chooses the size so that this many packets are in flight; 0: the largest (default)",
        |o, v| {
            o.only_v2()?;
            v.whole(0, 0, 4096).map(|n| o.least_packets_in_flight = n)
        },
    ),
    opt("key s factor", "every s seconds a frame is factor times larger", |o, v| {
        o.key = Some((v.number(0, 0.001, 1e9)?, v.number(1, 0.0, 1000.0)?));
        Ok(())
    }),
    opt(
        "rand percent",
        "frame sizes vary by plus and minus this (with -parity by half of it), default 0",
        |o, v| v.number(0, 0.0, 100.0).map(|n| o.rand_pct = n),
    ),
    opt(
        "burst on off",
        "media for the first number of seconds, none for the second, and again",
        |o, v| {
            o.burst = Some((v.number(0, 0.001, 1e9)?, v.number(1, 0.0, 1e9)?));
            Ok(())
        },
    ),
];

const CONGESTION_CONTROL: &[Opt<TxOptions>] = &[
    // Read before all others, whose defaults it decides.
    opt(
        "generation build",
        "2020-03-20 (version 1), 2024-10-28, 2024-10-31 or 2026-06-30 (default): algorithm,\n\
         defaults and columns of that build; the year is enough",
        |_, _| Ok(()),
    ),
    opt(
        "parity",
        "keeps the original's quirks: limits of its queues, frames left out after a loss, ...",
        |o, _| flag(&mut o.parity),
    ),
    opt("delaytarget s", "queue delay target, default 0.06", |o, v| {
        v.number(0, 0.001, 10.0).map(|n| o.delay_target_s = n)
    }),
    opt(
        "scale f",
        "the window's share that a loss or a classic CE leaves, default 0.7 (2020: 0.9)",
        |o, v| v.number(0, 0.1, 1.0).map(|n| o.scale = n),
    ),
    opt("nopace", "no packet pacing", |o, _| {
        o.is_paced = false;
        Ok(())
    }),
    opt(
        "microburstinterval ms",
        "packets leave in bursts of this length, 0.2 to 20, default 0.5 (1 with -fixedrate\n\
         and before 2024-10-31)",
        |o, v| v.number(0, 0.2, 20.0).map(|n| o.microburst_ms = n),
    ),
    opt("paceheadroom f", "pacing rate over media rate, default 1.5", |o, v| {
        v.number(0, 1.0, 100.0).map(|n| o.pace_headroom = n)
    }),
    opt(
        "adaptivepaceheadroom f",
        "greatest further factor for large frames, default 1.5",
        |o, v| {
            o.only_v2()?;
            v.number(0, 1.0, 100.0).map(|n| o.adaptive_pace_headroom = n)
        },
    ),
    opt(
        "inflightheadroom|infligtheadroom f",
        "the window grows to this many times the bytes in flight, default 2",
        |o, v| {
            o.only_v2()?;
            v.number(0, 1.0, 100.0).map(|n| o.inflight_headroom = n)
        },
    ),
    opt(
        "maxwindowheadroom|windowheadroom f",
        "bytes in flight may exceed the window by this factor, default 5",
        |o, v| {
            o.only_v2()?;
            v.number(0, 1.0, 100.0).map(|n| o.max_window_headroom = n)
        },
    ),
    opt("mulincrease f", "multiplicative increase per RTT, default 0.05", |o, v| {
        o.only_v2()?;
        v.number(0, 0.0, 1.0).map(|n| o.mul_increase = n)
    }),
    opt(
        "hysteresis f",
        "a target that changes less (up by f, down by f/4) stays, 0 to 0.2, default 0",
        |o, v| {
            o.only_v2()?;
            v.number(0, 0.0, 0.2).map(|n| o.hysteresis = n)
        },
    ),
    opt(
        "reordertime s",
        "a packet that is overtaken is lost after this time, default 0.03 (2020: 0.01)",
        |o, v| v.number(0, 0.0, 10.0).map(|n| o.reorder_s = n),
    ),
    opt("relaxedpacing", "paces faster when the target is near the greatest rate", |o, _| {
        o.only_v2()?;
        flag(&mut o.relaxed_pacing)
    }),
    opt("clockdrift", "compensates for a receiver's clock that is up to 0.05 % faster", |o, _| {
        o.only_v2()?;
        flag(&mut o.clock_drift)
    }),
    opt("openwindow", "no window (2024)", |o, _| {
        o.only_v2()?;
        flag(&mut o.open_window)
    }),
    opt("dscale f", "version 1: reaction to a delay above the target, default 10", |o, v| {
        o.only_v1()?;
        v.number(0, 0.0, 100.0).map(|n| o.gain_down = n)
    }),
    opt(
        "rateincrease|rateinc kbit/s/s",
        "version 1: greatest rise of the rate per second, default 10000; -rateinc is the same",
        |o, v| {
            o.only_v1()?;
            v.number(0, 1.0, GREATEST_KBPS).map(|n| o.ramp_kbps_per_s = n)
        },
    ),
    opt(
        "ratescale f",
        "version 1: greatest rise of the rate per second as a share of it, default 0.5",
        |o, v| {
            o.only_v1()?;
            v.number(0, 0.0, 10.0).map(|n| o.ramp_scale = n)
        },
    ),
];

const OUTPUT: &[Opt<TxOptions>] = &[
    opt("verbose", "a line every 200 ms, which the receiver prints as well", |o, _| {
        flag(&mut o.verbose)
    }),
    opt("nosummary", "no line every 2 s", |o, _| flag(&mut o.no_summary)),
    opt(
        "view",
        "a live view of rate, RTT, queue delay and CE instead of lines, on a terminal",
        |o, _| flag(&mut o.view),
    ),
    opt("json", "stdout is JSON, one object a line", |o, _| flag(&mut o.json)),
    opt("log file", "a line for each report, in the columns of -logformat", |o, v| {
        file(&mut o.log, v)
    }),
    opt(
        "logformat build",
        "the build whose columns log and lines have, default that of -generation",
        |o, v| Generation::parse(v.text(0)).map(|g| o.log_format = Some(g)),
    ),
    opt("csv file", "the same log as CSV with a header, names and units in it", |o, v| {
        file(&mut o.csv, v)
    }),
    opt("jsonlog file", "the same log as JSON, one object a line", |o, v| file(&mut o.json_log, v)),
    opt("txrxlog file", "when each packet was sent and received", |o, v| file(&mut o.tx_rx_log, v)),
    opt(
        "detailed",
        "a log line for each acknowledged packet, a line on stdout for each report",
        |o, _| flag(&mut o.detailed),
    ),
    opt("itemlist", "heads the -log with the names of its columns", |o, _| flag(&mut o.item_list)),
    opt("ntp", "logs have Unix time", |o, _| flag(&mut o.ntp)),
    opt("append", "logs are continued, not begun anew", |o, _| flag(&mut o.append)),
];

const OTHER_BUILDS: &[Opt<TxOptions>] = &[
    opt("slowonsmallcwnd", "had no effect; taken and left", |o, _| {
        o.notes.push("-slowonsmallcwnd never had an effect".into());
        Ok(())
    }),
    opt("postcongestiondelay s", "only 4 (2024); 2026 takes 200 round trips", |o, v| {
        let s = v.number(0, 0.0, 1000.0)?;
        let is_2024 = [Generation::V2024, Generation::V2024b].contains(&o.generation);
        if is_2024 && s == 4.0 {
            return Ok(());
        }
        Err("is 4 in -generation 2024 and 200 round trips in 2026, not to be chosen".into())
    }),
    opt("sierralog", "version 1: taken and left, no modem's log is read", |o, _| {
        o.only_v1()?;
        o.notes.push(
            "-sierralog has no effect: the original read a modem's log from a script of its own"
                .into(),
        );
        Ok(())
    }),
    opt(
        "emulatecubic|isslowencoder|nodelaycc|newcc",
        "and -isslowencoder, -nodelaycc, -newcc: refused, not of these builds",
        |_, _| {
            let days = "-isslowencoder (2024-04), -emulatecubic (2024-05 to 2024-09), -nodelaycc \
                    (2025-09 to 2026-03) and -newcc (2022-12 to 2024-07)";
            Err(format!("not an option of the builds followed here; {days} came and went"))
        },
    ),
    opt(
        "periodicdropinterval|fincrease|txqueuesizefactor|queuedelayguard f",
        "and -fincrease, -txqueuesizefactor, -queuedelayguard: refused, not of these builds",
        |_, _| {
            Err("not an option of the builds followed here: version 1 of 2020-12 to 2024-07".into())
        },
    ),
];

fn file(slot: &mut Option<String>, v: &Values<'_>) -> Result<(), String> {
    if v.text(0).is_empty() {
        return Err("expected a file name".into());
    }
    *slot = Some(v.text(0).into());
    Ok(())
}

/// `1200` or `500,1000,1400`: at most ten, each larger than the one before.
fn sizes(text: &str) -> Result<Vec<u32>, String> {
    let sizes: Result<Vec<u32>, _> =
        text.split(',').map(|word| args::whole(word, LEAST_MTU, GREATEST_MTU)).collect();
    let sizes = sizes.map_err(|e| format!("{e} (sizes are separated by commas: 500,1000,1400)"))?;
    if sizes.len() > 10 || !sizes.is_sorted_by(|a, b| a < b) {
        return Err(format!("expected at most ten increasing sizes, got `{text}`"));
    }
    Ok(sizes)
}
