//! Capture files where the kernel carries the packets: a thread for each file, which takes what passes the
//! interfaces of hosts and links.

use std::path::Path;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags};
use sojourn_capture::write::Direction;
use sojourn_core::Time;
use sojourn_live::clock::unix_ns;
use sojourn_live::packet_socket::{PacketSocket, Received};
use sojourn_scenario::{Capture, Scenario};
use sojourn_tap::{EPOCH, File, Seen};
use sojourn_wire::Ip;
use sojourn_wire::ethernet::{complete_checksum, ip_at, put_tag};

use super::context::Context;
use super::middlebox::number;
use super::outcome::{Outcome, failed};
use super::socket::{enter, wait_for_any};
use crate::job::{Job, Place};
use crate::network::watched::{Shows, Watched};

/// The thread of all files.
pub(super) type Captures = JoinHandle<Outcome>;

/// Bytes of the largest frame.
const LARGEST: usize = 65_600;
/// Frames of an interface that are taken before another one has its turn.
const BATCH: usize = 256;

/// When the run begins, since 1970-01-01 00:00 UTC. In virtual time that is the same for every run.
pub(super) fn epoch(context: &Context, is_virtual: bool) -> Time {
    if is_virtual {
        return EPOCH;
    }
    Time(unix_ns().saturating_add_signed(-context.clock.0.since_start()))
}

/// An interface of a file.
struct Interface {
    socket: PacketSocket,
    shows: Shows,
}

/// A file and its interfaces.
struct Running {
    file: File,
    capture: Capture,
    interfaces: Vec<Interface>,
}

/// Begins the files, and takes frames from the start of the run to its end.
pub(super) fn start(
    context: &Context,
    job: &Job,
    scenario: &Scenario,
) -> Result<Option<Captures>, String> {
    let Some(folder) = &job.captures else { return Ok(None) };
    let epoch = epoch(context, job.place == Place::Virtual);
    let begin = |capture: &Capture| begin(folder, job, scenario, capture, epoch);
    let mut files = scenario.captures.iter().map(begin).collect::<Result<Vec<_>, _>>()?;
    let (context, end, flows) = (context.clone(), job.duration_ns, job.flows.len());
    let all = flows + job.pings.len();
    let work = move || {
        context.watched("captures", || {
            let mut taken = Taken { buffer: vec![0; LARGEST], frames: Vec::new(), flows, all };
            while context.clock.now() < end {
                wait(&files, end, &context)?;
                files.iter_mut().try_for_each(|file| file.take(&mut taken, &context))?;
            }
            files.into_iter().try_for_each(|running| {
                let Running { mut file, interfaces, .. } = running;
                for (place, interface) in interfaces.iter().enumerate() {
                    let lost = interface.socket.overflowed().map_err(failed("captures"))?;
                    file.lose(place, lost);
                }
                file.keep()
            })
        })
    };
    let thread = thread::Builder::new().name("captures".into()).spawn(work);
    thread.map(Some).map_err(failed("a thread"))
}

fn begin(
    folder: &Path,
    job: &Job,
    scenario: &Scenario,
    capture: &Capture,
    epoch: Time,
) -> Result<Running, String> {
    let file = File::create(folder.join(capture.file_name()), scenario, capture, epoch)?;
    let open = |point| {
        let Watched { namespace, device, shows } = job.network.watched(scenario, point)?;
        let inside = move || {
            enter(&namespace)?;
            PacketSocket::watch(&device).map_err(|error| error.to_string())
        };
        let socket = thread::spawn(inside).join().map_err(|_| "a thread panicked")??;
        Ok(Interface { socket, shows })
    };
    let interfaces = capture.points.iter().copied().map(open).collect::<Result<_, String>>()?;
    Ok(Running { file, capture: capture.clone(), interfaces })
}

/// Waits until an interface has a frame, or the run ends. In virtual time nothing else may pass the time.
fn wait<'a>(files: &'a [Running], end: u64, context: &Context) -> Outcome {
    let interfaces = files.iter().flat_map(|file| &file.interfaces);
    let fd = |interface: &'a Interface| PollFd::new(&interface.socket, PollFlags::IN);
    let mut fds: Vec<PollFd<'a>> = interfaces.map(fd).collect();
    wait_for_any(&mut fds, Some(end), context.clock).map(drop)
}

/// Frames that were taken at once, in the order of their times.
struct Taken {
    buffer: Vec<u8>,
    frames: Vec<Frame>,
    /// Flows of the scenario, and flows and pings.
    flows: usize,
    all: usize,
}

struct Frame {
    at: Time,
    place: usize,
    bytes: Vec<u8>,
    len: usize,
    is_outgoing: bool,
}

impl Running {
    fn take(&mut self, taken: &mut Taken, context: &Context) -> Outcome {
        loop {
            let mut is_full = false;
            for (place, interface) in self.interfaces.iter().enumerate() {
                is_full |= interface.take(place, &self.capture, taken, context)? == BATCH;
            }
            taken.frames.sort_by_key(|frame| frame.at);
            for frame in taken.frames.drain(..) {
                self.file.write(
                    frame.place,
                    &Seen {
                        at: frame.at,
                        bytes: &frame.bytes,
                        len: frame.len as u32,
                        direction: if frame.is_outgoing {
                            Direction::Outbound
                        } else {
                            Direction::Inbound
                        },
                        number: None,
                        comment: "",
                    },
                )?;
            }
            if !is_full {
                return Ok(());
            }
        }
    }
}

impl Interface {
    /// Takes frames that have passed; gives how many it has looked at.
    fn take(
        &self,
        place: usize,
        capture: &Capture,
        taken: &mut Taken,
        context: &Context,
    ) -> Result<usize, String> {
        // What the clocks say together turns Unix time into the run's.
        let (unix, own) = (unix_ns(), context.clock.0.since_start());
        for looked in 0..BATCH {
            let buffer = &mut taken.buffer[..];
            let arrival = match self.socket.receive(buffer).map_err(failed("captures"))? {
                Received::Nothing => return Ok(looked),
                Received::Unreadable => continue,
                Received::Frame(arrival) => arrival,
            };
            let ago = unix.saturating_sub(arrival.unix_ns.unwrap_or(unix));
            let Some(at) = own.checked_sub(ago as i64).and_then(|at| u64::try_from(at).ok()) else {
                continue;
            };
            if !capture.is_on(Time(at)) || !self.shows.direction(arrival.is_outgoing) {
                continue;
            }
            let (mut len, unfinished) = (arrival.len, arrival.unfinished);
            if let (Some((start, offset)), None) = (unfinished.checksum(), unfinished.segments()) {
                complete_checksum(&mut buffer[..len], start, offset);
            }
            if let Some((protocol, control)) = arrival.tag {
                len = put_tag(buffer, len, protocol, control).unwrap_or(len);
            }
            if !self.is_wanted(&buffer[..len], capture, taken.flows, taken.all) {
                continue;
            }
            let kept = len.min(capture.snaplen as usize);
            taken.frames.push(Frame {
                at: Time(at),
                place,
                bytes: taken.buffer[..kept].to_vec(),
                len,
                is_outgoing: arrival.is_outgoing,
            });
        }
        Ok(BATCH)
    }

    /// Whether the frame is of a flow that is kept; what is of none is kept with all of them.
    fn is_wanted(&self, frame: &[u8], capture: &Capture, flows: usize, all: usize) -> bool {
        let ip = ip_at(frame).ok().and_then(|at| Ip::parse(&frame[at..]).ok());
        let number = ip.and_then(|ip| number(&ip, flows)).filter(|number| *number < all);
        match (number, self.shows.flow) {
            (Some(number), Some(flow)) if number != flow => false,
            (Some(number), _) => capture.flows.binary_search(&number).is_ok(),
            (None, Some(_)) => false,
            (None, None) => capture.flows.len() == all,
        }
    }
}
