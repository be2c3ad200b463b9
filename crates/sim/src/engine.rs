//! The event loop. Ports and end points never see each other: the engine carries packets between
//! them, keeps the time, and balances the accounts.

use std::sync::Arc;

use sojourn_core::{Kind, Packet, Time};
use sojourn_queue::Medium;
use sojourn_queue::aqm::Log;
use sojourn_queue::impair::tunnel::InnerHeaders;
use sojourn_queue::qdiscs;
use sojourn_scenario::topology::{Role, Topology};
use sojourn_scenario::{Change, Edit, Scenario, Status};
use sojourn_trace::{Column, Cursor, GroupId, Metrics, Output, Recorder, Summary, Window};
use sojourn_transport::{Endpoint, READING};

mod standstill;
mod totals;

pub use standstill::Standstill;

use crate::agenda::{Item, agenda};
use crate::build::{CHECKED, env, ports};
use crate::ends::Ends;
use crate::events::{EventQueue, Slot};
use crate::link::{Departure, Hop, Port, watch};
use crate::noise::NoisyHosts;
use crate::slab::Slab;
use crate::sources::{Source, Sources};
use crate::split::{Split, hops};
use crate::tap::{Passage, Tap, Taps};

/// Events of a turn, besides those that an event sets off: a few milliseconds of work.
const EVENTS_PER_TURN: u32 = 2048;

/// A scenario under way in virtual time.
pub struct Simulation {
    scenario: Arc<Scenario>,
    topology: Topology,
    now: Time,
    /// The next event, if it comes after the instant at which the last turn ended.
    due: Option<(Time, Slot)>,
    has_ended: bool,
    ports: Vec<Port>,
    /// Where packets of one sender take several paths in turn.
    splits: Vec<Split>,
    /// Headers of the packets in each tunnel's directions.
    inner: Vec<InnerHeaders>,
    /// What the two directions of each link may share.
    media: Vec<Medium>,
    ends: Ends,
    slab: Slab,
    noise: Option<Box<NoisyHosts>>,
    taps: Option<Box<Taps>>,
    sources: Sources,
    events: EventQueue,
    /// Packets that arrive somewhere at this instant; those before `carried` have.
    arriving: Vec<(Hop, Packet)>,
    carried: usize,
    /// Events since time last moved on, and how many of them, or of packets that one of them sets
    /// off, are too many.
    crowd: usize,
    most: usize,
    /// The end that has sent too many packets at this instant.
    flooding: Option<usize>,
    log: Log,
    agenda: Vec<(Time, Item)>,
    agenda_at: usize,
    /// Changes from outside.
    changed: usize,
    /// When [`Simulation::queues`] was last asked.
    asked: Time,
    recorder: Recorder,
    drained: Cursor,
    port_groups: Vec<GroupId>,
    sampled_at: Option<Time>,
    /// Which windows are open, the main one first; packets are measured while any is.
    open: Vec<bool>,
    measuring: bool,
    handled: u64,
    data_packets: u64,
    injected: u64,
    delivered: u64,
}

impl Simulation {
    /// The network of `scenario` at 0 s.
    pub fn new(scenario: Arc<Scenario>) -> Self {
        Self::with_outside(scenario, |_| None)
    }

    /// As [`Simulation::new`], where `outside` gives end points that take the place of the simulator's
    /// own. Those of the flow or ping number n, flows first, are 2n, which opens it, and 2n + 1.
    pub fn with_outside(
        scenario: Arc<Scenario>,
        outside: impl Fn(usize) -> Option<Box<dyn Endpoint>>,
    ) -> Self {
        let topology = Topology::new(&scenario);
        let mut ends = Ends::with_outside(Arc::clone(&scenario), outside);
        let media: Vec<Medium> = scenario.links.iter().map(|_| Medium::default()).collect();
        let (mut ports, inner) = ports(&topology, &scenario, ends.list.len(), &media);
        let mut splits = Vec::new();
        for (n, routes) in topology.flows.iter().chain(&topology.pings).enumerate() {
            let limited = scenario.flows.get(n).is_some_and(|flow| flow.tcp.tsq);
            for (direction, is_forward) in [true, false].into_iter().enumerate() {
                let sender = 2 * n + direction;
                for (port, next) in hops(routes, is_forward, sender, &mut splits) {
                    match port {
                        Some(port) => ports[port].next[sender] = next,
                        None => ends.list[sender].first = next,
                    }
                }
                let firsts = routes.iter().filter_map(|route| route.way(is_forward).first());
                for &port in firsts.filter(|_| limited) {
                    let watched = &mut ports[port].watched;
                    watched.resize(ends.list.len(), 0);
                    watched[sender] = watch::REPORTS;
                }
            }
        }
        let mut recorder = Recorder::default();
        let port_groups =
            ports.iter().map(|p| recorder.group(format!("queue.{}.", p.name))).collect();
        let mut noise = NoisyHosts::of(&scenario);
        let noisy = noise.as_ref().map_or(0, |hosts| hosts.len());
        let sources = Sources::of(&mut ports, ends.list.len(), noisy);
        if let Some(noise) = &mut noise {
            noise.emulate(scenario.seed, &sources, |port| &ports[port as usize].name);
        }
        let mut simulation = Self {
            agenda: agenda(&scenario),
            open: vec![false; 1 + scenario.windows.len()],
            scenario,
            topology,
            now: Time::ZERO,
            due: None,
            has_ended: false,
            ports,
            splits,
            inner,
            media,
            ends,
            slab: Slab::default(),
            noise,
            taps: None,
            events: EventQueue::new(sources.len()),
            arriving: Vec::with_capacity(64),
            carried: 0,
            crowd: 0,
            most: standstill::limit(sources.len()),
            sources,
            flooding: None,
            log: Log::default(),
            agenda_at: 0,
            changed: 0,
            asked: Time::ZERO,
            recorder,
            drained: Cursor::default(),
            port_groups,
            sampled_at: None,
            measuring: false,
            handled: 0,
            data_packets: 0,
            injected: 0,
            delivered: 0,
        };
        for port in 0..simulation.ports.len() {
            simulation.ports[port].note_queue(Time::ZERO);
            let port = &mut simulation.ports[port];
            rearm(port, port.wake(), Time::ZERO, &mut simulation.events);
        }
        simulation.arm_agenda();
        simulation.events.set(simulation.sources.sample(), Time::ZERO);
        simulation
    }

    /// The instant up to which it has come.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Goes on for one turn, as [`Run::advance`](sojourn_scenario::Run::advance) does.
    ///
    /// # Errors
    /// If time stands still.
    ///
    /// # Panics
    /// If the accounts of a queue do not balance, which is a defect of the engine.
    pub fn advance(&mut self, until: Time) -> Result<Status, Standstill> {
        let end = Time::ZERO + self.scenario.duration;
        let until = until.min(end);
        for _ in 0..EVENTS_PER_TURN {
            let due = self.due.take().or_else(|| self.events.next());
            match due {
                Some((at, slot)) if at <= until => self.handle(at, slot)?,
                later => {
                    (self.now, self.due, self.has_ended) = (until, later, until == end);
                    return Ok(if self.has_ended { Status::Ended } else { Status::Paused });
                }
            }
        }
        Ok(Status::Going)
    }

    /// When the next event is due; [`Time::NEVER`] if there is none.
    pub fn due(&mut self) -> Time {
        self.due = self.due.take().or_else(|| self.events.next());
        self.due.map_or(Time::NEVER, |(at, _)| at)
    }

    /// Sends, at the instant up to which it has come, what end point number `end` has got from outside.
    ///
    /// # Errors
    /// If that sets off packets without end.
    pub fn poll_outside(&mut self, end: usize) -> Result<(), Standstill> {
        self.reconsider();
        self.poll(end);
        self.settle()
    }

    /// Shows packets to a tap from now on, which is before the first event.
    pub fn tap(&mut self, tap: Box<dyn Tap>) {
        let Self { ports, splits, ends, .. } = self;
        self.taps = Some(Box::new(Taps::install(tap, ports, splits, ends)));
    }

    /// Why its tap cannot go on, if it has one that cannot.
    pub fn tap_failure(&mut self) -> Option<String> {
        self.taps.as_mut()?.tap.failure()
    }

    /// Ends what its tap does, if it has one.
    ///
    /// # Errors
    /// What the tap had to do last has failed; one line.
    pub fn end_tap(&mut self) -> Result<(), String> {
        self.taps.take().map_or(Ok(()), |taps| taps.tap.finish())
    }

    /// Takes over what hosts outside have recorded of the end points that they ran, for the results.
    pub fn adopt(&mut self, ends: Ends) {
        self.ends = ends;
    }

    /// Applies a change at the instant up to which it has come, as if it stood in the schedule.
    ///
    /// # Errors
    /// If that sets off packets without end.
    pub fn change(&mut self, change: &Change) -> Result<(), Standstill> {
        self.reconsider();
        self.apply(change, self.scenario.schedule.len() + self.changed);
        self.changed += 1;
        self.settle()
    }

    /// What comes from outside may set off something earlier than what is due.
    fn reconsider(&mut self) {
        if let Some((at, slot)) = self.due.take() {
            self.events.set(slot, at);
        }
    }

    /// What was sampled since the last call.
    pub fn drain(&mut self) -> impl Iterator<Item = Column> {
        self.ends.drain().chain(self.recorder.since(&mut self.drained))
    }

    /// Forgets what was sampled so far, for runs without a foreseeable end.
    pub fn forget_series(&mut self) {
        self.ends.forget_series();
        self.recorder.clear();
        self.drained = Cursor::default();
    }

    fn handle(&mut self, at: Time, slot: Slot) -> Result<(), Standstill> {
        if at > self.now {
            (self.now, self.crowd) = (at, 0);
        } else {
            assert!(at == self.now, "time does not run backwards");
            self.crowd += 1;
            if self.crowd > self.most {
                return Err(self.standstill_of(slot));
            }
        }
        self.handled += 1;
        match self.sources.get(slot) {
            Source::Queue(p) => self.on_queue(p as usize),
            Source::Wire(p) => self.pump(p as usize),
            Source::Line(p) => self.on_line(p as usize),
            Source::End(e) => self.on_deadline(e as usize),
            Source::Agenda => self.on_agenda(),
            Source::Sample => {
                self.sample();
                self.events.set(slot, at + self.scenario.step);
            }
            Source::Host(host) => self.on_host(host as usize),
        }
        self.settle()
    }

    #[inline(always)]
    fn settle(&mut self) -> Result<(), Standstill> {
        self.carry();
        match self.flooding {
            Some(end) => Err(self.standstill_by(end)),
            None => Ok(()),
        }
    }

    // ---- movement -------------------------------------------------------------------------

    /// Carries packets that arrive now, and what they set off, until nothing moves.
    #[inline(always)]
    fn carry(&mut self) {
        while let Some(&(hop, pkt)) = self.arriving.get(self.carried) {
            self.carried += 1;
            match hop {
                Hop::Port(p) => {
                    let p = p as usize;
                    if pkt.segs > 1 && self.ports[p].qdisc.splits(&pkt) {
                        self.enqueue_split(p, &pkt);
                        self.pump(p);
                    } else {
                        let wake = self.ports[p].enqueue(self.now, pkt, &mut self.log);
                        match wake {
                            Some(wake) if self.log.is_empty() => {
                                rearm(&mut self.ports[p], wake, self.now, &mut self.events);
                            }
                            _ => self.pump(p),
                        }
                    }
                }
                Hop::End(e) if self.noise.is_some() => self.arrive(e as usize, pkt),
                Hop::End(e) => self.deliver(e as usize, &pkt),
                Hop::Split(s) => self.arriving.push((self.splits[s as usize].next(), pkt)),
                Hop::Seen(place) => {
                    // The same packet is next, where it goes from here.
                    self.carried -= 1;
                    self.arriving[self.carried].0 = self.pass(place, &pkt);
                }
            }
        }
        self.arriving.clear();
        self.carried = 0;
    }

    /// A tap sees a packet; gives where it goes.
    #[cold]
    fn pass(&mut self, place: u32, pkt: &Packet) -> Hop {
        let taps = self.taps.as_mut().expect("a tap has put it there");
        let (passage, then) = taps.place(place);
        match passage {
            // Of what its queue takes in segments, it sees these.
            Passage::Enters(p) if pkt.segs > 1 && self.ports[p].qdisc.splits(pkt) => {}
            Passage::Enters(p) => taps.enters(self.now, (p, &self.ports[p]), pkt, &self.slab),
            _ => taps.see(self.now, passage, pkt, &self.slab),
        }
        then
    }

    /// Puts the segments of a super-packet into a queue one by one.
    fn enqueue_split(&mut self, p: usize, pkt: &Packet) {
        let whole = self.slab.get(pkt.id).clone();
        let headers = (pkt.len - whole.payload()) / u32::from(pkt.segs);
        for index in 0..u32::from(pkt.segs) {
            let (segment, payload) = whole.split(index);
            let mut one = Packet { len: headers + payload, segs: 1, ..*pkt };
            if index > 0 && whole.has_cwr_first() {
                one.clear_cwr();
            }
            one.id = self.slab.store(segment);
            for headers in &self.inner {
                headers.split(pkt.id, one.id, index == 0);
            }
            if let Some(taps) = &mut self.taps {
                taps.tap.split(pkt.id, one.id, index);
                taps.enters(self.now, (p, &self.ports[p]), &one, &self.slab);
            }
            self.ports[p].enqueue(self.now, one, &mut self.log);
        }
        self.injected += u64::from(pkt.segs) - 1;
        self.slab.release(pkt.id);
    }

    /// Reports to senders what has left the first queue of their path.
    #[cold]
    fn report_departures(&mut self, p: usize) {
        let mut departures = std::mem::take(&mut self.ports[p].departures);
        for Departure { flow, connection, bytes } in departures.drain(..) {
            let e = flow.0 as usize;
            self.ends.list[e].endpoint.on_departed(self.now, connection, bytes);
            self.poll(e);
        }
        self.ports[p].departures = departures;
    }

    /// Lets a port send all that it may send now.
    fn pump(&mut self, p: usize) {
        let port = &mut self.ports[p];
        let mut launched = false;
        let (now, measuring) = (self.now, self.measuring);
        while let Some((arrival, pkt, side)) = port.transmit(now, measuring, &mut self.log) {
            let is_data = pkt.kind == Kind::TcpData && port.role == Role::Egress;
            self.data_packets += u64::from(is_data);
            let watched = port.watched(&pkt);
            if watched & watch::REPORTS != 0 {
                port.departed(&pkt, &self.slab);
            }
            if let (true, Some(taps)) = (watched & watch::LEAVES != 0, &mut self.taps) {
                taps.leaves(now, (p, port), (&pkt, side), (&self.slab, &self.log));
            }
            if arrival == self.now && port.line_is_empty() {
                self.arriving.push((port.next[pkt.flow.0 as usize], pkt));
            } else {
                launched |= port.launch(arrival, pkt);
            }
        }
        if !self.log.is_empty() {
            self.settle_port(p);
        }
        let port = &mut self.ports[p];
        if launched {
            self.events.set(port.slots.line, port.arrival());
        }
        rearm(port, port.wake(), self.now, &mut self.events);
        if !port.departures.is_empty() {
            self.report_departures(p);
        }
    }

    /// Counts what a port has noted.
    #[inline]
    fn settle_port(&mut self, p: usize) {
        let port = &mut self.ports[p];
        if let Some(taps) = &mut self.taps {
            taps.settle(self.now, (p, port), (&self.slab, &self.log));
        }
        port.settle(&mut self.log, &mut self.slab);
    }

    fn on_queue(&mut self, p: usize) {
        let port = &mut self.ports[p];
        port.armed = Time::NEVER;
        let wake = port.wake();
        if wake <= self.now {
            if let Some(noise) = &mut self.noise
                && let Some(fires) = noise.expire_on_path(self.now, port.slots.queue, wake)
            {
                port.armed = fires;
                return self.events.set(port.slots.queue, fires);
            }
            port.on_wake(self.now, &mut self.log);
        }
        self.pump(p);
    }

    fn on_line(&mut self, p: usize) {
        let port = &mut self.ports[p];
        if let Some(noise) = &mut self.noise
            && let Some(fires) = noise.expire_on_path(self.now, port.slots.line, port.arrival())
        {
            return self.events.set(port.slots.line, fires);
        }
        while let Some(pkt) = port.land(self.now) {
            self.arriving.push((port.next[pkt.flow.0 as usize], pkt));
        }
        self.events.set(port.slots.line, port.arrival());
    }

    #[inline(always)]
    fn deliver(&mut self, e: usize, pkt: &Packet) {
        self.delivered += 1;
        // A checksum fails before anything looks at the packet.
        if !pkt.is_corrupt() {
            self.ends.deliver(self.now, e, self.slab.arrived(pkt), pkt.ecn());
        }
        self.slab.release(pkt.id);
        self.poll(e);
    }

    /// A packet arrives at a host that takes time.
    #[cold]
    fn arrive(&mut self, e: usize, pkt: Packet) {
        let Some(noise) = &mut self.noise else { return };
        let (host, at) = noise.arrive(self.now, e, pkt);
        let slot = self.sources.host(host);
        self.events.set(slot, at);
    }

    /// A host that takes time handles what has arrived.
    fn on_host(&mut self, host: usize) {
        while let Some((e, pkt)) = self.noise.as_mut().and_then(|noise| noise.take(self.now, host))
        {
            self.deliver(e, &pkt);
        }
        let due = self.noise.as_ref().map_or(Time::NEVER, |noise| noise.due(host));
        let slot = self.sources.host(host);
        self.events.set(slot, due);
    }

    fn on_deadline(&mut self, e: usize) {
        let endpoint = &mut self.ends.list[e].endpoint;
        let deadline = endpoint.deadline();
        if deadline <= self.now {
            if let Some(noise) = &mut self.noise
                && let Some(fires) = noise.expire(self.now, e, deadline)
            {
                let slot = self.sources.end(e);
                return self.events.set(slot, fires);
            }
            endpoint.on_timer(self.now);
        }
        self.poll(e);
    }

    /// Sends what an end point has to send, and arms its timer.
    fn poll(&mut self, e: usize) {
        let end = &mut self.ends.list[e];
        loop {
            // Its header goes from here into the slab: a binding by value would copy it once more.
            let sent = end.endpoint.poll(self.now);
            let Some(tx) = &sent else { break };
            if self.arriving.len() > self.most {
                // Nothing more is carried, and the run ends.
                self.arriving.truncate(self.carried);
                self.flooding = Some(e);
                return;
            }
            self.injected += 1;
            let mut pkt = end.packet(tx);
            let Some(tx) = sent else { break };
            pkt.id = self.slab.store(tx.body);
            self.arriving.push((end.first, pkt));
        }
        let mut deadline = end.endpoint.deadline();
        if let Some(noise) = &self.noise {
            deadline = noise.wanted(e, deadline);
        }
        // Timers come before what arrives in the same instant. With delays without jitter such ties are common: the ACKs of
        // paced packets arrive as the pacer's next timers are due. Hosts and links take some time on the way round, so that
        // on Linux the packet is the later one. Readers wait for what arrives with the packet that has woken them.
        let first = deadline > self.now + READING;
        self.events.set_in(self.sources.end(e), deadline, first);
    }

    // ---- agenda ---------------------------------------------------------------------------

    fn arm_agenda(&mut self) {
        let at = self.agenda.get(self.agenda_at).map_or(Time::NEVER, |(at, _)| *at);
        self.events.set_in(self.sources.agenda(), at, true);
    }

    fn on_agenda(&mut self) {
        while let Some(&(at, item)) = self.agenda.get(self.agenda_at) {
            if at > self.now {
                break;
            }
            self.agenda_at += 1;
            match item {
                Item::Start(n) => {
                    self.ends.list[2 * n].endpoint.start(self.now);
                    self.poll(2 * n);
                }
                Item::Stop(n) => {
                    self.ends.list[2 * n].endpoint.stop(self.now);
                    self.poll(2 * n);
                }
                Item::Change(i) => {
                    let scenario = Arc::clone(&self.scenario);
                    self.apply(&scenario.schedule[i], i);
                }
            }
        }
        self.arm_agenda();
    }

    fn apply(&mut self, change: &Change, index: usize) {
        for p in 0..self.ports.len() {
            let port = &self.ports[p];
            let wanted = if port.forward { change.forward } else { change.reverse };
            let role = match &change.edit {
                Edit::Ingress(i, _) => Role::Ingress(*i),
                _ => Role::Egress,
            };
            if port.link == change.link && wanted && port.role == role {
                self.edit(p, &change.edit, index);
                self.pump(p);
            }
        }
    }

    fn edit(&mut self, p: usize, edit: &Edit, index: usize) {
        let port = &mut self.ports[p];
        let name = format!("{}.change{index}", port.name);
        // What is new has no age.
        let now = port.clock(self.now);
        let env = env(&self.scenario, &name, port.role, now, port.age, &self.media[port.link]);
        match edit {
            Edit::Delay(delay) => port.delay = *delay,
            Edit::Rate(rate) if port.wire.is_some() => port.wire = Some(*rate),
            Edit::Rate(rate) => {
                qdiscs::change_rate(port.qdisc.as_mut(), now, *rate, &mut self.log).expect(CHECKED);
            }
            Edit::Change(to, given) => {
                let (depth, log) = (port.wrappers, &mut self.log);
                qdiscs::change_at(&mut port.qdisc, depth, now, to, given, log);
            }
            Edit::Replace(to) | Edit::Ingress(_, to) => {
                let fresh = to.build(env);
                qdiscs::replace_at(&mut port.qdisc, port.wrappers, fresh, &mut self.log);
            }
        }
        port.note_queue(self.now);
        self.settle_port(p);
    }

    // ---- observation ----------------------------------------------------------------------

    fn sample(&mut self) {
        let now = self.now;
        if self.sampled_at.replace(now) == Some(now) {
            return; // the run ends with a sample
        }
        self.open_windows(now);
        self.ends.sample(now);
        for (port, group) in self.ports.iter_mut().zip(&self.port_groups) {
            port.assert_balanced();
            self.recorder.sample(*group, now, |probe| port.sample(probe));
        }
    }

    /// Opens and closes the windows that begin and end now.
    fn open_windows(&mut self, now: Time) {
        let open: Vec<bool> = self.scenario.all_windows().map(|w| w.contains(now)).collect();
        if open != self.open {
            self.close_windows();
            self.measuring = open.contains(&true);
            self.open = open;
        }
    }

    /// Hands what has left lately to the windows that are open.
    fn close_windows(&mut self) {
        self.ports.iter_mut().for_each(|port| port.close(&self.open));
    }

    /// The results so far, which are complete if the run has ended.
    ///
    /// # Panics
    /// If the accounts of a queue or of the network do not balance, which is a defect of the engine.
    pub fn finish(mut self) -> Output {
        let complete = self.has_ended;
        if complete {
            self.sample();
        }
        self.assert_balanced();
        self.close_windows();
        let window = self.scenario.measure;
        let queues = self.queue_windows(0, window).into_iter().zip(&self.ports);
        let queues: Vec<_> = queues.map(|(window, port)| port.summary(window)).collect();
        let rates = self.rates();
        let flows = self.ends.flow_summaries(self.now, &rates);
        let pings = self.ends.ping_summaries();
        let metrics = Metrics::of(&flows, &pings, &queues, &self.ends.bins(self.now));
        let summary = Summary {
            schema: "sojourn/summary/1",
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            duration_s: self.now.as_secs_f64(),
            complete,
            measure: Window { from_s: window.from.as_secs_f64(), to_s: window.to.as_secs_f64() },
            conditions: sojourn_scenario::conditions(&self.scenario),
            events: self.handled,
            data_packets: self.data_packets,
            flows,
            pings,
            metrics,
            middlebox: None,
            windows: self.window_summaries(&rates),
        };
        let mut series = self.ends.into_columns();
        series.extend(self.recorder.into_columns());
        Output { summary, queues, series, kernel: None }
    }

    /// Panics unless every packet that was sent or duplicated is delivered, dropped, queued or on a line.
    fn assert_balanced(&self) {
        let mut inside = (self.arriving.len() - self.carried) as u64;
        inside += self.noise.as_ref().map_or(0, |hosts| hosts.waiting() as u64);
        let (mut dropped, mut duplicated) = (0, 0);
        for port in &self.ports {
            port.assert_balanced();
            let held = port.qdisc.backlog().packets + port.on_line().packets;
            inside += u64::from(held);
            dropped += port.dropped.packets;
            duplicated += port.duplicated.packets;
        }
        let sent = self.injected + duplicated;
        assert_eq!(sent, self.delivered + dropped + inside, "accounts of the network");
        assert_eq!(self.slab.live() as u64, inside, "headers of packets in the network");
    }
}

/// Arms the timers of a port but that of its line; `wake` is that of its queue.
#[inline]
fn rearm(port: &mut Port, wake: Time, now: Time, events: &mut EventQueue) {
    // A timer that is due at this very instant still has its event to come.
    let wake = wake.max(now);
    if wake != port.armed {
        port.armed = wake;
        events.set(port.slots.queue, wake);
    }
    if port.wire.is_some() {
        events.set(port.slots.wire, port.free_at(now));
    }
}
