use super::*;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

/// Sends every 20 ms from `from` to `to`, ms.
fn send(hearing: &mut Hearing, from: u64, to: u64) {
    (from..=to).step_by(20).for_each(|n| hearing.sent(ms(n)));
}

#[test]
fn silences_add_up_and_a_pause_of_the_sender_is_none() {
    let mut hearing = Hearing::default();
    send(&mut hearing, 0, 100);
    assert!(!hearing.is_fresh(), "nothing is known yet");
    hearing.heard(ms(100));
    assert!(hearing.is_fresh() && hearing.missing(ms(100)) == Dur::ZERO);
    // The last packet before a pause is lost.
    hearing.sent(ms(120));
    assert!(!hearing.is_silent() && hearing.missing(ms(9000)) == Dur::ZERO);
    hearing.heard(ms(9020));
    send(&mut hearing, 9040, 12_040);
    assert!(hearing.is_silent() && !hearing.is_fresh() && hearing.has_heard());
    hearing.heard(ms(12_040));
    assert_eq!(hearing.missing(ms(20_000)), Dur::from_secs(3));
    send(&mut hearing, 20_000, 22_000);
    assert_eq!(hearing.missing(ms(22_000)), Dur::from_secs(5));
}

#[test]
fn what_the_receivers_host_reported_holds_until_a_report_comes() {
    let mut hearing = Hearing::default();
    hearing.refused();
    send(&mut hearing, 0, 5000);
    assert_eq!(hearing.reason(), Some("nobody listens there"));
    assert!(hearing.busy() && !hearing.busy(), "reported once");
    assert_eq!(hearing.reason(), Some("it is busy with another sender"));
    hearing.heard(ms(5000));
    assert_eq!(hearing.reason(), None);
}
