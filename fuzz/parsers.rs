//! Fuzzes what users write: tc's grammar of queues and controllers, scenario files, overrides, sweeps.
//!
//! `cargo run -p sojourn-scenario --example fuzz -- [SECONDS [SEED]]`, or `make fuzz`. The time, which
//! is time of the processor, is split over the targets, which run on all cores; ten million datagrams and as many
//! packets come first, in as much time at the most. Inputs are mutated from a corpus with a dictionary of all registered keywords; one that gives a
//! new kind of answer joins the corpus, which stands in for coverage on stable Rust.
//! Captures, what is made of them, datagrams and packets have targets of their own ([`captures`], [`inspect`],
//! [`datagrams`], [`packets`]). Where there is a nightly compiler, cargo-fuzz calls the same functions with what
//! it learns from coverage (`targets`, `shared.rs`).
//! Nothing may panic or hang, an error is one line, and what is accepted is written so that it reads
//! the same. The sequence depends on the seed only; a finding prints its input and ends with code 1.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

pub(crate) mod captures;
pub(crate) mod datagrams;
pub(crate) mod inspect;
pub(crate) mod packets;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sojourn_cc as cc;
use sojourn_core::grammar::{Parameter, split_name};
use sojourn_core::spec::Entry;
use sojourn_core::{FlowId, Packet, Rng, Time};
use sojourn_queue::aqm::{Env, Log};
use sojourn_queue::qdiscs;
use sojourn_queue::traces::{DelaySteps, Opportunities, RateSteps};
use sojourn_scenario::{Scenario, expand, load, to_toml};

/// Datagrams that SCReAM's two ends have to bear, and packets that the wire formats have to.
const DATAGRAMS: u64 = 10_000_000;
const PACKETS: u64 = 10_000_000;
/// Files that the reader of captures has to.
const CAPTURES: u64 = 100_000;
/// Packets that are analysed.
const ANALYSED: u64 = 1_000_000;

/// How long one input may take, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most bytes of an input: enough for a scenario, too few to wait for.
const LONGEST: usize = 4000;

const SCENARIO: &str = r#"name = "a"
duration = "2s"
seed = 3
step = "50ms"
measure = { from = "1s", to = "2s" }
tcp.ecn = "rfc3168"
[[link]]
name = "l"
rate = "50Mbit"
shaper = "htb burst 1600b"
qdisc = "dualpi2 step_thresh 1ms"
ingress = ["netem delay 2ms limit 1000"]
delay = "7ms"
[link.reverse]
rate = "none"
[[flow]]
name = "f"
cc = "prague version p2b"
start = "500ms"
path = ["l"]
tos = "0x10"
tcp = { mtu = 1500 }
[[ping]]
name = "p"
interval = "100ms"
[[schedule]]
at = "1s"
set = { "link.l.forward.rate" = "25Mbit", "link.l.forward.qdisc" = "dualpi2 target 5ms" }
replace = { "link.l.reverse.qdisc" = "pfifo limit 10" }
[sweep]
"link.l.rate" = ["10Mbit", "20Mbit"]
seed = [1, 2]
"#;

/// Pieces that no registry lists, separated by spaces.
const PIECES: &str = "-1 1e400 nan inf 99999999999999999999 0x3 0x1/0x3 584y 3bps 5kibit none \" \n [ ] { } = . , # ' \
     \\u0000 \0 \u{feff} é \t true 1979-05-27 [[link]] [[flow]] [link.reverse] [[schedule]] [sweep] \
     link.l.qdisc flow.f.cc schedule.0.at seed";

pub(crate) type Check = fn(&str) -> Result<(), String>;

pub(crate) const TARGETS: [(&str, Check); 7] = [
    ("qdisc", qdisc),
    ("change", change),
    ("controller", controller),
    ("scenario", scenario),
    ("override", overridden),
    ("sweep", sweep),
    ("trace", trace),
];

enum Job {
    Texts((&'static str, Check)),
    Packets,
    Analysis,
    Datagrams,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next().map(|text| text.parse()) {
        None => default,
        Some(Ok(number)) => number,
        Some(Err(_)) => {
            eprintln!("usage: fuzz [SECONDS [SEED]]");
            exit(2);
        }
    };
    let (seconds, seed) = (number(60), number(1));
    let time = Duration::from_secs(seconds);
    let share = time / TARGETS.len() as u32;
    // The datagrams take longest.
    let jobs =
        TARGETS.into_iter().map(Job::Texts).chain([Job::Analysis, Job::Packets, Job::Datagrams]);
    let left = Mutex::new(jobs.collect::<Vec<_>>());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let current = Arc::new(Mutex::new((0, String::new())));
                watch(Arc::clone(&current));
                while let Some(job) = next() {
                    match job {
                        Job::Texts(target) => texts(target, share, seed, &current),
                        Job::Analysis => analysis(time, seed, &current),
                        Job::Packets => headers(time, seed, &current),
                        Job::Datagrams => strangers(time, seed, &current),
                    }
                }
                // Nothing is awaited any more.
                current.lock().unwrap_or_else(PoisonError::into_inner).0 = 0;
            });
        }
    });
    // Alone: decompression may hold as much memory as a window allows, which the datagrams' bound would count.
    let current = Arc::new(Mutex::new((0, String::new())));
    watch(Arc::clone(&current));
    files(time, seed, &current);
}

/// Time that this thread has computed: other work on the machine takes nothing off what is tried.
pub(crate) fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Texts for one parser.
fn texts((name, check): (&str, Check), time: Duration, seed: u64, current: &Mutex<(u64, String)>) {
    let start = computed();
    let mut fuzzer = Fuzzer::new(seed, name);
    let (mut inputs, mut valid) = (0_u64, 0_u64);
    while computed() < start + time {
        let input = fuzzer.next();
        {
            let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
            *current = (current.0 + 1, input.clone());
        }
        match catch_unwind(AssertUnwindSafe(|| answer(check, &input))) {
            Ok(Ok(answer)) => {
                valid += u64::from(answer == VALID);
                fuzzer.learn(input, answer);
            }
            Ok(Err(fault)) => finding(name, &input, &fault),
            Err(_) => finding(name, &input, "panicked"),
        }
        inputs += 1;
    }
    let kinds = fuzzer.answers.len();
    println!("{name:>10}: {inputs} inputs, {valid} valid, {kinds} kinds of answer");
}

/// SCReAM's ends and datagrams from anybody.
fn strangers(limit: Duration, seed: u64, current: &Mutex<(u64, String)>) {
    hostile("datagrams", current, |announce| {
        let (sessions, datagrams) = datagrams::run(DATAGRAMS, limit, seed, announce)?;
        Ok(format!("{datagrams} datagrams in {sessions} sessions"))
    });
}

/// Wire formats and packets from anybody.
fn headers(limit: Duration, seed: u64, current: &Mutex<(u64, String)>) {
    hostile("packets", current, |announce| {
        let (packets, whole) = packets::run(PACKETS, limit, seed, announce)?;
        Ok(format!("{packets} packets, {whole} whole"))
    });
}

/// Captures from anybody.
fn files(limit: Duration, seed: u64, current: &Mutex<(u64, String)>) {
    hostile("captures", current, |announce| {
        let (files, records) = captures::run(CAPTURES, limit, seed, announce)?;
        Ok(format!("{files} files, {records} records"))
    });
}

/// Captures of anybody's packets.
fn analysis(limit: Duration, seed: u64, current: &Mutex<(u64, String)>) {
    hostile("inspect", current, |announce| {
        let (captures, packets) = inspect::run(ANALYSED, limit, seed, announce)?;
        Ok(format!("{packets} packets in {captures} captures"))
    });
}

/// What does not read texts; it announces what it does next.
fn hostile(
    name: &str,
    current: &Mutex<(u64, String)>,
    run: impl FnOnce(&mut dyn FnMut(String)) -> Result<String, String>,
) {
    let mut announce = |what: String| {
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = (current.0 + 1, what);
    };
    match catch_unwind(AssertUnwindSafe(|| run(&mut announce))) {
        Ok(Ok(done)) => println!("{name:>10}: {done}"),
        Ok(Err(fault)) => finding(name, "", &fault),
        Err(_) => {
            let current = current.lock().unwrap_or_else(PoisonError::into_inner);
            finding(name, &current.1, "panicked");
        }
    }
}

fn finding(name: &str, input: &str, fault: &str) -> ! {
    eprintln!("{name}: {fault}\n{input:?}");
    exit(1);
}

/// Ends the process if one input takes too long.
fn watch(current: Arc<Mutex<(u64, String)>>) {
    thread::spawn(move || {
        let mut before = 0;
        loop {
            thread::sleep(PATIENCE);
            let (count, input) = &*current.lock().unwrap_or_else(PoisonError::into_inner);
            if *count == before && *count > 0 {
                finding("watch", input, "no answer");
            }
            before = *count;
        }
    });
}

/// The kind of answer: `VALID`, or an error without the words of its input and without numbers. `Err` is a finding.
pub(crate) fn answer(check: Check, input: &str) -> Result<String, String> {
    let Err(error) = check(input) else { return Ok(VALID.to_owned()) };
    if let Some(fault) = error.strip_prefix(FAULT) {
        return Err(fault.to_owned());
    }
    if error.trim().is_empty() || error.lines().count() != 1 || error.contains('\r') {
        return Err(format!("not one line: {error:?}"));
    }
    // Lists of what is valid and guesses of what was meant differ between inputs of one kind.
    let stem = error.split(&[';', '('][..]).next().unwrap_or_default();
    let is_own =
        |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic()) && !input.contains(*word);
    Ok(stem.split_whitespace().filter(is_own).collect::<Vec<_>>().join(" "))
}

/// The answer to an input that is accepted.
const VALID: &str = "valid";

/// Starts the text of what is wrong with the parser, not with its input.
const FAULT: &str = "\u{1}";

fn fault(text: &str) -> Result<(), String> {
    Err(FAULT.to_owned() + text)
}

fn env() -> Env {
    Env::ethernet(Rng::named(1, "fuzz"))
}

fn qdisc(text: &str) -> Result<(), String> {
    let mut built = qdiscs::build(text, env()).map_err(|e| e.0)?;
    let once = built.describe();
    match qdiscs::build(&once, env()) {
        Ok(again) if again.describe() == once => {}
        Ok(again) => return fault(&format!("`{once}` reads as `{}`", again.describe())),
        Err(error) => return fault(&format!("`{once}` does not read: {error}")),
    }
    // Parameters at the ends of their ranges meet packets too.
    let mut log = Log::default();
    let mut now = Time::ZERO;
    for id in 0..24 {
        let flow = id % 3;
        let len = if id % 4 == 0 { 66 } else { 1514 };
        let tos = (id % 4) as u8;
        let pkt = Packet {
            id,
            flow: FlowId(flow),
            hash: flow.wrapping_mul(0x9E37_79B9),
            len,
            tos,
            ..Packet::default()
        };
        built.enqueue(now, pkt, &mut log);
        now = Time(now.0 + 400_000);
        if built.wake() <= now {
            built.on_wake(now, &mut log);
        }
        built.dequeue(now, &mut log);
        log.drain();
    }
    built.purge(&mut log);
    if built.backlog().packets != 0 {
        return fault(&format!("`{once}` holds {:?} after a purge", built.backlog()));
    }
    Ok(())
}

/// Two texts: the second changes the discipline that the first builds.
fn change(text: &str) -> Result<(), String> {
    let (first, second) = text.split_once('\n').unwrap_or((text, text));
    let mut built = qdiscs::build(first, env()).map_err(|e| e.0)?;
    let before = built.describe();
    let result = qdiscs::change(&mut *built, Time(5), second, &mut Log::default());
    let after = built.describe();
    match result {
        Err(_) if after != before => fault(&format!("a refused change left `{after}`")),
        Err(error) => Err(error.0),
        Ok(()) => match qdiscs::build(&after, env()) {
            Ok(again) if again.describe() == after => Ok(()),
            Ok(again) => fault(&format!("`{after}` reads as `{}`", again.describe())),
            Err(error) => fault(&format!("`{after}` does not read: {error}")),
        },
    }
}

fn controller(text: &str) -> Result<(), String> {
    let once = cc::read(text).map_err(|e| e.0)?.to_string();
    match cc::read(&once) {
        Ok(again) if again.to_string() == once => Ok(()),
        Ok(again) => fault(&format!("`{once}` reads as `{again}`")),
        Err(error) => fault(&format!("`{once}` does not read: {error}")),
    }
}

fn scenario(text: &str) -> Result<(), String> {
    let parsed = load(text, "fuzz.toml", &[]).map_err(|e| e.to_string())?;
    survives(&parsed.scenario)
}

/// The first line is an override of a valid file.
fn overridden(text: &str) -> Result<(), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let overrides = [(key.trim().to_owned(), value.trim().to_owned())];
    let parsed = load(SCENARIO, "fuzz.toml", &overrides).map_err(|e| e.to_string())?;
    survives(&parsed.scenario)
}

fn sweep(text: &str) -> Result<(), String> {
    let points = expand(text, "fuzz.toml", &[]).map_err(|e| e.to_string())?;
    points.iter().take(3).try_for_each(|point| survives(&point.scenario))
}

/// A file of each kind that names delays, rates or opportunities.
fn trace(text: &str) -> Result<(), String> {
    let all = [
        Opportunities::parse(text).map(|_| ()),
        RateSteps::parse(text).map(|_| ()),
        DelaySteps::parse(text).map(|_| ()),
    ];
    if all.iter().any(Result::is_ok) {
        return Ok(());
    }
    all.into_iter().try_for_each(|read| read.map_err(|error| error.to_string()))
}

fn survives(scenario: &Scenario) -> Result<(), String> {
    let written = to_toml(scenario);
    match load(&written, "written.toml", &[]) {
        Ok(again) if again.scenario == *scenario => Ok(()),
        Ok(_) => fault(&format!("reads differently after writing:\n{written}")),
        Err(error) => fault(&format!("does not read after writing: {error}\n{written}")),
    }
}

struct Fuzzer {
    rng: Rng,
    valid: Vec<String>,
    refused: Vec<String>,
    words: Vec<String>,
    answers: BTreeSet<String>,
}

impl Fuzzer {
    fn new(seed: u64, target: &str) -> Self {
        let mut words: BTreeSet<String> = PIECES.split(' ').map(str::to_owned).collect();
        let algorithms = qdiscs::REGISTRY.iter().map(|e| (e.name, e.table()));
        let controllers = cc::REGISTRY.iter().map(|e| (e.name, e.table()));
        for (name, params) in algorithms.chain(controllers) {
            words.insert(name.to_owned());
            words.extend(params.iter().flat_map(|p| p.name.split('|')).map(str::to_owned));
            words.extend(params.iter().flat_map(|p| p.value.split('|')).map(str::to_owned));
        }
        words.extend(SCENARIO.split_whitespace().map(str::to_owned));
        Self {
            rng: Rng::named(seed, target),
            valid: corpus(target),
            refused: Vec::new(),
            words: words.into_iter().collect(),
            answers: BTreeSet::new(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u32) as usize
    }

    /// A member of the corpus with a few changes: mostly whole words, which keep much of it valid.
    fn next(&mut self) -> String {
        let mut bytes = self.parent().clone().into_bytes();
        let by_words = self.below(4) > 0;
        for _ in 0..=self.below(2) {
            let at = self.below(bytes.len() + 1);
            if by_words {
                self.edit_words(&mut bytes, at);
            } else {
                self.edit_bytes(&mut bytes, at);
            }
        }
        bytes.truncate(LONGEST);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn edit_words(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'=');
        let from = bytes[..at].iter().rposition(is_end).map_or(0, |i| i + 1);
        let to = bytes[at..].iter().position(is_end).map_or(bytes.len(), |i| at + i);
        match self.below(4) {
            0 => drop(bytes.drain(from..to)),
            1 => {
                // Words of its own discipline, if the text begins with one.
                let text = String::from_utf8_lossy(bytes).into_owned();
                let name = split_name(text.lines().last().unwrap_or_default()).0;
                let params = qdiscs::entry(name).map(Entry::table);
                let params =
                    params.or_else(|_| cc::entry(name).map(Entry::table)).unwrap_or_default();
                if params.is_empty() {
                    return self.edit_bytes(bytes, at);
                }
                let param = &params[self.below(params.len())];
                let words: Vec<&str> = param.name.split('|').collect();
                let word = words[self.below(words.len())];
                let value = if param.value.is_empty() { String::new() } else { self.value() };
                bytes.extend_from_slice(format!(" {word} {value}").as_bytes());
            }
            2 => {
                let value = self.value();
                bytes.splice(from..to, value.bytes());
            }
            _ => {
                let word = self.word();
                bytes.splice(from..to, word.bytes());
            }
        }
    }

    fn edit_bytes(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let end = (at + self.below(12)).min(bytes.len());
        match self.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            2 => bytes.insert(at, self.rng.u32() as u8),
            3 => {
                let tail = self.parent().clone().into_bytes();
                let cut = self.below(tail.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&tail[cut..]);
            }
            _ => {
                let word = format!(" {} ", self.word());
                bytes.splice(at..at, word.bytes());
            }
        }
    }

    /// A quantity, of the sizes and units that parameters take and some that they do not.
    fn value(&mut self) -> String {
        const UNITS: [&str; 18] = [
            "", "", "", "us", "ms", "s", "ns", "%", "%", "p", "b", "kb", "Mb", "bit", "kbit",
            "Mbit", "Gbit", "Hz",
        ];
        let number = match self.below(8) {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            2 => (1_u64 << self.below(64)).to_string(),
            3 => ((1_u64 << self.below(64)) - 1).to_string(),
            4 => format!("{}.{}", self.below(100), self.below(1000)),
            _ => self.below(3000).to_string(),
        };
        number + UNITS[self.below(UNITS.len())]
    }

    fn word(&mut self) -> String {
        let index = self.below(self.words.len());
        self.words[index].clone()
    }

    /// A text to change: mostly a valid one, since a refused one hides what stands behind its error.
    fn parent(&mut self) -> &String {
        let from_valid = self.refused.is_empty() || self.below(4) > 0;
        let index = self.below(if from_valid { self.valid.len() } else { self.refused.len() });
        if from_valid { &self.valid[index] } else { &self.refused[index] }
    }

    /// Keeps the first input of each kind of error, and many valid ones.
    fn learn(&mut self, input: String, answer: String) {
        if answer == VALID {
            if self.valid.len() < 3000 {
                self.valid.push(input);
            } else {
                let index = self.below(self.valid.len());
                self.valid[index] = input;
            }
        } else if self.answers.insert(answer) {
            self.refused.push(input);
        }
    }
}

/// Valid texts to begin with.
fn corpus(target: &str) -> Vec<String> {
    let words = |name: &str, params: Vec<Parameter>| {
        let given = params.iter().filter(|p| !p.default.starts_with('('));
        let pairs = given.map(|p| {
            let word = p.name.split('|').next().unwrap_or_default();
            format!("{word} {}", if p.value.is_empty() { "" } else { &p.default })
        });
        pairs.map(|pair| format!("{name} {pair}")).collect::<Vec<_>>()
    };
    let queues = || {
        let plain = ["htb rate 10Mbit", "tbf rate 10Mbit burst 15kb latency 20ms"];
        let more = ["police rate 10Mbit burst 15kb drop", "red limit 400000 avpkt 1000"];
        let of_tables = qdiscs::REGISTRY.iter().flat_map(|e| words(e.name, e.table()));
        of_tables.chain(plain.into_iter().chain(more).map(str::to_owned))
    };
    match target {
        "qdisc" => queues().collect(),
        "change" => queues().map(|text| format!("{text}\n{text}")).collect(),
        "controller" => cc::REGISTRY
            .iter()
            .flat_map(|e| words(e.name, e.table()).into_iter().chain([e.name.to_owned()]))
            .collect(),
        "override" => [
            "link.l.rate=100Mbit",
            "flow.f.cc=cubic",
            "seed=7",
            "tcp.ecn=off",
            "schedule.0.at=1s",
            "flow.f.path=[\"l\"]",
            "link.l.ingress=[\"netem delay 1ms\"]",
            "ping.p.tos=0x10",
        ]
        .map(str::to_owned)
        .to_vec(),
        "trace" => {
            ["1\n2\n2\n7\n", "0 10\n1.5 5\n", "# ms\n0 4.25\n0.1 6\n"].map(str::to_owned).to_vec()
        }
        _ => vec![SCENARIO.to_owned()],
    }
}
