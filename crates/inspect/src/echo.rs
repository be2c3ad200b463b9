//! Questions and answers: round trips of ICMP's echo, and of datagrams that name what they answer.

use std::collections::VecDeque;

use crate::samples::Samples;

/// Questions without answer that are remembered.
const MOST_OPEN: usize = 256;
/// Type, code, checksum, identifier, sequence number (RFC 792, RFC 4443 4).
const ICMP_HEADER: usize = 8;
/// A DNS header (RFC 1035 4.1.1).
const DNS_HEADER: usize = 12;
/// RFC 5389 6.
const STUN_COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// An NTP header (RFC 5905 7.3).
const NTP_HEADER: usize = 48;

/// What links an answer to its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name(u128);

/// A question, or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Question(Name),
    Answer(Name),
}

/// Round trips of the questions of either end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    /// Whether the opener asked, what, and when, ns.
    open: VecDeque<(bool, Name, u64)>,
    answered: [Samples; 2],
    asked: [u64; 2],
}

impl Echoes {
    /// Takes an ICMP message.
    pub(crate) fn on_icmp(&mut self, at: u64, forward: bool, message: &[u8]) {
        let Some(head) = message.first_chunk::<ICMP_HEADER>() else { return };
        let name = Name(u128::from(u32::from_be_bytes([head[4], head[5], head[6], head[7]])));
        match (head[0], head[1]) {
            (8 | 128, 0) => self.take(at, forward, Message::Question(name)),
            (0 | 129, 0) => self.take(at, forward, Message::Answer(name)),
            _ => {}
        }
    }

    /// Whether a datagram of these ports is of a protocol whose answers name their question.
    pub(crate) fn is_candidate(ports: [u16; 2], payload: &[u8]) -> bool {
        message(ports, payload).is_some()
    }

    /// Takes a datagram of these ports.
    pub(crate) fn on_udp(&mut self, at: u64, forward: bool, ports: [u16; 2], payload: &[u8]) {
        if let Some(message) = message(ports, payload) {
            self.take(at, forward, message);
        }
    }

    fn take(&mut self, at: u64, forward: bool, message: Message) {
        match message {
            Message::Question(name) => {
                self.asked[usize::from(!forward)] += 1;
                let is_open = |open: &&mut (bool, Name, u64)| (open.0, open.1) == (forward, name);
                // Asked again: the answer may be to either.
                if let Some(open) = self.open.iter_mut().find(is_open) {
                    open.2 = u64::MAX;
                    return;
                }
                if self.open.len() == MOST_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back((forward, name, at));
            }
            Message::Answer(name) => {
                let is_it = |open: &(bool, Name, u64)| (open.0, open.1) == (!forward, name);
                let Some(found) = self.open.iter().rposition(is_it) else { return };
                if let Some((asked_forward, _, asked)) = self.open.remove(found)
                    && asked <= at
                {
                    let rtt = &mut self.answered[usize::from(!asked_forward)];
                    rtt.record_ms(at - asked);
                }
            }
        }
    }

    /// Round trips of the opener's questions, and of its peer's.
    pub(crate) fn finish(self) -> [(u64, Samples); 2] {
        let [forward, backward] = self.answered;
        [(self.asked[0], forward), (self.asked[1], backward)]
    }
}

fn message(ports: [u16; 2], payload: &[u8]) -> Option<Message> {
    stun(payload).or_else(|| match ports {
        [53 | 5353, _] | [_, 53 | 5353] => dns(payload),
        [123, _] | [_, 123] => ntp(payload),
        _ => None,
    })
}

/// RFC 5389 6: the two highest bits are zero, then class and method, and a cookie.
fn stun(payload: &[u8]) -> Option<Message> {
    let head = payload.first_chunk::<20>()?;
    if head[0] >> 6 != 0 || head[4..8] != STUN_COOKIE {
        return None;
    }
    let name = Name(u128::from_be_bytes(*head[4..].first_chunk()?));
    match u16::from_be_bytes([head[0], head[1]]) & 0x0110 {
        0 => Some(Message::Question(name)),
        0x0100 | 0x0110 => Some(Message::Answer(name)),
        _ => None,
    }
}

fn dns(payload: &[u8]) -> Option<Message> {
    let head = payload.first_chunk::<DNS_HEADER>()?;
    // mDNS has no identifiers (RFC 6762 18.1).
    let name = Name(u128::from(u16::from_be_bytes([head[0], head[1]])));
    (name.0 != 0).then_some(())?;
    Some(if head[2] & 0x80 == 0 { Message::Question(name) } else { Message::Answer(name) })
}

/// RFC 5905 8: the origin timestamp of an answer is the question's transmit timestamp.
fn ntp(payload: &[u8]) -> Option<Message> {
    let head = payload.first_chunk::<NTP_HEADER>()?;
    let stamp = |at: usize| {
        let bytes = head[at..].first_chunk().copied().unwrap_or_default();
        Name(u128::from(u64::from_be_bytes(bytes)))
    };
    match head[0] & 7 {
        3 => Some(Message::Question(stamp(40))),
        4 => Some(Message::Answer(stamp(24))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
