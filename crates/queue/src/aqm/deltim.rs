//! `deltim`: "Delay Time Minimization", a delta-sigma controller without a target that integrates
//! the delay of whatever still waits. scim's experimental queues; DelTiM, also called DelticMDS, is
//! `version 1`, DelTiM2 `version 2`.

use std::collections::VecDeque;

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Room;
use super::tally::{Tally, TallyParams};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
use sojourn_core::grammar::forms::time_from;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "deltim",
    "Delta-sigma control towards no delay, by SCE, CE and drops in one currency",
    "scim, SCE team",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `deltim`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// What is integrated: the delay of the next packet, or its least of a burst.
        version: Version = Version::Next;
        /// Period of the resonance, idle time that forgets all, and window of version 2.
        burst: Dur = Dur::from_millis(5) => time_from(Dur(1));
    }
    groups {
        room: Room = Room::default();
        tally: TallyParams = TallyParams::default();
    }
}

choices! {
    /// What is integrated.
    enum Version {
        Next = "1",
        Least = "2",
    }
}

/// The least of the values that were put within a period: their candidates, rising with time.
#[derive(Debug, Default)]
struct Window(VecDeque<(Time, Dur)>);

impl Window {
    // scim's DelTiM2.
    #[inline]
    fn least(&mut self, now: Time, value: Dur, period: Dur) -> Dur {
        while self.0.back().is_some_and(|(_, last)| *last >= value) {
            self.0.pop_back();
        }
        self.0.push_back((now, value));
        while self.0.front().is_some_and(|(since, _)| now.since(*since) > period) {
            self.0.pop_front();
        }
        self.0.front().map_or(value, |(_, least)| *least)
    }
}

/// The oscillator counts SCE marks; the accumulator says how fast.
#[derive(Clone, Copy, Debug)]
struct Control {
    /// In units of the resonance.
    accumulator: f64,
    /// SCE marks that are due.
    oscillator: f64,
    /// The delay that was integrated last, in seconds.
    error: f64,
    at: Time,
}

impl Control {
    const NEW: Self = Self { accumulator: 0.0, oscillator: 0.5, error: 0.0, at: Time::ZERO };

    // scim's DelTiM.
    #[inline]
    fn step(&mut self, now: Time, error: Dur, burst: Dur) {
        let resonance = 1.0 / burst.as_secs_f64();
        // As in deltic, no step is longer than a second.
        let dt = now.since(self.at).as_secs_f64().min(1.0);
        let error = error.as_secs_f64();
        self.accumulator += (error - self.error + error * dt) * resonance;
        self.oscillator += self.accumulator * dt * resonance;
        (self.error, self.at) = (error, now);
    }

    /// Forgets in proportion to the idle time that ends `now`. scim's DelTiM.
    #[inline]
    fn resume(&mut self, now: Time, burst: Dur) {
        let idle = now.since(self.at).as_secs_f64() / burst.as_secs_f64();
        self.accumulator *= (1.0 - idle).max(0.0);
        self.at = now;
    }

    /// Takes `marks` from the oscillator if that many are due.
    #[inline]
    fn take(&mut self, marks: f64) -> bool {
        let due = self.oscillator >= marks;
        if due {
            self.oscillator -= marks;
        }
        due
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Deltim>::new(*self, env))
    }
}

/// The controller with its marks.
#[derive(Debug)]
struct Deltim {
    control: Control,
    window: Window,
    tally: Tally,
}

impl Deltim {
    /// Delay of the packet that is next, as this version sees it; none waits, none delayed.
    #[inline]
    fn error(&mut self, fifo: &JudgedQueue<Params>, now: Time) -> Dur {
        let next = fifo.queue.packets.front().map_or(Dur::ZERO, |pkt| now.since(pkt.stamp));
        match fifo.params.version {
            Version::Next => next,
            Version::Least => self.window.least(now, next, fifo.params.burst),
        }
    }
}

impl Judge for Deltim {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(params: &Params, _env: Env) -> Self {
        let tally = Tally::new(params.tally.tau);
        Self { control: Control::NEW, window: Window::default(), tally }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        if fifo.is_empty() {
            self.control.resume(now, fifo.params.burst);
            // Until now there was no delay.
            let _ = self.error(fifo, now);
        }
        fifo.overflow(fifo.params.room.limit)
    }

    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let error = self.error(fifo, now);
        self.control.step(now, error, fifo.params.burst);
        let is_last = fifo.is_empty();
        if !is_last && self.control.take(f64::from(fifo.params.tally.tau)) {
            return Some(Reason::Overload);
        }
        let drop = self.control.take(1.0) && !self.tally.mark(pkt, is_last, Reason::Deltic, log);
        drop.then_some(Reason::Deltic)
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        self.tally.tau = to.tally.tau;
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        self.tally.stats(out);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        out.put("error", "ms", self.control.error * 1000.0);
        out.put("accumulator", "1", self.control.accumulator);
        out.put("oscillator", "1", self.control.oscillator);
    }

    fn reset(&mut self) {
        self.tally.restart();
        self.window.0.clear();
        self.control = Control::NEW;
    }
}

#[cfg(test)]
mod tests;
