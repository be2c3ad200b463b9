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

mod datagrams;
mod episodes;
mod growth;
mod pulses;
mod slope;

use std::net::IpAddr;

use sojourn_core::math;

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
/// The same at marks, of which more must agree.
const SMALL: f64 = 6.0;
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
/// Before it stands it has fallen by this factor, or grown by two: a constant says nothing.
const MOVED: f64 = 1.25;
/// One of this number of rounds on end has ESCE.
const STANDS_NEAR: usize = 4;
/// Marks a round trip of a scalable controller, in each of this number of parts of the time.
const TWO_MARKS: std::ops::RangeInclusive<f64> = 0.7..=4.0;
const PARTS: usize = 4;
/// t of a slope beside other evidence: one in fifty.
const LIKELY: f64 = -2.0;
/// Smallest constant window, segments: Linux reduces none below two.
const LEAST_CONSTANT: f64 = 3.0;
/// Part of the packets with marks, in rounds with many.
const MANY: f64 = 0.1;
/// Rounds behind the first losses, which are slow start's.
const SETTLED: usize = 12;
/// Round trips with losses, and mean window in packets, below which nothing is said of a law of losses.
const LEAST_LOSSES: usize = 16;
const LEAST_AVERAGE: f64 = 16.0;
/// Window by that of Reno or CUBIC with so many losses, below which somebody may have been answered.
const NOT_BELOW_RENO: f64 = 0.8;
/// Window after a loss by that before, of which nothing was taken: Scalable TCP and Illinois take 1/8.
const KEPT: f64 = 0.95;
/// Window of a first climb, of that before the losses.
const FELL: f64 = 0.85;
/// Rounds about ESCE without another signal, segments by which the window falls then, and how often at least.
const SCE_AFTER: usize = 3;
/// Rounds on end with ESCE behind which a fall may have another reason.
const LONGEST_SCE: usize = 6;
const SCE_FALL: f64 = 2.0;
const LEAST_FALLS: usize = 6;
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
        Protocol::Udp => datagrams::answer(flow),
        _ => None,
    }
}

/// Takes back what the lack of answers has shown where the capture has other flows and nothing from that peer at all: it may be of one
/// direction.
pub(crate) fn only_where_peers_are_heard(flows: &mut [Flow]) {
    let is_silent = |flow: &Flow| {
        flow.protocol == Protocol::Udp
            && flow.family.is_some()
            && flow.forward.packets.min(flow.backward.packets) == 0
            && sender(flow).ecn.ce == 0
    };
    if flows.len() == 1 || !flows.iter().any(is_silent) {
        return;
    }
    let ends = |flow: &Flow| (flow.opener.address, flow.peer.address);
    let mut heard: Vec<(IpAddr, IpAddr)> = Vec::new();
    for flow in flows.iter() {
        let (opener, peer) = ends(flow);
        heard.extend((flow.forward.packets > 0).then_some((opener, peer)));
        heard.extend((flow.backward.packets > 0).then_some((peer, opener)));
    }
    heard.sort_unstable();
    for flow in flows.iter_mut().filter(|flow| is_silent(flow)) {
        let (opener, peer) = ends(flow);
        let back = if flow.forward.packets > 0 { (peer, opener) } else { (opener, peer) };
        if heard.binary_search(&back).is_err() {
            flow.family = None;
        }
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
    // Where SCE is spoken, what happens at CE and losses tells nothing: the answer to SCE does.
    seen.bbr().or_else(|| {
        let speaks = seen.esce() >= LEAST_SCE;
        if let answer @ Some(_) = seen.sce() {
            return answer;
        }
        if speaks {
            return None;
        }
        seen.constant_through_marks()
            .or_else(|| seen.by_marks())
            .or_else(|| seen.by_losses())
            .or_else(|| seen.by_growth())
    })
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
        self.bbr_by_rhythm().or_else(|| self.bbr_by_shape()).or_else(|| self.bbr_by_losses())
    }

    /// Pulses that keep time whatever is marked.
    fn bbr_by_rhythm(&self) -> Option<Answer> {
        let (pulses, cycle) = pulses::regular(self.rounds, self.windows)?;
        Some(Answer {
            family: Family::BbrLike,
            evidence: format!(
                "{pulses} pulses of the window, one every {cycle} round trips or one more or less, whatever is marked"
            ),
        })
    }

    /// A window far above that of Reno and CUBIC with so many losses, which a loss does not change, and which is no constant.
    fn bbr_by_losses(&self) -> Option<Answer> {
        let (times, kept, losses) = self.held_at_losses()?;
        let is_constant = self.distance(0) <= CONSTANT;
        (times >= NOT_BELOW_RENO && kept >= KEPT && !is_constant).then(|| Answer {
            family: Family::BbrLike,
            evidence: format!(
                "window {times:.1} times that of Reno or CUBIC with so many losses, and {kept:.2} of before after {losses} of them"
            ),
        })
    }

    /// The mean window behind the first losses by that which RFC 5681's or RFC 9438's law gives for losses in so many round trips, the
    /// window after a loss by that before, and in how many round trips there were losses.
    fn held_at_losses(&self) -> Option<(f64, f64, usize)> {
        let from = self.rounds.iter().position(|round| round.lost > 0)? + SETTLED;
        let rounds = self.rounds.get(from..self.rounds.len() - 2)?;
        let at: Vec<usize> = (from + 2..from + rounds.len())
            .filter(|&at| self.rounds[at].lost > 0 && self.rounds[at].timeouts == 0)
            .collect();
        // A controller answers losses once in a round trip, and the next one may still be of the same.
        let runs = rounds.chunk_by(|one, next| (one.lost > 0) == (next.lost > 0));
        let events: usize =
            runs.filter(|run| run[0].lost > 0).map(|run| run.len().div_ceil(2)).sum();
        let mean = |of: &dyn Fn(&Round) -> f64| {
            rounds.iter().map(of).sum::<f64>() / rounds.len().max(1) as f64
        };
        let window = mean(&|round| f64::from(round.packets));
        if events < LEAST_LOSSES || window < LEAST_AVERAGE {
            return None;
        }
        let packets_per_loss = window * rounds.len() as f64 / events as f64;
        let rtt_s = mean(&|round| round.duration as f64) / 1e9;
        let reno = 1.22 * packets_per_loss.sqrt();
        let cubic = 1.054 * math::pow(rtt_s * packets_per_loss, 0.75);
        let kept: Vec<f64> =
            at.iter().map(|&at| self.windows[at + 2] / self.windows[at - 1].max(1.0)).collect();
        Some((window / reno.max(cubic), median(&kept), at.len()))
    }

    fn bbr_by_shape(&self) -> Option<Answer> {
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
        self.sce_by_slope().or_else(|| self.falls_at_esce())
    }

    /// The window falls each time that ESCE comes, with neither CE nor a loss about.
    fn falls_at_esce(&self) -> Option<Answer> {
        let (mut falls, mut others, mut at) = (0, 0, SCE_AFTER);
        let mut changes = Vec::new();
        while at + SCE_AFTER < self.rounds.len() {
            if self.rounds[at].esce_bytes == 0 || self.rounds[at - 1].esce_bytes > 0 {
                at += 1;
                continue;
            }
            let len = self.rounds[at..].iter().take_while(|round| round.esce_bytes > 0).count();
            let end = at + len;
            let Some(after) = self.windows.get(end..end + SCE_AFTER) else { break };
            let about = &self.rounds[at - SCE_AFTER..end + SCE_AFTER];
            let is_disturbed = about.iter().any(|round| round.has_signal() || round.is_limited());
            if len <= LONGEST_SCE && !is_disturbed {
                let before = self.windows[at - 1..=at].iter().copied().fold(0.0, f64::max);
                let change = after.iter().copied().fold(f64::INFINITY, f64::min) - before;
                changes.push(change);
                if change <= -SCE_FALL { falls += 1 } else { others += 1 }
            }
            at = end;
        }
        (falls >= LEAST_FALLS && falls >= AGREE * others).then(|| Answer {
            family: Family::Sce,
            evidence: format!(
                "{falls} of {} times that ESCE comes, with neither CE nor losses about, the window falls, by {:.1} segments in the median",
                falls + others,
                -median(&changes)
            ),
        })
    }

    fn sce_by_slope(&self) -> Option<Answer> {
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
        let before = &self.windows[..longest.start.max(1)];
        let (low, high) = before.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &window| {
            (low.min(window), high.max(window))
        });
        let has_moved = low < first / 2.0 || high >= MOVED * first;
        (growth.abs() <= STANDS_GROWTH && has_moved).then(|| Answer {
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
        let before: Vec<f64> = self.marks.iter().map(|episode| episode.before).collect();
        let least = if median(&before) >= SMALL { LEAST_EPISODES } else { 4 * LEAST_EPISODES };
        if cut >= least && cut >= AGREE * mild {
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
        self.scalable(&ratios, balance)
            .or_else(|| self.halves_at_losses_alone(&ratios, mild, cut))
            .or_else(|| self.scalable_by_balance())
            .or_else(|| self.stops_at_marks(balance))
    }

    /// Stretches of rounds without losses in which a classic controller would have answered marks at least six times, if
    /// only every second round in a row, and this window is what it was: Reno's is at most a sixth of itself after
    /// that, and regrows a segment a round.
    fn standing(&self) -> usize {
        let mut count = 0;
        let first = self.told.first().map_or(0, |episode| episode.at);
        let mut at = self.settled().map_or(first, |settled| first.min(settled));
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

    /// It grew until marks came, and stands since then, with no more of them than it can make up for.
    fn stops_at_marks(&self, balance: f64) -> Option<Answer> {
        let standing = self.standing();
        let has_ended = |climb: &&growth::Climb| {
            let end = climb.at + climb.rounds;
            self.rounds.get(end..end + 2).is_some_and(|two| two.iter().any(Round::has_ce))
        };
        let climbs = growth::climbs(self.rounds, self.windows, 1);
        let climb = climbs.iter().find(has_ended)?;
        (standing >= LEAST_EPISODES && BALANCE.contains(&balance)).then(|| Answer {
            family: Family::Scalable,
            evidence: format!(
                "window from {:.0} to {:.0} segments in {} round trips without marks, and with them it stands in {standing} stretches of {STRETCH}; half the average share of marks would take {balance:.2} segments a round trip",
                climb.from, climb.to, climb.rounds
            ),
        })
    }

    /// About two marks a round trip all the time, at a window that stands: what scalable controllers settle at (RFC 9331 4.3,
    /// draft-briscoe-iccrg-prague-congestion-control 2.4.4).
    fn scalable_by_balance(&self) -> Option<Answer> {
        let settled = self.settled()?;
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let part = (self.rounds.len() - settled) / PARTS;
        let marks = |rounds: &[Round]| {
            let sum: f64 =
                rounds.iter().map(|round| round.marked(sees) * f64::from(round.packets)).sum();
            sum / rounds.len() as f64
        };
        let parts: Vec<f64> =
            self.rounds[settled..].chunks_exact(part.max(1)).take(PARTS).map(marks).collect();
        let is_even = parts.iter().all(|marks| TWO_MARKS.contains(marks));
        // It moves with the marks, and is no constant.
        let moves = self.distance(settled) > CONSTANT;
        let fractions: Vec<f64> = self.rounds.iter().map(|round| round.marked(sees)).collect();
        let slope = slope::of(
            &self.rounds[settled..],
            &self.windows[settled..],
            &fractions[settled..],
            |_| false,
        )?;
        (is_even && moves && slope.t <= LIKELY).then(|| Answer {
            family: Family::Scalable,
            evidence: format!(
                "{:.1} marks a round trip on average, in each quarter of the time from {:.1} to {:.1}; the window stands, and falls with the marks (t {:.1})",
                parts.iter().sum::<f64>() / parts.len() as f64,
                parts.iter().copied().fold(f64::INFINITY, f64::min),
                parts.iter().copied().fold(0.0, f64::max),
                slope.t
            ),
        })
    }

    /// The same window while the part of the packets that is marked becomes another one.
    fn constant_through_marks(&self) -> Option<Answer> {
        let first = self.rounds.iter().position(Round::has_ce)?;
        let from = (first + 2).min(self.rounds.len());
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let marked: Vec<f64> = self.rounds[from..]
            .iter()
            .filter(|round| round.has_ce())
            .map(|round| round.marked(sees))
            .collect();
        if marked.len() < STANDS_ROUNDS || median(&self.windows[from..]) < LEAST_CONSTANT {
            return None;
        }
        let mut sorted = marked;
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[sorted.len() / 10], sorted[sorted.len() * 9 / 10]);
        // What a scalable controller would take in a round with marks.
        let averages = episodes::averages(self.rounds);
        let cuts = (from..self.rounds.len()).filter(|&at| self.rounds[at].has_ce());
        let cut = cuts.map(|at| averages[at] / 2.0).sum::<f64>() / sorted.len() as f64;
        let segments = cut * median(&self.windows[from..]);
        let would_fall = cut > HEAVY || cut > HEAVY / 2.0 && segments > *BALANCE.end();
        let is_other = would_fall && high >= MANY && high >= 2.0 * low;
        if is_other { self.unresponsive(sorted.len(), "round trips with CE") } else { None }
    }

    /// A fall at losses and then growth as of Reno or CUBIC, with nothing that could mark or without ECT.
    fn by_growth(&self) -> Option<Answer> {
        let (ratios, _, held) = self.losses();
        let lost = self.rounds.iter().position(|round| round.lost > 0)?;
        let climbs = growth::climbs(self.rounds, self.windows, lost);
        let grows: usize = climbs.iter().map(|climb| climb.rounds).sum();
        let first = climbs.first()?;
        let before = self.windows[..=lost].iter().copied().fold(0.0, f64::max);
        let fell = first.from / before.max(1.0);
        // Of a scalable controller half is left after a loss.
        let not_half =
            ratios.iter().any(|ratio| *ratio >= NOT_HALF) && grows >= 2 * LEAST_ROUNDS;
        let may_be_scalable = self.is_ect && self.has_ce() && !not_half;
        let fits = !may_be_scalable
            && held == 0
            && fell <= FELL
            && grows >= LEAST_ROUNDS
            && self.pulses + self.excursions + self.probes == 0;
        fits.then(|| Answer {
            family: Family::Classic,
            evidence: format!(
                "window {fell:.2} of before after the first losses; {} climbs of {grows} round trips, the first from {:.0} to {:.0} segments{}",
                climbs.len(),
                first.from,
                first.to,
                if ratios.is_empty() { String::new() } else { format!("; {:.2} of before after {} more", median(&ratios), ratios.len()) }
            ),
        })
    }

    /// Mean distance of windows from their median, of it.
    fn distance(&self, from: usize) -> f64 {
        let windows = &self.windows[from..];
        let middle = median(windows);
        windows.iter().map(|w| (w - middle).abs()).sum::<f64>() / (windows.len() as f64 * middle)
    }

    fn by_losses(&self) -> Option<Answer> {
        let (ratios, cut, held) = self.losses();
        let mild = self.marks.iter().filter(|episode| episode.is_mild()).count();
        let before: Vec<f64> = self.losses.iter().map(|episode| episode.before).collect();
        let least = if median(&before) >= COARSE { LEAST_EPISODES } else { 3 * LEAST_EPISODES };
        if cut >= least && cut >= AGREE * held && mild == 0 {
            let ratio = median(&ratios);
            // Reno's answer to a loss is a scalable controller's too: with marks about, only those would tell.
            let may_be_scalable = self.is_ect && self.has_ce() && ratio < NOT_HALF;
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
        let (middle, distance) = (median(windows), self.distance(from));
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

#[cfg(test)]
mod tests;
