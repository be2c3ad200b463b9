use super::*;

fn table(group_rows: usize) -> Vec<u8> {
    let names = [("a", 2), ("b", 3), ("a", 1)];
    let numbers: [&[f64]; 2] = [&[1.0, 2.0, 3.0, 4.0], &[5.0, f64::NAN]];
    let columns = [
        Column { name: "series", values: Values::Texts(&names) },
        Column { name: "value", values: Values::Numbers(&numbers, 1) },
    ];
    write(&columns, group_rows, &[])
}

#[test]
fn a_file_begins_and_ends_with_its_mark_and_says_how_long_its_footer_is() {
    let file = table(4);
    assert_eq!((&file[..4], &file[file.len() - 4..]), (MAGIC, MAGIC));
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    let footer = &file[file.len() - 8 - length as usize..file.len() - 8];
    // Version 2, and five elements below the head of a list.
    assert_eq!(footer[..4], [0x15, 4, 0x19, 0x3c]);
    assert_eq!(file, table(4));
}

#[test]
fn a_group_has_the_texts_of_its_own_rows() {
    let runs = [("a", 2), ("b", 3), ("a", 1), ("a", 2)];
    let all = within(&runs, &(0..8));
    assert_eq!((all.texts, all.runs), (vec!["a", "b"], vec![(0, 2), (1, 3), (0, 3)]));
    let some = within(&runs, &(3..6));
    assert_eq!((some.texts, some.runs), (vec!["b", "a"], vec![(0, 2), (1, 1)]));
}

#[test]
#[should_panic(expected = "columns of one length")]
fn columns_of_other_lengths_are_no_table() {
    let columns = [
        Column { name: "a", values: Values::Texts(&[("x", 2)]) },
        Column { name: "b", values: Values::Numbers(&[&[1.0]], 1) },
    ];
    let _ = write(&columns, 10, &[]);
}

#[test]
fn the_footer_holds_notes_before_the_name_of_the_writer() {
    let columns = [Column { name: "a", values: Values::Texts(&[("x", 2)]) }];
    let file = write(&columns, 10, &[("key", "text")]);
    // Field 5, a list of one structure with the texts 1 and 2; then field 6.
    let expected = b"\x19\x1c\x18\x03key\x18\x04text\x00\x18\x07sojourn\x00";
    assert!(file.windows(expected.len()).any(|bytes| bytes == expected));
}
