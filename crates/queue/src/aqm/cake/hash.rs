//! Set-associative hashing: which queue of its tin a packet goes to.

use super::QUEUES;
use super::flows::SetState;
use super::hosts::{FlowMode, ways};
use super::tins::Tin;
use sojourn_core::packet::Packet;

impl Tin {
    /// The queue for `pkt`, reserved for its flow as long as it is in use. Linux 6.12 `cake_hash`.
    #[inline]
    pub(super) fn queue_of(&mut self, pkt: &Packet, mode: FlowMode) -> u16 {
        if mode.is_blind() {
            return 0;
        }
        let hash = mode.key(pkt);
        let direct = (hash % u32::from(QUEUES)) as u16;
        let flow = &self.flows[usize::from(direct)];
        if flow.tag == hash && flow.state != SetState::None {
            return direct;
        }
        self.search(hash, direct, pkt, mode)
    }

    // Linux 6.12 `cake_hash`: sets of eight ways; a full set shares the direct queue.
    fn search(&mut self, hash: u32, direct: u16, pkt: &Packet, mode: FlowMode) -> u16 {
        let flows = &self.flows;
        let reserved = ways(hash).find(|i| flows[usize::from(*i)].tag == hash);
        let unused = || ways(hash).find(|i| flows[usize::from(*i)].state == SetState::None);
        let (index, new_owner) = if let Some(index) = reserved {
            self.counters.way_hits += u64::from(index != direct);
            (index, flows[usize::from(index)].state == SetState::None)
        } else if let Some(index) = unused() {
            self.counters.way_misses += 1;
            (index, true)
        } else {
            self.counters.way_collisions += 1;
            (direct, true)
        };
        let flow = &mut self.flows[usize::from(index)];
        flow.tag = hash;
        if new_owner && mode.isolates_hosts() {
            let bulk = flow.state == SetState::Bulk;
            if bulk {
                self.hosts.count_out(flow, mode);
            }
            self.hosts.adopt(flow, pkt, mode);
            if bulk {
                self.hosts.count_in(flow, mode);
            }
        }
        index
    }
}
