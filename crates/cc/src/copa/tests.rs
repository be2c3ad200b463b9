use super::*;

fn ms(n: u64) -> Dur {
    Dur::from_millis(n)
}

fn path() -> Path {
    Path { mss: 1448, srtt: ms(100), cwnd_limited: true, paced: true, ..Path::default() }
}

fn steady(cwnd: u32, rtt: Dur) -> (Copa, Window) {
    let (mut copa, mut win) = (Copa::new(Params::default()), Window::new(10));
    copa.on_established(Time::ZERO, &path(), &mut win);
    copa.min_rtt.update(Time::ZERO, MIN_RTT_WINDOW, ms(100));
    copa.standing.update(Time::ZERO, ms(50), rtt);
    copa.slow_start = false;
    copa.cwnd = f64::from(cwnd);
    copa.round_end = u64::MAX;
    win.cwnd = cwnd;
    (copa, win)
}

// KAT copa 1: 1/delta = 2 segments in the queue, W·dq/RTT = 2.
#[test]
fn window_grows_below_two_segments_of_queue_and_shrinks_above() {
    let path = path();
    for (rtt_us, grows) in [(100_000, true), (102_000, true), (102_080, false), (110_000, false)] {
        let (mut copa, mut win) = steady(100, Dur::from_micros(rtt_us));
        copa.up = grows;
        let ack = Ack { acked: 1, ..Ack::new(&path) };
        copa.on_ack(Time::ZERO, &ack, &mut win);
        let step = if grows { 0.02 } else { -0.02 };
        assert!((copa.cwnd - 100.0 - step).abs() < 1e-9, "{rtt_us} us: {}", copa.cwnd);
    }
}

// KAT copa 2
#[test]
fn velocity_doubles_after_three_round_trips_in_one_direction() {
    let (mut copa, _) = steady(100, ms(100));
    let mut velocities = Vec::new();
    for _ in 1..=6 {
        copa.cwnd += 1.0;
        copa.end_round(&path());
        velocities.push(copa.velocity);
    }
    assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    copa.cwnd -= 5.0;
    copa.end_round(&path());
    assert_eq!(copa.velocity, 1.0);
}

// KAT copa 3
#[test]
fn it_competes_after_five_round_trips_without_a_nearly_empty_queue() {
    let (mut copa, _) = steady(100, ms(100));
    let mut modes = Vec::new();
    for n in 1..=8_u64 {
        // The queue swings between 30 and 50 ms: never below 10 % of 50.
        let rtt = if n % 2 == 0 { ms(130) } else { ms(150) };
        copa.measure(Time::ZERO + ms(100) * n, rtt, ms(100));
        copa.end_round(&path());
        modes.push(copa.competing);
    }
    assert_eq!(modes, [false, false, false, false, false, true, true, true]);
    assert_eq!(copa.weight, 5.0, "1/delta grows by one per round trip");
    copa.lost_in_round = true;
    copa.end_round(&path());
    assert_eq!(copa.weight, 2.5);
    copa.measure(Time::ZERO + ms(900), ms(101), ms(100));
    assert!(!copa.competing && copa.weight == 2.0);
}
