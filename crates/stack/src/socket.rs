//! One TCP connection between an end point and the wire.

use sojourn_core::{Dur, Rng, Time};
use sojourn_transport::tcp::{Arrival, Config, Quiet, Segment};
use sojourn_wire::Addresses;
use sojourn_wire::segment::{Connection, Settings, window_scale};

/// Ticks of Linux's timestamps.
const TICK: Dur = Dur::from_millis(1);
/// Headers of IPv4 and TCP; an MTU of IPv6 is smaller by what its header is larger.
const HEADERS: u32 = 40;
/// The answer to a SYN of RFC 3168; those to AccECN's are greater (RFC 9768 3.1.2).
const ECE: u8 = 1;
/// Bytes that have arrived with ECT(0), CE and ECT(1) at first (RFC 9768 3.2.1).
const FIRST_COUNTERS: [u32; 3] = [1, 0, 1];
/// How long a closed connection answers a repeated FIN (Linux `TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Dur = Dur::from_secs(60);
/// How long a SYN waits for the acknowledgement of its answer: five repeats of Linux (`tcp_synack_retries`).
const HALF_OPEN: Dur = Dur::from_secs(63);

/// How the host finds it: device, own port, peer's port.
pub(crate) type Key = (usize, u16, u16);
/// How the end point calls it: end, number of the connection.
pub(crate) type Name = (usize, u32);

/// Which end of a connection it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub(crate) is_accepted: bool,
    /// Both directions carry data.
    pub(crate) is_duplex: bool,
}

pub(crate) struct Socket {
    pub(crate) key: Key,
    pub(crate) name: Name,
    pub(crate) wire: Connection,
    pub(crate) quiet: Quiet,
    /// It may send AccECN's option.
    shows_counters: bool,
    /// TOS of what carries no data: that of the last such segment.
    tos: u8,
    state: State,
    /// When it is forgotten.
    gone_at: Time,
}

/// What a connection is to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Accepted; of the peer nothing but a SYN is known, which anybody may have sent.
    HalfOpen,
    Open,
    /// Both ends have closed (TIME-WAIT).
    Closed,
}

impl Socket {
    /// A connection that this end opens, or that it accepts, between these addresses. It begins with
    /// numbers that are drawn anew (RFC 6528 3, RFC 7323 5.4).
    pub(crate) fn new(
        key: Key,
        name: Name,
        role: Role,
        (addresses, tcp): (Addresses, &Config),
        rng: &mut Rng,
    ) -> Self {
        let wire = Connection::new(Settings {
            addresses,
            port: key.1,
            peer_port: key.2,
            isn: rng.u32(),
            mss: (tcp.mtu - HEADERS) as u16,
            window_scale: Some(window_scale(tcp.rmem_max.0)),
            timestamps: tcp.timestamps,
            sack: true,
            tick: TICK,
            first_tick: rng.u32(),
            first_id: rng.u32() as u16,
        });
        let shows_counters = tcp.accecn_option;
        let quiet = match role {
            Role { is_duplex: true, .. } => Quiet::of_both(),
            Role { is_accepted: true, .. } => Quiet::of_receiver(),
            _ => Quiet::of_sender(),
        };
        let state = if role.is_accepted { State::HalfOpen } else { State::Open };
        let gone_at = Time::NEVER;
        Self { key, name, wire, quiet, shows_counters, tos: 0, state, gone_at }
    }

    /// A segment of the end point leaves. The answer to an AccECN SYN has the option, so that the peer sees
    /// whether options get through (RFC 9768 3.2.3.2).
    pub(crate) fn on_departure(&mut self, now: Time, segment: &mut Segment, tos: u8) {
        if segment.len == 0 && !segment.flags.syn && !segment.flags.fin {
            self.tos = tos;
        }
        if self.shows_counters && segment.flags.syn && segment.flags.ack && segment.ace > ECE {
            segment.accecn = Some(FIRST_COUNTERS);
        }
        self.quiet.on_departure(now, segment);
    }

    /// The next segment of the quiet direction to send now, and its TOS: a FIN there is as capable of ECN as
    /// ACKs are.
    pub(crate) fn poll(&mut self, now: Time) -> Option<(Segment, u8)> {
        Some((self.quiet.poll(now)?, self.tos))
    }

    /// A segment of the peer arrives.
    pub(crate) fn on_arrival(&mut self, segment: &Segment) -> Arrival {
        // With a right acknowledgement number.
        if self.state == State::HalfOpen && segment.flags.ack {
            (self.state, self.gone_at) = (State::Open, Time::NEVER);
        }
        self.quiet.on_arrival(segment)
    }

    /// When it has something to do.
    pub(crate) fn deadline(&mut self, now: Time) -> Time {
        if self.state == State::HalfOpen && self.gone_at == Time::NEVER {
            self.gone_at = now + HALF_OPEN;
        }
        if self.state == State::Open && self.quiet.is_closed() {
            (self.state, self.gone_at) = (State::Closed, now + TIME_WAIT);
        }
        self.quiet.deadline().min(self.gone_at)
    }

    /// Whether it is forgotten now.
    pub(crate) fn is_gone(&self, now: Time) -> bool {
        self.gone_at <= now
    }

    /// Whether a host that is full may forget it.
    pub(crate) fn is_idle(&self) -> bool {
        self.gone_at < Time::NEVER
    }

    /// Whether both ends have closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
}
