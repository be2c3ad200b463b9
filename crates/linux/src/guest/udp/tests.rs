use super::*;

fn sent(payloads: &[u32]) -> Vec<Sent> {
    payloads.iter().map(|p| Sent { at: 0, payload: *p, has_arrived: false }).collect()
}

#[test]
fn a_number_that_fits_is_taken_as_it_is() {
    let log = sent(&[100; 300]);
    assert_eq!(number(&log, &299_u64.to_le_bytes()), Some(299));
    assert_eq!(number(&log, &300_u64.to_le_bytes()), None, "nothing of that number was sent");
}

#[test]
fn a_short_payload_is_found_by_its_length_among_those_under_way() {
    // Numbers 1 and 257 end in the same byte.
    let mut payloads = vec![100; 600];
    (payloads[1], payloads[257]) = (1, 1);
    let mut log = sent(&payloads);
    assert_eq!(number(&log, &[1]), Some(257));
    log[257].has_arrived = true;
    assert_eq!(number(&log, &[1]), Some(1));
    log[1].has_arrived = true;
    assert_eq!(number(&log, &[1]), Some(257), "a duplicate");
    assert_eq!(number(&log, &[1, 2]), None, "of this length none was sent");
}
