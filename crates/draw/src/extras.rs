//! What only the simulator has around a path, or what no judge can be asked about: tunnels, radio links, thinned
//! ACKs, a second bottleneck or path, media.

use crate::dice::Dice;
use crate::paths::Path;
use crate::{Kinds, Stratum, queues};

/// What is behind, or beside, the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    None,
    /// Another bottleneck, of about the same rate.
    Behind,
    /// Another path, by flow or by packet.
    Beside(&'static str),
}

/// The additions of a case; none of [`Kinds::Linux`].
pub(crate) struct Extras {
    /// In the place of the path's own.
    pub(crate) shaper: Option<String>,
    /// On the way back.
    pub(crate) reverse_element: Option<String>,
    second: Second,
    tunnel: Option<String>,
    media: Option<&'static str>,
}

impl Extras {
    pub(crate) fn draw(kinds: Kinds, stratum: Stratum, dice: &Dice) -> Self {
        let (shaper, reverse_element, tunnel, media) = (None, None, None, None);
        let mut extras = Self { shaper, reverse_element, second: Second::None, tunnel, media };
        if kinds == Kinds::Linux {
            return extras;
        }
        let mut own = dice.named("extras");
        if own.chance(0.15) {
            let shapers = [
                "wifi packets 16",
                "wifi poisson 1ms geometric 8",
                "wifi access 200us 2ms airtime 4ms",
                "grant slot 1ms",
                "grant slot 500us loss 10% harq 4ms",
                "grant slot 1ms request 4ms loss 5% um",
            ];
            extras.shaper = Some((*own.of(&shapers)).to_owned());
        }
        if own.chance(0.15) {
            let elements = ["ackthin", "ackthin every 4 careless", "ackthin hold 5ms"];
            extras.reverse_element = Some((*own.of(&elements)).to_owned());
        }
        // A schedule names the bottleneck, and a replaced queue knows no nodes.
        if own.chance(0.25) && stratum != Stratum::Steps {
            extras.second =
                *own.of(&[Second::Behind, Second::Beside("flow"), Second::Beside("packet")]);
        }
        if own.chance(0.15) {
            let ecn = *own.of(&["normal", "normal", "compat", "rfc3168"]);
            let entropy = *own.of(&["one", "inner"]);
            let overhead = *own.of(&[0, 28, 60, 80]);
            extras.tunnel = Some(format!(
                "[[tunnel]]\nname = \"vpn\"\nlinks = [\"bneck\"]\noverhead = {overhead}\necn = \"{ecn}\"\nentropy = \"{entropy}\"\n\n"
            ));
        }
        if own.chance(0.15) {
            extras.media = Some(*own.of(&["gcc", "nada", "scream"]));
        }
        extras
    }

    /// The ends of the bottleneck, where paths need them.
    pub(crate) fn nodes(&self) -> &'static str {
        if matches!(self.second, Second::Beside(_)) { "from = \"a\"\nto = \"b\"\n" } else { "" }
    }

    /// Links and tunnels after the bottleneck.
    pub(crate) fn links(&self, path: &Path, dice: &Dice) -> String {
        let mut out = self.tunnel.clone().unwrap_or_default();
        let mut own = dice.named("second");
        let rate_bps = (path.rate_bps * own.between(0.6, 1.6) / 1000.0).round() * 1000.0;
        let rtt_s = path.rtt.as_secs_f64();
        if self.second != Second::None {
            out += &format!(
                "[[link]]\nname = \"second\"\n{}rate = \"{}bit\"\nqdisc = \"{}\"\ndelay = \"{}us\"\n\n",
                self.nodes(),
                rate_bps as u64,
                queues::draw(Kinds::All, rate_bps, rtt_s, &mut own),
                (own.between(0.0, 0.5) * rtt_s * 1e6) as u64,
            );
        }
        out
    }

    /// Flows and pings with the paths that they take, where there are several.
    pub(crate) fn steer(&self, flows: &str) -> String {
        let Second::Beside(by) = self.second else { return flows.to_owned() };
        let paths = format!("path = [[\"bneck\"], [\"second\"]]\nmultipath = \"{by}\"\n");
        flows
            .replace("[[flow]]\n", &format!("[[flow]]\n{paths}"))
            .replace("[[ping]]\n", "[[ping]]\npath = [\"bneck\"]\n")
    }

    /// A call beside the flows.
    pub(crate) fn flows(&self, path: &Path) -> String {
        let Some(cc) = self.media else { return String::new() };
        let most = ((path.rate_bps / 2000.0) as u64).clamp(100, 6_000);
        let route = if self.nodes().is_empty() { "" } else { "path = [\"second\"]\n" };
        let (cc, app) = match cc {
            "gcc" => {
                let (min, init) = (most / 10, most / 2);
                (
                    format!("gcc min_rate {min}kbit init_rate {init}kbit max_rate {most}kbit"),
                    "video",
                )
            }
            "nada" => (format!("nada rmax {most}kbit rmin {}kbit", most / 10), "video"),
            _ => ("scream".to_owned(), "scream-bw"),
        };
        format!("[[flow]]\nname = \"media\"\n{route}cc = \"{cc}\"\napp = \"{app}\"\n\n")
    }
}
