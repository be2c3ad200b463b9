//! How late this machine wakes a thread, tried for a moment, so that who wants to measure in real time
//! knows before what the times will be worth.

use std::io;
use std::thread;

use serde::Serialize;
use sojourn_core::Dur;

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::realtime::{Measures, RealTime};
use crate::wait::Hybrid;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What the thread asks of the machine.
    pub wanted: Measures,
    /// Its longest busy wait before a departure, as of [`Hybrid::new`].
    pub spin: Dur,
    /// Time between departures.
    pub period: Dur,
    /// Number of departures.
    pub departures: u32,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Trial {
    /// What the machine granted.
    pub granted: Measures,
    /// What it refused, with the reason.
    pub refused: Vec<String>,
    /// Of all departures. One does not shift those after it, as in a network in real time.
    pub lateness_ms: Lateness,
}

impl Plan {
    /// Departs, on a thread of its own.
    ///
    /// # Errors
    /// No thread, or what `poll` says.
    pub fn carry_out(self) -> io::Result<Trial> {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("trial".into());
            let thread = thread.spawn_scoped(scope, || self.depart())?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn depart(self) -> io::Result<Trial> {
        let mut lateness_ms = Lateness::default();
        let real_time = RealTime::ask(self.wanted);
        let clock = Clock::start();
        let mut hybrid = Hybrid::new(clock, self.spin);
        let mut due = clock.now();
        for _ in 0..self.departures {
            due += self.period;
            while !hybrid.wait([], Some(due))?.is_due {}
            lateness_ms.record(clock.now().since(due));
        }
        let refused = real_time.refused().iter();
        let refused = refused.map(|it| format!("{}: {}", it.what, it.why)).collect();
        Ok(Trial { granted: real_time.granted(), refused, lateness_ms })
    }
}

#[cfg(test)]
mod tests;
