//! What a discipline does to packets: each mark and drop, with its reason.

use sojourn_core::ecn::Ecn;
use sojourn_core::packet::Packet;

/// Why a packet was marked or dropped. One enum for all disciplines, so that the trace can compare
/// them; a discipline uses the few that its specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// Arrival at a full queue.
    TailLimit,
    /// The oldest packet, to make room.
    HeadLimit,
    /// Batch drop from the fattest flow on overflow (fq_codel, CAKE).
    FlowOverlimit,
    /// Memory limit.
    MemoryLimit,
    /// Larger than the shaper's bucket.
    TooLarge,
    /// CoDel's control law.
    Codel,
    /// Sojourn above `ce_threshold`.
    CeThreshold,
    /// Probabilistic signal of a PI controller (PIE, PI2).
    Pi,
    /// Coupled probability of a dual queue's L4S side.
    Coupled,
    /// Step or ramp threshold of an L4S queue.
    Step,
    /// Saturation rule: the controller is overloaded.
    Overload,
    /// RED between its thresholds.
    RedEarly,
    /// RED above its maximum, or an ECT packet that it may not mark.
    RedForced,
    /// BLUE's probability.
    Blue,
    /// SCE marking law.
    Sce,
    /// Random loss of an impairment.
    Loss,
    /// Queue protection's sanction.
    Protection,
    /// ACK filter.
    AckFilter,
    /// Policer.
    Police,
    /// Discarded because the discipline was replaced.
    Purge,
    /// DelTiC's oscillators.
    Deltic,
    /// Decapsulation rule of RFC 6040, replay window and other middlebox rules.
    Middlebox,
}

impl Reason {
    /// How many reasons there are, for tables indexed by `reason as usize`.
    pub const COUNT: usize = Self::Middlebox as usize + 1;

    /// All reasons in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TailLimit,
        Self::HeadLimit,
        Self::FlowOverlimit,
        Self::MemoryLimit,
        Self::TooLarge,
        Self::Codel,
        Self::CeThreshold,
        Self::Pi,
        Self::Coupled,
        Self::Step,
        Self::Overload,
        Self::RedEarly,
        Self::RedForced,
        Self::Blue,
        Self::Sce,
        Self::Loss,
        Self::Protection,
        Self::AckFilter,
        Self::Police,
        Self::Purge,
        Self::Deltic,
        Self::Middlebox,
    ];

    /// The name in traces and `queue.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailLimit => "tail_limit",
            Self::HeadLimit => "head_limit",
            Self::FlowOverlimit => "flow_overlimit",
            Self::MemoryLimit => "memory_limit",
            Self::TooLarge => "too_large",
            Self::Codel => "codel",
            Self::CeThreshold => "ce_threshold",
            Self::Pi => "pi",
            Self::Coupled => "coupled",
            Self::Step => "step",
            Self::Overload => "overload",
            Self::RedEarly => "red_early",
            Self::RedForced => "red_forced",
            Self::Blue => "blue",
            Self::Sce => "sce",
            Self::Loss => "loss",
            Self::Protection => "protection",
            Self::AckFilter => "ack_filter",
            Self::Police => "police",
            Self::Purge => "purge",
            Self::Deltic => "deltic",
            Self::Middlebox => "middlebox",
        }
    }
}

/// What happened to a packet inside a queue.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The ECN field of the packet (still queued or about to leave) was changed.
    Mark(Packet, Reason),
    /// The packet is gone.
    Drop(Packet, Reason),
    /// From now on there is one more packet with this id, which shares header and payload with
    /// the first; each of them will be sent or dropped.
    Duplicate(Packet),
}

/// Marks, drops and duplicates of one call, read and emptied by the port that made it. The buffer is reused.
#[derive(Debug, Default)]
pub struct Log {
    events: Vec<Event>,
}

impl Log {
    /// Notes that `pkt` now carries another ECN codepoint.
    #[inline]
    pub fn mark(&mut self, pkt: &Packet, reason: Reason) {
        self.events.push(Event::Mark(*pkt, reason));
    }

    /// Notes that `pkt` was discarded.
    #[inline]
    pub fn drop(&mut self, pkt: &Packet, reason: Reason) {
        self.events.push(Event::Drop(*pkt, reason));
    }

    /// Notes that the discipline holds a second packet with the id of `pkt`.
    #[inline]
    pub fn duplicate(&mut self, pkt: &Packet) {
        self.events.push(Event::Duplicate(*pkt));
    }

    /// Whether nothing happened.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Tries to set CE on `pkt`; false if it is Not-ECT and must be dropped instead. The event is
    /// logged only if the codepoint changed, while Linux counts a CE packet as marked again.
    #[inline]
    #[must_use]
    pub fn set_ce(&mut self, pkt: &mut Packet, reason: Reason) -> bool {
        if pkt.ecn() == Ecn::Ce {
            return true;
        }
        let capable = pkt.set_ce();
        if capable {
            self.mark(pkt, reason);
        }
        capable
    }

    /// Tries to set SCE on `pkt`, ECT(0) to ECT(1); false, without event, for every other codepoint.
    #[inline]
    #[must_use]
    pub fn set_sce(&mut self, pkt: &mut Packet, reason: Reason) -> bool {
        let markable = pkt.set_sce();
        if markable {
            self.mark(pkt, reason);
        }
        markable
    }

    /// The events in order; keeps the buffer.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// The events after the first `count`, for a wrapper that sees packets otherwise.
    pub(crate) fn since_mut(&mut self, count: usize) -> &mut [Event] {
        &mut self.events[count..]
    }

    /// The events in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}
