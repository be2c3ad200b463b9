use super::*;

#[test]
fn fields_lists_and_numbers_are_those_of_the_compact_protocol() {
    // THRIFT-110: field deltas, zigzag, varints; a list of more than 14 has its size after its head.
    let inner = Struct::new().long(3, 300).text(4, "ab");
    let bytes = Struct::new().enumerated(1, -1).part(16, inner).finish();
    assert_eq!(bytes, [0x15, 1, 0xfc, 0x36, 0xd8, 4, 0x18, 2, b'a', b'b', 0, 0]);
    assert_eq!(Struct::new().enumerated_list(2, &[1, 2]).finish(), [0x29, 0x25, 2, 4, 0]);
    let long = Struct::new().enumerated_list(1, &[0; 15]).finish();
    assert_eq!(long[..3], [0x19, 0xf5, 15]);
    assert_eq!(long.len(), 3 + 15 + 1);
}
