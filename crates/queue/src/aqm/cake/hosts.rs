//! Flow isolation: what makes packets belong together, and which hosts share a turn.

use super::QUEUES;
use super::flows::Flow;
use sojourn_core::choices;
use sojourn_core::packet::Packet;

/// Queues among which a flow finds a place of its own.
const WAYS: u32 = 8;

choices! {
    /// What makes packets belong together, as bits: 1 source, 2 destination, 4 flow.
    pub(super) enum FlowMode {
        Blind = "flowblind",
        SrcHost = "srchost",
        DstHost = "dsthost",
        Hosts = "hosts",
        Flows = "flows",
        DualSrcHost = "dual-srchost",
        DualDstHost = "dual-dsthost",
        TripleIsolate = "triple-isolate",
    }
}

impl FlowMode {
    pub(super) const fn is_blind(self) -> bool {
        matches!(self, Self::Blind)
    }

    /// What the packet's queue is chosen by.
    #[inline]
    pub(super) const fn key(self, pkt: &Packet) -> u32 {
        if self.flows() {
            return pkt.hash;
        }
        let src = if self as u8 & 1 != 0 { src_hash(pkt) } else { 0 };
        let dst = if self as u8 & 2 != 0 { dst_hash(pkt) } else { 0 };
        src ^ dst
    }

    const fn flows(self) -> bool {
        self as u8 & 4 != 0
    }

    /// Whether hosts share turns at all.
    pub(super) const fn isolates_hosts(self) -> bool {
        self.dual_src() || self.dual_dst()
    }

    /// Whether flows of one source share a turn.
    const fn dual_src(self) -> bool {
        self as u8 & 5 == 5
    }

    /// Whether flows to one destination share a turn.
    const fn dual_dst(self) -> bool {
        self as u8 & 6 == 6
    }
}

/// Spreads a host's number over 32 bits; the two odd constants keep a source and a destination of
/// the same number apart.
const fn host_hash(host: u16, salt: u32) -> u32 {
    let mixed = (host as u32 ^ (salt >> 16)).wrapping_mul(salt);
    mixed ^ (mixed >> 15)
}

const fn src_hash(pkt: &Packet) -> u32 {
    host_hash(pkt.src, 0x85EB_CA6B)
}

const fn dst_hash(pkt: &Packet) -> u32 {
    host_hash(pkt.dst, 0xC2B2_AE35)
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    src_tag: u32,
    dst_tag: u32,
    src_bulk: u16,
    dst_bulk: u16,
}

/// Bulk flows per host.
#[derive(Debug)]
pub(super) struct Hosts(Box<[Host]>);

impl Hosts {
    pub(super) fn new() -> Self {
        Self(vec![Host::default(); usize::from(QUEUES)].into())
    }

    /// How many flows share the turn of `flow`'s host, the busier of the two.
    /// Linux 6.12 `cake_dequeue`, dual and triple isolation.
    #[inline]
    pub(super) fn load(&self, flow: &Flow, mode: FlowMode) -> u16 {
        let mut load = 1;
        if mode.dual_src() {
            load = load.max(self.0[usize::from(flow.src)].src_bulk);
        }
        if mode.dual_dst() {
            load = load.max(self.0[usize::from(flow.dst)].dst_bulk);
        }
        load
    }

    pub(super) fn count_in(&mut self, flow: &Flow, mode: FlowMode) {
        let (src, dst) = (usize::from(flow.src), usize::from(flow.dst));
        if mode.dual_src() && self.0[src].src_bulk < QUEUES {
            self.0[src].src_bulk += 1;
        }
        if mode.dual_dst() && self.0[dst].dst_bulk < QUEUES {
            self.0[dst].dst_bulk += 1;
        }
    }

    pub(super) fn count_out(&mut self, flow: &Flow, mode: FlowMode) {
        let (src, dst) = (usize::from(flow.src), usize::from(flow.dst));
        if mode.dual_src() {
            self.0[src].src_bulk = self.0[src].src_bulk.saturating_sub(1);
        }
        if mode.dual_dst() {
            self.0[dst].dst_bulk = self.0[dst].dst_bulk.saturating_sub(1);
        }
    }

    /// Forgets all counts: another mode counts anew.
    pub(super) fn reset(&mut self) {
        for host in &mut self.0 {
            (host.src_bulk, host.dst_bulk) = (0, 0);
        }
    }

    /// Gives `flow` the entries of the hosts of its new owner's `pkt`.
    pub(super) fn adopt(&mut self, flow: &mut Flow, pkt: &Packet, mode: FlowMode) {
        if mode.dual_src() {
            let tag = src_hash(pkt);
            flow.src = self.slot(tag, |h| (h.src_tag, h.src_bulk));
            self.0[usize::from(flow.src)].src_tag = tag;
        }
        if mode.dual_dst() {
            let tag = dst_hash(pkt);
            flow.dst = self.slot(tag, |h| (h.dst_tag, h.dst_bulk));
            self.0[usize::from(flow.dst)].dst_tag = tag;
        }
    }

    /// The entry that counts for `hash`: its own, or a free one of its set.
    fn slot(&self, hash: u32, view: impl Fn(&Host) -> (u32, u16)) -> u16 {
        let own = ways(hash).find(|i| view(&self.0[usize::from(*i)]).0 == hash);
        let free = || ways(hash).find(|i| view(&self.0[usize::from(*i)]).1 == 0);
        own.or_else(free).unwrap_or_else(|| (hash % u32::from(QUEUES)) as u16)
    }
}

/// The places of the set of `hash`, its own first.
pub(super) fn ways(hash: u32) -> impl Iterator<Item = u16> {
    let direct = hash % u32::from(QUEUES);
    let outer = direct - direct % WAYS;
    (0..WAYS).map(move |i| (outer + (direct + i) % WAYS) as u16)
}
