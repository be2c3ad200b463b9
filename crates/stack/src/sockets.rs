//! The TCP connections of a host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use sojourn_core::{Rng, Time};
use sojourn_transport::tcp::Config;
use sojourn_wire::Addresses;

use crate::seat::OPENING;
use crate::socket::{Key, Name, Role, Socket};

/// Most connections at once. What asks for one above is not answered.
const MOST: usize = 1 << 14;

#[derive(Default)]
struct Slot {
    socket: Option<Socket>,
    /// Connections that were here.
    uses: u16,
    /// When the heap looks at it, not after its deadline.
    armed: Time,
}

pub(crate) struct Sockets {
    slots: Vec<Slot>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    by_name: BTreeMap<Name, usize>,
    timers: BinaryHeap<Reverse<(Time, usize)>>,
    rng: Rng,
    next_port: u16,
}

impl Sockets {
    /// None yet; `rng` gives first sequence numbers, timestamps and ports.
    pub(crate) fn new(mut rng: Rng) -> Self {
        let next_port = OPENING.start + rng.below(OPENING.len() as u32) as u16;
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            by_name: BTreeMap::new(),
            timers: BinaryHeap::new(),
            rng,
            next_port,
        }
    }

    pub(crate) fn of_key(&self, key: Key) -> Option<usize> {
        self.by_key.get(&key).copied()
    }

    pub(crate) fn of_name(&self, name: Name) -> Option<usize> {
        self.by_name.get(&name).copied()
    }

    /// The connection with this id, if it is still there.
    pub(crate) fn get(&mut self, id: usize) -> Option<&mut Socket> {
        self.slots[id].socket.as_mut()
    }

    /// A port that no connection of this device to `peer_port` has.
    pub(crate) fn free_port(&mut self, device: usize, peer_port: u16) -> Option<u16> {
        for _ in OPENING {
            let port = self.next_port;
            self.next_port = if port + 1 == OPENING.end { OPENING.start } else { port + 1 };
            if !self.by_key.contains_key(&(device, port, peer_port)) {
                return Some(port);
            }
        }
        None
    }

    /// Whether there is room for one more; one that is closed or only half open makes room.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.slots.len() - self.free.len() < MOST {
            return true;
        }
        let is_idle = |slot: &Slot| slot.socket.as_ref().is_some_and(Socket::is_idle);
        self.slots.iter().position(is_idle).and_then(|id| self.remove(id)).is_some()
    }

    /// Makes a connection of the name's end between these addresses; gives its id. One that was accepted
    /// beside others gets a number, which is that of no earlier one.
    pub(crate) fn insert(
        &mut self,
        key: Key,
        mut name: Name,
        is_one_of_many: bool,
        role: Role,
        of: (Addresses, &Config),
    ) -> usize {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { armed: Time::NEVER, ..Slot::default() });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[id];
        slot.uses = slot.uses.checked_add(1).unwrap_or(1);
        if is_one_of_many {
            name.1 = u32::from(slot.uses) << 16 | id as u32;
        }
        slot.socket = Some(Socket::new(key, name, role, of, &mut self.rng));
        self.by_key.insert(key, id);
        self.by_name.insert(name, id);
        id
    }

    pub(crate) fn remove(&mut self, id: usize) -> Option<Socket> {
        let socket = self.slots[id].socket.take()?;
        self.by_key.remove(&socket.key);
        self.by_name.remove(&socket.name);
        self.free.push(id);
        Some(socket)
    }

    /// All connections.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Socket> {
        self.slots.iter_mut().filter_map(|slot| slot.socket.as_mut())
    }

    /// Looks at a connection's deadline again.
    pub(crate) fn arm(&mut self, now: Time, id: usize) {
        let slot = &mut self.slots[id];
        let Some(socket) = &mut slot.socket else { return };
        let due = socket.deadline(now);
        if due < slot.armed {
            slot.armed = due;
            self.timers.push(Reverse((due, id)));
        }
    }

    /// When a connection has something to do.
    pub(crate) fn due(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// The next connection that has something to do now; those that are over are forgotten.
    pub(crate) fn next_due(&mut self, now: Time) -> Option<usize> {
        while self.due() <= now {
            let Reverse((at, id)) = self.timers.pop()?;
            let slot = &mut self.slots[id];
            if slot.armed != at {
                continue; // replaced by an earlier one
            }
            slot.armed = Time::NEVER;
            match &slot.socket {
                Some(socket) if socket.is_gone(now) => drop(self.remove(id)),
                Some(_) => return Some(id),
                None => {}
            }
        }
        None
    }
}
