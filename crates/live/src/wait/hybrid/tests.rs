use std::io::Write;
use std::os::fd::AsFd;

use super::*;

const SPIN: Dur = Dur::from_micros(25);

/// Wake-ups that take half of it.
fn prompt(mut hybrid: Hybrid) -> Hybrid {
    for _ in 0..100 {
        hybrid.wake_ups.note(Dur(hybrid.longest.0 / 2));
    }
    hybrid
}

#[test]
fn it_is_never_early_whether_it_spins_or_not() {
    for spin in [Dur::ZERO, SPIN] {
        let clock = Clock::start();
        let mut hybrid = Hybrid::new(clock, spin);
        for us in [300, 10, 100, 0] {
            let due = clock.now() + Dur::from_micros(us);
            let ready = loop {
                let ready = hybrid.wait([], Some(due)).expect("poll");
                if ready.is_due {
                    break ready;
                }
            };
            assert!(clock.now() >= due);
            assert_eq!((ready.is_readable, hybrid.departed), ([], Some(due)));
        }
    }
}

#[test]
fn any_of_the_descriptors_wakes_it_before_its_time() {
    let clock = Clock::start();
    for spin in [Dur::ZERO, SPIN] {
        let [(one, mut to_one), (other, mut to_other)] =
            [(); 2].map(|()| std::io::pipe().expect("a pipe"));
        let mut hybrid = Hybrid::new(clock, spin);
        to_other.write_all(b"x").expect("a pipe");
        let fds = [one.as_fd(), other.as_fd()];
        let hour = Some(clock.now() + Dur::from_secs(3600));
        let ready = hybrid.wait(fds, hour).expect("poll");
        assert_eq!(ready, Ready { is_due: false, is_readable: [false, true] });
        to_one.write_all(b"x").expect("a pipe");
        let ready = hybrid.wait(fds, None).expect("poll");
        assert_eq!(ready, Ready { is_due: false, is_readable: [true, true] });
        // The other end is gone, which reading reports.
        drop((to_one, to_other));
        assert_eq!(hybrid.wait(fds, None).expect("poll").is_readable, [true, true]);
    }
}

#[test]
fn a_descriptor_wakes_it_while_it_spins() {
    let clock = Clock::start();
    let mut hybrid = Hybrid::new(clock, Dur::from_millis(70));
    let (end, mut to_end) = std::io::pipe().expect("a pipe");
    let writer = std::thread::spawn(move || to_end.write_all(b"x").map(|()| to_end));
    let due = clock.now() + Dur::from_millis(60);
    assert_eq!(hybrid.spin_before(due), hybrid.longest);
    // On a busy machine it may be due first.
    while hybrid.wait([end.as_fd()], Some(due)).expect("poll").is_readable == [false] {}
    writer.join().expect("no panic").expect("a pipe");
}

#[test]
fn departures_closer_than_twice_the_spin_are_slept_for() {
    let mut hybrid = prompt(Hybrid::new(Clock::start(), SPIN * 2));
    let at = |us| Time::ZERO + Dur::from_micros(us);
    assert_eq!(hybrid.spin_before(at(10)), SPIN);
    hybrid.departed = Some(at(100));
    assert_eq!(hybrid.spin_before(at(149)), Dur::ZERO);
    assert_eq!(hybrid.spin_before(at(150)), SPIN);
    assert_eq!(hybrid.spin_before(at(90)), Dur::ZERO);
    let without = Hybrid::new(Clock::start(), Dur::ZERO);
    assert_eq!(without.spin_before(at(10)), Dur::ZERO);
}

/// A thread that spins whenever it may, `spin` at a time, and else sleeps for `sleep`.
fn greedy(spin: Dur, sleep: Dur) -> Vec<(Time, Time)> {
    let mut now = Time(12_345_678);
    let mut awake = Awake::at(now);
    let mut spells = Vec::new();
    while now < Time::ZERO + Dur::from_millis(700) {
        if awake.allows(spin) {
            spells.push((now, now + spin));
            now += spin;
            awake.count(now);
        } else {
            now += sleep;
            awake.wake(now);
            awake.count(now);
        }
    }
    spells
}

#[test]
fn spinning_takes_at_most_80_of_any_100_ms() {
    for (spin, sleep) in [(25, 25), (60, 1000), (700, 130), (3000, 7000)] {
        let spells = greedy(Dur::from_micros(spin), Dur::from_micros(sleep));
        let most = spells.iter().map(|(from, _)| {
            let to = *from + Dur(WINDOW);
            let within = spells.iter().filter(|(start, end)| start >= from && *end <= to);
            within.map(|(start, end)| end.since(*start).0).sum::<u64>()
        });
        let most = most.max().expect("it spins");
        assert!((70_000_000..=BUDGET).contains(&most), "{spin} us: {most} ns");
    }
}

#[test]
fn what_was_long_ago_does_not_count() {
    let mut awake = Awake::at(Time::ZERO);
    let at = |ms| Time::ZERO + Dur::from_millis(ms);
    awake.count(at(90));
    assert!(!awake.allows(SPIN));
    for ms in [195, 205] {
        awake.wake(at(ms));
        awake.count(at(ms));
        assert_eq!(awake.allows(SPIN), ms > 200, "{ms} ms");
    }
}

#[test]
fn it_learns_how_long_wake_ups_take() {
    let us = |us: u64| Dur(1000 * us);
    let mut wake_ups = WakeUps::within(us(60));
    assert_eq!(wake_ups.expected(), us(60));
    for _ in 0..100 {
        wake_ups.note(us(13));
    }
    assert!((us(13)..us(14)).contains(&wake_ups.expected()), "{wake_ups:?}");
    // Those of 10 and of 30 us, by turns: the spin is for the longer ones, and not for more.
    for at in 0..1000 {
        wake_ups.note(us(if at % 2 == 0 { 10 } else { 30 }));
    }
    assert!((us(28)..us(35)).contains(&wake_ups.expected()), "{wake_ups:?}");
    // A pause of the machine counts as the longest that it may spin.
    wake_ups.note(us(50_000));
    assert!(wake_ups.expected() < us(80), "{wake_ups:?}");
}
