//! Who sends next: activity, modes and turns of the classes. Linux 6.12 sch_htb.c htb_activate_prios(),
//! htb_class_mode(), htb_dequeue_tree().
//!
//! A class that may send on its own tokens stands in the row of its level; one that would have to
//! borrow stands in the feed of its parent, which for its part stands wherever its mode puts it.
//! So the rows hold the lenders, and the feeds below a lender lead to the leaf that it pays for.

use super::super::class::Mode;
use super::{Feed, Node, PRIOS, Tree};
use crate::aqm::Log;
use sojourn_core::packet::Packet;
use sojourn_core::units::Time;

impl Tree {
    /// The next packet of a leaf. Linux 6.12 `htb_dequeue`.
    pub(super) fn serve(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        for level in 0..self.levels.len() {
            if now >= self.levels[level].due {
                self.update_modes(level, now);
            }
            for prio in 0..PRIOS {
                if let Some(pkt) = self.serve_row(level, prio, now, log) {
                    return Some(pkt);
                }
            }
        }
        None
    }

    /// Looks at the modes again that may have changed by now. Linux 6.12 `htb_do_events`.
    fn update_modes(&mut self, level: usize, now: Time) {
        let mut next = Time::NEVER;
        for at in 0..self.levels[level].nodes.len() {
            let n = self.levels[level].nodes[at];
            if self.nodes[n as usize].class.due <= now {
                self.update_mode(n, now);
            }
            next = next.min(self.nodes[n as usize].class.due);
        }
        self.levels[level].due = next;
    }

    // Linux 6.12 `htb_change_class_mode`.
    fn update_mode(&mut self, n: u16, now: Time) {
        let node = &self.nodes[n as usize];
        let (before, after) = (node.class.mode, node.class.mode_at(now));
        let moves = before != after.0 && node.active != 0;
        if moves && before != Mode::CantSend {
            self.detach(n);
        }
        self.nodes[n as usize].class.set_mode(after);
        if moves && after.0 != Mode::CantSend {
            self.attach(n);
        }
    }

    // Linux 6.12 `htb_dequeue_tree`.
    fn serve_row(&mut self, level: usize, prio: usize, now: Time, log: &mut Log) -> Option<Packet> {
        // A leaf may hold packets that it does not give away yet.
        let mut held_back = None;
        while !self.levels[level].rows[prio].is_empty() {
            let n = self.pick(level, prio);
            if held_back == Some(n) {
                return None;
            }
            let Some(pkt) = self.take(n, now, log) else {
                if self.is_idle(n) {
                    self.deactivate(n);
                } else {
                    held_back.get_or_insert(n);
                    self.pass_turn(n, level, prio);
                }
                continue;
            };
            let leaf = self.nodes[n as usize].leaf.as_mut().expect("only leaves are picked");
            leaf.deficit[level] -= i64::from(pkt.len);
            if leaf.deficit[level] < 0 {
                leaf.deficit[level] += i64::from(leaf.quantum);
                self.pass_turn(n, level, prio);
            }
            if self.is_idle(n) {
                self.deactivate(n);
            }
            self.charge(n, level, now, &pkt);
            return Some(pkt);
        }
        None
    }

    /// The leaf whose turn it is in a row that is not empty. The end of a round among children
    /// passes the turn of their parent. Linux 6.12 `htb_lookup_leaf`.
    fn pick(&mut self, level: usize, prio: usize) -> u16 {
        let mut lender = None;
        loop {
            match self.feed(level, prio, lender).current() {
                Some(n) if self.nodes[n as usize].level == 0 => return n,
                Some(n) => lender = Some(n),
                None => {
                    self.feed(level, prio, lender).rewind();
                    if let Some(n) = lender {
                        let node = &self.nodes[n as usize];
                        lender = node.parent.filter(|_| usize::from(node.level) != level);
                        self.feed(level, prio, lender).advance();
                    }
                }
            }
        }
    }

    /// The feed of a lender, or the row of the level.
    fn feed(&mut self, level: usize, prio: usize, lender: Option<u16>) -> &mut Feed {
        match lender {
            None => &mut self.levels[level].rows[prio],
            Some(n) => &mut self.nodes[n as usize].feeds[prio],
        }
    }

    /// Ends the turn of leaf `n`, which sends on the tokens of `level`.
    fn pass_turn(&mut self, n: u16, level: usize, prio: usize) {
        let lender = self.nodes[n as usize].parent.filter(|_| level > 0);
        self.feed(level, prio, lender).advance();
    }

    /// Charges a leaf and its ancestors for a packet that the tokens of `level` pay.
    /// Linux 6.12 `htb_charge_class`.
    fn charge(&mut self, leaf: u16, level: usize, now: Time, pkt: &Packet) {
        let mut next = Some(leaf);
        while let Some(n) = next {
            let node = &mut self.nodes[n as usize];
            let own = usize::from(node.level);
            if own < level {
                node.class.charge_borrowed(now, pkt.len);
            } else {
                node.class.charge(now, pkt.len);
                node.class.lends += u64::from(own == level);
            }
            node.sent_packets += 1;
            node.sent_bytes += u64::from(pkt.len);
            next = node.parent;
            self.update_mode(n, now);
            let due = self.nodes[n as usize].class.due;
            self.levels[own].due = self.levels[own].due.min(due);
        }
    }

    /// A leaf has packets again. Linux 6.12 `htb_activate`.
    pub(super) fn activate(&mut self, n: u16) {
        let node = &mut self.nodes[n as usize];
        if node.active == 0 {
            node.active = 1 << node.params.prio;
            if node.class.mode != Mode::CantSend {
                self.attach(n);
            }
        }
    }

    /// A leaf has no packets. Linux 6.12 `htb_deactivate`.
    pub(super) fn deactivate(&mut self, n: u16) {
        let node = &self.nodes[n as usize];
        if node.active != 0 {
            if node.class.mode != Mode::CantSend {
                self.detach(n);
            }
            self.nodes[n as usize].active = 0;
        }
    }

    /// Puts an active class where its mode says, and every ancestor that it wakes.
    /// Linux 6.12 `htb_activate_prios`.
    fn attach(&mut self, n: u16) {
        let (mut n, mut prios) = (n, self.nodes[n as usize].active);
        while let (Node { class, parent: Some(parent), .. }, 1..) = (&self.nodes[n as usize], prios)
            && class.mode == Mode::MayBorrow
        {
            let (child, parent) = (n, *parent);
            let lender = &mut self.nodes[parent as usize];
            for prio in bits(prios) {
                if !lender.feeds[prio].is_empty() {
                    prios &= !(1 << prio); // the lender is awake at this priority
                }
                lender.feeds[prio].insert(child);
            }
            lender.active |= prios;
            n = parent;
        }
        let node = &self.nodes[n as usize];
        if node.class.mode == Mode::CanSend {
            for prio in bits(prios) {
                self.levels[usize::from(node.level)].rows[prio].insert(n);
            }
        }
    }

    /// Takes an active class from where its mode has put it, and every ancestor that thereby has
    /// nothing left to lend to. Linux 6.12 `htb_deactivate_prios`.
    fn detach(&mut self, n: u16) {
        let (mut n, mut prios) = (n, self.nodes[n as usize].active);
        while let (Node { class, parent: Some(parent), .. }, 1..) = (&self.nodes[n as usize], prios)
            && class.mode == Mode::MayBorrow
        {
            let (child, parent) = (n, *parent);
            let lender = &mut self.nodes[parent as usize];
            for prio in bits(prios) {
                lender.feeds[prio].remove(child);
                if !lender.feeds[prio].is_empty() {
                    prios &= !(1 << prio); // the lender still has borrowers
                }
            }
            lender.active &= !prios;
            n = parent;
        }
        let node = &self.nodes[n as usize];
        if node.class.mode == Mode::CanSend {
            for prio in bits(prios) {
                self.levels[usize::from(node.level)].rows[prio].remove_and_pass(n);
            }
        }
    }
}

/// The positions of the bits of `mask`.
fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIOS).filter(move |prio| mask & (1 << prio) != 0)
}
