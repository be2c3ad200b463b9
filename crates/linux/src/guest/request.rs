//! Requests and responses over one connection, in a closed loop, with the sizes and thoughts that the
//! simulator draws.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use sojourn_transport::app::request::Params;
use sojourn_transport::app::udp::exponential;

use super::bulk::Pair;
use super::context::{Context, Watched};
use super::outcome::{Outcome, failed};
use super::socket::{CHUNK, accept, connect_flow, enter, listener, send_all, settle};
use crate::job::{FlowJob, Line};

struct Dialogue {
    index: usize,
    pair: Pair,
    asked: AtomicU64,
    answered: AtomicU64,
}

impl Watched for Dialogue {
    fn sample(&self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome {
        let [asked, answered] = [&self.asked, &self.answered].map(|n| n.load(Ordering::Relaxed));
        put(Line::Answers(self.index, asked, answered))?;
        self.pair.sample(at, put)
    }
}

/// Starts the threads of a flow.
pub(super) fn open(
    context: &Context,
    index: usize,
    job: &FlowJob,
    params: &Params,
) -> Result<Arc<dyn Watched>, String> {
    let (asked, answered) = (AtomicU64::new(0), AtomicU64::new(0));
    let dialogue = Arc::new(Dialogue { index, pair: Pair::new(index), asked, answered });
    let (server, wanted, answers) = (Arc::clone(&dialogue), job.clone(), params.clone());
    let what = format!("server of flow `{}`", job.name);
    context.start_ready(&what, job.peer, move |context, ready| {
        let listener = listener(&wanted)?;
        ready.send(()).map_err(failed("start"))?;
        let data = accept(&listener)?;
        let data = server.pair.tx.get_or_init(|| data);
        let (mut sizes, mut answered) = (context.stream(&wanted.name, "sizes"), 0);
        while read(data, answers.query, &mut |_| ())? {
            send_all(data, answers.sizes.draw(answered, &mut sizes))?;
            answered += 1;
        }
        Ok(())
    })?;
    let (client, wanted, params) = (Arc::clone(&dialogue), job.clone(), params.clone());
    let what = format!("flow `{}`", job.name);
    context.start(what, move |context| ask(context, &wanted, &params, &client));
    Ok(dialogue)
}

fn ask(context: &Context, job: &FlowJob, params: &Params, dialogue: &Dialogue) -> Outcome {
    let clock = context.clock;
    enter(context.host(job.opener)?)?;
    let (mut sizes, mut thoughts) =
        (context.stream(&job.name, "sizes"), context.stream(&job.name, "thoughts"));
    context.wait_until(job.start_ns);
    let data = connect_flow(job, context.address(job.peer)?)?;
    settle(&data, clock)?;
    let data = dialogue.pair.rx.get_or_init(|| data);
    let stop = job.stop_ns.unwrap_or(u64::MAX);
    for number in 0.. {
        let asked_at = clock.now();
        if asked_at >= stop {
            break;
        }
        let size = params.sizes.draw(number, &mut sizes);
        dialogue.asked.fetch_add(1, Ordering::Relaxed);
        send_all(data, params.query)?;
        let mut count = |bytes| {
            dialogue.pair.read.fetch_add(bytes, Ordering::Relaxed);
        };
        if !read(data, size, &mut count)? {
            return Err("the server closed the connection".into());
        }
        dialogue.answered.fetch_add(1, Ordering::Relaxed);
        let now = clock.now();
        context.report(Line::Done(dialogue.index, now, now - asked_at, size))?;
        clock.sleep_until(now.saturating_add(exponential(params.think, &mut thoughts).0).min(stop));
    }
    Ok(())
}

/// Reads `left` bytes and reports each piece to `count`; false if the other end closes before.
fn read(fd: &OwnedFd, mut left: u64, count: &mut dyn FnMut(u64)) -> Result<bool, String> {
    let mut buffer = vec![0_u8; left.min(CHUNK as u64) as usize];
    while left > 0 {
        let piece = left.min(CHUNK as u64) as usize;
        match recv(fd, &mut buffer[..piece], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(false),
            Ok((read, _)) => {
                left -= read as u64;
                count(read as u64);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("recv: {error}")),
        }
    }
    Ok(true)
}
