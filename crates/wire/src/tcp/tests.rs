use super::*;

// KAT wire 4
#[test]
fn the_syn_of_a_prague_sender_asks_for_accecn() {
    let segment = [
        0x93, 0x0a, 0x81, 0xdb, 0xb2, 0xfa, 0xf0, 0x53, 0, 0, 0, 0, 0xa1, 0xc2, 0xfa, 0xf0, 0xb8,
        0x6c, 0, 0, 0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x6d, 0x27, 0x47, 0x72, 0, 0,
        0, 0, 0x01, 0x03, 0x03, 0x07,
    ];
    let (header, len) = Header::parse(&segment).expect("a header");
    assert_eq!((header.source, header.destination), (37642, 33243));
    assert_eq!((header.seq, header.ack, header.window), (0xb2fa_f053, 0, 64240));
    assert_eq!((header.flags & !ECN_BITS, header.ace()), (SYN, 0b111));
    assert_eq!((len, header.options.mss), (40, Some(1460)));
    let (mut bytes, len) = header.to_bytes();
    let addresses =
        Addresses::V4 { source: [10, 9, 9, 1].into(), destination: [10, 9, 9, 2].into() };
    set_checksum(&mut bytes[..len], &addresses);
    assert_eq!(bytes[..len], segment);
}

#[test]
fn a_header_that_is_not_whole_is_refused() {
    let (bytes, len) = Header { flags: ACK, ..Header::default() }.to_bytes();
    assert_eq!(len, HEADER_BYTES);
    for cut in 0..len {
        assert_eq!(Header::parse(&bytes[..cut]), Err(Error::Short), "{cut}");
    }
    let mut bytes = bytes[..24].to_vec();
    for (offset, expected) in [(0x40, Error::Short), (0x70, Error::Short), (0x60, Error::Options)] {
        bytes[FLAGS_AT] = offset;
        bytes[20..].copy_from_slice(&[2, 5, 0, 0]);
        assert_eq!(Header::parse(&bytes), Err(expected), "{offset:x}");
    }
}

#[test]
fn new_ecn_flags_keep_the_checksum_right() {
    let addresses =
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    for (old, new) in (0..8).flat_map(|old| (0..8).map(move |new| (old, new))) {
        let flags = ACK | PSH | Header::ace_bits(old);
        let (bytes, len) = Header { flags, ack: 77, ..Header::default() }.to_bytes();
        let mut bytes = bytes[..len].to_vec();
        set_checksum(&mut bytes, &addresses);
        set_ace(&mut bytes, new, Checksum::Complete);
        let header = Header::parse(&bytes).expect("a header").0;
        assert_eq!((header.ace(), header.flags & !ECN_BITS), (new, ACK | PSH));
        assert_eq!(checksum::of_transport(&addresses, ip::TCP, &bytes), 0);
        let before = be16(&bytes, CHECKSUM_AT);
        set_ace(&mut bytes, old, Checksum::Partial);
        assert_eq!(be16(&bytes, CHECKSUM_AT), before);
    }
}
