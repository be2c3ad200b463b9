//! Which congestion control a sender looks like, by what its window did about signals, round trip by round trip.
//!
//! A codepoint is not a behaviour: ECT(1) and AccECN are in no test here. What is measured is the factor by which the
//! window changes after an episode of signals, beside what each family would have done with the same signals:
//!
//! | family | to marks | to losses | otherwise |
//! |---|---|---|---|
//! | classic | 0.5 (RFC 5681 3.1) to 0.85 (RFC 8511), however few the marks | the same | grows until the next signal |
//! | scalable | 1 - alpha/2 a round, alpha the average of marks (RFC 8257 3.3, RFC 9331 4.3) | 0.5 | one segment a round (less at short round trips) against about two marks a round |
//! | SCE | little for each, but falls while most are marked (draft-morton-tsvwg-sce 5) | 0.5 | |
//! | BBR-like | none, or a bound | none, or a bound | pulses of 1.25, probes of 200 ms (draft-ietf-ccwg-bbr 5.3) |
//! | unresponsive | none | none | a constant |
//!
//! There is no answer if too few episodes tell, if they contradict each other, or if two families fit.

mod episodes;
mod pulses;
mod slope;

use crate::report::{Answer, Direction, Family, Flow, Protocol};
use crate::rounds::Round;
use episodes::{Episode, episodes, median, windows};

/// Rounds below which nothing is said.
const LEAST_ROUNDS: usize = 24;
/// Least number of episodes that agree, and their least ratio to those that disagree.
const LEAST_EPISODES: usize = 2;
const AGREE: usize = 4;
/// Episodes without an answer before it counts as none.
const LEAST_HELD: usize = 3;
/// A window after losses of at least this part of that before is held.
const HELD: f64 = 0.88;
/// Losses are answered with 0.5 by Reno and by scalable controllers alike (RFC 8257 3.5); above this it is CUBIC's 0.7.
const NOT_HALF: f64 = 0.62;
/// Median window, segments, below which more losses must agree: a packet more or less is much.
const COARSE: f64 = 16.0;
/// Pulses in BBR's rhythm that no chance makes.
const LEAST_PULSES: usize = 4;
/// Excursions from a level and back to it.
const LEAST_EXCURSIONS: usize = 2;
/// Part of the quiet rounds that the cycles of these pulses make up.
const PULSED: f64 = 0.25;
/// Rounds of a pulse's cycle.
const CYCLE: f64 = 8.0;
/// Segments by which a scalable controller reduces in a round on average: as much as it grows, which is 1 (RFC 9331 4.3,
/// draft-briscoe-iccrg-prague-congestion-control 2.4.4), less below round trips of 25 ms.
const BALANCE: std::ops::RangeInclusive<f64> = 0.02..=3.0;
/// Rounds of a stretch with so many marks that a classic window of eight segments or more has a third of these answers:
/// Reno regrows half a window between two.
const STRETCH: usize = 16;
const ANSWERS: usize = 6;
/// The window behind such a stretch, of that before.
const STOOD: f64 = 0.8;
/// Reductions of a scalable controller, of the window in each round, through which none stands.
const HEAVY: f64 = 0.1;
/// Median part of packets acknowledged with ECE, in rounds with it, from which on it lasts longer than the marks.
const STICKY: f64 = 0.5;
/// Rounds before the first episode in which growth without marks is looked at.
const BEFORE: usize = 24;
/// Growth in rounds with marks, of that in rounds without, from which on it has stopped.
const STOPPED: f64 = 0.3;
/// t of a slope that chance does not make: below one in a thousand.
const CERTAIN: f64 = -3.5;
/// Windows of a constant: their mean distance from the median, of it.
const CONSTANT: f64 = 0.05;
/// A window that stands: rounds, time in ns (CUBIC's plateau is shorter), and segments a round, of which Reno grows by
/// one, or half of one with delayed ACKs that are counted by packets.
const STANDS_ROUNDS: usize = 40;
const STANDS_NS: u64 = 3_000_000_000;
const STANDS_GROWTH: f64 = 0.2;
/// One of this number of rounds on end has ESCE.
const STANDS_NEAR: usize = 4;
/// Part of the delivered payload with ESCE below which it says nothing.
const LEAST_SCE: f64 = 0.02;

/// What the sender of most data looks like.
pub(crate) fn answer(flow: &Flow) -> Option<Answer> {
    match flow.protocol {
        Protocol::Tcp => {
            let direction = sender(flow);
            let is_ect = direction.data_ecn.not_ect < direction.data_packets / 2;
            of_rounds(&direction.rounds, mss(flow), is_ect)
        }
        Protocol::Udp => of_datagrams(flow),
        _ => None,
    }
}

/// The direction with most data.
pub(crate) fn sender(flow: &Flow) -> &Direction {
    if flow.backward.data_bytes > flow.forward.data_bytes { &flow.backward } else { &flow.forward }
}

/// Payload of a full segment, bytes: that of Ethernet with timestamps where the handshake does not say.
pub(crate) fn mss(flow: &Flow) -> f64 {
    let offers = flow.tcp.as_ref().and_then(|tcp| tcp.mss.iter().flatten().min().copied());
    let stamps = flow.tcp.as_ref().is_some_and(|tcp| tcp.timestamps);
    offers.map_or(1448.0, |mss| f64::from(mss) - if stamps { 12.0 } else { 0.0 }).max(1.0)
}

fn of_rounds(rounds: &[Round], mss: f64, is_ect: bool) -> Option<Answer> {
    if rounds.len() < LEAST_ROUNDS {
        return None;
    }
    let windows = windows(rounds, mss);
    let all = episodes(rounds, &windows);
    let excursions = pulses::excursions(rounds, &windows);
    // What follows an excursion is its end, not an answer.
    let is_excursion = |at: usize| excursions.iter().any(|&(from, to)| (from..=to).contains(&at));
    let is_start = |e: &Episode| e.ends_slow_start || e.len >= 3 && e.at < LEAST_ROUNDS;
    let told: Vec<Episode> =
        all.into_iter().filter(|e| !is_start(e) && !is_excursion(e.at)).collect();
    let seen = Seen::new(rounds, &windows, told, excursions.len(), is_ect);
    if let Some(answer) = seen.bbr() {
        return Some(answer);
    }
    // Where SCE is spoken, what happens at CE and losses tells nothing: the answer to SCE does.
    if seen.esce() >= LEAST_SCE {
        return seen.sce();
    }
    seen.by_marks().or_else(|| seen.by_losses())
}

/// Everything that the tests look at.
struct Seen<'a> {
    rounds: &'a [Round],
    windows: &'a [f64],
    is_ect: bool,
    told: Vec<Episode>,
    /// Episodes of marks alone.
    marks: Vec<Episode>,
    /// With losses.
    losses: Vec<Episode>,
    pulses: usize,
    excursions: usize,
    probes: usize,
}

impl<'a> Seen<'a> {
    fn new(
        rounds: &'a [Round],
        windows: &'a [f64],
        told: Vec<Episode>,
        excursions: usize,
        is_ect: bool,
    ) -> Self {
        let (losses, marks) = told.iter().copied().partition(|episode| episode.has_loss);
        Self {
            rounds,
            windows,
            is_ect,
            told,
            excursions,
            marks,
            losses,
            pulses: pulses::in_rhythm(&pulses::pulses(rounds, windows)),
            probes: pulses::probes(rounds, windows),
        }
    }

    fn has_ce(&self) -> bool {
        self.rounds.iter().any(Round::has_ce)
    }

    /// Short episodes of losses: answered as classic, or not at all.
    fn losses(&self) -> (Vec<f64>, usize, usize) {
        // Small windows tell nothing here: BBR has them too, and reduces them at losses.
        let told = self.losses.iter().filter(|e| e.len <= 3 && e.before >= episodes::LEAST_WINDOW);
        let ratios: Vec<f64> = told.clone().map(|episode| episode.ratio).collect();
        let held = ratios.iter().filter(|&&ratio| ratio >= HELD).count();
        let cut = told.filter(|episode| episode.is_cut()).count();
        (ratios, cut, held)
    }

    /// Pulses or probes, while losses and marks are not answered.
    fn bbr(&self) -> Option<Answer> {
        let (ratios, cut, held) = self.losses();
        let cuts_by_marks = self.marks.iter().filter(|e| e.is_cut()).count();
        let answered = cut + cuts_by_marks;
        let is_answered = answered > (held + self.marks.len() - cuts_by_marks) / 2 + 1;
        // BBRv3 takes a loss as a bound, so that answers beside its excursions do not speak against it.
        if is_answered && self.excursions * 2 < answered.max(2 * LEAST_EXCURSIONS) {
            return None;
        }
        let quiet = self.rounds.iter().filter(|round| !round.has_signal()).count();
        let is_pulsed =
            self.pulses >= LEAST_PULSES && self.pulses as f64 * CYCLE >= PULSED * quiet as f64;
        let is_held = held >= LEAST_HELD && held >= AGREE * cut;
        let shapes = self.pulses + self.excursions;
        if !(is_pulsed
            || self.excursions >= LEAST_EXCURSIONS
            || self.probes > 0
            || is_held && shapes > 1)
        {
            return None;
        }
        let losses = match ratios.len() {
            0 => String::new(),
            n => format!("; window {:.2} of before after {n} losses", median(&ratios)),
        };
        let evidence = format!(
            "{} pulses of the window in a rhythm of 4 to 12 round trips without a signal, {} rises by 15 % and back to the same level, {} probes with a few packets for 200 ms{losses}",
            self.pulses, self.excursions, self.probes
        );
        Some(Answer { family: Family::BbrLike, evidence })
    }

    /// Mean part of the payload acknowledged with ESCE.
    fn esce(&self) -> f64 {
        self.rounds.iter().map(Round::sce_fraction).sum::<f64>() / self.rounds.len() as f64
    }

    /// ESCE that brings the window down.
    fn sce(&self) -> Option<Answer> {
        let fractions: Vec<f64> = self.rounds.iter().map(Round::sce_fraction).collect();
        let slope = slope::of(self.rounds, self.windows, &fractions, Round::has_ce)
            .filter(|slope| slope.t <= CERTAIN && slope.at(1.0) < 0.0);
        let Some(slope) = slope else { return self.stands_at_esce() };
        Some(Answer {
            family: Family::Sce,
            evidence: format!(
                "{:.0} % of the payload acknowledged with ESCE; in a round trip without any the window changes by {:+.1} segments, with all by {:+.1} (t {:.1}, {} rounds)",
                100.0 * self.esce(),
                slope.at(0.0),
                slope.at(1.0),
                slope.t,
                slope.n
            ),
        })
    }

    /// ESCE in one of four rounds or more at which the window stands, after it had grown.
    fn stands_at_esce(&self) -> Option<Answer> {
        let has_esce = |at: usize| {
            let near = &self.rounds[at.saturating_sub(STANDS_NEAR - 1)..=at];
            let round = &self.rounds[at];
            near.iter().any(|round| round.esce_bytes > 0)
                && !round.has_signal()
                && !round.is_limited()
        };
        let mut longest = 0..0;
        let mut from = 0;
        for at in 0..self.rounds.len() {
            if !has_esce(at) {
                from = at + 1;
            } else if at + 1 - from > longest.len() {
                longest = from..at + 1;
            }
        }
        // The first of them are still the overshoot.
        let settled = longest.start + longest.len() / 4..longest.end;
        let time: u64 = self.rounds[settled.clone()].iter().map(|round| round.duration).sum();
        if settled.len() < STANDS_ROUNDS || time < STANDS_NS {
            return None;
        }
        let eighth = settled.len() / 8;
        let first = median(&self.windows[settled.start..settled.start + eighth]);
        let last = median(&self.windows[settled.end - eighth..settled.end]);
        let growth = (last - first) / (settled.len() - eighth) as f64;
        let before = self.windows[..longest.start].iter().copied().fold(f64::INFINITY, f64::min);
        (growth.abs() <= STANDS_GROWTH && before < first / 2.0).then(|| Answer {
            family: Family::Sce,
            evidence: format!(
                "{:.0} % of the payload acknowledged with ESCE; with it in one of {STANDS_NEAR} of {} round trips ({:.1} s) the window of {first:.0} segments changes by {growth:+.2} a round trip",
                100.0 * self.esce(),
                settled.len(),
                time as f64 / 1e9
            ),
        })
    }

    fn by_marks(&self) -> Option<Answer> {
        let ratios: Vec<f64> = self.marks.iter().map(|episode| episode.ratio).collect();
        let cut = self.marks.iter().filter(|episode| episode.is_constant_cut()).count();
        let mild = self.marks.iter().filter(|episode| episode.is_mild()).count();
        if cut >= LEAST_EPISODES && cut >= AGREE * mild {
            let marked: Vec<f64> = self.marks.iter().map(|episode| episode.marked).collect();
            let evidence = format!(
                "window {:.2} of before after {} episodes of CE, with {:.0} % of the packets marked",
                median(&ratios),
                ratios.len(),
                100.0 * median(&marked)
            );
            return Some(Answer { family: Family::Classic, evidence });
        }
        if mild + self.standing() < LEAST_EPISODES.max(AGREE * cut) {
            return None;
        }
        let balance = self.balance()?;
        if balance > HEAVY * median(self.windows) {
            return self.unresponsive(mild + self.standing(), "stretches of CE");
        }
        self.scalable(&ratios, balance).or_else(|| self.halves_at_losses_alone(&ratios, mild, cut))
    }

    /// Stretches of rounds without losses in which a classic controller would have answered marks at least six times, if
    /// only every second round in a row, and this window is what it was: Reno's is at most a sixth of itself after
    /// that, and regrows a segment a round.
    fn standing(&self) -> usize {
        let mut count = 0;
        let mut at = self.told.first().map_or(0, |episode| episode.at);
        while let Some(stretch) = self.rounds.get(at..at + STRETCH) {
            let runs = stretch.chunk_by(|one, next| one.has_ce() == next.has_ce());
            let answers: usize =
                runs.filter(|run| run[0].has_ce()).map(|run| run.len().div_ceil(2)).sum();
            let (from, to) = (
                median(&self.windows[at..at + 3]),
                median(&self.windows[at + STRETCH - 3..at + STRETCH]),
            );
            let is_disturbed = stretch.iter().any(|round| round.lost > 0 || round.is_limited());
            let is_one = answers >= ANSWERS && from >= episodes::LEAST_WINDOW && to >= STOOD * from;
            count += usize::from(is_one && !is_disturbed);
            at += if is_one { STRETCH } else { 1 };
        }
        count
    }

    /// From this round on the moving average of marks has forgotten its start: its time constant is 16 rounds.
    fn settled(&self) -> Option<usize> {
        let settled = self.rounds.iter().position(Round::has_ce)? + 32;
        (settled + LEAST_ROUNDS <= self.rounds.len()).then_some(settled)
    }

    /// Segments by which a scalable controller would reduce a round.
    fn balance(&self) -> Option<f64> {
        let settled = self.settled()?;
        let averages = episodes::averages(self.rounds);
        let reductions: f64 = (settled..self.rounds.len())
            .filter(|&at| self.rounds[at].has_ce())
            .map(|at| self.windows[at] * averages[at] / 2.0)
            .sum();
        Some(reductions / (self.rounds.len() - settled) as f64)
    }

    /// Reductions in proportion: as much as the growth, and deeper the more is marked.
    fn scalable(&self, ratios: &[f64], balance: f64) -> Option<Answer> {
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let settled = self.settled()?;
        let after = self.told.first().map_or(settled, |episode| episode.at.saturating_sub(BEFORE));
        let rounds = &self.rounds[settled..];
        // ECE that lasts until CWR comes (RFC 3168 6.1.3) does not say how many marks there were; DCTCP's does.
        let by_ece: Vec<f64> =
            rounds.iter().filter(|round| round.ece > 0).map(|round| round.marked(false)).collect();
        if !sees && !by_ece.is_empty() && median(&by_ece) >= STICKY {
            return None;
        }
        let marked =
            rounds.iter().filter(|round| round.has_ce()).count() as f64 / rounds.len() as f64;
        let fractions: Vec<f64> = self.rounds.iter().map(|round| round.marked(sees)).collect();
        let slope = slope::of(rounds, &self.windows[settled..], &fractions[settled..], |_| false);
        let deeper = slope.filter(|slope| slope.t <= CERTAIN && slope.at(1.0) < 0.0);
        // Where every round has about as many marks, it shows by what it does in rounds without any.
        let after = after.min(settled);
        let any: Vec<f64> =
            self.rounds.iter().map(|round| f64::from(u8::from(round.has_ce()))).collect();
        let at_all =
            slope::of(&self.rounds[after..], &self.windows[after..], &any[after..], |_| false)
                .filter(|slope| slope.t <= CERTAIN && slope.at(0.0) > 0.0)
                .filter(|slope| slope.at(1.0) <= STOPPED * slope.at(0.0));
        let slope = deeper.or(at_all)?;
        let fits = BALANCE.contains(&balance);
        fits.then(|| Answer {
            family: Family::Scalable,
            evidence: format!(
                "window {:.2} of before after {} episodes of CE; marks in {:.0} % of the round trips, of which half the average share would take {balance:.2} segments a round trip (t {:.1})",
                median(ratios), ratios.len(), 100.0 * marked, slope.t
            ),
        })
    }

    /// Half at losses, as Reno, and next to nothing at marks that it was told of: RFC 9331 4.3.
    fn halves_at_losses_alone(&self, marks: &[f64], mild: usize, cut: usize) -> Option<Answer> {
        let (ratios, cut_by_losses, held) = self.losses();
        let is_told = self.rounds.iter().any(|round| round.ce_fed > 0);
        let fits = is_told
            && mild >= LEAST_HELD
            && cut == 0
            && cut_by_losses >= LEAST_EPISODES
            && held == 0
            && median(&ratios) < NOT_HALF;
        fits.then(|| Answer {
            family: Family::Scalable,
            evidence: format!(
                "window {:.2} of before after {} episodes of CE and {:.2} after {} losses",
                median(marks),
                marks.len(),
                median(&ratios),
                ratios.len()
            ),
        })
    }

    fn by_losses(&self) -> Option<Answer> {
        let (ratios, cut, held) = self.losses();
        let mild = self.marks.iter().filter(|episode| episode.is_mild()).count();
        let before: Vec<f64> = self.losses.iter().map(|episode| episode.before).collect();
        let least = if median(&before) >= COARSE { LEAST_EPISODES } else { 3 * LEAST_EPISODES };
        if cut >= least && cut >= AGREE * held && mild == 0 {
            let ratio = median(&ratios);
            // Reno's answer to a loss is a scalable controller's too: with marks about, only those would tell.
            let may_be_scalable = self.is_ect && self.has_ce();
            return (!may_be_scalable).then(|| Answer {
                family: Family::Classic,
                evidence: format!("window {ratio:.2} of before after {} losses", ratios.len()),
            });
        }
        if held >= LEAST_HELD && held >= AGREE * cut {
            return self.unresponsive(held, "losses");
        }
        None
    }

    /// A constant window through all signals.
    fn unresponsive(&self, episodes: usize, what: &str) -> Option<Answer> {
        let from = self.rounds.iter().position(Round::has_signal)?;
        let windows = &self.windows[from..];
        let middle = median(windows);
        let distance = windows.iter().map(|w| (w - middle).abs()).sum::<f64>()
            / (windows.len() as f64 * middle);
        let is_limited = self.rounds[from..].iter().filter(|round| round.is_limited()).count();
        (distance <= CONSTANT && is_limited * 4 < windows.len()).then(|| Answer {
            family: Family::Unresponsive,
            evidence: format!(
                "window of {middle:.0} segments within {:.1} % through {episodes} {what}",
                100.0 * distance
            ),
        })
    }
}

/// Rate of a scalable sender at a probability of marks of 1/2: 2 segments of 1500 bytes for each 25 ms
/// (draft-briscoe-iccrg-prague-congestion-control 2.4.4), Mbit/s.
const PRAGUE_MBPS: f64 = 0.96;
/// Times that rate from which on it is no such sender.
const FAR_ABOVE: f64 = 3.0;
/// Standard deviation of a constant rate over 100 ms, of its mean.
const STEADY: f64 = 0.1;
/// Intervals of 100 ms.
const LEAST_INTERVALS: u64 = 30;

/// Of datagrams: marked packets that arrive at a constant rate far above that of a controller with so many marks.
fn of_datagrams(flow: &Flow) -> Option<Answer> {
    let direction = sender(flow);
    let rate = direction.rate_mbps.filter(|rate| rate.n >= LEAST_INTERVALS)?;
    let marked = direction.ce_percent? / 100.0;
    let lawful = PRAGUE_MBPS * (1.0 - marked) / marked;
    let is_steady = rate.stddev <= STEADY * rate.mean;
    (marked > 0.0 && is_steady && rate.mean >= FAR_ABOVE * lawful).then(|| Answer {
        family: Family::Unresponsive,
        evidence: format!(
            "{:.2} Mbit/s within {:.1} % with {:.1} % CE, of which Prague would send {lawful:.2}",
            rate.mean,
            100.0 * rate.stddev / rate.mean,
            100.0 * marked
        ),
    })
}

#[cfg(test)]
mod tests;
