//! The tap of a simulation that writes the captures of its scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_capture::write::{Direction, NewFile};
use sojourn_core::{FlowId, Time};
use sojourn_scenario::{Capture, Place, Point, Role, Scenario, Topology};
use sojourn_sim::{Passage, Sight, Tap, hosts};

use crate::EPOCH;
use crate::comment;
use crate::files::{File, Memory, Seen, Target};
use crate::packets::Packets;

/// Writes capture files.
pub struct Recorder<W: Target = NewFile> {
    packets: Packets,
    topology: Topology,
    captures: Vec<Capture>,
    files: Vec<File<W>>,
    /// Host of each end.
    hosts: Vec<u16>,
    /// End of each flow or ping that sends its data.
    senders: Vec<usize>,
    comment: String,
    failure: Option<String>,
}

/// The tap of a simulated run, which begins at [`EPOCH`]; none of a scenario without captures.
///
/// # Errors
/// A file cannot be made; one line.
pub fn simulated(scenario: &Arc<Scenario>, folder: &Path) -> Result<Option<Box<dyn Tap>>, String> {
    into_folder(scenario, folder, EPOCH)
}

/// The tap of a run whose time 0 is `epoch` since 1970-01-01 00:00 UTC; none of a scenario without captures.
///
/// # Errors
/// A file cannot be made; one line.
pub fn into_folder(
    scenario: &Arc<Scenario>,
    folder: &Path,
    epoch: Time,
) -> Result<Option<Box<dyn Tap>>, String> {
    if scenario.captures.is_empty() {
        return Ok(None);
    }
    let paths = scenario.captures.iter().map(|capture| folder.join(capture.file_name()));
    Ok(Some(Box::new(Recorder::new(scenario, paths, epoch)?)))
}

/// The tap of a simulated run whose captures stay in memory.
///
/// # Errors
/// Writing fails; one line.
pub fn in_memory(scenario: &Arc<Scenario>) -> Result<(Box<dyn Tap>, Kept), String> {
    let mut kept = Vec::new();
    let file = |capture: &Capture| {
        let (name, memory) = (capture.file_name(), Memory::default());
        kept.push((name.clone(), memory.clone()));
        File::begin(memory, name.into(), scenario, capture, EPOCH)
    };
    let files = scenario.captures.iter().map(file).collect::<Result<_, _>>()?;
    Ok((Box::new(Recorder::into_files(scenario, files)), kept))
}

/// Captures by the names of their files.
pub type Kept = Vec<(String, Memory)>;

impl Recorder {
    /// Of the captures of `scenario`, in files of these names, whose time 0 is `epoch` since 1970-01-01 00:00 UTC.
    ///
    /// # Errors
    /// A file cannot be made; one line.
    pub fn new(
        scenario: &Arc<Scenario>,
        paths: impl Iterator<Item = PathBuf>,
        epoch: Time,
    ) -> Result<Self, String> {
        let file = |(capture, path)| File::create(path, scenario, capture, epoch);
        let files = scenario.captures.iter().zip(paths).map(file).collect::<Result<_, _>>()?;
        Ok(Self::into_files(scenario, files))
    }
}

impl<W: Target> Recorder<W> {
    fn into_files(scenario: &Arc<Scenario>, files: Vec<File<W>>) -> Self {
        let topology = Topology::new(scenario);
        let hosts: Vec<u16> = hosts(scenario).into_iter().map(|(own, _)| own).collect();
        Self {
            packets: Packets::new(Arc::clone(scenario), &topology),
            topology,
            captures: scenario.captures.clone(),
            files,
            senders: (0..hosts.len() / 2).map(|number| scenario.sending_end(number)).collect(),
            hosts,
            comment: String::new(),
            failure: None,
        }
    }

    /// Whether a point of a capture shows what passes there, as something that the interface sends or receives.
    fn shows(
        &self,
        capture: &Capture,
        point: Point,
        passage: Passage,
        flow: FlowId,
    ) -> Option<Direction> {
        let number = flow.0 as usize / 2;
        if capture.flows.binary_search(&number).is_err() {
            return None;
        }
        let of_end = |end: usize| match point {
            Point::End { flow, sends } => end / 2 == flow && (end == self.senders[flow]) == sends,
            Point::Host(host) => usize::from(self.hosts[end]) == host,
            Point::Link { .. } => false,
        };
        let of_port = |port: usize, wanted: Place| {
            let spec = &self.topology.ports[port];
            let Point::Link { link, forward, place } = point else { return false };
            let is_there = match spec.role {
                Role::Egress => true,
                Role::Ingress(_) => wanted == Place::Drop,
                Role::Encap(_) | Role::Decap(_) => false,
            };
            is_there && (spec.link, spec.forward, place) == (link, forward, wanted)
        };
        let (is_shown, direction) = match passage {
            Passage::Sent(end) => (of_end(end), Direction::Outbound),
            Passage::Arrives(end) => (of_end(end), Direction::Inbound),
            Passage::Enters(port) => (of_port(port, Place::In), Direction::Unknown),
            Passage::Leaves(port) => (of_port(port, Place::Out), Direction::Outbound),
            Passage::Dropped(port) => (of_port(port, Place::Drop), Direction::Unknown),
        };
        is_shown.then_some(direction)
    }
}

impl<W: Target> Tap for Recorder<W> {
    fn wants(&self, passage: Passage, flow: FlowId) -> bool {
        self.captures.iter().any(|capture| {
            // All packets that may be seen anywhere are remembered as they are sent.
            let is_kept = capture.flows.binary_search(&(flow.0 as usize / 2)).is_ok();
            let shows = |point: &Point| self.shows(capture, *point, passage, flow).is_some();
            matches!(passage, Passage::Sent(_)) && is_kept || capture.points.iter().any(shows)
        })
    }

    fn see(&mut self, now: Time, passage: Passage, sight: &Sight<'_>) {
        let (packet, body) = (sight.packet, sight.body);
        if let Passage::Sent(end) = passage {
            self.packets.on_sent(now, end, packet, body);
        }
        if self.failure.is_some() {
            return;
        }
        let port = match passage {
            Passage::Sent(_) | Passage::Arrives(_) => None,
            Passage::Enters(port) | Passage::Leaves(port) | Passage::Dropped(port) => Some(port),
        };
        self.comment.clear();
        for number in 0..self.captures.len() {
            let capture = &self.captures[number];
            if !capture.is_on(now) {
                continue;
            }
            for (place, point) in capture.points.iter().enumerate() {
                let Some(direction) = self.shows(capture, *point, passage, packet.flow) else {
                    continue;
                };
                if let (true, Some(queued), true) =
                    (capture.comments, &sight.queue, self.comment.is_empty())
                {
                    let element = port.and_then(|port| match self.topology.ports[port].role {
                        Role::Ingress(element) => Some(element),
                        _ => None,
                    });
                    let is_drop = matches!(passage, Passage::Dropped(_));
                    comment::write(&mut self.comment, queued, is_drop, element);
                }
                let comment = if capture.comments { &self.comment[..] } else { "" };
                let file = &mut self.files[number];
                let written = self.packets.show(packet, body, port, |passing| {
                    file.write(
                        place,
                        &Seen {
                            at: now,
                            bytes: passing.bytes,
                            len: passing.bytes.len() as u32,
                            direction,
                            number: passing.number,
                            comment,
                        },
                    )
                });
                match written {
                    None => file.lose(place, 1),
                    Some(Ok(())) => {}
                    Some(Err(error)) => self.failure = Some(error),
                }
            }
        }
    }

    fn split(&mut self, whole: u32, segment: u32, index: u32) {
        self.packets.on_split(whole, segment, index);
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.clone()
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.files.into_iter().try_for_each(File::keep)
    }
}

#[cfg(test)]
mod tests;
