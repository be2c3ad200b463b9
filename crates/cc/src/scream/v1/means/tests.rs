use super::super::super::Ticks;
use super::super::super::rates::Window;
use super::*;

// KAT scream1 18: ring of 8 -> means
#[test]
fn a_rate_is_whole_after_eight_windows() {
    let (mut means, mut window) = (Means::default(), Window::new(Ticks(0)));
    for n in 1..=8 {
        window.sent = 1000;
        let mean = means.add(window.close(Ticks(4096 * n)).unwrap());
        assert_eq!(mean.sent, 8000.0 * 16.0 * n as f32 / 8.0);
    }
    let mean = means.add(window.close(Ticks(4096 * 9)).unwrap());
    assert_eq!(mean.sent, 8000.0 * 16.0 * 7.0 / 8.0);
}
