//! One-way UDP that answers no congestion signal: packets leave at the instants, and have the sizes,
//! that the simulator's source gives.

use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{SendFlags, connect, send};
use sojourn_live::udp::{Inbox, Opening, Socket};
use sojourn_transport::app::Source;

use super::context::{Context, Watched};
use super::outcome::{Outcome, failed};
use super::socket::{UDP_BUFFER, enter, udp, wait_for};
use crate::job::{Arrival, FlowJob, Line, UdpSample};

/// IPv4 and UDP headers.
const HEADERS: u32 = 28;
/// The largest payload.
const LARGEST: usize = 1 << 16;
/// Packets that are received at once.
const AT_ONCE: usize = 16;
/// Earlier packets that are thought of where a payload has no room for the whole number.
const CANDIDATES: usize = 256;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: u64,
    payload: u32,
    has_arrived: bool,
}

#[derive(Default)]
struct State {
    sent: Vec<Sent>,
    sample: UdpSample,
    arrivals: Vec<Arrival>,
}

struct Stream {
    index: usize,
    is_open: AtomicBool,
    state: Mutex<State>,
}

impl Stream {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched for Stream {
    fn sample(&self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome {
        if !self.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut state = self.state();
        let (sample, arrivals) = (state.sample, std::mem::take(&mut state.arrivals));
        drop(state);
        if !arrivals.is_empty() {
            put(Line::Arrivals(self.index, arrivals))?;
        }
        put(Line::Udp(self.index, at, sample))
    }
}

/// Starts the threads of a flow.
pub(super) fn open(
    context: &Context,
    index: usize,
    job: &FlowJob,
    source: Box<dyn Source>,
) -> Result<Arc<dyn Watched>, String> {
    let (is_open, state) = (AtomicBool::new(false), Mutex::default());
    let stream = Arc::new(Stream { index, is_open, state });
    let (far, port) = (Arc::clone(&stream), job.port);
    let what = format!("receiver of flow `{}`", job.name);
    context.start_ready(&what, job.peer, move |context, ready| {
        let socket = Socket::open(&Opening { port, ..Opening::default() });
        let socket = socket.map_err(failed("socket"))?;
        set_socket_recv_buffer_size_force(&socket, UDP_BUFFER).map_err(failed("buffer"))?;
        ready.send(()).map_err(failed("start"))?;
        receive(context, &socket, &far)
    })?;
    let (near, wanted) = (Arc::clone(&stream), job.clone());
    let what = format!("flow `{}`", job.name);
    context.start(what, move |context| transmit(context, &wanted, source, &near));
    Ok(stream)
}

fn transmit(
    context: &Context,
    job: &FlowJob,
    mut source: Box<dyn Source>,
    stream: &Stream,
) -> Outcome {
    enter(context.host(job.opener)?)?;
    let fd = udp(job.tos)?;
    let to = SocketAddrV4::new(context.address(job.peer)?, job.port);
    connect(&fd, &to).map_err(failed("connect"))?;
    let mut rng = context.stream(&job.name, "source");
    let mut buffer = vec![0_u8; LARGEST];
    context.wait_until(job.start_ns);
    stream.is_open.store(true, Ordering::Relaxed);
    let mut at = job.start_ns;
    for seq in 0_u64.. {
        let packet = source.next(&mut rng);
        at = at.saturating_add(packet.after.0);
        if at >= job.stop_ns.unwrap_or(u64::MAX) {
            break;
        }
        context.clock.sleep_until(at);
        let payload = packet.size.saturating_sub(HEADERS);
        let number = seq.to_le_bytes();
        let width = number.len().min(payload as usize);
        buffer[..width].copy_from_slice(&number[..width]);
        let mut state = stream.state();
        state.sent.push(Sent { at: context.clock.now(), payload, has_arrived: false });
        state.sample.sent += 1;
        state.sample.sent_bytes += u64::from(payload);
        drop(state);
        match send(&fd, &buffer[..payload as usize], SendFlags::empty()) {
            // No room in the first queue is a loss like others.
            Ok(_) | Err(Errno::NOBUFS) => {}
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    Ok(())
}

fn receive(context: &Context, socket: &Socket, stream: &Stream) -> Outcome {
    let mut inbox = Inbox::new(AT_ONCE, LARGEST);
    loop {
        wait_for(socket.as_fd(), PollFlags::IN, None, context.clock)?;
        inbox.receive(socket.as_fd(), context.clock.0).map_err(failed("recv"))?;
        let mut state = stream.state();
        for datagram in inbox.datagrams() {
            // When the kernel had it: how late this program runs is not of the path.
            let at = datagram.at.0;
            state.sample.received += 1;
            state.sample.received_bytes += datagram.bytes.len() as u64;
            state.sample.codepoints[usize::from(datagram.ecn.on_tos(0))] += 1;
            if let Some(seq) = number(&state.sent, datagram.bytes) {
                state.sent[seq].has_arrived = true;
                let sent = state.sent[seq].at;
                state.arrivals.push(Arrival { at, seq: seq as u64, sent });
            }
        }
    }
}

/// The number of a packet: what is in it of the number, and its length, belong to the newest packet
/// that has not arrived, else to the newest.
fn number(sent: &[Sent], payload: &[u8]) -> Option<usize> {
    let width = payload.len().min(8);
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(&payload[..width]);
    let low = usize::try_from(u64::from_le_bytes(bytes)).ok()?;
    if width >= 4 {
        // More than are ever sent.
        return (low < sent.len()).then_some(low);
    }
    let stride = 1_usize << (8 * width);
    let last = sent.len().checked_sub(1)?;
    let newest = last.checked_sub((last.wrapping_sub(low)) % stride)?;
    let of_length = || {
        let earlier = (0..CANDIDATES).map_while(|back| newest.checked_sub(back * stride));
        earlier.filter(|seq| sent[*seq].payload as usize == payload.len())
    };
    of_length().find(|seq| !sent[*seq].has_arrived).or_else(|| of_length().next())
}

#[cfg(test)]
mod tests;
