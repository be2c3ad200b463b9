//! TCP connections of the simulator's end points, as they show on the wire.

use std::collections::BTreeMap;

use sojourn_core::{Dur, Rng, Time};
use sojourn_scenario::{Flow, Scenario};
use sojourn_transport::tcp::{Segment, quiet_window};
use sojourn_wire::segment::{Connection, Settings, window_scale};
use sojourn_wire::{Addresses, Ip, tcp};

/// Port of the first flow or ping at the end that does not open it: iperf3's. The others follow.
pub(crate) const FIRST_PORT: u16 = 5201;
/// Ports of ends that open connections (Linux `ip_local_port_range`).
const OPENING: std::ops::Range<u16> = 32768..61000;
/// Port of the control connection that precedes a flow's: netperf's.
const CONTROL: u16 = 12865;
/// A tick of Linux's timestamps.
const TICK: Dur = Dur::from_millis(1);
/// Headers of IPv4 and TCP.
const HEADERS: u32 = 40;
/// Connections after which those that were silent meanwhile are forgotten.
const GENERATION: usize = 1 << 14;

/// Flow, number of the connection.
type Key = (usize, u32);

/// A connection: the end that opens it, then the other one.
struct Pair {
    ends: [Connection; 2],
    /// Both directions carry data.
    is_duplex: bool,
    /// What the clock of each end is at 0, which its peer echoes.
    first_ticks: [u32; 2],
}

/// The connections that have sent something lately.
#[derive(Default)]
pub(crate) struct Connections {
    young: BTreeMap<Key, Pair>,
    /// Those that have sent nothing since `young` was last empty.
    old: BTreeMap<Key, Pair>,
}

impl Connections {
    /// Writes a segment that this end of a flow sends. None if the simulator's segment cannot be one of the wire.
    pub(crate) fn write<'a>(
        &mut self,
        scenario: &Scenario,
        end: usize,
        addresses: Addresses,
        (segment, tos): (&Segment, u8),
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let flow = scenario.flows.get(end / 2)?;
        if segment.flags.control {
            return write_control(end, addresses, segment, flow.tcp.timestamps, out);
        }
        let key = (end / 2, segment.connection);
        // The end that opens the connection, or the other one.
        let side = end % 2;
        let is_first = segment.flags.syn && !segment.flags.ack;
        let pair = self.get(key, is_first.then_some((scenario, flow, side, addresses)))?;
        let mut segment = *segment;
        if side == 0 && !pair.is_duplex {
            // The simulator's end that sends the data has no window.
            segment.window = quiet_window(segment.flags.syn);
        }
        if segment.tsecr != Time::NEVER {
            segment.tsecr += Dur(u64::from(pair.first_ticks[1 - side]) * TICK.0);
        }
        let packet = pair.ends[side].write(&segment, tos, &[], out).ok()?;
        if segment.flags.syn {
            // Whether it arrives is another matter: what it says holds for all that follow.
            let _ = pair.ends[1 - side].read(&Ip::parse(packet).ok()?);
        }
        Some(packet)
    }

    /// The connection; one that opens is made.
    fn get(
        &mut self,
        key: Key,
        opens: Option<(&Scenario, &Flow, usize, Addresses)>,
    ) -> Option<&mut Pair> {
        if !self.young.contains_key(&key) {
            let made =
                |(scenario, flow, side, addresses)| Pair::new(scenario, flow, key, side, addresses);
            let pair = self.old.remove(&key).or_else(|| opens.map(made))?;
            if self.young.len() >= GENERATION {
                self.old = std::mem::take(&mut self.young);
            }
            self.young.insert(key, pair);
        }
        self.young.get_mut(&key)
    }
}

impl Pair {
    /// A connection whose end number `side`, 0, opens it with a segment between these addresses. Its first
    /// numbers are drawn (RFC 6528 3, RFC 7323 5.4).
    fn new(
        scenario: &Scenario,
        flow: &Flow,
        (number, connection): Key,
        side: usize,
        addresses: Addresses,
    ) -> Self {
        let name = format!("flow.{}.capture.{connection}", flow.name);
        let mut rng = Rng::named(scenario.seed, &name);
        let ports = ports(number, connection);
        let mut first_ticks = [0; 2];
        let ends = [0, 1].map(|own: usize| {
            first_ticks[own] = rng.u32();
            Connection::new(Settings {
                addresses: if own == side { addresses } else { addresses.reversed() },
                port: ports[own],
                peer_port: ports[1 - own],
                isn: rng.u32(),
                mss: (flow.tcp.mtu - HEADERS) as u16,
                window_scale: Some(window_scale(flow.tcp.rmem_max.0)),
                timestamps: flow.tcp.timestamps,
                sack: true,
                tick: TICK,
                first_tick: first_ticks[own],
                first_id: rng.u32() as u16,
            })
        });
        Self { ends, is_duplex: flow.app.build().is_duplex(), first_ticks }
    }
}

/// The port of a flow or ping at the end that does not open it.
pub(crate) fn port(number: usize) -> u16 {
    FIRST_PORT.wrapping_add(number as u16)
}

/// Ports of the end that opens a connection, and of the other one.
fn ports(number: usize, connection: u32) -> [u16; 2] {
    let count = u32::from(OPENING.end - OPENING.start);
    let place = (number as u32).wrapping_add(connection) % count;
    [OPENING.start + place as u16, port(number)]
}

/// A message of the control connection: a segment without data.
fn write_control<'a>(
    end: usize,
    addresses: Addresses,
    segment: &Segment,
    timestamps: bool,
    out: &'a mut [u8],
) -> Option<&'a mut [u8]> {
    let [opener, _] = ports(end / 2, 0);
    let (source, destination) =
        if end.is_multiple_of(2) { (opener, CONTROL) } else { (CONTROL, opener) };
    let mut header = tcp::Header { source, destination, flags: tcp::ACK, ..tcp::Header::default() };
    (header.seq, header.ack) = (1, 1);
    if timestamps {
        let ticks = |time: Time| if time == Time::NEVER { 0 } else { (time.0 / TICK.0) as u32 };
        header.options.timestamps = Some((ticks(segment.tsval), ticks(segment.tsecr)));
    }
    header.write(addresses, out)
}
