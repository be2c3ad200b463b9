//! Speed and memory of the analysis of captures, beside tshark and tcptrace on the same files.
//!
//! `cargo bench -p sojourn-inspect`, or `make bench`. Three files are made: bulk transfers of 1500-byte packets with
//! their acknowledgements, small packets, and short connections. Each is read alone, read with all its layers, and
//! analysed, in a process of its own. Times are CPU time of that process, which another load on the machine disturbs
//! less than the time on a clock, and its memory is the most that it held.
//! The files were written just before, so that they are in memory. Programs that are not installed are skipped by
//! name; what takes longer than a minute is stopped.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sojourn_capture::{Capture, layers};
use sojourn_inspect::{Analyser, Options};

/// Longest run of another program.
const PATIENCE: Duration = Duration::from_secs(60);

/// Goals: bytes per second of large packets, packets per second of small ones, and memory.
const GOALS: &str = "goals: 1 GB/s of 1500-byte packets, 5 M small packets/s, 200 MB plus flows, 2 GB for 10^6 flows";

/// What a child process does with a file.
const STEPS: [&str; 3] = ["read", "layers", "analyse"];

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [step, file] = arguments.as_slice() {
        println!("{}", run(step, Path::new(file)));
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("sojourn-captures-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = all(&folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn all(folder: &Path) -> io::Result<()> {
    println!(
        "{:<22} {:<9} {:>8} {:>9} {:>9} {:>8}",
        "file", "with", "CPU s", "M pkt/s", "MB/s", "MB held"
    );
    for (name, make) in [
        ("1500-byte packets", bulk as fn(&mut Maker) -> io::Result<()>),
        ("small packets", small),
        ("10^6 connections", connections),
    ] {
        let path = folder.join("a.pcap");
        let mut maker = Maker::create(&path)?;
        make(&mut maker)?;
        let packets = maker.finish()?;
        let bytes = fs::metadata(&path)?.len();
        let print = |with: &str, outcome: Option<(Duration, u64)>| match outcome {
            Some((time, held)) => {
                let s = time.as_secs_f64();
                let (rate, speed) = (packets as f64 / s / 1e6, bytes as f64 / s / 1e6);
                println!("{name:<22} {with:<9} {s:>8.2} {rate:>9.2} {speed:>9.0} {held:>8}");
            }
            None => println!("{name:<22} {with:<9} more than {} s", PATIENCE.as_secs()),
        };
        for step in STEPS {
            let mut own = Command::new(std::env::current_exe()?);
            print(step, timed(own.arg(step).arg(&path))?);
        }
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-q", "-z", "conv,tcp", "-r"]).arg(&path);
        let mut tcptrace = Command::new("tcptrace");
        tcptrace.args(["-n", "-l", "-r"]).arg(&path);
        for (program, command) in [("tshark", &mut tshark), ("tcptrace", &mut tcptrace)] {
            match timed(command) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    println!("{name:<22} {program:<9} skipped: not installed");
                }
                outcome => print(program, outcome?),
            }
        }
        fs::remove_file(&path)?;
    }
    println!("{GOALS}");
    Ok(())
}

/// Does one step, and gives something that depends on every record.
fn run(step: &str, file: &Path) -> u64 {
    let mut capture = Capture::open(file).expect("the file was just written");
    let mut analyser = Analyser::new(Options::default());
    let mut sum = 0;
    while let Some(record) = capture.next() {
        sum += record.bytes.len() as u64;
        if step == "read" {
            continue;
        }
        match layers::dissect(record.link, record.bytes) {
            Ok(layers) if step == "layers" => sum += layers.ip.len as u64,
            Ok(layers) => analyser.packet(record.time, &layers),
            Err(why) => analyser.skip(why),
        }
    }
    sum + analyser.finish().packets
}

/// CPU time of the process, and the most memory that it held, MB. None if it took too long.
fn timed(command: &mut Command) -> io::Result<Option<(Duration, u64)>> {
    let (start, before) = (Instant::now(), cpu_time_of_children()?);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut held = 0;
    while child.try_wait()?.is_none() {
        held = held.max(peak(&child));
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(5));
    }
    Ok(Some((cpu_time_of_children()?.saturating_sub(before), held / 1000)))
}

/// CPU time of all processes that were started here and have ended: the fields cutime and cstime of proc_pid_stat(5),
/// in ticks of 10 ms.
fn cpu_time_of_children() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may have spaces, the state is the third field.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Ok(Duration::from_millis(10 * ticks))
}

/// The most memory that a process has held so far, kB; 0 where nothing says so.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Many transfers at the same time: 1 GB, an acknowledgement for every second segment.
fn bulk(maker: &mut Maker) -> io::Result<()> {
    const FLOWS: u32 = 16;
    for round in 0..21_500_u32 {
        for flow in 0..FLOWS {
            let ends = Ends { flow, forward: true };
            for half in 0..2 {
                maker.segment(ends, 1 + (2 * round + half) * 1448, 1, ACK, 1448)?;
            }
            maker.segment(ends.back(), 1, 1 + (2 * round + 2) * 1448, ACK, 0)?;
        }
    }
    Ok(())
}

/// Four million packets with 8 bytes of payload or none.
fn small(maker: &mut Maker) -> io::Result<()> {
    const FLOWS: u32 = 1000;
    for round in 0..2000_u32 {
        for flow in 0..FLOWS {
            let ends = Ends { flow, forward: true };
            maker.segment(ends, 1 + round * 8, 1, ACK, 8)?;
            maker.segment(ends.back(), 1, 1 + round * 8 + 8, ACK, 0)?;
        }
    }
    Ok(())
}

/// A million connections of one segment each, open at the same time by the hundred.
fn connections(maker: &mut Maker) -> io::Result<()> {
    const TOGETHER: u32 = 100;
    for first in (0..1_000_000).step_by(TOGETHER as usize) {
        for step in 0..5 {
            for flow in first..first + TOGETHER {
                let ends = Ends { flow, forward: true };
                match step {
                    0 => maker.segment(ends, 0, 0, SYN, 0)?,
                    1 => maker.segment(ends.back(), 0, 1, SYN | ACK, 0)?,
                    2 => maker.segment(ends, 1, 1, ACK, 100)?,
                    3 => maker.segment(ends.back(), 1, 101, FIN | ACK, 0)?,
                    _ => maker.segment(ends, 101, 2, FIN | ACK, 0)?,
                }
            }
        }
    }
    Ok(())
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 0x10;

/// Who sends to whom.
#[derive(Clone, Copy)]
struct Ends {
    flow: u32,
    forward: bool,
}

impl Ends {
    fn back(self) -> Self {
        Self { forward: !self.forward, ..self }
    }
}

/// Writes a capture of Ethernet frames with IPv4 and TCP with timestamps, a microsecond apart.
struct Maker {
    out: BufWriter<File>,
    packets: u32,
}

impl Maker {
    fn create(path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { out, packets: 0 })
    }

    fn segment(
        &mut self,
        ends: Ends,
        seq: u32,
        ack: u32,
        flags: u8,
        payload: usize,
    ) -> io::Result<()> {
        const HEADERS: usize = 14 + 20 + 32;
        let len = (HEADERS + payload) as u32;
        let mut frame = [0; HEADERS];
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 1]);
        frame[16..18].copy_from_slice(&(len as u16 - 14).to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 6]);
        let [_, high, middle, low] = ends.flow.to_be_bytes();
        let (client, server) = ([10, high, middle, low], [192, 0, 2, 1]);
        let (source, destination) = if ends.forward { (client, server) } else { (server, client) };
        frame[26..30].copy_from_slice(&source);
        frame[30..34].copy_from_slice(&destination);
        let port = 5000_u16.to_be_bytes();
        frame[34..36].copy_from_slice(&port);
        frame[36..38].copy_from_slice(&port);
        frame[38..42].copy_from_slice(&seq.to_be_bytes());
        frame[42..46].copy_from_slice(&ack.to_be_bytes());
        frame[46..50].copy_from_slice(&[0x80, flags, 0xff, 0xff]);
        frame[54..58].copy_from_slice(&[1, 1, 8, 10]);
        let clock = 1 + self.packets / 1000;
        frame[58..62].copy_from_slice(&clock.to_be_bytes());
        frame[62..66].copy_from_slice(&clock.saturating_sub(20).to_be_bytes());
        let time = [1_700_000_000 + self.packets / 1_000_000, self.packets % 1_000_000];
        for word in [time[0], time[1], len, len] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&frame)?;
        self.out.write_all(&[0; 1448][..payload])?;
        self.packets += 1;
        Ok(())
    }

    /// Gives the number of packets.
    fn finish(mut self) -> io::Result<u32> {
        self.out.flush()?;
        // So that the kernel does not write it while somebody reads.
        self.out.get_ref().sync_all()?;
        Ok(self.packets)
    }
}
