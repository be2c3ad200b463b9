//! Verdicts, and the table of the documentation.

use std::path::Path;

use serde_json::{Value, json};

use crate::Passage;
use crate::cases::{Case, How};
use crate::compare::{Law, Parting, laws, measures};
use crate::guest::{self, Judged};
use crate::ours::{self, Phase};
use crate::train::{Recipe, Shape, Train};

/// A case whose distributions are less probable than this differs: one false alarm in a thousand
/// rounds of a hundred cases.
const LEAST_P: f64 = 1e-5;
/// A case with two means farther apart than this number of standard errors differs: less than 1e-6 for one
/// measure, 1e-5 for the measures of a case.
const MOST_Z: f64 = 5.0;
/// Our runs for each run of Linux: they cost little, and sharpen the test.
const OURS_PER_LINUX: usize = 10;
const ABSENT: &str = ": absent";
/// A guest is given 120 s; it manages a few thousand packets per second.
const PACKETS_PER_GUEST: usize = 60_000;
/// Counters that are times differ by the steps of the clocks, in microseconds.
const TIME_COUNTERS: [&str; 5] = ["ldelay", "drop_next", "pk_delay", "av_delay", "sp_delay"];

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Discipline.
    pub discipline: String,
    /// What was configured, in tc's words.
    pub configuration: String,
    /// Shape of the train.
    pub train: String,
    /// What was compared.
    pub compared: String,
    /// Whether ours is as Linux.
    pub equal: bool,
    /// The largest difference.
    pub largest: String,
    /// Counters that differ or that only Linux has (exact cases).
    pub counters: Vec<String>,
}

impl Row {
    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "discipline": self.discipline,
            "configuration": self.configuration,
            "train": self.train,
            "compared": self.compared,
            "verdict": if self.equal { "equal" } else { "differs" },
            "largest": self.largest,
            "counters": self.counters,
        })
    }

    /// One row of a Markdown table.
    pub fn markdown(&self) -> String {
        let verdict = if self.equal { "equal" } else { "**differs**" };
        let Self { discipline, configuration, train, compared, largest, .. } = self;
        format!(
            "| {discipline} | `{configuration}` | {train} | {compared} | {verdict} | {largest} |"
        )
    }
}

/// The head of the table.
pub const HEAD: &str = "| discipline | configuration | train | compared | verdict | largest \
    difference |\n|---|---|---|---|---|---|";

/// How much to run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs of Linux for a case with randomness.
    pub runs: usize,
    /// One train for a case without.
    pub short: bool,
}

/// Judges `cases` in as few guests as their packets allow: an exact case by a train of each of its
/// shapes (one mixed train if short), the others by several runs of one train. `done` gets each row
/// when it is there.
pub fn judge(
    cases: &[&Case],
    effort: Effort,
    out: &Path,
    mut done: impl FnMut(Row) -> Result<(), String>,
) -> Result<(), String> {
    let mut jobs: Vec<(usize, Shape, Train)> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let trains = |shapes: &[Shape], times| -> Vec<(usize, Shape, Train)> {
            let draw = |&shape| (index, shape, Recipe { shape, ..case.recipe }.draw(1));
            let trains: Vec<_> = shapes.iter().map(draw).collect();
            trains.into_iter().cycle().take(shapes.len() * times).collect()
        };
        jobs.extend(match (case.how, effort.short) {
            (How::Exact(_), true) => trains(&[Shape::Mixed], 1),
            (How::Exact(_), false) => trains(case.shapes, 1),
            // One train: the spread from run to run is then that of the queue's draws alone.
            (How::Law, _) => trains(case.shapes, effort.runs),
        });
    }
    let mut judged: Vec<Judged> = Vec::new();
    let (mut next, mut guest) = (0, 0);
    for (index, case) in cases.iter().enumerate() {
        let end = jobs.iter().rposition(|job| job.0 == index).map_or(next, |last| last + 1);
        while judged.len() < end {
            let from = judged.len();
            let batch = packets_up_to(&jobs[from..], PACKETS_PER_GUEST);
            let batch: Vec<(&Case, &Train)> =
                jobs[from..from + batch].iter().map(|(i, _, t)| (cases[*i], t)).collect();
            judged.extend(guest::run(&batch, &out.join(format!("guest{guest:03}")))?);
            guest += 1;
        }
        match case.how {
            How::Exact(tolerance_ns) => {
                for (job, linux) in jobs[next..end].iter().zip(&judged[next..end]) {
                    done(exact(case, job.1, linux, tolerance_ns)?)?;
                }
            }
            How::Law => done(law(case, &judged[next..end])?)?,
        }
        next = end;
    }
    Ok(())
}

/// How many of `jobs`, at least one, together have at most `most` packets.
fn packets_up_to(jobs: &[(usize, Shape, Train)], most: usize) -> usize {
    let mut sum = 0;
    let fits = jobs.iter().take_while(|(_, _, train)| {
        sum += train.packets.len();
        sum <= most
    });
    fits.count().max(1)
}

fn through_ours(case: &Case, linux: &Judged, phase: Phase, seed: u64) -> Result<Passage, String> {
    ours::run(case, linux, phase, seed).map_err(|e| format!("{}: {e}", case.qdisc))
}

fn row(case: &Case) -> Row {
    let shaper = case.shaper.map_or(String::new(), |s| format!("{s}, "));
    Row {
        discipline: case.name.0.into(),
        configuration: shaper + case.qdisc,
        train: String::new(),
        compared: String::new(),
        equal: false,
        largest: String::new(),
        counters: Vec::new(),
    }
}

/// A decision on the edge of a unit of CoDel's clock, or one that compares two instants of service,
/// hangs on single steps of the guest's clock. Ours is run with each of these readings until one
/// makes it equal; the later ones take the very instants of Linux.
const PHASES: [Phase; 18] = {
    let mut phases = [Phase { sent_ns: 0, service_ns: 0, follows: false }; 18];
    let mut i = 0;
    while i < phases.len() {
        let follows = i >= 9;
        let service_ns = 256 * (i / 3 % 3) as u64;
        phases[i] = Phase { sent_ns: [0, -256, -512][i % 3], service_ns, follows };
        i += 1;
    }
    phases
};

fn exact(case: &Case, shape: Shape, linux: &Judged, tolerance_ns: u64) -> Result<Row, String> {
    let packets = linux.offered.len();
    let (mut best, mut at) = (None, Phase::default());
    for phase in PHASES {
        let ours = through_ours(case, linux, phase, 1)?;
        let parting = Parting::of(&linux.passage, &ours, packets, tolerance_ns);
        let equal = parting.is_none();
        if equal || best.is_none() {
            (best, at) = (Some((ours, parting)), phase);
        }
        if equal {
            break;
        }
    }
    let (ours, parting) = best.ok_or("no phase")?;
    let dropped = packets - linux.passage.left.len().min(packets);
    let marked = linux.passage.left.iter();
    let marked = marked.filter(|a| (a.tos ^ linux.offered[a.seq as usize].tos) & 3 != 0).count();
    let largest = if parting.fates + parting.codepoints + parting.order == 0 {
        let phase = if at == Phase::default() {
            String::new()
        } else {
            let with = if at.follows { "Linux" } else { "timer" };
            format!(" (sent {} ns, {with} {} ns)", at.sent_ns, at.service_ns)
        };
        format!("{} ns{phase}", parting.time_ns)
    } else {
        let Parting { fates, codepoints, order, time_ns, first } = parting;
        let first = first.unwrap_or_default();
        format!(
            "{fates} fates, {codepoints} codepoints, {order} places, {time_ns} ns; first: packet {first}"
        )
    };
    Ok(Row {
        train: shape.name().into(),
        compared: format!("{packets} packets, {dropped} dropped, {marked} marked"),
        equal: parting.is_none(),
        largest,
        counters: counters(&linux.passage.stats, &ours.stats),
        ..row(case)
    })
}

/// Counters of Linux that are absent from ours or have another value.
fn counters(linux: &[(String, f64)], ours: &[(String, f64)]) -> Vec<String> {
    let differs = |(name, value): &(String, f64)| match ours.iter().find(|(n, _)| n == name) {
        None if name == "overlimits" && *value == 0.0 => None,
        None => Some(format!("{name} {value}{ABSENT}")),
        Some((_, own)) => {
            let tolerance =
                if TIME_COUNTERS.iter().any(|time| name.ends_with(time)) { 3.0 } else { 0.0 };
            ((own - value).abs() > tolerance).then(|| format!("{name} {value}: {own}"))
        }
    };
    // Of the device, or of the queue's parent.
    let foreign = |(name, _): &&(String, f64)| !matches!(name.as_str(), "refcnt" | "requeues");
    linux.iter().filter(foreign).filter_map(differs).collect()
}

fn law(case: &Case, linux: &[Judged]) -> Result<Row, String> {
    let theirs: Vec<_> = linux.iter().map(|j| measures(&j.offered, &j.passage)).collect();
    let mut own = Vec::new();
    for (linux, nth) in linux.iter().zip(0..) {
        for seed in 0..OURS_PER_LINUX {
            let seed = (nth * OURS_PER_LINUX + seed) as u64;
            let phase = PHASES[seed as usize % 9];
            let passage = through_ours(case, linux, phase, seed)?;
            own.push(measures(&linux.offered, &passage));
        }
    }
    // Values differ with the draws; names do not.
    let passage = through_ours(case, &linux[0], Phase::default(), 0)?;
    let absent = counters(&linux[0].passage.stats, &passage.stats).into_iter();
    let absent = absent.filter(|text| text.ends_with(ABSENT));
    let laws = laws(&theirs, &own);
    let farthest = laws.first().ok_or("nothing to compare")?;
    let least_p = laws.iter().map(|l| l.p).fold(1.0, f64::min);
    let differs = |l: &&Law| l.p < LEAST_P || l.z.abs() > MOST_Z;
    let packets = linux[0].offered.len();
    Ok(Row {
        train: case.shapes.first().map_or("", |s| s.name()).into(),
        compared: format!("{} and {} runs of {packets} packets", theirs.len(), own.len()),
        equal: !laws.iter().any(|l| differs(&l)),
        largest: format!(
            "{} {:.3}, ours {:.3}: {:.1} standard errors; least p {least_p:.2}",
            farthest.name,
            farthest.linux,
            farthest.ours,
            farthest.z.abs(),
        ),
        counters: laws
            .iter()
            .filter(differs)
            .map(|l| format!("{}: {} | {} (p {:.1e}, z {:.1})", l.name, l.linux, l.ours, l.p, l.z))
            .chain(absent)
            .collect(),
        ..row(case)
    })
}
