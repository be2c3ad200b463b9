//! Pings: echo requests on a raw socket, and the replies to them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::mpsc;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_ip_tos;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, connect, ipproto, recv, send, socket,
};

use super::{Clock, Outcome, enter, said, wait_for};
use crate::job::{Line, PingJob};

const IP_HEADER: usize = 20;
const ICMP_HEADER: usize = 8;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

pub(super) fn echo(
    index: usize,
    ping: &PingJob,
    namespace: &str,
    server: Ipv4Addr,
    clock: Clock,
    pinged: &mpsc::Sender<Line>,
) -> Outcome {
    enter(namespace)?;
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))
        .map_err(said("socket"))?;
    set_ip_tos(&raw, ping.tos).map_err(said("tos"))?;
    connect(&raw, &SocketAddrV4::new(server, 0)).map_err(said("connect"))?;
    let identity = (index as u16 + 1).to_be_bytes();
    let mut request = vec![0_u8; (ping.size as usize).max(IP_HEADER + ICMP_HEADER) - IP_HEADER];
    request[0] = ECHO_REQUEST;
    request[4..6].copy_from_slice(&identity);
    let (mut buffer, mut under_way) = (vec![0_u8; 1 << 16], HashMap::new());
    let (mut sent, mut received, mut next) = (0_u64, 0_u64, ping.start_ns);
    let tell = |line| pinged.send(line).map_err(said("samples"));
    loop {
        if clock.now() >= next {
            sent += 1;
            request[6..8].copy_from_slice(&(sent as u16).to_be_bytes());
            request[2..4].fill(0);
            let sum = checksum(&request);
            request[2..4].copy_from_slice(&sum.to_be_bytes());
            under_way.insert(sent as u16, clock.now());
            send(&raw, &request, SendFlags::empty()).map_err(said("send"))?;
            tell(Line::Pings(index, sent, received))?;
            next = if next + ping.interval_ns < ping.stop_ns {
                next + ping.interval_ns
            } else {
                u64::MAX
            };
            continue;
        }
        let until = (next < u64::MAX).then_some(next);
        if !wait_for(raw.as_fd(), PollFlags::IN, until, clock)? {
            continue;
        }
        let len = match recv(&raw, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((len, _)) => len,
            Err(Errno::AGAIN | Errno::INTR) => continue,
            Err(error) => return Err(format!("recv: {error}")),
        };
        let now = clock.now();
        if let Some([ECHO_REPLY, _, _, _, a, b, c, d]) =
            buffer[..len].get(IP_HEADER..IP_HEADER + ICMP_HEADER)
            && [*a, *b] == identity
            && let Some(then) = under_way.remove(&u16::from_be_bytes([*c, *d]))
        {
            received += 1;
            tell(Line::Ping(index, now, now - then))?;
            tell(Line::Pings(index, sent, received))?;
        }
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| (*b).into()));
    let sum: u32 = words.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    !((folded >> 16) + folded) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_rfc_1071() {
        // RFC 1071, section 3: these words sum to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
    }
}
