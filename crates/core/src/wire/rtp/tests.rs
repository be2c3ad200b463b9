use proptest::prelude::*;

use super::*;

const FRAME_END: Header = Header {
    marker: true,
    payload_type: PAYLOAD_TYPE,
    seq: 0x0102,
    timestamp: 116,
    ssrc: TOOL_SSRC,
    payload: 3,
};

// RFC 3550 5.1.
#[test]
fn a_header_is_twelve_bytes_in_network_order() {
    let bytes = FRAME_END.write();
    assert_eq!(bytes, [0x80, 0xe2, 1, 2, 0, 0, 0, 116, 0, 0, 0, 100]);
    let packet = [&bytes[..], &[7; 3]].concat();
    assert_eq!(Datagram::parse(&packet), Ok(Datagram::Media(FRAME_END)));
}

// EricssonResearch/scream, scream_receiver.cpp.
#[test]
fn keep_alives_and_texts_are_distinguished_from_media() {
    assert_eq!(Datagram::parse(&[0]), Ok(Datagram::KeepAlive));
    let mut out = [0; 64];
    let len = write_statistics(&mut out, "1.0, 2");
    assert_eq!((len, &out[..2]), (8, &[0x80, 0x7f][..]));
    assert_eq!(Datagram::parse(&out[..len]), Ok(Datagram::Statistics(b"1.0, 2")));
    assert_eq!(write_statistics(&mut out[..5], "1.0, 2"), 5, "cut to the buffer");
}

#[test]
fn sources_extension_and_padding_are_no_payload() {
    let mut bytes = FRAME_END.write().to_vec();
    bytes[0] |= 0x30 | 1;
    bytes.extend([0; 4]); // one contributing source
    bytes.extend([0xbe, 0xde, 0, 1, 0, 0, 0, 0]); // an extension of one word
    bytes.extend([9, 9, 9, 0, 2]); // three bytes and two of padding
    assert_eq!(Header::parse(&bytes), Ok(FRAME_END));
    for (cut, error) in [(11, Error::Short), (15, Error::Short), (23, Error::Short)] {
        assert_eq!(Header::parse(&bytes[..cut]), Err(error), "{cut}");
    }
    assert_eq!(Header::parse(&bytes[..24]), Err(Error::Padding));
    *bytes.last_mut().expect("bytes") = 6;
    assert_eq!(Header::parse(&bytes), Err(Error::Padding));
}

#[test]
fn what_is_no_rtp_is_named() {
    assert_eq!(Header::parse(&[]), Err(Error::Short));
    assert_eq!(Header::parse(&[0x40; 12]), Err(Error::Version(1)));
    let report = [&[0x8b, 205, 0, 36][..], &[0; 8]].concat();
    assert_eq!(Header::parse(&report), Err(Error::Rtcp(205)));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(Datagram::Media(header)) = Datagram::parse(&bytes) {
            prop_assert!(header.payload as usize + HEADER_BYTES <= bytes.len());
            prop_assert_eq!(&header.write()[1..], &bytes[1..HEADER_BYTES]);
        }
    }
}
