use super::*;

#[test]
fn checksum_of_rfc_1071() {
    // RFC 1071, section 3: these words sum to ddf2.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    assert_eq!(checksum(&[0xff]), 0x00ff);
}

#[test]
fn a_reply_has_the_number_of_its_request() {
    let mut icmp = Packets::icmp(6, 84);
    let mut reply = [vec![0; IP_HEADER], icmp.request(0x1234).to_vec()].concat();
    assert_eq!(reply.len(), 84);
    assert_eq!(icmp.number(&reply), None, "a request is no reply");
    reply[IP_HEADER] = ECHO_REPLY;
    assert_eq!(icmp.number(&reply), Some(0x1234));
    assert_eq!(Packets::icmp(5, 84).number(&reply), None, "another ping's");
    let mut udp = Packets::udp(84);
    let echo = udp.request(0x1234).to_vec();
    assert_eq!((echo.len(), udp.number(&echo)), (56, Some(0x1234)));
}
