//! Which packets to take: the part of tcpdump's grammar (pcap-filter(7)) that names addresses, ports and protocols.
//!
//! ```text
//! expression = term { "or" term }
//! term       = factor { "and" factor }
//! factor     = "not" factor | "(" expression ")" | primitive
//! primitive  = [ protocol ] end | protocol
//! end        = [ "src" | "dst" ] ( "host" ADDRESS | "net" ADDRESS/LENGTH | "port" NUMBER )
//! protocol   = "ip" | "ip6" | "tcp" | "udp" | "icmp" | "icmp6"
//! ```
//!
//! `&&`, `||` and `!` are `and`, `or` and `not`. It reads the innermost IP packet, whatever that is carried in.

use std::net::IpAddr;

use sojourn_capture::layers::Layers;
use sojourn_wire::{Ip, ip};

/// Tokens of an expression: what nests deeper or is longer, nobody wrote by hand.
const MOST: usize = 256;

/// An expression that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Expression);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    /// Address and length of its prefix, bits.
    Net(Side, IpAddr, u32),
    Port(Side, u16),
    Protocol(u8),
    Version(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// One line: what was expected where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let spaced = ["(", ")", "&&", "||", "!"]
            .iter()
            .fold(text.to_owned(), |text, sign| text.replace(sign, &format!(" {sign} ")));
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        if tokens.len() > MOST {
            return Err(format!("expected at most {MOST} words, got {}", tokens.len()));
        }
        let mut rest = &tokens[..];
        let found = any(&mut rest)?;
        match rest.first() {
            None => Ok(Self(found)),
            Some(word) => Err(format!("expected `and` or `or` before `{word}`")),
        }
    }

    /// Whether a packet is to be taken.
    #[must_use]
    pub fn takes(&self, layers: &Layers<'_>) -> bool {
        self.0.takes(&layers.ip)
    }
}

fn any(rest: &mut &[&str]) -> Result<Expression, String> {
    let mut parts = vec![all(rest)?];
    while taken(rest, &["or", "||"]) {
        parts.push(all(rest)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
}

fn all(rest: &mut &[&str]) -> Result<Expression, String> {
    let mut parts = vec![factor(rest)?];
    while taken(rest, &["and", "&&"]) {
        parts.push(factor(rest)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
}

fn factor(rest: &mut &[&str]) -> Result<Expression, String> {
    if taken(rest, &["not", "!"]) {
        return Ok(Expression::Not(Box::new(factor(rest)?)));
    }
    if taken(rest, &["("]) {
        let inner = any(rest)?;
        return if taken(rest, &[")"]) { Ok(inner) } else { Err("expected `)`".into()) };
    }
    primitive(rest)
}

fn primitive(rest: &mut &[&str]) -> Result<Expression, String> {
    if let Some(protocol) = rest.first().and_then(|word| protocol(word)) {
        *rest = &rest[1..];
        let is_end = |word: &&str| ["src", "dst", "host", "net", "port"].contains(word);
        return Ok(if rest.first().is_some_and(is_end) {
            Expression::All(vec![protocol, end(rest)?])
        } else {
            protocol
        });
    }
    end(rest)
}

fn protocol(word: &str) -> Option<Expression> {
    Some(match word {
        "tcp" => Expression::Protocol(ip::TCP),
        "udp" => Expression::Protocol(ip::UDP),
        "icmp" => Expression::Protocol(ip::ICMP),
        "icmp6" => Expression::Protocol(ip::ICMPV6),
        "ip" => Expression::Version(4),
        "ip6" => Expression::Version(6),
        _ => return None,
    })
}

fn end(rest: &mut &[&str]) -> Result<Expression, String> {
    let side = if taken(rest, &["src"]) {
        Side::Source
    } else if taken(rest, &["dst"]) {
        Side::Destination
    } else {
        Side::Either
    };
    let expected = if side == Side::Either {
        "host, net, port, ip, ip6, tcp, udp, icmp or icmp6"
    } else {
        "host, net or port after src or dst"
    };
    let word = next(rest, expected)?;
    match word {
        "host" => {
            let text = next(rest, "an address")?;
            let address = address(text)?;
            Ok(Expression::Net(side, address, bits(address)))
        }
        "net" => {
            let text = next(rest, "a network such as 10.0.0.0/8")?;
            let wrong = || format!("expected a network such as 10.0.0.0/8, got `{text}`");
            let (network, length) = text.split_once('/').ok_or_else(wrong)?;
            let address = address(network)?;
            let length: u32 = length.parse().map_err(|_| wrong())?;
            if length > bits(address) {
                return Err(wrong());
            }
            Ok(Expression::Net(side, address, length))
        }
        "port" => {
            let text = next(rest, "a port")?;
            let port =
                text.parse().map_err(|_| format!("expected a port of 0 to 65535, got `{text}`"))?;
            Ok(Expression::Port(side, port))
        }
        other => Err(format!("expected {expected}, got `{other}`")),
    }
}

fn taken(rest: &mut &[&str], words: &[&str]) -> bool {
    let is_there = rest.first().is_some_and(|word| words.contains(word));
    if is_there {
        *rest = &rest[1..];
    }
    is_there
}

fn next<'t>(rest: &mut &[&'t str], expected: &str) -> Result<&'t str, String> {
    let (word, after) =
        rest.split_first().ok_or_else(|| format!("expected {expected} at its end"))?;
    *rest = after;
    Ok(word)
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("expected an address, got `{text}`"))
}

const fn bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl Expression {
    fn takes(&self, packet: &Ip<'_>) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.takes(packet)),
            Self::All(parts) => parts.iter().all(|part| part.takes(packet)),
            Self::Not(part) => !part.takes(packet),
            Self::Net(side, network, length) => {
                let ends = packet.addresses();
                side.of(
                    || is_within(ends.reversed().destination(), *network, *length),
                    || is_within(ends.destination(), *network, *length),
                )
            }
            Self::Port(side, port) => {
                ports(packet).is_some_and(|[from, to]| side.of(|| from == *port, || to == *port))
            }
            Self::Protocol(number) => packet.protocol == *number,
            Self::Version(version) => packet.bytes().first().is_some_and(|b| b >> 4 == *version),
        }
    }
}

impl Side {
    fn of(self, source: impl Fn() -> bool, destination: impl Fn() -> bool) -> bool {
        match self {
            Self::Source => source(),
            Self::Destination => destination(),
            Self::Either => source() || destination(),
        }
    }
}

/// Of TCP and UDP, and not of a later fragment.
fn ports(packet: &Ip<'_>) -> Option<[u16; 2]> {
    let has = matches!(packet.protocol, ip::TCP | ip::UDP) && !packet.is_fragment;
    let first: &[u8; 4] = packet.payload().first_chunk().filter(|_| has)?;
    Some([u16::from_be_bytes([first[0], first[1]]), u16::from_be_bytes([first[2], first[3]])])
}

/// Whether the first `length` bits of both are the same.
fn is_within(address: IpAddr, network: IpAddr, length: u32) -> bool {
    let differs = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    differs.leading_zeros() >= length
}

#[cfg(test)]
mod tests;
