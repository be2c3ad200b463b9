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

#[test]
fn what_was_written_is_read() {
    let inner = Struct::new().long(3, 300).text(4, "ab");
    let bytes = Struct::new()
        .enumerated(1, -1)
        .list(2, vec![inner])
        .enumerated_list(3, &[7; 20])
        .text_list(15, &["x"])
        .finish();
    let mut reader = Reader::new(&bytes);
    let fields = reader.fields().unwrap();
    assert_eq!((reader.rest(), fields.int(1), fields.int(2)), (&[][..], Some(-1), None));
    let inner = fields.list(2).unwrap()[0].fields().unwrap();
    assert_eq!((inner.int(3), inner.text(4)), (Some(300), Some("ab")));
    assert_eq!(fields.list(3).map(<[Value]>::len), Some(20));
    assert_eq!(fields.list(15).map(<[Value]>::len), Some(1));
    assert!((0..bytes.len()).all(|end| Reader::new(&bytes[..end]).fields().is_none()));
}

#[test]
fn structures_within_each_other_have_an_end() {
    // Field 1 is a structure, of which field 1 is a structure, and so on.
    assert!(Reader::new(&[0x1c; 10_000]).fields().is_none());
    // A list of lists.
    assert!(Reader::new(&[[0x19].as_slice(), &[0x19; 10_000]].concat()).fields().is_none());
}
