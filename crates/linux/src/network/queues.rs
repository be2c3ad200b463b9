//! What is on a device: a chain of disciplines from the root to the leaf, policers before it.

use sojourn_core::Rate;
use sojourn_core::grammar::{Given, Written, text};
use sojourn_queue::aqm::Spec;
use sojourn_queue::aqm::htb::{self, Parts};
use sojourn_queue::impair::{mangle, netem, police};
use sojourn_scenario::{Direction, Edit};

use super::commands::{Action, Handle, Hook, Link, Police, Tc, Verb};
use super::script::Script;
use crate::tc::{Part, Spelled};

/// The parameter of a policer that says what happens to packets that exceed it, and to others.
const ACTIONS: &str = "conform-exceed";

/// Packets of a netem that is there for the delay alone.
const NETEM_LIMIT: u32 = 1_000_000;

/// A device and its namespace, if it is in one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Device {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Device {
    pub(super) fn new(namespace: Option<&str>, name: &str) -> Self {
        Self { namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    /// An ifb for what arrives at another device of the namespace.
    pub(super) fn add_ifb(&self, script: &mut Script) {
        let namespace = self.namespace.as_deref();
        script.run(namespace, Action::AddIfb(self.name.clone()));
        let device = self.name.clone();
        let link = Link { device, has_queue: true, is_up: true, ..Link::default() };
        script.run(namespace, Action::SetLink(link));
    }
}

/// A discipline as it is added, or a change of one.
#[derive(Clone, Debug)]
struct Element {
    spelled: Spelled,
    /// Of a tree of classes.
    parts: Option<Parts>,
}

impl Element {
    fn of(spec: &Spec) -> Self {
        Self { spelled: Spelled::brief(spec), parts: htb::parts(spec, None) }
    }

    fn change(spec: &Spec, given: &Given) -> Self {
        let parts = htb::parts(spec, Some(given));
        Self { spelled: Spelled::change(spec, given), parts }
    }

    fn is_police(&self) -> bool {
        self.spelled.kind == police::ENTRY.name
    }

    fn shaper(spec: Option<&Spec>, rate: Rate) -> Self {
        Self { spelled: Spelled::shaper(spec, rate), parts: None }
    }

    /// The netem of a propagation delay, such as `25ms`.
    fn delay(time: &str) -> Self {
        let text = format!("delay {time} limit {NETEM_LIMIT}");
        let part = Written { name: "delay", text, is_tc: true };
        Self { spelled: Spelled::with(&netem::ENTRY, vec![part]), parts: None }
    }
}

/// The disciplines on one device, each the child of the one before.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) device: Device,
    /// Of each its handle, and what it is in comments.
    elements: Vec<(u16, Element, String)>,
    /// A size table, and the element that has it: the outermost of the link's own.
    stab: Option<(usize, String)>,
    handles: u16,
}

impl Chain {
    /// Adds a discipline below the last one; none that no kernel has.
    fn add(&mut self, script: &mut Script, element: Element, what: &str) {
        script.announce(&element.spelled, what);
        if !script.lacks(&element.spelled) {
            // A fresh handle, or tc would change a discipline of the same kind and keep its packets.
            self.handles += 1;
            let index = self.elements.len();
            self.elements.push((self.handles, element, what.to_owned()));
            self.write(script, Verb::Add, index, None);
        }
    }

    /// Replaces a discipline, which takes those below with it: they are added again.
    fn replace(&mut self, script: &mut Script, index: usize, element: Element, what: &str) {
        script.announce(&element.spelled, what);
        if !script.lacks(&element.spelled) {
            let below = self.elements.split_off(index);
            self.handles += 1;
            self.elements.push((self.handles, element, what.to_owned()));
            self.write(script, Verb::Replace, index, None);
            for (_, inner, what) in below.into_iter().skip(1) {
                self.add(script, inner, &what);
            }
        }
    }

    /// Changes a discipline to `to` by `change`.
    fn change(
        &mut self,
        script: &mut Script,
        index: usize,
        to: Element,
        change: &Element,
        what: &str,
    ) {
        script.announce(&change.spelled, what);
        if let Some((_, element, own)) = self.elements.get_mut(index) {
            (*element, *own) = (to, what.to_owned());
            self.write(script, Verb::Change, index, Some(change));
        }
    }

    fn write(&self, script: &mut Script, verb: Verb, index: usize, change: Option<&Element>) {
        let (major, element, _) = &self.elements[index];
        let element = change.unwrap_or(element);
        let device = &self.device.name;
        let own = Handle { major: *major, minor: 0 };
        let above =
            index.checked_sub(1).map(|above| Handle { major: self.elements[above].0, minor: 1 });
        let is_change = verb == Verb::Change;
        let stab = self.stab.as_ref().filter(|(base, _)| *base == index && !is_change);
        let qdisc = |qdisc| Tc::Qdisc {
            verb,
            device: device.clone(),
            parent: above,
            handle: Some(own),
            stab: stab.map(|(_, text)| text.clone()),
            qdisc,
        };
        if let Some(parts) = &element.parts {
            if !is_change {
                let mut spelled = element.spelled.clone();
                spelled.parts.retain(|part| !["class", "filter"].contains(&part.name));
                script.tc(&self.device, qdisc(spelled.to_string()));
            }
            self.write_tree(script, verb, own, parts);
        } else if element.spelled.kind == htb::ENTRY.name {
            if !is_change {
                script.tc(&self.device, qdisc("htb default 1".to_owned()));
            }
            script.tc(
                &self.device,
                Tc::Class {
                    verb: if is_change { verb } else { Verb::Add },
                    device: device.clone(),
                    parent: own,
                    handle: Handle { minor: 1, ..own },
                    parameters: element.spelled.parameters(),
                },
            );
        } else {
            script.tc(&self.device, qdisc(element.spelled.to_string()));
        }
    }

    /// A tree of htb classes: a command for each class, leaf and filter.
    fn write_tree(&self, script: &mut Script, verb: Verb, own: Handle, parts: &Parts) {
        let device = &self.device.name;
        for class in &parts.classes {
            let handle = Handle { minor: class.minor, ..own };
            script.tc(
                &self.device,
                Tc::Class {
                    verb: if verb == Verb::Change { verb } else { Verb::Add },
                    device: device.clone(),
                    parent: Handle { minor: class.parent, ..own },
                    handle,
                    parameters: class.parameters.clone(),
                },
            );
            let Some(leaf) = class.leaf.as_ref().map(Spelled::of) else { continue };
            script.announce(&leaf, &format!("class {handle}, leaf"));
            if !script.lacks(&leaf) {
                let (device, qdisc) = (device.clone(), leaf.to_string());
                let (parent, handle, stab) = (Some(handle), None, None);
                script.tc(&self.device, Tc::Qdisc { verb, device, parent, handle, stab, qdisc });
            }
        }
        for (priority, filter) in (parts.classes.len() + 1..).zip(&parts.filters) {
            if filter.is_by_host {
                let selector = &filter.selector;
                script.limit(&format!(
                    "a filter by host number has no address here; left out `{selector}`"
                ));
                continue;
            }
            let class = Handle { minor: filter.minor, ..own };
            let (device, selector) = (device.clone(), filter.selector.clone());
            script.tc(&self.device, Tc::Select { device, class, priority, selector });
        }
    }
}

/// Where an element of the scenario is.
#[derive(Clone, Debug, Default)]
pub(super) enum Spot {
    /// Left out, since no kernel has it, or there is no such element.
    #[default]
    Nowhere,
    /// A chain of [`Queues`], and the place in it.
    Chain(usize, usize),
    /// An action of a filter.
    Police(Policer),
}

/// A policer: where its filter is, its place among the actions there, and its number.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    pub(super) device: Device,
    pub(super) hook: Hook,
    pub(super) place: usize,
    index: u32,
    /// Whether another action follows it.
    goes_on: bool,
}

/// Where the parts of one direction of a link are.
#[derive(Debug, Default)]
pub(super) struct Way {
    pub(super) ingress: Vec<Spot>,
    /// Policers in the place of shaper and queue.
    pub(super) policers: Vec<Policer>,
    /// What limits the rate, and its parameters; an htb that gives a device the rate of a wire has none.
    shaper: Option<(Spot, Option<Spec>)>,
    pub(super) queue: Spot,
    pub(super) delay: Spot,
}

impl Way {
    /// The innermost discipline of the link's own at its egress.
    pub(super) fn leaf(&self) -> Option<(usize, usize)> {
        let shaper = self.shaper.iter().map(|(spot, _)| spot);
        std::iter::once(&self.queue).chain(shaper).find_map(|spot| match spot {
            Spot::Chain(chain, index) => Some((*chain, *index)),
            _ => None,
        })
    }
}

/// The disciplines of all devices.
#[derive(Debug, Default)]
pub(super) struct Queues(Vec<Chain>);

impl Queues {
    /// A device without disciplines.
    pub(super) fn open(&mut self, device: Device) -> usize {
        self.0.push(Chain { device, elements: Vec::new(), stab: None, handles: 0 });
        self.0.len() - 1
    }

    /// How many disciplines a device has.
    pub(super) fn depth(&self, chain: usize) -> usize {
        self.0[chain].elements.len()
    }

    pub(super) fn device(&self, chain: usize) -> &Device {
        &self.0[chain].device
    }

    fn add(&mut self, script: &mut Script, chain: usize, element: Element, what: &str) -> Spot {
        let exists = !script.lacks(&element.spelled);
        self.0[chain].add(script, element, what);
        if exists { Spot::Chain(chain, self.0[chain].elements.len() - 1) } else { Spot::Nowhere }
    }

    /// Adds the netem of a delay, such as `25ms`.
    pub(super) fn add_delay(
        &mut self,
        script: &mut Script,
        chain: usize,
        time: &str,
        what: &str,
    ) -> Spot {
        self.add(script, chain, Element::delay(time), what)
    }

    /// Adds the elements before a queue, of which the policers are actions in front of `chain`. That they
    /// precede the first `above` disciplines there makes no difference.
    pub(super) fn add_ingress(
        &mut self,
        script: &mut Script,
        chain: usize,
        elements: &[Spec],
        policers: &[Policer],
        above: usize,
        what: &str,
    ) -> Vec<Spot> {
        let mut policers = policers.iter();
        let spot = |(number, spec)| {
            let (element, what) = (Element::of(spec), format!("{what}, ingress{number}"));
            if let Some(rewrites) = mangle::rewrites(spec) {
                match rewrites {
                    Ok(_) => script.comment(&format!("{what}: mangle, as filters with pedit")),
                    Err(why) => script
                        .limit(&format!("{what}: `mangle` is in no kernel; left out, since {why}")),
                }
                return Spot::Nowhere;
            }
            if !element.is_police() {
                return self.add(script, chain, element, &what);
            }
            if self.0[chain].elements.len() > above {
                script.limit(&format!(
                    "{what}: police acts before the other elements of this device, not after them"
                ));
            }
            policers.next().cloned().map_or(Spot::Nowhere, Spot::Police)
        };
        elements.iter().enumerate().map(spot).collect()
    }

    /// Adds shaper and queue of a direction below what is on the device. Policers among them are actions
    /// after those of `before`, which are given back.
    pub(super) fn add_egress(
        &mut self,
        script: &mut Script,
        chain: usize,
        way: &Direction,
        before: &[Spec],
        what: &str,
    ) -> (Way, Vec<Policer>) {
        let mut built = Way::default();
        let mut police: Vec<_> = before.iter().map(Spelled::brief).collect();
        let base = self.0[chain].elements.len();
        self.0[chain].stab = way.stab.as_ref().map(|stab| (base, text(&stab.brief())));
        match (way.rate(), &way.shaper) {
            (Some(rate), shaper) => {
                let mut spec = shaper.as_ref();
                let mut element = Element::shaper(spec, rate);
                if let Some(shaper) = spec
                    && script.lacks(&element.spelled)
                {
                    let text =
                        format!("a plain htb stands for the shaper `{}`", without_rate(shaper));
                    script.limit(&format!("{what}: {text}"));
                    (spec, element) = (None, Element::shaper(None, rate));
                } else if spec.is_none() {
                    script.comment(&format!(
                        "{what}: htb stands for a wire of {rate}; a veth has no rate of its own"
                    ));
                }
                if element.is_police() {
                    police.push(element.spelled);
                } else {
                    let spot = self.add(script, chain, element, &format!("{what}, shaper"));
                    built.shaper = Some((spot, spec.cloned()));
                }
            }
            (None, Some(shaper)) => script.limit(&format!(
                "{what}: the shaper `{}` without a rate is left out",
                without_rate(shaper)
            )),
            (None, None) => {}
        }
        let queue = Element::of(&way.qdisc);
        let is_policed = queue.is_police();
        if is_policed {
            police.push(queue.spelled);
        } else {
            built.queue = self.add(script, chain, queue, &format!("{what}, queue"));
        }
        let mut policers = self.police(script, chain, &police, what);
        built.policers = policers.split_off(before.len());
        if let Some(last) = built.policers.last().filter(|_| is_policed) {
            built.queue = Spot::Police(last.clone());
        }
        (built, policers)
    }

    /// Adds policers before the queue of a device.
    pub(super) fn police(
        &self,
        script: &mut Script,
        chain: usize,
        police: &[Spelled],
        what: &str,
    ) -> Vec<Policer> {
        let device = self.device(chain);
        for spelled in police {
            let origin = spelled.origin();
            script.comment(&format!("{what}: police, {origin}, as an action before the queue"));
        }
        let policers = policers(script, device, Hook::Egress, police.len());
        if !police.is_empty() {
            script.add_clsact(device);
            let actions = policers.iter().zip(police).map(|(policer, own)| policer.action(own));
            script.tc(
                device,
                Tc::AddFilter {
                    device: device.name.clone(),
                    hook: Hook::Egress,
                    in_clsact: true,
                    policers: actions.collect(),
                    redirect: None,
                },
            );
        }
        policers
    }

    /// A scheduled change of a direction.
    pub(super) fn edit(&mut self, script: &mut Script, way: &Way, edit: &Edit, what: &str) {
        match edit {
            Edit::Rate(rate) => match &way.shaper {
                Some((Spot::Chain(chain, index), spec)) => {
                    let mut spec = spec.clone();
                    let changed = spec.as_mut().map_or(Ok(()), |spec| spec.set_rate(*rate));
                    changed.expect("the scenario's check has rehearsed it");
                    let element = Element::shaper(spec.as_ref(), *rate);
                    self.0[*chain].change(script, *index, element.clone(), &element, what);
                }
                _ => script.limit(&format!("{what}: the rate has no shaper to change here")),
            },
            Edit::Change(to, given) => match &way.queue {
                Spot::Chain(chain, index) => {
                    let change = Element::change(to, given);
                    self.0[*chain].change(script, *index, Element::of(to), &change, what);
                }
                spot => self.replace(script, spot, to, what),
            },
            Edit::Replace(to) => self.replace(script, &way.queue, to, what),
            Edit::Ingress(number, to) => self.replace(script, &way.ingress[*number], to, what),
            Edit::Delay(delay) => self.set_delay(script, &way.delay, &delay.to_string(), what),
        }
    }

    /// Sets a delay, such as `25ms`.
    pub(super) fn set_delay(&mut self, script: &mut Script, spot: &Spot, time: &str, what: &str) {
        let Spot::Chain(chain, index) = spot else {
            return script.limit(&format!("{what}: nothing is there to change"));
        };
        let element = Element::delay(time);
        self.0[*chain].change(script, *index, element.clone(), &element, what);
    }

    fn replace(&mut self, script: &mut Script, spot: &Spot, to: &Spec, what: &str) {
        let to = Element::of(to);
        match spot {
            Spot::Nowhere => script.limit(&format!("{what}: nothing is there to change")),
            Spot::Chain(chain, index) if !to.is_police() => {
                self.0[*chain].replace(script, *index, to, what);
            }
            Spot::Police(policer) if to.is_police() => {
                script.tc(&policer.device, Tc::ReplacePolice(policer.action(&to.spelled)));
            }
            Spot::Chain(..) | Spot::Police(_) => script.limit(&format!(
                "{what}: a policer is an action, which no discipline can replace, nor the other way round"
            )),
        }
    }
}

fn without_rate(shaper: &Spec) -> String {
    let mut parts = shaper.brief();
    parts.retain(|part| part.name != "rate");
    format!("{} {}", shaper.name(), text(&parts)).trim_end().to_owned()
}

pub(super) fn is_police(spec: &Spec) -> bool {
    spec.name() == police::ENTRY.name
}

/// The policers among elements.
pub(super) fn police_of(elements: &[Spec]) -> Vec<Spec> {
    elements.iter().filter(|spec| is_police(spec)).cloned().collect()
}

/// Policers at a device, as many as `count`, each with its number.
pub(super) fn policers(
    script: &mut Script,
    device: &Device,
    hook: Hook,
    count: usize,
) -> Vec<Policer> {
    let numbered = |place| Policer {
        device: device.clone(),
        hook,
        place,
        index: script.next_policer(device.namespace.as_deref()),
        goes_on: hook == Hook::Ingress || place + 1 < count,
    };
    (0..count).map(numbered).collect()
}

/// Rewrites packets at a device as the manglers among `elements` do. Elements before them delay and lose
/// packets, which makes no difference.
pub(super) fn rewrite(script: &mut Script, device: &Device, hook: Hook, elements: &[Spec]) {
    let rewrites = elements.iter().filter_map(mangle::rewrites).filter_map(Result::ok).flatten();
    for (priority, rewrite) in (1..).zip(rewrites) {
        let in_clsact = match hook {
            Hook::Ingress => script.has_clsact(device),
            Hook::Egress => {
                script.add_clsact(device);
                true
            }
        };
        let mut selector = String::new();
        if let Some(protocol) = rewrite.protocol {
            selector += &format!(" ip_proto {protocol}");
        }
        if let Some([value, mask]) = rewrite.flags {
            selector += &format!(" tcp_flags {value:#x}/{mask:#x}");
        }
        let [value, mask] = rewrite.tos;
        if mask > 0 {
            selector += &format!(" ip_tos {value:#x}/{mask:#x}");
        }
        let (device_name, set) = (device.name.clone(), rewrite.set);
        let changes = !rewrite.keep;
        script.tc(
            device,
            Tc::Rewrite { device: device_name, hook, in_clsact, priority, selector, set, changes },
        );
    }
}

/// Sends what arrives at a device through the manglers among `elements`, policers, and then an ifb.
pub(super) fn redirect(
    script: &mut Script,
    device: &Device,
    ifb: &Device,
    policers: &[Policer],
    elements: &[Spec],
) {
    let police = police_of(elements);
    let actions = policers.iter().zip(&police).map(|(own, spec)| own.action(&Spelled::brief(spec)));
    let in_clsact = script.add_ingress(device);
    rewrite(script, device, Hook::Ingress, elements);
    script.tc(
        device,
        Tc::AddFilter {
            device: device.name.clone(),
            hook: Hook::Ingress,
            in_clsact,
            policers: actions.collect(),
            redirect: Some(ifb.name.clone()),
        },
    );
}

impl Policer {
    /// It as an action. If another follows, packets that pass go on to it, and others are dropped.
    fn action(&self, police: &Spelled) -> Police {
        let (actions, mut parts): (Vec<_>, Vec<_>) =
            police.parts.iter().cloned().partition(|part| part.name == ACTIONS);
        let index = self.index;
        if !self.goes_on {
            return Police { parameters: police.parameters(), index };
        }
        // A packet that is classified again meets the same policer, until the kernel drops it.
        let outcome = |action| match action {
            "drop" | "reclassify" => "drop",
            _ => "pipe",
        };
        let stated = actions.first().and_then(|part| part.text.split_once(' '));
        let (_, actions) = stated.unwrap_or((ACTIONS, "reclassify/pass"));
        let (exceed, conform) = actions.split_once('/').unwrap_or((actions, "pass"));
        let actions = format!("{ACTIONS} {}/{}", outcome(exceed), outcome(conform));
        parts.push(Part { name: ACTIONS, text: actions, is_default: false });
        Police { parameters: Spelled { parts, ..police.clone() }.parameters(), index }
    }
}
