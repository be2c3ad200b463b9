//! Who has events, as the slots of the event queue: of few sources it is cheaper.

use crate::events::Slot;
use crate::link::Port;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The timer of this port's queue.
    Queue(u32),
    /// The wire of this port, when it is free.
    Wire(u32),
    /// The head of this port's line, when it arrives.
    Line(u32),
    /// The deadline of this end point.
    End(u32),
    /// Starts, stops and scheduled changes.
    Agenda,
    /// Samples.
    Sample,
    /// The next packet that this noisy host handles.
    Host(u32),
}

/// The sources by slot.
pub(crate) struct Sources {
    list: Vec<Source>,
    ends: Slot,
    agenda: Slot,
}

impl Sources {
    /// Those of a network; each port learns its slots.
    pub(crate) fn of(ports: &mut [Port], ends: usize, hosts: usize) -> Self {
        let mut list = Vec::with_capacity(3 * ports.len() + ends + hosts + 2);
        let mut add = |source| {
            list.push(source);
            (list.len() - 1) as Slot
        };
        for (port, number) in ports.iter_mut().zip(0..) {
            port.slots.queue = add(Source::Queue(number));
            if port.wire.is_some() {
                port.slots.wire = add(Source::Wire(number));
            }
            if port.has_line() {
                port.slots.line = add(Source::Line(number));
            }
        }
        let ends: Vec<Slot> = (0..ends as u32).map(|end| add(Source::End(end))).collect();
        let agenda = add(Source::Agenda);
        add(Source::Sample);
        for host in 0..hosts as u32 {
            add(Source::Host(host));
        }
        Self { list, ends: ends.first().copied().unwrap_or(agenda), agenda }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Source {
        self.list[slot as usize]
    }

    #[inline]
    pub(crate) fn end(&self, end: usize) -> Slot {
        self.ends + end as Slot
    }

    pub(crate) fn agenda(&self) -> Slot {
        self.agenda
    }

    pub(crate) fn sample(&self) -> Slot {
        self.agenda + 1
    }

    pub(crate) fn host(&self, host: usize) -> Slot {
        self.sample() + 1 + host as Slot
    }
}
