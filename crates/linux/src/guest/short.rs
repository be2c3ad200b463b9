//! Connections that come and go, at the instants and with the sizes that the simulator draws. A
//! transfer takes from the SYN to the FIN with which the receiver answers the sender's.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use sojourn_core::{Dur, Rng};
use sojourn_transport::app::short::Params;
use sojourn_transport::app::udp::exponential;

use super::context::{Context, Watched};
use super::outcome::{Outcome, failed};
use super::socket::{CHUNK, accept, connect_flow, enter, is_made, listener, wait_for_any};
use super::tcp_info::{receiving, sending};
use crate::job::{FlowJob, Line, Receiving, Sending, ShortSample};

/// A connection of the opening end.
struct Transfer {
    fd: Arc<OwnedFd>,
    opened: u64,
    bytes: u64,
    left: u64,
    is_made: bool,
}

#[derive(Default)]
struct Opener {
    open: Vec<Transfer>,
    arrived: u64,
    turned_away: u64,
    completed: u64,
    closed: Sending,
}

#[derive(Default)]
struct Acceptor {
    open: Vec<Arc<OwnedFd>>,
    read: u64,
    closed: Receiving,
}

struct Short {
    index: usize,
    start: u64,
    opener: Mutex<Opener>,
    acceptor: Mutex<Acceptor>,
}

impl Short {
    fn opener(&self) -> MutexGuard<'_, Opener> {
        self.opener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acceptor(&self) -> MutexGuard<'_, Acceptor> {
        self.acceptor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched for Short {
    fn sample(&self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome {
        if at < self.start {
            return Ok(());
        }
        let mut sample = ShortSample::default();
        let opener = self.opener();
        sample.open = opener.open.len() as u32;
        sample.arrived = opener.arrived;
        sample.turned_away = opener.turned_away;
        sample.completed = opener.completed;
        sample.sums.tx = opener.closed;
        for transfer in &opener.open {
            sample.sums.tx.add(&sending(transfer.fd.as_fd())?);
        }
        drop(opener);
        let acceptor = self.acceptor();
        sample.sums.read = acceptor.read;
        sample.sums.rx = acceptor.closed;
        for fd in &acceptor.open {
            sample.sums.rx.add(&receiving(fd.as_fd())?);
        }
        drop(acceptor);
        put(Line::Short(self.index, at, sample))
    }
}

/// Starts the threads of a flow.
pub(super) fn open(
    context: &Context,
    index: usize,
    job: &FlowJob,
    params: &Params,
) -> Result<Arc<dyn Watched>, String> {
    let (opener, acceptor) = (Mutex::default(), Mutex::default());
    let short = Arc::new(Short { index, start: job.start_ns, opener, acceptor });
    let (far, wanted) = (Arc::clone(&short), job.clone());
    let what = format!("receiver of flow `{}`", job.name);
    context.start_ready(&what, job.peer, move |context, ready| {
        let listener = listener(&wanted)?;
        ready.send(()).map_err(failed("start"))?;
        take(context, &listener, &far)
    })?;
    let (near, wanted, params) = (Arc::clone(&short), job.clone(), params.clone());
    let what = format!("flow `{}`", job.name);
    context.start(what, move |context| give(context, &wanted, &params, &near));
    Ok(short)
}

fn give(context: &Context, job: &FlowJob, params: &Params, short: &Short) -> Outcome {
    let clock = context.clock;
    enter(context.host(job.opener)?)?;
    let (mut arrivals, mut sizes) =
        (context.stream(&job.name, "arrivals"), context.stream(&job.name, "sizes"));
    let stop = job.stop_ns.unwrap_or(u64::MAX);
    let mut next = job.start_ns + exponential(params.gap, &mut arrivals).0;
    context.wait_until(job.start_ns);
    let buffer = vec![0_u8; CHUNK];
    loop {
        let now = clock.now();
        while next <= now && next < stop {
            arrive(context, job, params, &mut sizes, short)?;
            next += exponential(params.gap, &mut arrivals).max(Dur(1)).0;
        }
        let watched: Vec<(Arc<OwnedFd>, PollFlags)> = {
            let waits = |t: &Transfer| if t.left > 0 { PollFlags::OUT } else { PollFlags::IN };
            short.opener().open.iter().map(|t| (Arc::clone(&t.fd), waits(t))).collect()
        };
        if watched.is_empty() && next >= stop {
            return Ok(());
        }
        let mut fds: Vec<PollFd<'_>> =
            watched.iter().map(|(fd, events)| PollFd::new(fd.as_ref(), *events)).collect();
        if !wait_for_any(&mut fds, (next < stop).then_some(next), clock)? {
            continue;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut opener = short.opener();
        // From the end, so that what is taken out moves nothing that is still to be looked at.
        for place in ready.iter().enumerate().filter_map(|(n, is)| is.then_some(n)).rev() {
            if go_on(&mut opener.open[place], &buffer)? {
                let done = opener.open.swap_remove(place);
                let info = sending(done.fd.as_fd())?;
                opener.closed.add(&info);
                let least = opener.closed.min_rtt_us;
                opener.closed.min_rtt_us =
                    if least == 0 { info.min_rtt_us } else { least.min(info.min_rtt_us) };
                opener.completed += 1;
                let now = clock.now();
                context.report(Line::Done(short.index, now, now - done.opened, done.bytes))?;
            }
        }
    }
}

fn arrive(
    context: &Context,
    job: &FlowJob,
    params: &Params,
    sizes: &mut Rng,
    short: &Short,
) -> Outcome {
    let mut opener = short.opener();
    let bytes = params.sizes.draw(opener.arrived, sizes);
    opener.arrived += 1;
    if opener.open.len() >= params.limit as usize {
        opener.turned_away += 1;
        return Ok(());
    }
    let fd = Arc::new(connect_flow(job, context.address(job.peer)?)?);
    let opened = context.clock.now();
    opener.open.push(Transfer { fd, opened, bytes, left: bytes, is_made: false });
    Ok(())
}

/// Sends as much as there is room for; true once the other end has closed.
fn go_on(transfer: &mut Transfer, buffer: &[u8]) -> Result<bool, String> {
    if !transfer.is_made {
        is_made(&transfer.fd)?;
        transfer.is_made = true;
    }
    if transfer.left == 0 {
        let mut byte = [0_u8; 1];
        return match recv(&transfer.fd, &mut byte[..], RecvFlags::DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(format!("recv: {error}")),
        };
    }
    while transfer.left > 0 {
        let chunk = &buffer[..transfer.left.min(CHUNK as u64) as usize];
        match send(&transfer.fd, chunk, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => transfer.left -= sent as u64,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    shutdown(&transfer.fd, Shutdown::Write).map_err(failed("shutdown"))?;
    Ok(false)
}

fn take(context: &Context, listener: &OwnedFd, short: &Short) -> Outcome {
    let mut buffer = vec![0_u8; CHUNK];
    loop {
        let watched = short.acceptor().open.clone();
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        fds.extend(watched.iter().map(|fd| PollFd::new(fd.as_ref(), PollFlags::IN)));
        wait_for_any(&mut fds, None, context.clock)?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut acceptor = short.acceptor();
        for place in ready[1..].iter().enumerate().filter_map(|(n, is)| is.then_some(n)).rev() {
            let (read, is_over) = drain(&acceptor.open[place], &mut buffer)?;
            acceptor.read += read;
            if is_over {
                let fd = acceptor.open.swap_remove(place);
                let info = receiving(fd.as_fd())?;
                acceptor.closed.add(&info);
            }
        }
        if ready[0] {
            let fd = accept(listener)?;
            acceptor.open.push(Arc::new(fd));
        }
    }
}

/// Reads what has arrived: its bytes, and whether the other end has closed.
fn drain(fd: &OwnedFd, buffer: &mut [u8]) -> Result<(u64, bool), String> {
    let mut total = 0;
    loop {
        match recv(fd, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Ok((total, true)),
            Ok((read, _)) => total += read as u64,
            Err(Errno::AGAIN) => return Ok((total, false)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("recv: {error}")),
        }
    }
}
