//! Pings: echo requests on a raw socket, or over UDP, and the replies to them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_ip_tos;
use rustix::net::{
    RecvFlags, SendFlags, SocketType, bind, connect, ipproto, recv, recvfrom, send, sendto,
};

use super::context::Context;
use super::outcome::{Outcome, failed};
use super::socket::{enter, socket, udp, wait_for};
use crate::job::{Line, PingJob};

const IP_HEADER: usize = 20;
const HEADER: usize = 8;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

/// Starts the threads of a ping.
pub(super) fn open(context: &Context, index: usize, job: &PingJob) -> Outcome {
    let [near, far] = job.hosts;
    if let Some(port) = job.udp {
        let tos = job.tos;
        context.start_ready(&format!("responder of ping {index}"), far, move |_, ready| {
            let fd = udp(tos)?;
            bind(&fd, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)).map_err(failed("bind"))?;
            ready.send(()).map_err(failed("start"))?;
            respond(&fd)
        })?;
    }
    let job = job.clone();
    context.start(format!("ping {index}"), move |context| {
        enter(context.host(near)?)?;
        let server = context.address(far)?;
        let (fd, packets) = match job.udp {
            None => {
                let raw = socket(SocketType::RAW, Some(ipproto::ICMP))?;
                set_ip_tos(&raw, job.tos).map_err(failed("tos"))?;
                (raw, Packets::icmp(index, job.size))
            }
            Some(_) => (udp(job.tos)?, Packets::udp(job.size)),
        };
        let to = SocketAddrV4::new(server, job.udp.unwrap_or(0));
        connect(&fd, &to).map_err(failed("connect"))?;
        context.wait_until(job.start_ns);
        ask(context, index, &job, &fd, packets)
    });
    Ok(())
}

fn ask(
    context: &Context,
    index: usize,
    job: &PingJob,
    fd: &OwnedFd,
    mut packets: Packets,
) -> Outcome {
    let clock = context.clock;
    let (mut buffer, mut under_way) = (vec![0_u8; 1 << 16], HashMap::new());
    let (mut sent, mut received, mut next) = (0_u64, 0_u64, job.start_ns);
    loop {
        if clock.now() >= next {
            sent += 1;
            under_way.insert(sent as u16, clock.now());
            match send(fd, packets.request(sent as u16), SendFlags::empty()) {
                // Nobody answers before the responder's port is open, and no room is a loss.
                Ok(_) | Err(Errno::CONNREFUSED | Errno::NOBUFS) => {}
                Err(error) => return Err(format!("send: {error}")),
            }
            context.report(Line::Pings(index, sent, received))?;
            next = if next + job.interval_ns < job.stop_ns {
                next + job.interval_ns
            } else {
                u64::MAX
            };
            continue;
        }
        let until = (next < u64::MAX).then_some(next);
        if !wait_for(fd.as_fd(), PollFlags::IN, until, clock)? {
            continue;
        }
        let len = match recv(fd, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((len, _)) => len,
            Err(Errno::AGAIN | Errno::INTR) => continue,
            Err(error) => return Err(format!("recv: {error}")),
        };
        let now = clock.now();
        if let Some(then) = packets.number(&buffer[..len]).and_then(|n| under_way.remove(&n)) {
            received += 1;
            context.report(Line::Ping(index, now, now - then))?;
            context.report(Line::Pings(index, sent, received))?;
        }
    }
}

/// Sends back what comes; its socket has the TOS byte.
fn respond(fd: &OwnedFd) -> Outcome {
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        match recvfrom(fd, &mut buffer[..], RecvFlags::empty()) {
            Ok((len, _, Some(from))) => {
                sendto(fd, &buffer[..len], SendFlags::empty(), &from).map_err(failed("send"))?;
            }
            Ok((_, _, None)) | Err(Errno::INTR) => {}
            Err(error) => return Err(format!("recv: {error}")),
        }
    }
}

/// What a request looks like, and a reply.
struct Packets {
    /// What is handed over: with the ICMP header, without the UDP header.
    request: Vec<u8>,
    /// The identity of ICMP.
    icmp: Option<[u8; 2]>,
}

impl Packets {
    fn icmp(index: usize, size: u32) -> Self {
        let identity = (index as u16 + 1).to_be_bytes();
        let mut request = vec![0_u8; (size as usize).max(IP_HEADER + HEADER) - IP_HEADER];
        request[0] = ECHO_REQUEST;
        request[4..6].copy_from_slice(&identity);
        Self { request, icmp: Some(identity) }
    }

    fn udp(size: u32) -> Self {
        let least = IP_HEADER + HEADER + 2;
        let request = vec![0_u8; (size as usize).max(least) - IP_HEADER - HEADER];
        Self { request, icmp: None }
    }

    fn request(&mut self, number: u16) -> &[u8] {
        let number = number.to_be_bytes();
        if self.icmp.is_none() {
            self.request[..2].copy_from_slice(&number);
        } else {
            self.request[6..8].copy_from_slice(&number);
            self.request[2..4].fill(0);
            let sum = checksum(&self.request);
            self.request[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        &self.request
    }

    /// The number of the request that this answers.
    fn number(&self, reply: &[u8]) -> Option<u16> {
        let Some(identity) = self.icmp else {
            return Some(u16::from_be_bytes(*reply.first_chunk()?));
        };
        let Some([ECHO_REPLY, _, _, _, a, b, c, d]) = reply.get(IP_HEADER..IP_HEADER + HEADER)
        else {
            return None;
        };
        ([*a, *b] == identity).then(|| u16::from_be_bytes([*c, *d]))
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
mod tests;
