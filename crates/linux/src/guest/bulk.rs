//! One connection that always has data, or a given number of bytes.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, accept, recv, send, shutdown};

use super::crew::{Crew, Outcome, Watched};
use super::socket::{CHUNK, enter, knock, knock_plain, listener, said, settle, wait_for};
use super::tcp_info::{receiving, sending};
use crate::job::{FlowJob, FlowSample, Line};

/// The two ends of a connection.
pub(super) struct Pair {
    index: usize,
    /// The end that sends the data.
    pub(super) tx: OnceLock<OwnedFd>,
    /// The end that receives them.
    pub(super) rx: OnceLock<OwnedFd>,
    /// Bytes that its application has read.
    pub(super) read: AtomicU64,
    is_over: AtomicBool,
    has_ended: AtomicBool,
}

impl Pair {
    pub(super) fn new(index: usize) -> Self {
        Self {
            index,
            tx: OnceLock::new(),
            rx: OnceLock::new(),
            read: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }
    }
}

impl Watched for Pair {
    fn sample(&self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome {
        let (Some(tx), Some(rx)) = (self.tx.get(), self.rx.get()) else { return Ok(()) };
        // The end of a flow is sampled once, however short it was.
        if self.has_ended.swap(self.is_over.load(Ordering::Relaxed), Ordering::Relaxed) {
            return Ok(());
        }
        let read = self.read.load(Ordering::Relaxed);
        let (tx, rx) = (sending(tx.as_fd())?, receiving(rx.as_fd())?);
        put(Line::Flow(self.index, at, FlowSample { read, tx, rx }))
    }
}

/// Starts the threads of a flow.
pub(super) fn open(crew: &Crew, index: usize, job: &FlowJob) -> Result<Arc<Pair>, String> {
    let pair = Arc::new(Pair::new(index));
    let (rx, wanted) = (Arc::clone(&pair), job.clone());
    let what = format!("receiver of flow `{}`", job.name);
    crew.start_ready(&what, job.peer, move |_, ready| {
        let listener = listener(&wanted)?;
        ready.send(()).map_err(said("start"))?;
        receive(&wanted, &listener, &rx)
    })?;
    let (tx, wanted) = (Arc::clone(&pair), job.clone());
    crew.start(format!("flow `{}`", job.name), move |crew| transmit(crew, &wanted, &tx));
    Ok(pair)
}

fn receive(job: &FlowJob, listener: &OwnedFd, pair: &Pair) -> Outcome {
    let mut buffer = vec![0; CHUNK];
    // Held open as long as the test: its end is no part of the run.
    let _control = (job.control_rtts > 0).then(|| control_answers(listener, job)).transpose()?;
    let data = accept(listener).map_err(said("accept"))?;
    let data = pair.rx.get_or_init(|| data);
    loop {
        match recv(data, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => break,
            Ok((read, _)) => pair.read.fetch_add(read as u64, Ordering::Relaxed),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(format!("recv: {error}")),
        };
    }
    pair.is_over.store(true, Ordering::Relaxed);
    Ok(())
}

/// The receiver's half of the control connection: every byte is answered by one.
fn control_answers(listener: &OwnedFd, job: &FlowJob) -> Result<OwnedFd, String> {
    let control = accept(listener).map_err(said("accept"))?;
    for _ in 1..job.control_rtts {
        let mut byte = [0_u8; 1];
        recv(&control, &mut byte[..], RecvFlags::empty()).map_err(said("control"))?;
        send(&control, &byte, SendFlags::NOSIGNAL).map_err(said("control"))?;
    }
    Ok(control)
}

/// The sender's half.
fn control_asks(crew: &Crew, job: &FlowJob) -> Result<OwnedFd, String> {
    let control = knock_plain(job, crew.address(job.peer)?)?;
    settle(&control, crew.clock)?;
    for _ in 1..job.control_rtts {
        let mut byte = [0_u8; 1];
        send(&control, &byte, SendFlags::NOSIGNAL).map_err(said("control"))?;
        recv(&control, &mut byte[..], RecvFlags::empty()).map_err(said("control"))?;
    }
    Ok(control)
}

fn transmit(crew: &Crew, job: &FlowJob, pair: &Pair) -> Outcome {
    enter(crew.host(job.opener)?)?;
    crew.wait_until(job.start_ns);
    let _control = (job.control_rtts > 0).then(|| control_asks(crew, job)).transpose()?;
    let data = knock(job, crew.address(job.peer)?)?;
    settle(&data, crew.clock)?;
    let data = pair.tx.get_or_init(|| data);
    let buffer = vec![0_u8; CHUNK];
    let mut left = job.bytes.unwrap_or(u64::MAX);
    while left > 0 && wait_for(data.as_fd(), PollFlags::OUT, job.stop_ns, crew.clock)? {
        let chunk = &buffer[..left.min(CHUNK as u64) as usize];
        match send(data, chunk, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    shutdown(data, Shutdown::Write).map_err(said("shutdown"))
}
