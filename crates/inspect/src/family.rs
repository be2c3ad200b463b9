//! Which congestion control a sender looks like, by what its window did about signals, round trip by round trip.
//!
//! A codepoint is not a behaviour: ECT(1) and AccECN are in no test here. What is measured is the factor by which the
//! window changes after an episode of signals, beside what each family would have done with the same signals:
//!
//! | family | to marks | to losses | otherwise |
//! |---|---|---|---|
//! | classic | 0.5 (RFC 5681 3.1) to 0.85 (RFC 8511), however few the marks | the same | grows until the next signal, by a segment a round or along CUBIC's curve |
//! | scalable | 1 - alpha/2 a round, alpha the average of marks (RFC 8257 3.3, RFC 9331 4.3) | 0.5 | one segment a round (less at short round trips) against about two marks a round |
//! | SCE | little for each, but falls while most are marked (draft-morton-tsvwg-sce 5) | 0.5 | |
//! | BBR-like | none, or a bound | none, or a bound | pulses of 1.25, falls without a signal, probes of 200 ms (draft-ietf-ccwg-bbr 5.3) |
//! | unresponsive | none | none | a constant |
//!
//! There is no answer if too few episodes tell, if they contradict each other, or if two families fit.

mod bbr;
mod classic;
mod cubic;
mod datagrams;
mod episodes;
mod falls;
mod growth;
mod law;
mod pulses;
mod scalable;
mod sce;
mod slope;
mod unresponsive;

use std::net::IpAddr;

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
/// Median window, segments, below which more episodes of marks must agree: a packet more or less is much.
const SMALL: f64 = 6.0;
/// Segments by which a scalable controller reduces in a round on average: as much as it grows, which is 1 (RFC 9331 4.3,
/// draft-briscoe-iccrg-prague-congestion-control 2.4.4), less below round trips of 25 ms.
const BALANCE: std::ops::RangeInclusive<f64> = 0.02..=3.0;
/// Reductions of a scalable controller, of the window in each round, through which none stands.
const HEAVY: f64 = 0.1;
/// t of a slope that chance does not make: below one in a thousand.
const CERTAIN: f64 = -3.5;
/// Windows of a constant: their mean distance from the median, of it.
const CONSTANT: f64 = 0.05;
/// A window that stands: rounds, time in ns (CUBIC's plateau is shorter), and segments a round, of which Reno grows by
/// one, or half of one with delayed ACKs that are counted by packets.
const STANDS_ROUNDS: usize = 40;
const STANDS_NS: u64 = 3_000_000_000;
const STANDS_GROWTH: f64 = 0.2;
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
        let with_esce = rounds.iter().filter(|round| round.esce_bytes > 0).count();
        let speaks = seen.esce() >= LEAST_SCE || with_esce >= LEAST_HELD;
        if let answer @ Some(_) = seen.sce() {
            return answer;
        }
        if speaks {
            return None;
        }
        seen.cubic()
            .or_else(|| seen.constant_through_marks())
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
    falls: usize,
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
            falls: falls::falls(rounds, windows),
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

    fn by_marks(&self) -> Option<Answer> {
        let ratios: Vec<f64> = self.marks.iter().map(|episode| episode.ratio).collect();
        let cut = self.marks.iter().filter(|episode| episode.is_constant_cut()).count();
        let mild = self.marks.iter().filter(|episode| episode.is_mild()).count();
        let before: Vec<f64> = self.marks.iter().map(|episode| episode.before).collect();
        let least = if median(&before) >= SMALL { LEAST_EPISODES } else { 4 * LEAST_EPISODES };
        let is_classic = cut >= least && cut >= AGREE * mild || self.one_deep_cut();
        if is_classic {
            let marked: Vec<f64> = self.marks.iter().map(|episode| episode.marked).collect();
            let evidence = format!(
                "window {:.2} of before after CE, {} times, with {:.0} % of the packets marked",
                median(&ratios),
                ratios.len(),
                100.0 * median(&marked)
            );
            let kept = Some(median(&ratios));
            return Some(Answer { family: Family::Classic, kept, evidence });
        }
        if mild + self.standing() < LEAST_EPISODES.max(AGREE * cut) {
            return None;
        }
        if self.counts_marks()
            && let answer @ Some(_) = self.follows_the_law()
        {
            return answer;
        }
        let balance = self.balance()?;
        if balance > HEAVY * median(self.windows) {
            return self.unresponsive(mild + self.standing(), "stretches of CE");
        }
        let halves = self.halves_at_losses_alone(&ratios, mild, cut);
        if !self.counts_marks() {
            return halves;
        }
        self.scalable(&ratios, balance)
            .or(halves)
            .or_else(|| self.scalable_by_balance())
            .or_else(|| self.stops_at_marks(balance))
    }
}

#[cfg(test)]
mod tests;
