//! What no signal explains: BBR's probes of bandwidth and of the round trip (draft-ietf-ccwg-bbr 5.3.3, 5.3.4).

use super::episodes::median;
use crate::rounds::Round;

/// A pulse is above the rounds beside it by this part: BBR sends 1.25 times its estimate for a round trip and drains
/// it in the next one; half of it is seen if the pulse is spread over two of our rounds.
const HEIGHT: f64 = 0.08;
/// And by this many segments.
const SEGMENTS: f64 = 2.0;
/// Tick of timestamps, ns: a round is uncertain by one of it (Linux: 1 ms).
const TICK: f64 = 1e6;
/// Rounds between two pulses. BBRv1's cycle is 8 of its least round trips (5.3.3), fewer of ours while there is a queue.
const SPACING: std::ops::RangeInclusive<usize> = 4..=12;
/// Smallest window that a pulse can be seen in, segments.
const LEAST_WINDOW: f64 = 12.0;
/// A probe of the round trip takes 200 ms and a round (5.3.4): from this on, ns.
const PROBE: u64 = 150_000_000;
/// And at most this, ns: two rounds of half a second.
const LONGEST_PROBE: u64 = 1_200_000_000;
/// Window of BBRv1's probe, segments, with one more burst of an ACK that was under way.
const PROBE_WINDOW: f64 = 6.0;

/// CE, a loss or ESCE: the window may change because of it.
pub(super) fn is_signalled(round: &Round) -> bool {
    round.has_signal() || round.esce_bytes > 0
}

/// Rounds at which the window rises above its neighbours and falls back, without a signal around.
pub(super) fn pulses(rounds: &[Round], windows: &[f64]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for at in 4..rounds.len().saturating_sub(3) {
        if windows[at] < LEAST_WINDOW {
            continue;
        }
        if rounds[at - 3..=at + 2].iter().any(|round| is_signalled(round) || round.is_limited()) {
            continue;
        }
        let (before, after) = (median(&windows[at - 3..at]), median(&windows[at + 1..at + 4]));
        let base = before.max(after);
        let uncertain = 1.5 * TICK / (rounds[at].duration as f64).max(1.0);
        let needed = (base * (HEIGHT + uncertain)).max(SEGMENTS);
        let is_flat = (before - after).abs() <= base * HEIGHT;
        if base >= LEAST_WINDOW
            && is_flat
            && windows[at] >= base + needed
            && found.last().is_none_or(|&last| at - last > 2)
        {
            found.push(at);
        }
    }
    found
}

/// A pulse of a regular rhythm may be this small, part of the rounds beside it, and segments: chance has no rhythm.
const LEAST_HEIGHT: f64 = 0.05;
const LEAST_SEGMENTS: f64 = 1.9;
/// Pulses on end that keep a rhythm within a round.
const LEAST_REGULAR: usize = 8;

/// Pulses of a regular rhythm, and its rounds: BBR cycles whatever is marked, where others only change their window because of
/// marks. Losses alone put it out of step.
pub(super) fn regular(rounds: &[Round], windows: &[f64]) -> Option<(usize, usize)> {
    let mut found: Vec<usize> = Vec::new();
    for at in 4..rounds.len().saturating_sub(3) {
        if windows[at] < LEAST_WINDOW {
            continue;
        }
        if rounds[at - 2..=at + 2].iter().any(|round| round.lost > 0 || round.is_limited()) {
            continue;
        }
        let (before, after) = (median(&windows[at - 3..at]), median(&windows[at + 1..at + 4]));
        let base = before.max(after);
        let uncertain = TICK / (rounds[at].duration as f64).max(1.0);
        let needed = (base * (LEAST_HEIGHT + uncertain)).max(LEAST_SEGMENTS);
        // The round before may have a part of the pulse.
        let is_level = |window: f64| (window - before).abs() <= base * LEAST_HEIGHT;
        let is_flat = is_level(after) && is_level(windows[at - 3]) && is_level(windows[at - 2]);
        let is_new = found.last().is_none_or(|&last| at - last > 2);
        // Within a round, where others add a segment a round until they are marked.
        let jump = (windows[at] - windows[at - 1]).max(windows[at - 1] - windows[at - 2]);
        let is_top = windows[at] >= windows[at - 1].max(windows[at + 1]);
        let is_sudden = is_top && windows[at] >= base + needed && jump >= LEAST_SEGMENTS;
        if base >= LEAST_WINDOW && is_flat && is_sudden && is_new {
            found.push(at);
        }
    }
    let spacings: Vec<usize> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The longest run in time; a pulse that is not seen leaves a spacing of two cycles.
    SPACING
        .map(|cycle| {
            let keeps =
                |spacing: &usize| spacing.abs_diff(cycle) <= 1 || spacing.abs_diff(2 * cycle) <= 1;
            let longest = spacings.split(|spacing| !keeps(spacing)).map(<[usize]>::len).max();
            (longest.unwrap_or(0), cycle)
        })
        .max_by_key(|&(kept, cycle)| (kept, std::cmp::Reverse(cycle)))
        .filter(|&(kept, _)| kept >= LEAST_REGULAR)
}

/// Rounds of the longest excursion: BBRv3 goes up for as long as the path bears it.
const LONGEST_EXCURSION: usize = 20;
/// Smallest window that an excursion is looked for in, and what it rises beyond 15 %, segments: others grow by up to two
/// segments in two rounds.
const LEAST_EXCURSION: f64 = 12.0;
const RISE: f64 = 3.5;
/// A window counts as flat if its rounds differ from their median by this part at the most.
const FLAT: f64 = 0.04;

/// First and last rounds of excursions: a flat window rises by 15 % within two rounds, whatever is signalled then, and is
/// back at about the same level, flat, within [`LONGEST_EXCURSION`] rounds. No controller that grows by a segment a
/// round, or by CUBIC's curve, leaves a level so and returns to it (draft-ietf-ccwg-bbr 5.3.3: PROBE_UP from CRUISE).
pub(super) fn excursions(rounds: &[Round], windows: &[f64]) -> Vec<(usize, usize)> {
    let is_flat = |from: usize, level: f64, part: f64| {
        windows.get(from..from + 4).is_some_and(|four| {
            four.iter().all(|window| (window - level).abs() <= part * level + 1.0)
        })
    };
    let mut found = Vec::new();
    let mut at = 4;
    while at + 3 < rounds.len() {
        let base = median(&windows[at - 4..at]);
        let uncertain = 1.5 * TICK / (rounds[at].duration as f64).max(1.0);
        let rises = windows[at] >= base * (1.05 + uncertain)
            && windows[at].max(windows[at + 1]) >= base * (1.15 + uncertain) + RISE;
        let is_limited =
            rounds[at - 4..at].iter().any(|round| round.is_limited() || round.lost > 0);
        if base < LEAST_EXCURSION || !rises || is_limited || !is_flat(at - 4, base, FLAT) {
            at += 1;
            continue;
        }
        let back = (at + 1..=at + LONGEST_EXCURSION).find(|&end| is_flat(end, base, 3.0 * FLAT));
        match back {
            Some(end) => {
                found.push((at, end));
                at = end + 4;
            }
            None => at += 1,
        }
    }
    found
}

/// How many pulses follow the one before in BBR's rhythm.
pub(super) fn in_rhythm(pulses: &[usize]) -> usize {
    pulses.windows(2).filter(|pair| SPACING.contains(&(pair[1] - pair[0]))).count()
}

/// Probes of the round trip: the window falls to a few packets for 200 ms without a loss, and is back at once.
pub(super) fn probes(rounds: &[Round], windows: &[f64]) -> usize {
    let mut count = 0;
    let mut at = 6;
    while at + 6 < rounds.len() {
        let before = median(&windows[at - 6..at - 1]);
        // At once, and not what marks bring down that were not there before.
        let has_ce = |some: &[Round]| some.iter().any(Round::has_ce);
        let is_news = has_ce(&rounds[at - 2..=at]) && !has_ce(&rounds[at - 6..at - 2]);
        let is_sudden = windows[at - 2] >= 0.7 * before && !is_news;
        if windows[at] > PROBE_WINDOW || before < 2.5 * PROBE_WINDOW || !is_sudden {
            at += 1;
            continue;
        }
        let low = windows[at..].iter().take_while(|&&window| window <= PROBE_WINDOW).count();
        let took: u64 = rounds[at..at + low].iter().map(|round| round.duration).sum();
        let around = &rounds[at - 3..(at + low + 1).min(rounds.len())];
        let back = windows.get(at + low + 1..at + low + 4).map_or(0.0, median);
        if (PROBE..=LONGEST_PROBE).contains(&took)
            && !around.iter().any(|round| round.lost > 0 || round.is_limited())
            && back >= 0.6 * before
        {
            count += 1;
        }
        at += low;
    }
    count
}
