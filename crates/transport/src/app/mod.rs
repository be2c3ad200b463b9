//! Applications: what a flow carries, and when. One file each, a registry, and tc's grammar, as for
//! queues and controllers: `bulk`, `cbr rate 2Mbit size 1200`, `short load 5Mbit`.

pub mod adaptive;
pub mod burst;
pub mod cbr;
pub mod exec;
pub mod game;
pub mod onoff;
pub mod poisson;
pub mod request;
pub mod rrul;
pub mod scream_bw;
pub mod short;
pub mod sizes;
pub mod udp;
pub mod video;
pub mod voip;

mod application;
mod bulk;
mod multiplex;

use std::fmt;

use sojourn_cc::{Controller, Needs};
use sojourn_core::Rng;
use sojourn_core::grammar::GrammarError;
use sojourn_core::registry::Lines;

use crate::endpoint::Endpoint;
use crate::media::Encoder;
use crate::tcp::{Config, Receiver, Sender};

pub use application::{Application, Entry, Spec, spec};

/// What a flow carries.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// One TCP connection with endless or given data.
    Bulk,
    /// TCP connections that come and go.
    Short(short::Params),
    /// Requests and responses over TCP.
    Request(request::Params),
    /// UDP without congestion control.
    Udp(Box<dyn Source>),
    /// Media over UDP whose rate follows a congestion controller.
    Media(MediaFlow),
    /// Several flows and pings at once; whoever reads the scenario takes it apart.
    Rrul(rrul::Params),
    /// Programs of the user's own.
    Exec {
        /// The client receives the data.
        pulls: bool,
    },
}

impl App {
    /// Whether it needs a congestion controller: over TCP, and for media.
    pub fn has_controller(&self) -> bool {
        !matches!(self, Self::Udp(_) | Self::Exec { .. })
    }

    /// Whether its sources make a given amount and no more, whatever the path takes.
    pub fn is_bounded(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::Media(_) | Self::Exec { .. })
    }

    /// Whether both directions of its connections carry data.
    pub fn is_duplex(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Whether the end that opens the flow is the one that receives the data.
    pub fn pulls(&self) -> bool {
        matches!(self, Self::Request(_) | Self::Exec { pulls: true })
    }
}

/// Encoders of a media flow.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaFlow {
    /// What each stream has.
    pub encoder: Encoder,
    /// One per stream; only SCReAM has several.
    pub priorities: Vec<f32>,
}

/// A one-way UDP source: when its packets leave, and how large they are.
pub trait Source: fmt::Debug + Send + Sync {
    /// The next packet.
    fn next(&mut self, rng: &mut Rng) -> udp::Departure;

    /// A source with the same parameters that has sent nothing yet.
    fn fresh(&self) -> Box<dyn Source>;

    /// What a listener makes of it, if it is speech.
    fn voice(&self) -> Option<voip::Voice> {
        None
    }
}

impl Clone for Box<dyn Source> {
    fn clone(&self) -> Self {
        self.fresh()
    }
}

impl PartialEq for Box<dyn Source> {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// The TCP side of an application: parameters of both ends, and what makes a fresh controller.
pub struct Tcp {
    /// Parameters of both ends.
    pub config: Config,
    /// Makes the controller of a new connection.
    pub controller: Box<dyn Fn() -> Box<dyn Controller> + Send>,
    /// What the controller asks of both ends.
    pub needs: Needs,
}

impl fmt::Debug for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tcp").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Tcp {
    fn sender(&self) -> Sender {
        Sender::new(self.config.clone(), (self.controller)())
    }

    fn receiver(&self) -> Receiver {
        Receiver::new(self.config.clone(), self.needs)
    }
}

/// The two ends of an application over TCP, the opener first. `tcp` makes the parameters for an
/// end, `rng` the stream of a name.
///
/// # Panics
/// If `app` is none of TCP.
pub fn tcp_ends(
    app: &App,
    tcp: impl Fn() -> Tcp,
    rng: &dyn Fn(&str) -> Rng,
) -> [Box<dyn Endpoint>; 2] {
    match app {
        App::Bulk => [Box::new(tcp().sender()), Box::new(tcp().receiver())],
        App::Short(params) => [
            Box::new(short::Opener::new(params, tcp(), rng)),
            Box::new(short::Acceptor::new(tcp())),
        ],
        App::Request(params) => [
            Box::new(request::Client::new(params, &tcp(), rng)),
            Box::new(request::Server::new(params, &tcp(), rng)),
        ],
        App::Udp(_) | App::Media(_) | App::Rrul(_) | App::Exec { .. } => {
            unreachable!("no application of one TCP flow")
        }
    }
}

/// All applications, sorted by name.
pub static REGISTRY: &[Entry] = &[
    bulk::ENTRY,
    burst::ENTRY,
    cbr::ENTRY,
    exec::ENTRY,
    game::ENTRY,
    onoff::ENTRY,
    poisson::ENTRY,
    request::ENTRY,
    rrul::ENTRY,
    rrul::ENTRY_BE,
    scream_bw::ENTRY,
    short::ENTRY,
    video::ENTRY,
    voip::ENTRY,
];

pub(crate) static LINES: Lines<Entry> = Lines::new("application", REGISTRY);

/// The registry's line for `name`; the error lists the names and the nearest.
pub fn entry(name: &str) -> Result<&'static Entry, GrammarError> {
    LINES.entry(name)
}

/// What a flow carries whose application is `text`, such as `cbr rate 2Mbit size 1200`.
pub fn build(text: &str) -> Result<App, GrammarError> {
    Ok(text.parse::<Spec>()?.build())
}

#[cfg(test)]
mod tests;
