//! A tap that keeps the account of every packet, by its id: where it is, since when, and as what it was sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sojourn_core::{Dur, FlowId, Packet, Rate, Time};
use sojourn_scenario::topology::Topology;
use sojourn_scenario::{Edit, Scenario};
use sojourn_sim::{Passage, Sight, Tap};
use sojourn_trace::Output;
use sojourn_transport::Body;
use sojourn_transport::tcp::Segment;

/// Where one copy of a packet is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Between here and the next place, not to arrive there before then.
    OnTheWay(Time),
    /// In the queue of this port, since then.
    Queue(usize, Time),
}

/// A packet as it was sent; of a segment cut from a super-packet, as it was cut.
#[derive(Clone, Debug)]
struct Sent {
    packet: Packet,
    /// None of a segment that the cut has not shown yet.
    header: Option<Header>,
    /// Cut from a super-packet, whose metadata these are; perhaps inside a tunnel.
    is_cut: bool,
    copies: Vec<Place>,
}

/// A header without the flags that the engine writes as a packet arrives.
#[derive(Clone, Debug, PartialEq)]
enum Header {
    Tcp(Segment),
    /// As text, which is slower; most packets are TCP's.
    Other(String),
}

impl From<&Body> for Header {
    fn from(body: &Body) -> Self {
        match body {
            Body::Tcp(segment) => Self::Tcp(Segment { ace: 0, ..*segment }),
            other => Self::Other(format!("{other:?}")),
        }
    }
}

/// What passed a port.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    entered: u64,
    left: u64,
    dropped: u64,
    /// That left or were dropped, without one of this id having entered: copies that the queue has made.
    made: u64,
}

/// What one port may do.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The least delay of its line during the run.
    delay: Dur,
    /// The highest rate of its wire.
    wire: Option<Rate>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    packets: BTreeMap<u32, Sent>,
    accounts: Vec<Account>,
    bounds: Vec<Bounds>,
    /// By port: when the last packet left, and its bytes.
    last: Vec<Option<(Time, u32)>>,
    /// A ping of no interest, `idle`.
    idle: Option<usize>,
    end: Time,
    now: Time,
    most_id: u32,
    /// The first thing that may not be.
    pub(crate) fault: Option<String>,
    /// By port, then by end: FNV-1a of what passed there, and when.
    pub(crate) digests: Vec<u64>,
}

impl Seen {
    fn of(scenario: &Scenario) -> Self {
        let topology = Topology::new(scenario);
        let bounds = topology.ports.iter().map(|port| {
            let mut bounds = Bounds { delay: port.delay, wire: port.wire };
            for change in &scenario.schedule {
                let is_here = if port.forward { change.forward } else { change.reverse };
                match &change.edit {
                    _ if change.link != port.link || !is_here => {}
                    Edit::Delay(delay) => bounds.delay = bounds.delay.min(*delay),
                    Edit::Rate(rate) => bounds.wire = bounds.wire.map(|wire| wire.max(*rate)),
                    _ => {}
                }
            }
            bounds
        });
        let bounds: Vec<Bounds> = bounds.collect();
        let ends = 2 * (scenario.flows.len() + scenario.pings.len());
        let count = bounds.len();
        let idle = scenario.pings.iter().position(|ping| ping.name == "idle");
        Self {
            accounts: vec![Account::default(); count],
            last: vec![None; count],
            digests: vec![0xcbf2_9ce4_8422_2325; count + ends],
            bounds,
            end: Time::ZERO + scenario.duration,
            idle: idle.map(|ping| scenario.flows.len() + ping),
            ..Self::default()
        }
    }

    fn see(&mut self, now: Time, passage: Passage, sight: &Sight<'_>) -> Result<(), String> {
        let packet = sight.packet;
        if now < self.now {
            return Err(format!("time goes back from {} to {now}", self.now));
        }
        self.now = now;
        self.most_id = self.most_id.max(packet.id);
        let ports = self.accounts.len();
        match passage {
            Passage::Sent(end) => {
                self.digest(ports + end, now, packet, 1);
                self.send(now, packet, sight.body)
            }
            Passage::Arrives(end) => {
                self.digest(ports + end, now, packet, 2);
                self.take(packet, |place| matches!(place, Place::OnTheWay(due) if *due <= now))?;
                if packet.flow.0 as usize != end ^ 1 {
                    return Err(format!("of {:?} at end {end}", packet.flow));
                }
                self.compare(packet, sight.body)
            }
            Passage::Enters(port) => {
                self.digest(port, now, packet, 3);
                self.accounts[port].entered += 1;
                self.take(packet, |place| matches!(place, Place::OnTheWay(due) if *due <= now))?;
                self.put(packet, Place::Queue(port, now));
                if let Some(cut) = self.packets.get_mut(&packet.id)
                    && cut.header.is_none()
                {
                    cut.header = Some(sight.body.into());
                }
                Ok(())
            }
            Passage::Leaves(port) => {
                self.digest(port, now, packet, 4);
                self.leave(now, port, sight)
            }
            Passage::Dropped(port) => {
                self.digest(port, now, packet, 5);
                self.accounts[port].dropped += 1;
                if sight.queue.is_none_or(|queue| queue.reason.is_none()) {
                    return Err("dropped without a reason".to_owned());
                }
                if self.take_out(now, port, sight).is_err() {
                    self.accounts[port].made += 1;
                }
                Ok(())
            }
        }
    }

    fn send(&mut self, now: Time, packet: &Packet, body: &Body) -> Result<(), String> {
        let copies = vec![Place::OnTheWay(now)];
        let sent = Sent { packet: *packet, header: Some(body.into()), is_cut: false, copies };
        match self.packets.insert(packet.id, sent) {
            Some(before) if !before.copies.is_empty() => {
                Err(format!("its id is that of one in the network: {before:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Takes one copy from where it is.
    fn take(
        &mut self,
        packet: &Packet,
        is_there: impl Fn(&Place) -> bool,
    ) -> Result<Place, String> {
        let sent = self.packets.get_mut(&packet.id).ok_or("was never sent")?;
        match sent.copies.iter().position(is_there) {
            Some(at) => Ok(sent.copies.remove(at)),
            None => Err(format!("is not where it may come from: {:?}", sent.copies)),
        }
    }

    /// Takes one copy out of a queue: of two the one that came when its sojourn time says, without one the one that came
    /// now. A copy with another codepoint may have overtaken it in a dual queue.
    fn take_out(&mut self, now: Time, port: usize, sight: &Sight<'_>) -> Result<Place, String> {
        let sojourn = sight.queue.and_then(|queue| queue.sojourn);
        let came = Time(now.0 - sojourn.map_or(0, |sojourn| sojourn.0));
        self.take(sight.packet, |place| *place == Place::Queue(port, came))
            .or_else(|_| self.take(sight.packet, |place| is_in(place, port)))
    }

    fn put(&mut self, packet: &Packet, place: Place) {
        if let Some(sent) = self.packets.get_mut(&packet.id) {
            sent.copies.push(place);
        }
    }

    fn leave(&mut self, now: Time, port: usize, sight: &Sight<'_>) -> Result<(), String> {
        let packet = sight.packet;
        self.accounts[port].left += 1;
        let sojourn = sight.queue.and_then(|queue| queue.sojourn);
        match self.take_out(now, port, sight) {
            Ok(Place::Queue(_, since))
                if sojourn.is_none_or(|sojourn| sojourn > now.since(since)) =>
            {
                return Err(format!("sojourn {sojourn:?} of one that came at {since}"));
            }
            Ok(_) => {}
            Err(_) => self.accounts[port].made += 1,
        }
        let Bounds { delay, wire } = self.bounds[port];
        let mut due = now + delay;
        if let Some(wire) = wire {
            // A nanosecond for what is rounded.
            due = Time((due + wire.time_for(u64::from(packet.len))).0.saturating_sub(1));
            if let Some((before, len)) = self.last[port].replace((now, packet.len)) {
                let free = before + wire.time_for(u64::from(len));
                if now.0 + 1 < free.0 {
                    return Err(format!("leaves while the wire is busy until {free}"));
                }
            }
        }
        self.put(packet, Place::OnTheWay(due));
        Ok(())
    }

    /// A packet arrives as what it was sent, but for DSCP, ECN and the feedback that a path may clear.
    fn compare(&self, packet: &Packet, body: &Body) -> Result<(), String> {
        let Some(Sent { packet: sent, header: before, is_cut, .. }) = self.packets.get(&packet.id)
        else {
            return Err("was never sent".to_owned());
        };
        let whose = |p: &Packet| (p.flow, p.hash, p.src, p.dst, p.kind);
        let what = |p: &Packet| (p.len, p.ack, p.sacked, p.segs);
        if whose(packet) != whose(sent) || (!is_cut && what(packet) != what(sent)) {
            return Err(format!("was {sent:?}"));
        }
        if packet.ecn_flags() & !sent.ecn_flags() != 0 {
            return Err(format!("has gained flags: was {sent:?}"));
        }
        let now = Some(body.into());
        if now == *before { Ok(()) } else { Err(format!("its header was {before:?}, is {now:?}")) }
    }

    fn digest(&mut self, at: usize, now: Time, packet: &Packet, what: u64) {
        // At the last nanosecond that ping comes.
        if self.idle == Some(packet.flow.0 as usize / 2) || now.0 + 1 >= self.end.0 {
            return;
        }
        // The id is the engine's own, and the hash that of names.
        let values =
            [now.0, u64::from(packet.flow.0), u64::from(packet.len), u64::from(packet.tos), what];
        for value in values.map(u64::to_le_bytes).as_flattened() {
            let hash = &mut self.digests[at];
            *hash = (*hash ^ u64::from(*value)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Compares what was seen with what the run says, once it has ended.
    pub(crate) fn check(&mut self, scenario: &Scenario, output: &Output) -> Result<(), String> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        for (port, (account, queue)) in self.accounts.iter().zip(&output.queues).enumerate() {
            let said = (queue.received_packets, queue.sent_packets, queue.dropped);
            if (account.entered, account.left, account.dropped) != said {
                return Err(format!("`{}` says {said:?}, seen {account:?}", queue.name));
            }
            let waiting = self.packets.values().flat_map(|sent| &sent.copies);
            let waiting = waiting.filter(|place| is_in(place, port));
            let waiting = waiting.count() as u64;
            if account.made > queue.duplicated
                || waiting + queue.duplicated - account.made != queue.backlog_packets
            {
                return Err(format!("`{}`: {waiting} wait, of {account:?}, {queue:?}", queue.name));
            }
        }
        // Headers in the network are bounded by what was sent in half a dozen bandwidth-delay products.
        if self.most_id > 20_000 {
            return Err(format!("{} headers at once", self.most_id));
        }
        rates(scenario, output)
    }
}

fn is_in(place: &Place, port: usize) -> bool {
    matches!(place, Place::Queue(at, _) if *at == port)
}

/// No link carries more than its rate, and no reply comes sooner than the path's delay.
fn rates(scenario: &Scenario, output: &Output) -> Result<(), String> {
    let topology = Topology::new(scenario);
    for (port, queue) in topology.ports.iter().zip(&output.queues) {
        let direction = |link: usize| {
            let link = &scenario.links[link];
            if port.forward { &link.forward } else { &link.reverse }
        };
        let changes = scenario.schedule.iter().filter(|change| change.link == port.link);
        let stated = changes.clone().filter_map(|change| match &change.edit {
            Edit::Rate(rate) => Some(*rate),
            _ => None,
        });
        let Some(rate) = direction(port.link).rate() else { continue };
        let most = stated.chain([rate]).max().unwrap_or(rate);
        if !matches!(port.role, sojourn_scenario::topology::Role::Egress) {
            continue;
        }
        // A shaper's bucket, of at most four times half a millisecond, is full at the start and after a change;
        // the packet that overdraws it may be a super-packet.
        let buckets = 1.0 + changes.count() as f64;
        let burst = 4.0 * (most.0 as f64 / 8.0 * 0.0005).max(1600.0) + 65_536.0;
        let allowed = most.0 as f64 / 8.0 * output.summary.duration_s + buckets * burst;
        let sent = queue.sent_bytes.unwrap_or_default() as f64;
        if sent > allowed {
            return Err(format!("`{}` has sent {sent} bytes of {allowed} allowed", queue.name));
        }
    }
    let numbers = output.summary.flows.iter().map(|flow| flow.goodput_mbps);
    if numbers.clone().any(|goodput| !goodput.is_finite() || goodput < 0.0) {
        return Err("a goodput is no number".to_owned());
    }
    let base = |routes: &[sojourn_scenario::topology::Route]| {
        let delay = |port: &usize| {
            let port = &topology.ports[*port];
            let steps = scenario.schedule.iter().filter(|change| change.link == port.link);
            let steps = steps.filter_map(|change| match &change.edit {
                Edit::Delay(delay) => Some(*delay),
                _ => None,
            });
            steps.chain([port.delay]).min().unwrap_or(port.delay).as_millis_f64()
        };
        let of = |way: &[usize]| way.iter().map(delay).sum::<f64>();
        routes.iter().map(|route| of(&route.forward) + of(&route.reverse)).fold(f64::MAX, f64::min)
    };
    for (ping, routes) in output.summary.pings.iter().zip(&topology.pings) {
        if let Some(rtt) = &ping.rtt_ms
            && rtt.p05 < base(routes) - 1e-6
        {
            return Err(format!("ping {}: {} ms of {}", ping.name, rtt.p05, base(routes)));
        }
    }
    Ok(())
}

/// Shares what it sees.
pub(crate) struct Watch(pub(crate) Arc<Mutex<Seen>>);

impl Watch {
    /// A tap for a run of `scenario`, and what it will have seen.
    pub(crate) fn of(scenario: &Scenario) -> (Box<Self>, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::of(scenario)));
        (Box::new(Self(Arc::clone(&seen))), seen)
    }
}

impl Tap for Watch {
    fn wants(&self, _: Passage, _: FlowId) -> bool {
        true
    }

    fn see(&mut self, now: Time, passage: Passage, sight: &Sight<'_>) {
        let mut seen = self.0.lock().expect("one thread");
        let found = seen.see(now, passage, sight);
        if let Err(what) = found
            && seen.fault.is_none()
        {
            seen.fault = Some(format!("{now}, {passage:?}, {:?}: {what}", sight.packet));
        }
    }

    fn split(&mut self, whole: u32, segment: u32, index: u32) {
        let mut seen = self.0.lock().expect("one thread");
        let Some(mut sent) = seen.packets.get(&whole).cloned() else { return };
        // One copy of the whole is gone with its first segment; what it is cut into is on its way here.
        if index == 0 {
            let at = sent.copies.iter().position(|place| matches!(place, Place::OnTheWay(_)));
            let Some(at) = at else { return };
            seen.packets.get_mut(&whole).expect("just found").copies.remove(at);
        }
        sent.copies = vec![Place::OnTheWay(Time::ZERO)];
        sent.header = None;
        sent.is_cut = true;
        seen.packets.insert(segment, sent);
    }

    fn failure(&mut self) -> Option<String> {
        self.0.lock().expect("one thread").fault.take()
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}
