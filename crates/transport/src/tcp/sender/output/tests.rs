use super::*;

// KAT idle 1
#[test]
fn idle_restart_halves_once_per_timeout_down_to_the_initial_window() {
    let rto = Dur::from_millis(300);
    assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(1050), rto), 10);
    assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(900), rto), 20);
    assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(200), rto), 80);
}
