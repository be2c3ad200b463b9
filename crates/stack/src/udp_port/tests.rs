use std::net::Ipv4Addr;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

fn header(from: u16, to: u16, tos: u8) -> udp::Header {
    let local = Ipv4Addr::LOCALHOST;
    let addresses = Addresses::V4 { source: local, destination: local };
    udp::Header { addresses, source: from, destination: to, tos, id: 0 }
}

// RFC 3168 5: the ECN field leaves and arrives with each packet.
#[test]
fn packets_pass_between_sockets_with_their_ecn() {
    let local = IpAddr::from(Ipv4Addr::LOCALHOST);
    let open = || UdpPort::open(local, 0).expect("a socket");
    let bound = |port: &UdpPort| port.socket.local_addr().expect("bound").port();
    let (near, mut far) = (open(), open());
    let (from, to) = (bound(&near), bound(&far));
    far.port = to;
    let (mut out, mut buffer) = ([0; 1500], [0; 1500]);
    for (tos, size) in [(1, 1000), (3, 1), (0xb9, 1200), (0, 9), (2, 700)] {
        let payload = vec![tos; size];
        let sent = header(from, to, tos).write(&payload, &mut out).expect("room");
        assert_eq!(near.send(sent).expect("sent"), Written::Taken);
        let wait = Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&far, PollFlags::IN)], Some(&wait)), Ok(1));
        let Read::Packet(len) = far.receive(&mut buffer).expect("received") else {
            panic!("nothing came")
        };
        let ip = Ip::parse(&buffer[..len]).expect("a packet");
        assert!(ip.has_valid_checksum() && ip.has_valid_payload() == Some(true));
        let (got, bytes) = udp::Header::parse(&ip).expect("UDP");
        assert_eq!((got, bytes), (header(from, to, tos & 3), &payload[..]));
    }
    assert_eq!(far.receive(&mut buffer).expect("none"), Read::Nothing);
    assert_eq!(near.send(&[0x45, 0]).expect("no packet"), Written::Malformed);
}

// send(2), udp(7): what the path says ends no run, what the socket says does.
#[test]
fn a_path_that_refuses_is_not_the_end() {
    let became = |errno: Errno| unsent(errno.into()).map_err(|error| error.raw_os_error());
    for errno in [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::PERM, Errno::CONNREFUSED] {
        assert_eq!(became(errno), Ok(Written::Full), "{errno}");
    }
    assert_eq!(became(Errno::MSGSIZE), Ok(Written::TooLong));
    assert_eq!(became(Errno::BADF), Err(Some(Errno::BADF.raw_os_error())));
}
