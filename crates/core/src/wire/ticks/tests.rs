use super::*;

#[test]
fn a_count_is_shown_from_the_nanosecond_on_at_which_it_is_reached() {
    let epoch = Time(17);
    for count in [66, 67, 65 + 65536, 1 << 32, (1 << 32) + 12345] {
        let at = Ticks::reached(count, epoch);
        assert_eq!(Ticks::count(at, epoch), count);
        assert_eq!(Ticks::count(Time(at.0 - 1), epoch), count - 1);
        assert_eq!(Ticks::at(at, epoch), Ticks(count as u32));
    }
    assert_eq!(Ticks::reached(65, epoch), epoch);
}
