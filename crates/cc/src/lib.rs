//! Congestion controllers: the interface, its facts, and the registry by name. One controller,
//! one file.
//!
//! The split between endpoint and controller is Linux's: the endpoint finds losses, counts marks,
//! runs proportional rate reduction and the RTO, and asks the controller for `ssthresh` once per
//! reduction; a controller that sets [`Needs::owns_cwnd`] does all of that itself in `on_ack`.

pub mod algorithm;
mod bbr;
mod classic_ecn;
mod copa;
mod cubic;
mod cubic_rfc9438;
mod cubic_sce;
mod dctcp;
mod dctcp_sce;
mod facts;
mod gcc;
mod hystart;
mod hystart_pp;
mod ledbat;
mod ledbat_plus_plus;
mod nada;
mod or_reno;
mod prague;
mod reno;
mod reno_sce;
mod scalable;
mod sce;
pub mod scream;
mod udp_prague;
mod vegas;

pub use algorithm::{Algorithm, Entry, Spec};
pub use facts::{
    Ack, AckEvent, Feedback, Lost, PacketReport, Path, RateSample, Sent, Signal, State,
    StateChange, Window,
};
pub use hystart::Era as HystartEra;
pub use sojourn_core::spec::Kernel;

use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::GrammarError;
use sojourn_core::probe::Probe;
use sojourn_core::registry::Lines;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

/// A congestion controller: reacts to facts, owns no clock, sends nothing.
pub trait Controller: Send {
    /// What the endpoint must negotiate and run for it. Constant over the connection, except that
    /// a controller may give up a wish when [`Controller::on_established`] reports that the peer
    /// refused.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Gives the flow's name, for messages.
    fn named(&mut self, _flow: &str) {}

    /// Hands over the flow's own random stream, before anything else. Without it a controller that
    /// throws dice uses a fixed stream.
    fn seed(&mut self, _rng: Rng) {}

    /// The handshake is done; `path.feedback` says what was negotiated.
    fn on_established(&mut self, _now: Time, _path: &Path, _win: &mut Window) {}

    /// A packet left.
    fn on_send(&mut self, _now: Time, _sent: &Sent, _win: &mut Window) {}

    /// An acknowledgement that is not older than `snd_una` arrived (Linux `in_ack_event`, called by
    /// `tcp_ack()`): `snd_una` has advanced and SACKs are tagged, but neither are segments
    /// cumulatively acknowledged nor the state machine has run; from Linux 6.15 on segments are, and the marks
    /// of this one counted. Whoever sets cwnd here does so in every state. Called only if [`Controller::hears_ack_events`].
    fn on_ack_event(&mut self, _now: Time, _event: &AckEvent<'_>, _win: &mut Window) {}

    /// Whether [`Controller::on_ack_event`] is implemented; constant. Most controllers have no use for
    /// it, and the call costs a look at the whole path per ACK.
    fn hears_ack_events(&self) -> bool {
        false
    }

    /// An acknowledgement was processed: scoreboard, loss marking and state machine are done
    /// (Linux `tcp_cong_control()`). This is the growth step, and for owners of cwnd everything.
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window);

    /// A segment was marked lost, by an acknowledgement (before its [`Controller::on_ack`]) or by a
    /// timer; once per transmission of the segment.
    fn on_lost(&mut self, _now: Time, _lost: &Lost, _win: &Window) {}

    /// The slow-start threshold of a reduction that starts now (Linux `ssthresh` hook). Called
    /// exactly once per episode: entering CWR or Recovery, or the first RTO of an episode;
    /// `path.signal` says what it answers.
    fn ssthresh(&mut self, now: Time, path: &Path, win: &Window) -> u32;

    /// The endpoint's congestion state changed (Linux `set_state`).
    fn on_state(&mut self, _now: Time, _change: StateChange, _path: &Path, _win: &mut Window) {}

    /// cwnd after a reduction that proved spurious (Linux `undo_cwnd`).
    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        win.cwnd.max(win.prior_cwnd)
    }

    /// Transmission restarts after the flight had drained (Linux `CA_EVENT_TX_START`).
    fn on_restart(&mut self, _now: Time, _idle: Dur, _win: &mut Window) {}

    /// The controller's own timer (SCReAM's rate update, BBR's probes).
    fn wake(&self) -> Time {
        Time::NEVER
    }

    /// The instant from [`Controller::wake`] has come.
    fn on_wake(&mut self, _now: Time, _win: &mut Window) {}

    /// How often it wants reports of each packet from the receiver; for [`Feedback::Ccfb`] only.
    fn report_interval(&self) -> Dur {
        Dur::from_millis(100)
    }

    /// What the endpoint may do now.
    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }

    /// State for the trace (cwnd, ssthresh and RTT come from the endpoint).
    fn probe(&self, _out: &mut Probe<'_>) {}
}

/// What a controller asks of its endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bypasses PRR and cong_avoid: sets cwnd in every state (Linux `cong_control`).
    pub owns_cwnd: bool,
    /// Requests internal pacing (Linux `SK_PACING_NEEDED`).
    pub pacing: bool,
    /// Refuses to run without this feedback; the endpoint then falls back to Reno.
    pub feedback: Option<Feedback>,
    /// Asks for AccECN where the endpoint would for RFC 3168, and does not take that: with such a peer there is
    /// no ECN (Linux `TCP_CONG_NEEDS_ACCECN`, `TCP_CONG_NO_FALLBACK_RFC3168`).
    pub accecn_only: bool,
    /// Codepoint of data packets once ECN is negotiated (`None`: the endpoint's ECT(0)).
    pub codepoint: Option<Ecn>,
    /// Also sends retransmissions, pure ACKs and control packets with an ECT codepoint.
    pub ect_on_control: bool,
}

/// What the endpoint may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes that may be in flight, for endpoints that count bytes; TCP uses [`Window::cwnd`].
    pub cwnd: Option<Bytes>,
    /// Pacing rate; `None` leaves Linux's default ratio.
    pub pacing_rate: Option<Rate>,
    /// Segments per burst; `None` leaves TSO autosizing.
    pub burst: Option<u32>,
    /// What autosizing gives at least (Linux `min_tso_segs`); `None` leaves `tcp_min_tso_segs`.
    pub least_burst: Option<u32>,
    /// Payload bytes per new segment, at most [`Path::mss`]; `None` leaves that.
    pub mss: Option<u32>,
    /// Rate that a media encoder should aim at.
    pub media_target: Option<Rate>,
    /// The controller holds the flight down on purpose: rate samples of what is in flight now
    /// count as application-limited.
    pub app_limited: bool,
}

/// The congestion controllers of this crate, sorted by name.
pub static REGISTRY: &[Entry] = &[
    bbr::ENTRY,
    copa::ENTRY,
    cubic::ENTRY,
    cubic_sce::ENTRY,
    dctcp::ENTRY,
    dctcp_sce::ENTRY,
    gcc::ENTRY,
    ledbat::ENTRY,
    ledbat_plus_plus::ENTRY,
    nada::ENTRY,
    prague::ENTRY,
    reno::ENTRY,
    reno_sce::ENTRY,
    scalable::ENTRY,
    scream::setup::ENTRY,
    udp_prague::ENTRY,
    vegas::ENTRY,
];

static LINES: Lines<Entry> = Lines::new("congestion controller", REGISTRY);

/// Adds a controller to those of the registry, for every scenario that is read from now on. Refuses
/// a name that is taken.
pub fn register(entry: Entry) -> Result<(), GrammarError> {
    LINES.register(entry)
}

/// As [`register`], but replaces an earlier definition from outside.
pub fn redefine(entry: Entry) -> Result<(), GrammarError> {
    LINES.redefine(entry)
}

/// The controllers of the registry and the added ones, sorted by name.
pub fn entries() -> Vec<&'static Entry> {
    LINES.all()
}

/// The line for `name`; the error lists the names and the nearest.
pub fn entry(name: &str) -> Result<&'static Entry, GrammarError> {
    LINES.entry(name)
}

/// Reads and checks the controller that `text` describes, such as `prague version p2b`.
pub fn read(text: &str) -> Result<Spec, GrammarError> {
    let mut spec: Spec = text.parse()?;
    spec.check().map_err(GrammarError)?;
    Ok(spec)
}

/// Builds the controller that `text` describes.
pub fn build(text: &str) -> Result<Box<dyn Controller>, GrammarError> {
    Ok(read(text)?.build())
}

/// The parameters that `text` gives an algorithm.
#[cfg(test)]
fn params<P: Clone + 'static>(text: &str) -> P {
    read(text).expect("valid").params::<P>().expect("its own").clone()
}
