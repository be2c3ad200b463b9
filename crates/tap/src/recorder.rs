//! The tap of a simulation that writes the captures of its scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_capture::write::Direction;
use sojourn_core::{FlowId, Time};
use sojourn_scenario::{Capture, Place, Point, Role, Scenario, Topology};
use sojourn_sim::{Passage, Sight, Tap, hosts};

use crate::EPOCH;
use crate::comment;
use crate::files::{File, Seen};
use crate::packets::Packets;

/// Writes capture files.
pub struct Recorder {
    packets: Packets,
    topology: Topology,
    captures: Vec<Capture>,
    files: Vec<File>,
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
        let captures = scenario.captures.clone();
        let topology = Topology::new(scenario);
        let file = |(capture, path)| File::create(path, scenario, capture, epoch);
        let files = captures.iter().zip(paths).map(file).collect::<Result<_, _>>()?;
        let hosts: Vec<u16> = hosts(scenario).into_iter().map(|(own, _)| own).collect();
        Ok(Self {
            packets: Packets::new(Arc::clone(scenario), &topology),
            topology,
            captures,
            files,
            senders: (0..hosts.len() / 2).map(|number| scenario.sending_end(number)).collect(),
            hosts,
            comment: String::new(),
            failure: None,
        })
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

impl Tap for Recorder {
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
