//! The C library of SCReAM: `include/sojourn_scream.h` and `docs/guide/scream-library.md` say what the
//! functions do. Every function checks its pointers for NULL, and no panic leaves it.

#![expect(unsafe_code, reason = "C hands over pointers; each use says what it relies on")]

mod pointers;

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pointers::{input, object, output, text, write_line};
use sojourn_cc::{self as cc, scream};
use sojourn_core::wire::rtp::Header;
use sojourn_core::{Ecn, Time};
use sojourn_transport::media::scream_front::{Front, Next, Refusal, State};
use sojourn_transport::media::scream_rx::{Params, REPORT_BYTES, Receiver};

const OK: c_int = 0;
const NONE: c_int = 1;
const NULL: c_int = -1;
const BAD: c_int = -2;
const UNKNOWN: c_int = -3;
const FULL: c_int = -4;
const SMALL: c_int = -5;
const PANIC: c_int = -6;

/// `sojourn_scream_stats` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    pushed: u64,
    packets: u64,
    bytes: u64,
    discarded: u64,
    reports: u64,
    lost: u64,
    cwnd: u32,
    in_flight: u32,
    queue_delay_s: f64,
    srtt_s: f64,
    sent_rate_bps: f64,
    ce_percent: f64,
}

/// Runs what a function does; its error is what C gets, and so is a panic.
fn guarded(what: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    match catch_unwind(AssertUnwindSafe(what)) {
        Ok(Ok(code) | Err(code)) => code,
        Err(_) => PANIC,
    }
}

/// Makes an object from its text. On an error C gets NULL, and a line in `error`.
fn made<T>(
    options: *const c_char,
    error: *mut c_char,
    error_size: usize,
    make: impl FnOnce(&scream::Setup) -> T,
) -> *mut T {
    let built = catch_unwind(AssertUnwindSafe(|| {
        let options = text(options).ok_or_else(|| "options: expected UTF-8".to_owned())?;
        let spec = cc::read(&format!("scream {options}")).map_err(|e| e.0)?;
        let setup = spec.scream().ok_or_else(|| "options: not SCReAM's".to_owned())?;
        Ok(make(setup))
    }));
    match built {
        Ok(Ok(object)) => Box::into_raw(Box::new(object)),
        Ok(Err(line)) => {
            let line: String = line;
            write_line(&line, error, error_size);
            std::ptr::null_mut()
        }
        Err(_) => {
            write_line("a defect of the library", error, error_size);
            std::ptr::null_mut()
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn code(refusal: Refusal) -> c_int {
    match refusal {
        Refusal::Rtp(_) | Refusal::Long(_) | Refusal::Stream(_) => BAD,
        Refusal::Unknown(_) | Refusal::Known(_) => UNKNOWN,
        Refusal::Streams | Refusal::Full => FULL,
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_sender_new(
    options: *const c_char,
    now_ns: u64,
    error: *mut c_char,
    error_size: usize,
) -> *mut Front {
    made(options, error, error_size, |setup| Front::new(setup, Time(now_ns)))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_sender_free(sender: *mut Front) {
    pointers::free(sender);
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_add_stream(
    sender: *mut Front,
    ssrc: u32,
    priority: f32,
    min_bps: f32,
    init_bps: f32,
    max_bps: f32,
) -> c_int {
    guarded(|| {
        let front = object(sender).ok_or(NULL)?;
        let stream = scream::Stream {
            ssrc,
            priority,
            min_rate: min_bps,
            init_rate: init_bps,
            max_rate: max_bps,
            ..front.template()
        };
        front.add_stream(stream).map_err(code)?;
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_push(
    sender: *mut Front,
    now_ns: u64,
    packet: *const u8,
    length: usize,
) -> c_int {
    guarded(|| {
        let front = object(sender).ok_or(NULL)?;
        front.push(Time(now_ns), input(packet, length).ok_or(NULL)?).map_err(code)?;
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_target(
    sender: *mut Front,
    now_ns: u64,
    ssrc: u32,
    rate_bps: *mut u64,
    lost: *mut c_int,
) -> c_int {
    guarded(|| {
        let front = object(sender).ok_or(NULL)?;
        let target = front.target(Time(now_ns), ssrc).map_err(code)?;
        output(rate_bps, target.rate.0);
        output(lost, c_int::from(target.lost));
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_next(
    sender: *mut Front,
    now_ns: u64,
    packet: *mut u8,
    size: usize,
    length: *mut usize,
    again_ns: *mut u64,
) -> c_int {
    guarded(|| {
        let front = object(sender).ok_or(NULL)?;
        let out = pointers::room(packet, size).ok_or(NULL)?;
        if length.is_null() {
            return Err(NULL);
        }
        let again = match front.next(Time(now_ns)) {
            Next::Packet(_, bytes) => {
                out.get_mut(..bytes.len()).ok_or(SMALL)?.copy_from_slice(&bytes);
                output(length, bytes.len());
                return Ok(OK);
            }
            Next::At(at) => at,
            Next::Idle => Time::NEVER,
        };
        output(again_ns, again.0);
        Ok(NONE)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_feedback(
    sender: *mut Front,
    now_ns: u64,
    datagram: *const u8,
    length: usize,
) -> c_int {
    guarded(|| {
        let front = object(sender).ok_or(NULL)?;
        let datagram = input(datagram, length).ok_or(NULL)?;
        front.on_feedback(Time(now_ns), datagram).map_err(|_| BAD)?;
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_ecn(sender: *const Front) -> c_int {
    guarded(|| Ok(c_int::from(object(sender.cast_mut()).ok_or(NULL)?.ecn().on_tos(0))))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_get_stats(sender: *const Front, stats: *mut Stats) -> c_int {
    guarded(|| {
        let front = object(sender.cast_mut()).ok_or(NULL)?;
        if stats.is_null() {
            return Err(NULL);
        }
        let State { counts, lost, ce_percent, now } = front.state();
        output(
            stats,
            Stats {
                pushed: counts.pushed,
                packets: counts.packets,
                bytes: counts.bytes,
                discarded: counts.discarded,
                reports: counts.reports,
                lost,
                cwnd: now.cwnd,
                in_flight: now.in_flight,
                queue_delay_s: f64::from(now.queue_delay),
                srtt_s: f64::from(now.srtt),
                sent_rate_bps: f64::from(now.rates.sent),
                ce_percent: f64::from(ce_percent),
            },
        );
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_receiver_new(
    options: *const c_char,
    now_ns: u64,
    error: *mut c_char,
    error_size: usize,
) -> *mut Receiver {
    made(options, error, error_size, |setup| {
        let params = Params {
            ackdiff: setup.ackdiff,
            reported: setup.reported,
            count: setup.count,
            ..Params::new(setup.config.version, setup.config.parity)
        };
        Receiver::new(params, Time(now_ns))
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_receiver_free(receiver: *mut Receiver) {
    pointers::free(receiver);
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_arrived(
    receiver: *mut Receiver,
    now_ns: u64,
    packet: *const u8,
    length: usize,
    tos: u8,
) -> c_int {
    guarded(|| {
        let receiver = object(receiver).ok_or(NULL)?;
        let packet = input(packet, length).ok_or(NULL)?;
        let header = Header::parse(packet).map_err(|_| BAD)?;
        receiver.on_rtp(Time(now_ns), &header, packet.len() as u32, Ecn::from_tos(tos));
        Ok(OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_scream_report(
    receiver: *mut Receiver,
    now_ns: u64,
    datagram: *mut u8,
    size: usize,
    length: *mut usize,
    again_ns: *mut u64,
) -> c_int {
    guarded(|| {
        let receiver = object(receiver).ok_or(NULL)?;
        let out = pointers::room(datagram, size).ok_or(NULL)?;
        if length.is_null() {
            return Err(NULL);
        }
        let out = out.get_mut(..REPORT_BYTES).ok_or(SMALL)?;
        if let Some(len) = receiver.next_report(Time(now_ns), out) {
            output(length, len);
            return Ok(OK);
        }
        output(again_ns, receiver.deadline().0);
        Ok(NONE)
    })
}
