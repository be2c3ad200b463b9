use proptest::prelude::*;

use super::*;

#[test]
fn strangers_are_none_until_three_agree() {
    let mut numbers = Numbers::default();
    numbers.begin(u32::MAX);
    assert_eq!(numbers.extend(0), Some(1));
    assert_eq!(numbers.extend(0x7000_0000), None);
    assert_eq!(numbers.extend(10), Some(11));
    assert_eq!(numbers.extend(0x7000_0000), None);
    assert_eq!(numbers.extend(0x7000_0100), None);
    assert_eq!(numbers.extend(0x7000_0200), Some(0x7000_0201));
}

proptest! {
    #[test]
    fn numbers_of_long_transfers_are_in_order(
        initial in any::<u32>(),
        steps in prop::collection::vec(-1_000_000..FARTHEST as i64, 1..60),
    ) {
        let mut numbers = Numbers::default();
        numbers.begin(initial);
        let (mut at, mut highest) = (0_i64, 0);
        for step in steps {
            at = highest + step;
            prop_assert_eq!(numbers.extend(initial.wrapping_add(at as u32)), Some(at));
            prop_assert_eq!(numbers.near(initial.wrapping_add(at as u32)), at);
            highest = highest.max(at);
        }
        let _ = at;
    }
}
