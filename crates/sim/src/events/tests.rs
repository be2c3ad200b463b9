use proptest::prelude::*;

use super::*;

#[test]
fn equal_times_come_in_the_order_in_which_they_were_set() {
    let mut queue = EventQueue::new(3);
    queue.set(2, Time(5));
    queue.set(0, Time(5));
    queue.set(1, Time(4));
    queue.set(1, Time(5));
    let order: Vec<Slot> = std::iter::from_fn(|| queue.next()).map(|(_, s)| s).collect();
    assert_eq!(order, [2, 0, 1]);
}

#[test]
fn what_is_first_comes_before_others_of_its_time() {
    let mut queue = EventQueue::new(5);
    queue.set(0, Time(5));
    queue.set_in(3, Time(5), true);
    queue.set(1, Time(4));
    queue.set_in(2, Time(5), true);
    queue.set(4, Time(5));
    let order: Vec<Slot> = std::iter::from_fn(|| queue.next()).map(|(_, s)| s).collect();
    assert_eq!(order, [1, 3, 2, 0, 4]);
}

proptest! {
    #[test]
    fn pops_the_last_time_of_each_slot_in_order(
        sets in prop::collection::vec((0..20_u32, 0..50_u64), 0..200)
    ) {
        let mut queue = EventQueue::new(20);
        let mut last = [Time::NEVER; 20];
        for (slot, at) in sets {
            let at = if at == 0 { Time::NEVER } else { Time(at) };
            queue.set(slot, at);
            last[slot as usize] = at;
        }
        let popped: Vec<(Time, Slot)> = std::iter::from_fn(|| queue.next()).collect();
        prop_assert!(popped.windows(2).all(|w| w[0].0 <= w[1].0));
        let mut expected: Vec<(Time, Slot)> = (0..20)
            .map(|s| (last[s as usize], s))
            .filter(|(t, _)| *t != Time::NEVER)
            .collect();
        let mut got = popped.clone();
        expected.sort_unstable();
        got.sort_unstable();
        prop_assert_eq!(got, expected);
    }

    /// Times are few, so that many are equal, and slots enough for several rows.
    #[test]
    fn order_is_that_of_a_list_while_events_are_set_between(
        steps in prop::collection::vec(
            prop::collection::vec((0..70_u32, 0..8_u64), 0..6), 0..100
        )
    ) {
        let mut queue = EventQueue::new(70);
        let mut list = vec![None; 70];
        let (mut order, mut now, mut current) = (0, 0, None);
        for sets in steps {
            for (slot, ahead) in sets {
                let at = (ahead < 7).then_some(now + ahead);
                queue.set(slot, at.map_or(Time::NEVER, Time));
                let place: &mut Option<(u64, u64)> = &mut list[slot as usize];
                if current == Some(slot) || place.map(|(t, _)| t) != at {
                    order += 1;
                    *place = at.map(|at| (at, order));
                    current = current.filter(|c| *c != slot);
                }
            }
            if let Some(done) = current.take() {
                list[done as usize] = None;
            }
            let events = list.iter().enumerate();
            let first = events.filter_map(|(slot, key)| Some((((*key)?), slot as Slot))).min();
            prop_assert_eq!(queue.next(), first.map(|((at, _), slot)| (Time(at), slot)));
            if let Some(((at, _), slot)) = first {
                (now, current) = (at, Some(slot));
            }
        }
    }
}
