use sojourn_core::Ecn;

use super::*;

fn metrics(received: &[bool]) -> impl ExactSizeIterator<Item = Metric> + '_ {
    received.iter().map(|r| Metric { received: r.then_some(Ticks(9)), ecn: Ecn::Ect1 })
}

/// Gives the ledger a report; the numbers that it passes on, and whether they arrived.
fn report(ledger: &mut Ledger, begin: u16, received: &[bool]) -> Vec<(u16, bool)> {
    let mut fates = Vec::new();
    ledger.on_block(Ticks(10), begin, metrics(received), &mut |a| {
        fates.push((a.seq, a.received.is_some()));
    });
    fates
}

#[test]
fn each_packet_counts_once_however_often_it_is_reported() {
    let mut ledger = Ledger::new(true);
    (0..10).for_each(|seq| ledger.on_sent(seq, Ticks(1)));
    assert_eq!(report(&mut ledger, 0, &[true, false, true]), [(0, true), (2, true)]);
    assert_eq!(report(&mut ledger, 0, &[true, true, true]), [(1, true)]);
    assert_eq!(report(&mut ledger, 20, &[true; 5]), [], "never sent");
    assert_eq!(ledger.arrived().total(), 3);
}

#[test]
fn what_is_a_window_behind_is_given_up_over_the_wrap() {
    let mut ledger = Ledger::new(true);
    let mut lost = Vec::new();
    for seq in (0..=u16::MAX).chain(0..1000) {
        ledger.on_sent(seq, Ticks(1));
        let fates = report(&mut ledger, seq, &[seq != 700 && seq != 5]);
        lost.extend(fates.into_iter().filter(|(_, arrived)| !arrived).map(|(seq, _)| seq));
    }
    assert_eq!(lost, [5, 700, 5], "the second 5 is of the next round");
}

#[test]
fn a_forged_report_closes_nothing_that_is_far_away() {
    let mut ledger = Ledger::new(true);
    (0..100).for_each(|seq| ledger.on_sent(seq, Ticks(1)));
    assert_eq!(report(&mut ledger, 40_000, &[false; 64]), []);
    assert_eq!(report(&mut ledger, 0, &[true]), [(0, true)]);
}
