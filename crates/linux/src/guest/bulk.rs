//! One connection that always has data, or a given number of bytes.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::context::{Context, Watched};
use super::outcome::{Outcome, failed};
use super::socket::{
    CHUNK, accept, connect_flow, connect_plainly, enter, listener, settle, wait_for,
};
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
pub(super) fn open(context: &Context, index: usize, job: &FlowJob) -> Result<Arc<Pair>, String> {
    let pair = Arc::new(Pair::new(index));
    let (rx, wanted) = (Arc::clone(&pair), job.clone());
    let what = format!("receiver of flow `{}`", job.name);
    context.start_ready(&what, job.peer, move |_, ready| {
        let listener = listener(&wanted)?;
        ready.send(()).map_err(failed("start"))?;
        receive(&wanted, &listener, &rx)
    })?;
    let (tx, wanted) = (Arc::clone(&pair), job.clone());
    context.start(format!("flow `{}`", job.name), move |context| transmit(context, &wanted, &tx));
    Ok(pair)
}

fn receive(job: &FlowJob, listener: &OwnedFd, pair: &Pair) -> Outcome {
    let mut buffer = vec![0; CHUNK];
    // Held open as long as the test: its end is no part of the run.
    let _control = (job.control_rtts > 0).then(|| control_answers(listener, job)).transpose()?;
    let data = accept(listener)?;
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
    let control = accept(listener)?;
    for _ in 1..job.control_rtts {
        let mut byte = [0_u8; 1];
        recv(&control, &mut byte[..], RecvFlags::empty()).map_err(failed("control"))?;
        send(&control, &byte, SendFlags::NOSIGNAL).map_err(failed("control"))?;
    }
    Ok(control)
}

/// The sender's half.
fn control_asks(context: &Context, job: &FlowJob) -> Result<OwnedFd, String> {
    let control = connect_plainly(job, context.address(job.peer)?)?;
    settle(&control, context.clock)?;
    for _ in 1..job.control_rtts {
        let mut byte = [0_u8; 1];
        send(&control, &byte, SendFlags::NOSIGNAL).map_err(failed("control"))?;
        recv(&control, &mut byte[..], RecvFlags::empty()).map_err(failed("control"))?;
    }
    Ok(control)
}

fn transmit(context: &Context, job: &FlowJob, pair: &Pair) -> Outcome {
    enter(context.host(job.opener)?)?;
    context.wait_until(job.start_ns);
    let _control = (job.control_rtts > 0).then(|| control_asks(context, job)).transpose()?;
    let data = connect_flow(job, context.address(job.peer)?)?;
    settle(&data, context.clock)?;
    let data = pair.tx.get_or_init(|| data);
    let buffer = vec![0_u8; CHUNK];
    let mut left = job.bytes.unwrap_or(u64::MAX);
    while left > 0 && wait_for(data.as_fd(), PollFlags::OUT, job.stop_ns, context.clock)? {
        let chunk = &buffer[..left.min(CHUNK as u64) as usize];
        match send(data, chunk, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    shutdown(data, Shutdown::Write).map_err(failed("shutdown"))
}
