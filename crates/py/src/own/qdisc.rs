//! A queue discipline in Python. The adapter keeps the accounts: a packet that the class neither
//! returns nor drops is still in the queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sojourn_core::grammar::{Args, Given, GrammarError, Written, nearest};
use sojourn_core::spec::Held;
use sojourn_core::{Ecn, Kind, Probe, Rate, Time};
use sojourn_queue::aqm::{Backlog, Discipline, Env, Log, Qdisc, Reason, Spec, Stats};
use sojourn_queue::qdiscs;

use super::{Arguments, Definition, Method, Part, QDISCS, instant, named, seconds, values};

/// Columns of the port itself, which a queue's own values must not be called.
const TAKEN: [&str; 6] =
    ["backlog_packets", "backlog_bytes", "sojourn", "received_packets", "marks", "drops"];

/// What a class did to packets since the adapter last looked.
enum Deed {
    Mark(sojourn_core::Packet, Reason),
    Drop(usize, Reason),
}

/// The deeds of one queue's packets, in order.
type Deeds = Arc<Mutex<Vec<Deed>>>;

fn locked(deeds: &Deeds) -> MutexGuard<'_, Vec<Deed>> {
    deeds.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A packet in the hands of a queue.
#[pyclass(module = "sojourn")]
pub(crate) struct Packet {
    meta: sojourn_core::Packet,
    arrived_s: f64,
    place: usize,
    /// In the queue: neither dropped nor sent.
    held: bool,
    deeds: Deeds,
}

impl Packet {
    fn expect_held(&self) -> PyResult<()> {
        let message = "this packet is no longer in the queue";
        if self.held { Ok(()) } else { Err(PyRuntimeError::new_err(message)) }
    }

    fn note_mark(
        &mut self,
        reason: &str,
        set: fn(&mut sojourn_core::Packet) -> bool,
    ) -> PyResult<bool> {
        self.expect_held()?;
        let reason = parse_reason(reason)?;
        let before = self.meta.ecn();
        let marked = set(&mut self.meta);
        // As elsewhere a mark is counted if the codepoint changed.
        if self.meta.ecn() != before {
            locked(&self.deeds).push(Deed::Mark(self.meta, reason));
        }
        Ok(marked)
    }
}

fn parse_reason(name: &str) -> PyResult<Reason> {
    Reason::ALL.into_iter().find(|reason| reason.name() == name).ok_or_else(|| {
        let names = Reason::ALL.map(Reason::name);
        let near = nearest(name, names.into_iter())
            .map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
        let valid = names.join(", ");
        PyValueError::new_err(format!("no reason is called {name:?}{near}; valid: {valid}"))
    })
}

#[pymethods]
impl Packet {
    /// Bytes of the layer-2 frame.
    #[getter]
    fn len(&self) -> u32 {
        self.meta.len
    }
    /// Direction of a flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.meta.flow.0
    }
    #[getter]
    fn hash(&self) -> u32 {
        self.meta.hash
    }
    #[getter]
    fn src(&self) -> u16 {
        self.meta.src
    }
    #[getter]
    fn dst(&self) -> u16 {
        self.meta.dst
    }
    #[getter]
    fn dscp(&self) -> u8 {
        self.meta.tos >> 2
    }
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.meta.ecn() {
            Ecn::NotEct => "not-ect",
            Ecn::Ect1 => "ect1",
            Ecn::Ect0 => "ect0",
            Ecn::Ce => "ce",
        }
    }
    #[getter]
    fn kind(&self) -> &'static str {
        match self.meta.kind {
            Kind::TcpData => "tcp-data",
            Kind::TcpAck => "tcp-ack",
            Kind::TcpControl => "tcp-control",
            Kind::Udp => "udp",
            Kind::Icmp => "icmp",
        }
    }
    #[getter]
    fn arrived_s(&self) -> f64 {
        self.arrived_s
    }

    /// Sets CE; false if the packet is not ECN-capable, so that only a drop can signal.
    fn mark(&mut self, reason: &str) -> PyResult<bool> {
        self.note_mark(reason, sojourn_core::Packet::set_ce)
    }

    /// Sets SCE, ECT(0) to ECT(1); false for every other codepoint.
    fn mark_sce(&mut self, reason: &str) -> PyResult<bool> {
        self.note_mark(reason, sojourn_core::Packet::set_sce)
    }

    /// Discards the packet.
    fn drop(&mut self, reason: &str) -> PyResult<()> {
        self.expect_held()?;
        let reason = parse_reason(reason)?;
        self.held = false;
        locked(&self.deeds).push(Deed::Drop(self.place, reason));
        Ok(())
    }

    fn __repr__(&self) -> String {
        let (kind, len, flow, ecn) = (self.kind(), self.len(), self.flow(), self.ecn());
        format!("Packet({kind}, {len} bytes, flow {flow}, {ecn})")
    }
}

/// A queue discipline whose methods are Python's.
struct PyQdisc {
    part: Part,
    arguments: Arguments,
    /// When the scenario starts, from which Python counts.
    origin: Time,
    /// The packets held, by place; none once the run has failed.
    held: Vec<Option<(sojourn_core::Packet, Option<Py<Packet>>)>>,
    free: Vec<usize>,
    backlog: Backlog,
    deeds: Deeds,
    enqueue: Method,
    dequeue: Method,
    peek: Method,
    wake: Method,
    on_wake: Method,
    change: Method,
    stats: Method,
    probe: Method,
}

/// A class and its parameters.
#[derive(Clone)]
pub(super) struct External {
    definition: Arc<Definition>,
    arguments: Arguments,
    /// Whether a text was read: one that is read after it changes the discipline.
    is_read: bool,
    /// What a change states.
    fresh: Option<Arguments>,
}

impl External {
    /// The class that a line names, without parameters.
    pub(super) fn default(name: &str) -> Box<dyn Held<dyn Discipline>> {
        let definition = named(&QDISCS, name);
        Box::new(Self {
            arguments: Arguments::none(definition.name),
            definition,
            is_read: false,
            fresh: None,
        })
    }

    /// Whether the class takes this change, tried on an object of its own.
    fn try_change(&self, fresh: &Arguments) -> Result<(), String> {
        let name = fresh.name();
        Python::attach(|py| {
            let object = self.definition.instance(py, &self.arguments, 0);
            let object = object.map_err(|e| self.definition.line(py, name, "__init__", &e))?;
            let Ok(change) = object.getattr("change") else {
                return Err(format!("{name}: it has no method `change`; use replace"));
            };
            let keywords = fresh.keywords(py);
            let changed = keywords.and_then(|keywords| change.call((0.0,), Some(&keywords)));
            changed.map(drop).map_err(|e| self.definition.line(py, name, "change", &e))
        })
    }
}

impl Held<dyn Discipline> for External {
    fn get(&self) -> &(dyn Discipline + 'static) {
        self
    }

    fn get_mut(&mut self) -> &mut (dyn Discipline + 'static) {
        self
    }

    fn copy(&self) -> Box<dyn Held<dyn Discipline>> {
        Box::new(self.clone())
    }

    fn written(&self) -> Vec<Written> {
        self.arguments.written()
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<Given, GrammarError> {
        let fresh = Arguments::read(args, &self.definition)?;
        if !std::mem::replace(&mut self.is_read, true) {
            let given = fresh.given();
            self.arguments = fresh;
            return Ok(given);
        }
        self.try_change(&fresh).map_err(GrammarError)?;
        self.arguments = self.arguments.changed_by(&fresh);
        let given = fresh.given();
        self.fresh = Some(fresh);
        Ok(given)
    }
}

impl Discipline for External {
    /// Makes an object, whose exception is the error.
    fn check(&mut self, _env: &Env) -> Result<(), String> {
        let name = self.arguments.name();
        Python::attach(|py| match self.definition.instance(py, &self.arguments, 0) {
            Ok(_) => Ok(()),
            Err(error) => {
                let line = self.definition.line(py, name, "__init__", &error);
                Err(line.strip_prefix(&format!("{name}: ")).unwrap_or(&line).to_owned())
            }
        })
    }

    fn build(&self, mut env: Env) -> Box<dyn Qdisc> {
        let name = self.arguments.name();
        let place = if env.name.is_empty() { name.to_owned() } else { env.name };
        let seed = env.rng.u64();
        let object = Python::attach(|py| {
            let made = self.definition.instance(py, &self.arguments, seed).map(Bound::unbind);
            made.map_err(|e| self.definition.fail(py, &place, "__init__", e)).ok()
        });
        let part = Part { definition: Arc::clone(&self.definition), place, object };
        let method = |name| part.method(name);
        Box::new(PyQdisc {
            held: Vec::new(),
            free: Vec::new(),
            backlog: Backlog::default(),
            deeds: Deeds::default(),
            enqueue: method("enqueue"),
            dequeue: method("dequeue"),
            peek: method("peek"),
            wake: method("wake"),
            on_wake: method("on_wake"),
            change: method("change"),
            stats: method("stats"),
            probe: method("probe"),
            part,
            arguments: self.arguments.clone(),
            origin: env.origin,
        })
    }

    fn capacity(&self) -> Option<Rate> {
        let written = self.arguments.written();
        let part = written.iter().find(|part| matches!(part.name, "rate" | "bandwidth"))?;
        Rate::parse_tc(part.text.split(' ').nth(1)?)
    }
}

impl PyQdisc {
    fn seconds(&self, at: Time) -> f64 {
        seconds(Time::ZERO + at.since(self.origin))
    }

    /// Takes a packet into the accounts.
    fn hold(&mut self, packet: sojourn_core::Packet) -> usize {
        self.backlog.add(&packet);
        let place = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() - 1
        });
        self.held[place] = Some((packet, None));
        place
    }

    /// Takes a packet out of the accounts, as Python has left it.
    fn release(&mut self, place: usize) -> sojourn_core::Packet {
        let (mut packet, object) = self.held[place].take().expect("it is held");
        self.free.push(place);
        self.backlog.remove(&packet);
        if let Some(object) = object {
            Python::attach(|py| {
                let mut object = object.bind(py).borrow_mut();
                object.held = false;
                packet = object.meta;
            });
        }
        packet
    }

    /// Hands on what the class did.
    fn settle(&mut self, log: &mut Log) {
        let deeds = std::mem::take(&mut *locked(&self.deeds));
        for deed in deeds {
            match deed {
                Deed::Mark(packet, reason) => log.mark(&packet, reason),
                Deed::Drop(place, reason) => log.drop(&self.release(place), reason),
            }
        }
    }

    /// The place of a packet that a method gave.
    fn place_of(&self, given: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        if given.is_none() {
            return Ok(None);
        }
        let packet = given.cast::<Packet>()?.borrow();
        packet.expect_held()?;
        if !Arc::ptr_eq(&packet.deeds, &self.deeds) {
            return Err(PyValueError::new_err("this packet is in another queue"));
        }
        Ok(Some(packet.place))
    }
}

impl Qdisc for PyQdisc {
    fn enqueue(&mut self, now: Time, mut pkt: sojourn_core::Packet, log: &mut Log) {
        pkt.stamp = now;
        let place = self.hold(pkt);
        let deeds = Arc::clone(&self.deeds);
        let arrived_s = self.seconds(now);
        let given = self.part.call(&self.enqueue, |method| {
            let packet = Packet { meta: pkt, arrived_s, place, held: true, deeds };
            let packet = Bound::new(method.py(), packet)?;
            let object = packet.clone().unbind();
            // A method that raises may have kept the packet, so it is noted before.
            let result = method.call1((arrived_s, packet));
            Ok((object, result.map(Bound::unbind)))
        });
        if let Some((object, result)) = given {
            if let Some((_, held)) = &mut self.held[place] {
                *held = Some(object);
            }
            if let Err(error) = result {
                Python::attach(|py| {
                    let Part { definition, place, .. } = &self.part;
                    definition.fail(py, place, self.enqueue.name, error);
                });
            }
        }
        self.settle(log);
    }

    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<sojourn_core::Packet> {
        let place = self
            .part
            .call(&self.dequeue, |method| self.place_of(&method.call1((self.seconds(now),))?));
        self.settle(log);
        Some(self.release(place??))
    }

    fn next_len(&self) -> Option<u32> {
        let place = self.part.call(&self.peek, |method| self.place_of(&method.call0()?))??;
        self.held[place].as_ref().map(|(packet, _)| packet.len)
    }

    fn wake(&self) -> Time {
        let answer = self.part.call(&self.wake, |method| instant(method.call0()?.extract()?));
        match answer {
            None | Some(Time::NEVER) => Time::NEVER,
            Some(at) => self.origin + at.since(Time::ZERO),
        }
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.part
            .call(&self.on_wake, |method| method.call1((self.seconds(now),)).map(Bound::unbind));
        self.settle(log);
        if self.wake() <= now {
            self.part.refuse(&self.wake, "the instant is still due after on_wake");
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        let Some(External { arguments, fresh: Some(fresh), .. }) = to.held() else { return };
        let at = self.seconds(now);
        self.part.call(&self.change, |change| {
            let keywords = fresh.keywords(change.py())?;
            change.call((at,), Some(&keywords)).map(Bound::unbind)
        });
        self.arguments = arguments.clone();
        self.settle(log);
    }

    fn spec(&self) -> Spec {
        let (definition, arguments) = (Arc::clone(&self.part.definition), self.arguments.clone());
        let entry = qdiscs::entry(arguments.name()).expect("a line of the registry");
        Spec::new(entry, External { definition, arguments, is_read: true, fresh: None })
    }

    fn stats(&self, out: &mut Stats) {
        let put = self.part.call(&self.stats, |method| values(&method.call0()?));
        for (name, _, value) in put.into_iter().flatten() {
            out.put(name, value);
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let put = self.part.call(&self.probe, |method| {
            let values = values(&method.call0()?)?;
            match values.iter().find(|(name, ..)| TAKEN.contains(&name.as_str())) {
                Some((name, ..)) => {
                    let message = format!("{name:?} is a series of the port; choose another name");
                    Err(PyValueError::new_err(message))
                }
                None => Ok(values),
            }
        });
        for (name, unit, value) in put.into_iter().flatten() {
            out.put(&name, unit, value);
        }
    }

    fn purge(&mut self, log: &mut Log) {
        for place in 0..self.held.len() {
            if self.held[place].is_some() {
                log.drop(&self.release(place), Reason::Purge);
            }
        }
    }
}
