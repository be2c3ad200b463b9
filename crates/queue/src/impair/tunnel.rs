//! The two ends of an IP tunnel: what an AQM between them sees, and what of its marks survives.
//! ECN by RFC 6040, sequence numbers and replay window by RFC 4303 3.4.3 and RFC 6479.
//!
//! Between the ends a packet is UDP between two hosts, with no flags and no acknowledgement in
//! sight; [`Packet::flow`] stays, since it routes the packet and no queue takes it for a header.
//! The ends do not change [`Packet::len`], since a discipline conserves bytes: the port in front
//! of each adds or removes the outer header.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::element::{Element, InPath};
use crate::aqm::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{maybe, number};
use sojourn_core::packet::{Kind, Packet};
use sojourn_core::{choices, parameters};

choices! {
    /// How the ingress sets the outer codepoint.
    #[derive(Default, Deserialize, JsonSchema, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "TunnelEcn")]
    pub enum Mode {
        /// Copies the inner codepoint (RFC 6040 4.1).
        #[default]
        Normal = "normal",
        /// Not-ECT, for an egress that knows no ECN (RFC 6040 4.1).
        #[serde(rename = "compat")]
        Compatibility = "compat",
        /// Copies ECT and turns CE into ECT(0): the full-functionality mode of RFC 3168 9.1.1, which
        /// RFC 6040 replaced and Linux 7.2 still has.
        #[serde(rename = "rfc3168")]
        FullFunctionality = "rfc3168",
    }
}

choices! {
    /// The outer DSCP.
    #[derive(Default, Deserialize, JsonSchema, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "TunnelDscp")]
    pub enum Dscp {
        /// The inner DSCP (RFC 2983's uniform model at the ingress).
        #[default]
        Copy = "copy",
        /// Zero.
        Zero = "zero",
    }
}

choices! {
    /// What flow queues find to tell inner flows apart.
    #[derive(Default, Deserialize, JsonSchema, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "TunnelEntropy")]
    pub enum Entropy {
        /// Nothing: one 5-tuple for the whole tunnel (WireGuard, IPsec, IP in IP).
        #[default]
        One = "one",
        /// A source port made of the inner hash (VXLAN, RFC 7348; MPLS in UDP, RFC 7510).
        Inner = "inner",
    }
}

const ENCAP: Entry =
    entry::<EncapParams>("encap", "A tunnel's ingress", "RFC 6040", Kernel::Nowhere);
const DECAP: Entry =
    entry::<DecapParams>("decap", "A tunnel's egress", "RFC 6040", Kernel::Nowhere);

parameters! {
    /// Parameters of the ingress.
    struct EncapParams {
        /// Outer codepoint.
        ecn: Mode = Mode::Normal;
        /// Outer DSCP.
        dscp: Dscp = Dscp::Copy;
        /// Outer flow hash.
        entropy: Entropy = Entropy::One;
    }
}

parameters! {
    /// Parameters of the egress.
    struct DecapParams {
        /// Packets behind the highest sequence number that are still taken, each once.
        replay_window: Option<u32> = None => maybe(number(1..=u32::MAX.into()));
    }
}

impl Discipline for EncapParams {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        unreachable!("an engine builds the two ends as a pair")
    }
}

impl Discipline for DecapParams {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        unreachable!("an engine builds the two ends as a pair")
    }
}

/// One direction of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tunnel {
    /// Outer codepoint.
    pub mode: Mode,
    /// Outer DSCP.
    pub dscp: Dscp,
    /// Outer flow hash.
    pub entropy: Entropy,
    /// Hash of the outer 5-tuple, for [`Entropy::One`].
    pub hash: u32,
    /// Outer source and destination.
    pub hosts: (u16, u16),
    /// Packets behind the highest sequence number that the egress still takes, each once; `None`
    /// takes all.
    pub replay_window: Option<u32>,
}

impl Tunnel {
    /// Ingress and egress, and the inner headers of the packets between them, which they share.
    pub fn ends(self) -> (Box<dyn Qdisc>, Box<dyn Qdisc>, InnerHeaders) {
        let inner = InnerHeaders::default();
        let encap = Encap { tunnel: self, inner: inner.clone(), sequence: 0 };
        let replay = self.replay_window.map(ReplayWindow::new);
        let decap = Decap { inner: inner.clone(), replay, counters: Counters::default() };
        (Box::new(InPath::new(encap)), Box::new(InPath::new(decap)), inner)
    }
}

/// The inner header's codepoint after decapsulation (RFC 6040 figure 4); `None` drops the packet.
pub const fn decapsulated(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
        _ => Some(inner),
    }
}

/// Inner headers by [`Packet::id`]. Copies of one packet have equal headers, except for what was
/// rewritten on one of them before the tunnel: the last copy's stands for all.
#[derive(Clone, Default)]
pub struct InnerHeaders(Arc<Mutex<Vec<Packet>>>);

impl InnerHeaders {
    /// Says that packet `part` is a segment of super-packet `whole`, whose header it carries; only
    /// the first one keeps CWR. Of packets outside the tunnel nothing is known, or asked later.
    pub fn split(&self, whole: u32, part: u32, is_first: bool) {
        let mut headers = self.0.lock().expect(UNPOISONED);
        let Some(&header) = headers.get(whole as usize) else { return };
        let mut header = Packet { id: part, segs: 1, ..header };
        if !is_first {
            header.clear_cwr();
        }
        put(&mut headers, header);
    }
}

/// Puts `header` where its packet's id finds it.
fn put(headers: &mut Vec<Packet>, header: Packet) {
    let place = header.id as usize;
    if place >= headers.len() {
        headers.resize(place + 1, Packet::default());
    }
    headers[place] = header;
}

/// Why locking cannot fail: no code panics with the lock held.
const UNPOISONED: &str = "neither end panics";

/// The ingress.
struct Encap {
    tunnel: Tunnel,
    inner: InnerHeaders,
    sequence: u32,
}

impl Element for Encap {
    // RFC 6040 4.1.
    #[inline]
    fn pass(&mut self, pkt: &mut Packet, _log: &mut Log) -> Option<Reason> {
        put(&mut self.inner.0.lock().expect(UNPOISONED), *pkt);
        self.sequence = self.sequence.wrapping_add(1);
        let tunnel = &self.tunnel;
        let dscp = if tunnel.dscp == Dscp::Copy { pkt.tos & !3 } else { 0 };
        let ecn = match (tunnel.mode, pkt.ecn()) {
            (Mode::Compatibility, _) => Ecn::NotEct,
            (Mode::FullFunctionality, Ecn::Ce) => Ecn::Ect0,
            (_, ecn) => ecn,
        };
        let mut outer = Packet {
            hash: if tunnel.entropy == Entropy::One { tunnel.hash } else { pkt.hash },
            src: tunnel.hosts.0,
            dst: tunnel.hosts.1,
            tos: ecn.on_tos(dscp),
            kind: Kind::Udp,
            ace: 0,
            ack: self.sequence,
            sacked: 0,
            ..*pkt
        };
        if pkt.is_corrupt() {
            outer.set_corrupt();
        }
        *pkt = outer;
        None
    }

    fn change(&mut self, _to: &Spec, _given: &Given) {}

    fn spec(&self) -> Spec {
        let Tunnel { mode: ecn, dscp, entropy, .. } = self.tunnel;
        spec(&ENCAP, EncapParams { ecn, dscp, entropy })
    }

    fn stats(&self, out: &mut Stats) {
        out.put("sequence", self.sequence);
    }

    /// Each packet of IPsec or WireGuard has a sequence number of its own, so that they segment
    /// before (Linux 7.2 `esp_output` by `xfrm_output_gso`, `wg_xmit`); others leave it to the queue.
    fn splits(&self) -> bool {
        self.tunnel.replay_window.is_some()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    ce_propagated: u64,
    ect1_propagated: u64,
    not_ect_drops: u64,
    replay_drops: u64,
}

/// The egress.
struct Decap {
    inner: InnerHeaders,
    replay: Option<ReplayWindow>,
    counters: Counters,
}

impl Element for Decap {
    // RFC 6040 4.2; RFC 4303 3.4.3.
    #[inline]
    fn pass(&mut self, pkt: &mut Packet, _log: &mut Log) -> Option<Reason> {
        if self.replay.as_mut().is_some_and(|replay| !replay.accepts(pkt.ack)) {
            self.counters.replay_drops += 1;
            return Some(Reason::Middlebox);
        }
        let header = self.inner.0.lock().expect(UNPOISONED)[pkt.id as usize];
        let Some(ecn) = decapsulated(header.ecn(), pkt.ecn()) else {
            self.counters.not_ect_drops += 1;
            return Some(Reason::Middlebox);
        };
        if ecn != header.ecn() {
            match ecn {
                Ecn::Ce => self.counters.ce_propagated += 1,
                _ => self.counters.ect1_propagated += 1,
            }
        }
        let is_corrupt = pkt.is_corrupt();
        *pkt = Packet { len: pkt.len, tos: ecn.on_tos(header.tos), ..header };
        if is_corrupt {
            pkt.set_corrupt();
        }
        None
    }

    fn change(&mut self, _to: &Spec, _given: &Given) {}

    fn spec(&self) -> Spec {
        let replay_window = self.replay.as_ref().map(|replay| replay.size);
        spec(&DECAP, DecapParams { replay_window })
    }

    fn stats(&self, out: &mut Stats) {
        out.put("ce_propagated", self.counters.ce_propagated as f64);
        out.put("ect1_propagated", self.counters.ect1_propagated as f64);
        out.put("not_ect_drops", self.counters.not_ect_drops as f64);
        out.put("replay_drops", self.counters.replay_drops as f64);
    }
}

/// Which of the last sequence numbers have arrived: a ring of 64-bit words (RFC 6479).
struct ReplayWindow {
    size: u32,
    highest: u32,
    /// One word more than the window fills, so that the oldest is never half cleared.
    seen: Vec<u64>,
}

impl ReplayWindow {
    fn new(size: u32) -> Self {
        Self { size, highest: 0, seen: vec![0; size.div_ceil(64) as usize + 1] }
    }

    /// Whether this number, from 1, is within the window and new; from now on it is not.
    /// RFC 6479; RFC 4303 3.4.3.
    fn accepts(&mut self, number: u32) -> bool {
        if self.highest.saturating_sub(number) >= self.size {
            return false;
        }
        let words = self.seen.len();
        let word = |number: u32| number as usize / 64;
        if number > self.highest {
            let fresh = (word(number) - word(self.highest)).min(words);
            for ahead in 0..fresh {
                self.seen[(word(number) - ahead) % words] = 0;
            }
            self.highest = number;
        }
        let (slot, bit) = (&mut self.seen[word(number) % words], 1 << (number % 64));
        let is_new = *slot & bit == 0;
        *slot |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests;
