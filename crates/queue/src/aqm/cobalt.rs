//! COBALT: CoDel that counts back down through time, and BLUE for what does not respond. One
//! instance per queue of CAKE. Linux 6.12 `sch_cake`; COBALT2, with SCE, is another law.

use super::control_law::{Roots, distance, refreshed};
use sojourn_core::ecn::Ecn;
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

/// BLUE's step up: 1/256.
pub(super) const P_INC: u32 = 1 << 24;
/// BLUE's step down: 1/4096.
pub(super) const P_DEC: u32 = 1 << 20;
/// Instants of fresh state lie this long before the run, as a machine that has been up for a while.
const BOOT_NS: i64 = 1 << 34;

/// The law's parameters, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// Time of a full frame, below four of which nothing counts as delay.
    pub(super) mtu_time: u64,
    pub(super) roots: &'static Roots,
}

/// The law's decision on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Signalled in its ECN field, which now holds CE.
    pub(super) marked: bool,
    /// CoDel's signal to a packet without ECN.
    pub(super) drop: bool,
    /// BLUE's, whatever the ECN field.
    pub(super) blue: bool,
    /// The delay is above the target.
    pub(super) over: bool,
}

/// State of one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cobalt {
    pub(super) count: u32,
    /// Reciprocal square root of `count`, Q0.32.
    root: u32,
    /// When the next signal is due; without a count, until when the queue is remembered.
    drop_next: i64,
    blue_timer: i64,
    pub(super) p_drop: u32,
    pub(super) dropping: bool,
}

impl Cobalt {
    /// A queue never used. `root` is Linux's 0, with which the first episode waits no interval, or
    /// `u32::MAX`, with which it does.
    pub(super) const fn new(root: u32) -> Self {
        Self {
            count: 0,
            root,
            drop_next: -BOOT_NS,
            blue_timer: -BOOT_NS,
            p_drop: 0,
            dropping: false,
        }
    }

    // Linux 6.12 `cobalt_control`.
    #[inline]
    fn control(&self, t: i64, p: &Params) -> i64 {
        t + distance(p.interval, self.root) as i64
    }

    /// A packet was dropped because the buffer is full. True if BLUE was off and now acts.
    /// Linux 6.12 `cobalt_queue_full`.
    pub(super) fn queue_full(&mut self, p: &Params, now: Time) -> bool {
        let now = now.0 as i64;
        let mut up = false;
        if now - self.blue_timer > p.target as i64 {
            up = self.p_drop == 0;
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        up
    }

    /// The queue was found empty. True if BLUE has ceased to act. Linux 6.12 `cobalt_queue_empty`.
    pub(super) fn queue_empty(&mut self, p: &Params, now: Time) -> bool {
        let now = now.0 as i64;
        let mut down = false;
        if self.p_drop != 0 && now - self.blue_timer > p.target as i64 {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
            down = self.p_drop == 0;
        }
        self.dropping = false;
        if self.count != 0 && now >= self.drop_next {
            self.decay(p);
        }
        down
    }

    // Linux 6.12 `cobalt_should_drop`, `cobalt_queue_empty`: signals are forgotten at the pace at
    // which they came.
    fn decay(&mut self, p: &Params) {
        self.count -= 1;
        self.root = refreshed(p.roots, self.root, self.count);
        self.drop_next = self.control(self.drop_next, p);
    }

    /// Whether the state of an empty queue has decayed.
    #[inline]
    pub(super) fn at_rest(&self, now: Time) -> bool {
        self.p_drop == 0 && self.count == 0 && now.0 as i64 >= self.drop_next
    }

    /// Judges a packet that leaves at `now` and may set CE on it. `sharers` is the number of flows
    /// whose two frames each are no delay (0: the guard is off). Draws once if BLUE acts.
    /// Linux 6.12 `cobalt_should_drop`.
    #[inline]
    pub(super) fn judge(
        &mut self,
        p: &Params,
        now: Time,
        pkt: &mut Packet,
        sharers: u32,
        rng: &mut Rng,
    ) -> Verdict {
        let sojourn = now.since(pkt.stamp).0;
        let now = now.0 as i64;
        let over = sojourn > p.target
            && sojourn > p.mtu_time * u64::from(sharers) * 2
            && sojourn > p.mtu_time * 4;
        let mut schedule = now - self.drop_next;
        let mut due = self.count != 0 && schedule >= 0;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, p);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict { over, ..Verdict::default() };
        if due && self.dropping {
            verdict.marked = pkt.ecn() == Ecn::Ce || pkt.set_ce();
            verdict.drop = !verdict.marked;
            self.count = self.count.saturating_add(1);
            self.root = refreshed(p.roots, self.root, self.count);
            self.drop_next = self.control(self.drop_next, p);
            schedule = now - self.drop_next;
        } else {
            while due {
                self.decay(p);
                schedule = now - self.drop_next;
                due = self.count != 0 && schedule >= 0;
            }
        }
        if self.p_drop != 0 {
            verdict.blue = rng.u32() < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + p.interval as i64;
        } else if schedule > 0 && !verdict.drop && !verdict.blue {
            self.drop_next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests;
