//! Capture files of a scenario.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_capture::LinkType;
use sojourn_capture::write::{Direction, Interface, InterfaceId, NewFile, Packet, Section, Writer};
use sojourn_core::{Dur, Time};
use sojourn_scenario::{Capture, Point, Scenario};

/// Where a capture is written.
pub trait Target: Write + Send {
    /// Keeps what was written.
    ///
    /// # Errors
    /// Writing fails; then there is no capture.
    fn keep(self) -> io::Result<()>;
}

impl Target for NewFile {
    fn keep(self) -> io::Result<()> {
        Self::keep(self)
    }
}

/// A capture in memory, for a machine without files; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// What was written, which is taken out.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Memory {
    fn keep(self) -> io::Result<()> {
        Ok(())
    }
}

/// The file of one capture.
pub struct File<W: Target = NewFile> {
    path: PathBuf,
    writer: Writer<W>,
    /// By the number of the point.
    interfaces: Vec<InterfaceId>,
    snaplen: usize,
    /// When the run began, since 1970-01-01 00:00 UTC.
    epoch: Time,
}

/// A frame that passed.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When, since the run began.
    pub at: Time,
    /// From the link's header on, as much as there is.
    pub bytes: &'a [u8],
    /// Bytes that it had.
    pub len: u32,
    /// Whether the interface has sent or received it.
    pub direction: Direction,
    /// Which packet it is.
    pub number: Option<u64>,
    /// What is said of it.
    pub comment: &'a str,
}

impl File {
    /// Begins the file of a capture, with an interface for each of its points.
    ///
    /// # Errors
    /// It cannot be made; one line.
    pub fn create(
        path: PathBuf,
        scenario: &Scenario,
        capture: &Capture,
        epoch: Time,
    ) -> Result<Self, String> {
        let out = NewFile::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::begin(out, path, scenario, capture, epoch)
    }
}

impl<W: Target> File<W> {
    /// The same in another place, which messages call `path`.
    ///
    /// # Errors
    /// Writing fails; one line.
    pub fn begin(
        out: W,
        path: PathBuf,
        scenario: &Scenario,
        capture: &Capture,
        epoch: Time,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let section =
            Section { application: "Sojourn", comment: &scenario.name, ..Section::default() };
        let mut writer = Writer::new(out, &section).map_err(failed)?;
        let mut interfaces = Vec::new();
        for point in &capture.points {
            let name = point.name(scenario);
            let interface = Interface {
                name: &name,
                description: description(*point),
                link: LinkType::ETHERNET,
                snap_len: capture.snaplen,
            };
            interfaces.push(writer.interface(&interface).map_err(failed)?);
        }
        Ok(Self { path, writer, interfaces, snaplen: capture.snaplen as usize, epoch })
    }

    /// Adds what passed at a point.
    ///
    /// # Errors
    /// Writing fails; one line.
    pub fn write(&mut self, point: usize, seen: &Seen<'_>) -> Result<(), String> {
        let packet = Packet {
            interface: self.interfaces[point],
            time: self.epoch + Dur(seen.at.0),
            bytes: &seen.bytes[..seen.bytes.len().min(self.snaplen)],
            original_len: seen.len,
            direction: seen.direction,
            id: seen.number,
            comment: seen.comment,
        };
        let written = self.writer.packet(&packet);
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Counts packets that passed at a point and are not in the file.
    pub fn lose(&mut self, point: usize, packets: u64) {
        self.writer.lost(self.interfaces[point], packets);
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// Writing fails; one line.
    pub fn keep(self) -> Result<(), String> {
        let Self { path, writer, .. } = self;
        let kept = writer.finish().and_then(Target::keep);
        kept.map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// What an interface shows.
fn description(point: Point) -> &'static str {
    match point {
        Point::Link { place, .. } => match place {
            sojourn_scenario::Place::In => "arrives at the queue",
            sojourn_scenario::Place::Out => "leaves the queue",
            sojourn_scenario::Place::Drop => "dropped",
        },
        Point::End { sends: true, .. } => "the host that sends the data of the flow",
        Point::End { sends: false, .. } => "the host that receives the data of the flow",
        Point::Host(_) => "a host",
    }
}
