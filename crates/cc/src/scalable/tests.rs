use super::*;

#[test]
fn a_window_grows_by_a_hundredth_and_small_ones_as_reno() {
    let path = Path { cwnd_limited: true, ..Path::default() };
    for (cwnd, expected) in [(1000, 1010), (200, 202), (100, 101), (50, 51), (10, 11)] {
        let mut win = Window { ssthresh: 5, ..Window::new(cwnd) };
        for _ in 0..cwnd / 2 {
            let ack = Ack { acked: 2, may_raise: true, ..Ack::new(&path) };
            Params::default().on_ack(Time::ZERO, &ack, &mut win);
        }
        assert_eq!(win.cwnd, expected, "cwnd {cwnd}");
    }
}

#[test]
fn a_reduction_takes_an_eighth() {
    for (cwnd, expected) in [(1000, 875), (100, 88), (8, 7), (7, 7), (2, 2), (1, 2)] {
        let mut scalable = Params::default();
        let kept = scalable.ssthresh(Time::ZERO, &Path::default(), &Window::new(cwnd));
        assert_eq!(kept, expected, "cwnd {cwnd}");
    }
}
