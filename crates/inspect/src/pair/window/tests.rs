use proptest::prelude::*;

use super::*;

fn seen(key: u64, number: u64) -> Seen {
    let packet = Packet {
        key,
        tos: 0,
        ttl: 64,
        id: None,
        flags: 0,
        timestamps: None,
        options: None,
        is_valid: None,
    };
    Seen { packet, at: number as i64, flow: 0, from_low: true, number }
}

proptest! {
    /// A list that is searched from its beginning does the same.
    #[test]
    fn packets_are_found_oldest_first(steps in prop::collection::vec((0..4_u8, 0..5_u64), 1..300)) {
        let (mut window, mut list, mut number) = (Window::default(), Vec::new(), 0);
        for (step, key) in steps {
            match step {
                0 | 1 => {
                    window.push(seen(key, number));
                    list.push(Some((key, number)));
                    number += 1;
                }
                2 => {
                    let at = list.iter().position(|it| it.is_some_and(|it| it.0 == key));
                    let expected = at.and_then(|at| list[at].take()).map(|it| it.1);
                    prop_assert_eq!(window.take(key, |_| Some(0)).map(|it| it.number), expected);
                }
                _ => {
                    let expected = if list.is_empty() { None } else { list.remove(0) };
                    let popped = window.pop().map(|it| (it.packet.key, it.number));
                    prop_assert_eq!(popped, expected);
                }
            }
            prop_assert_eq!(window.len(), list.len());
            prop_assert_eq!(window.open, list.iter().flatten().count());
        }
        while window.len() > 0 {
            window.pop();
        }
        prop_assert!(window.chains.is_empty(), "no key outlives its packets");
    }
}

#[test]
fn the_best_of_those_alike_is_taken() {
    let mut window = Window::default();
    (0..3).for_each(|number| window.push(seen(7, number)));
    let best = window.take(7, |it| (it.number != 0).then_some(it.number as u32));
    assert_eq!(best.map(|it| it.number), Some(2));
    assert_eq!(window.take(7, |_| None).map(|it| it.number), None);
    assert_eq!(window.take(7, |_| Some(1)).map(|it| it.number), Some(0));
}
