use super::*;

// KAT scream1 9: hi and lo of maxInFlight
#[test]
fn the_history_keeps_maxima_and_means_for_its_time() {
    let mut history = InFlight::new(2);
    for bytes in [1000, 5000] {
        history.see(bytes);
    }
    assert_eq!((history.high(), history.low(700)), (5000, 700));
    history.step();
    history.see(2000);
    assert_eq!((history.high(), history.low(700)), (5000, 3000));
    history.step();
    history.step();
    assert_eq!((history.high(), history.low(700)), (2000, 2000));
}
