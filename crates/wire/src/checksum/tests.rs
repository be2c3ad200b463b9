use proptest::prelude::*;

use super::*;

// KAT wire 1
#[test]
fn the_example_of_rfc_1071_has_its_sum() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(!of(&bytes), 0xddf2);
}

// KAT wire 2
#[test]
fn the_example_of_rfc_1624_becomes_zero_not_minus_zero() {
    assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
}

proptest! {
    /// Where not all words are zero, as no header is, both have one form of zero.
    #[test]
    fn an_update_equals_a_new_sum(
        mut bytes in prop::collection::vec(any::<u8>(), 12..80),
        word in any::<prop::sample::Index>(),
        new in prop_oneof![any::<u16>(), Just(0), Just(0xffff)],
    ) {
        bytes[0] |= 0x40; // as the version of an IP header
        bytes.truncate(bytes.len() & !1);
        put16(&mut bytes, 10, 0);
        let sum = of(&bytes);
        put16(&mut bytes, 10, sum);
        prop_assert_eq!(of(&bytes), 0);
        let at = [2, 4, 6, 8][word.index(4)];
        replace(&mut bytes, at, new, 10);
        let updated = be16(&bytes, 10);
        put16(&mut bytes, 10, 0);
        prop_assert_eq!(updated, of(&bytes));
    }
}
