//! Commands that build a network on a Linux machine, and their text.

use std::fmt::{self, Display, Formatter};
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use sojourn_queue::aqm::TXQUEUELEN;

/// A command and where it runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Command {
    /// When, in nanoseconds since the start of the run; those at 0 are done before it.
    pub at_ns: u64,
    /// The namespace that it runs in, if any.
    pub namespace: Option<String>,
    /// What it does.
    pub action: Action,
}

/// What a command does in its namespace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Action {
    /// Adds a namespace.
    AddNamespace(String),
    /// Adds a wire between devices of two namespaces.
    AddVeth([End; 2]),
    /// Adds a device whose packets a program reads and writes.
    AddTun(String),
    /// Loads the module of ifbs, where it is one.
    LoadIfb,
    /// Adds a device that queues what arrives at another one.
    AddIfb(String),
    /// Changes a device.
    SetLink(Link),
    /// Has a device send and deliver packets as they are on the wire.
    DisableOffloads(String),
    /// Has a device send each segment of TCP by itself, as it leaves the host of a slow link.
    SendSegments(String, u8),
    /// Keeps IPv6 off the devices.
    DisableIpv6,
    /// Leaves the hash of a socket's packets as it is after a timeout (`net.core.txrehash`, 5.18).
    KeepHashes,
    /// Gives a device an address.
    AddAddress(String, Ipv4Addr),
    /// Gives a device another address, which others reach through the first one.
    AddAlias(String, Ipv4Addr),
    /// Gives a neighbour on a device an address of the link layer for good, so that no ARP is sent.
    SetNeighbour(String, Ipv4Addr),
    /// Adds a route.
    AddRoute(Route),
    /// Sends everything over a device without a link layer, with this initial window, segments.
    RouteAll(String, Option<u32>),
    /// Sends what is for an address over a device without a link layer.
    RouteTo(String, Ipv4Addr),
    /// Sets a value below `net.ipv4`.
    Sysctl(String, Vec<u64>),
    /// Changes what a device does with its packets.
    Tc(Tc),
}

/// A device in a namespace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct End {
    /// The namespace.
    pub namespace: String,
    /// The device's name there.
    pub device: String,
}

/// What is set of a device.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Link {
    /// Its name.
    pub device: String,
    /// Bytes of an IP packet.
    pub mtu: Option<u32>,
    /// Whether its queues are as long as those of a card.
    pub has_queue: bool,
    /// The IP address from which that of its link layer follows.
    pub address: Option<Ipv4Addr>,
    /// Whether it is switched on.
    pub is_up: bool,
}

/// A route.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Route {
    /// Where it leads.
    pub to: Destination,
    /// The next hop.
    pub via: Ipv4Addr,
    /// The sender's address, if it is not that of the device.
    pub from: Option<Ipv4Addr>,
    /// Initial window of connections, segments.
    pub initial_window: Option<u32>,
}

/// Where a route leads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Destination {
    /// All that no other route leads to.
    Any,
    /// The addresses of a wire.
    Wire(Wire),
    /// One address.
    Host(Ipv4Addr),
}

/// The number of a wire, whose ends have the addresses 1 and 2 in 10.9.NUMBER.0/24.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Wire(pub u8);

impl Wire {
    /// The address of its first (0) or second (1) end.
    pub fn end(self, index: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 9, self.0, index + 1)
    }
}

/// The handle of a discipline, or with a minor number of one of its classes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Handle {
    /// Number of the discipline.
    pub major: u16,
    /// Number of the class; 0 is the discipline.
    pub minor: u16,
}

/// What is done to a discipline or class.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Verb {
    /// Where nothing is.
    Add,
    /// Packets and state stay.
    Change,
    /// Packets are lost.
    Replace,
}

/// The two places of a device at which filters see every packet.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, PartialOrd, Ord, Serialize)]
pub enum Hook {
    /// What arrives.
    Ingress,
    /// What leaves, before it is queued.
    Egress,
}

/// A policer in tc's syntax and its number in the namespace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Police {
    /// Its parameters.
    pub parameters: String,
    /// By which it can be replaced.
    pub index: u32,
}

/// A command of `tc`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Tc {
    /// Adds, changes or replaces a discipline.
    Qdisc {
        /// What is done.
        verb: Verb,
        /// The device.
        device: String,
        /// The class or discipline above; without one it is the root.
        parent: Option<Handle>,
        /// Its own handle.
        handle: Option<Handle>,
        /// Parameters of a size table.
        stab: Option<String>,
        /// Name and parameters.
        qdisc: String,
    },
    /// Adds or changes a class of htb.
    Class {
        /// What is done.
        verb: Verb,
        /// The device.
        device: String,
        /// The class or discipline above.
        parent: Handle,
        /// Its own handle.
        handle: Handle,
        /// Its parameters.
        parameters: String,
    },
    /// Adds a filter that sends packets to a class.
    Select {
        /// The device.
        device: String,
        /// A class of the discipline that has the filter.
        class: Handle,
        /// Its place among the filters, from 1.
        priority: usize,
        /// What it selects, such as `match ip tos 0x10 0xfc`.
        selector: String,
    },
    /// Gives a device the place where what arrives is filtered.
    AddIngress(String),
    /// Gives a device both places where packets are filtered.
    AddClsact(String),
    /// Adds a filter that rewrites the TOS byte of some packets, which go on to the next filter.
    Rewrite {
        /// The device.
        device: String,
        /// Where.
        hook: Hook,
        /// Whether the place is that of `clsact`.
        in_clsact: bool,
        /// Its place among the filters, from 1.
        priority: usize,
        /// What it selects, as flower has it: `ip_proto tcp ip_tos 0x4/0xfc`.
        selector: String,
        /// Bits of the TOS byte that it sets.
        set: u8,
        /// Bits that it changes.
        changes: u8,
    },
    /// Adds a filter for all packets.
    AddFilter {
        /// The device.
        device: String,
        /// Where.
        hook: Hook,
        /// Whether the place is that of `clsact`.
        in_clsact: bool,
        /// Policers that packets pass in this order.
        policers: Vec<Police>,
        /// The ifb that packets go to after them.
        redirect: Option<String>,
    },
    /// Puts another policer in the place of that with the same number.
    ReplacePolice(Police),
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "ip netns exec {namespace} ")?;
        }
        self.action.fmt(f)
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddNamespace(name) => write!(f, "ip netns add {name}"),
            Self::AddVeth([one, other]) => write!(
                f,
                "ip link add {} netns {} type veth peer name {} netns {}",
                one.device, one.namespace, other.device, other.namespace
            ),
            Self::AddTun(device) => write!(f, "ip tuntap add dev {device} mode tun"),
            Self::LoadIfb => f.write_str("modprobe ifb numifbs=0 2>/dev/null || true"),
            Self::AddIfb(device) => write!(f, "ip link add {device} type ifb"),
            Self::SetLink(link) => link.fmt(f),
            // Scatter-gather stays on: a segment that is copied into one buffer takes more of the
            // receiver's memory, which a card's driver would not do.
            Self::DisableOffloads(device) => {
                write!(f, "ethtool -K {device} tso off gso off gro off >/dev/null")
            }
            Self::SendSegments(device, most) => {
                write!(f, "ip link set dev {device} gso_max_segs {most}")
            }
            Self::DisableIpv6 => f.write_str(
                "sh -c 'for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e $f ] || echo 1 >$f; done'",
            ),
            // Packets keep that hash through all namespaces, and queues take it for the flow's (`skb_get_hash`); a router
            // on its own hashes headers.
            Self::KeepHashes => f.write_str(
                "sh -c 'f=/proc/sys/net/core/txrehash; [ ! -e $f ] || echo 0 >$f'",
            ),
            Self::AddAddress(device, address) => write!(f, "ip addr add {address}/24 dev {device}"),
            Self::AddAlias(device, address) => write!(f, "ip addr add {address}/32 dev {device}"),
            Self::SetNeighbour(device, address) => {
                let mac = LinkLayer(*address);
                write!(f, "ip neigh replace {address} lladdr {mac} dev {device} nud permanent")
            }
            Self::AddRoute(route) => route.fmt(f),
            Self::RouteAll(device, initial_window) => {
                write!(f, "ip route add default dev {device}")?;
                initial_window.map_or(Ok(()), |segments| write!(f, " initcwnd {segments}"))
            }
            Self::RouteTo(device, address) => write!(f, "ip route add {address}/32 dev {device}"),
            Self::Sysctl(key, values) => match &values[..] {
                [value] => write!(f, "sysctl -qw net.ipv4.{key}={value}"),
                values => {
                    let values: Vec<_> = values.iter().map(u64::to_string).collect();
                    write!(f, "sysctl -qw net.ipv4.{key}=\"{}\"", values.join(" "))
                }
            },
            Self::Tc(tc) => tc.fmt(f),
        }
    }
}

/// An address of the link layer, which follows from the IP address.
struct LinkLayer(Ipv4Addr);

impl Display for LinkLayer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [.., wire, end] = self.0.octets();
        write!(f, "02:00:00:00:{wire:02x}:{end:02x}")
    }
}

impl Display for Link {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ip link set dev {}", self.device)?;
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {mtu}")?;
        }
        if self.has_queue {
            write!(f, " txqueuelen {TXQUEUELEN}")?;
        }
        if let Some(address) = self.address {
            write!(f, " address {}", LinkLayer(address))?;
        }
        f.write_str(if self.is_up { " up" } else { "" })
    }
}

impl Display for Route {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.to {
            Destination::Any => f.write_str("ip route add default")?,
            Destination::Wire(Wire(number)) => write!(f, "ip route add 10.9.{number}.0/24")?,
            Destination::Host(address) => write!(f, "ip route add {address}/32")?,
        }
        write!(f, " via {}", self.via)?;
        if let Some(from) = self.from {
            write!(f, " src {from}")?;
        }
        match self.initial_window {
            Some(segments) => write!(f, " initcwnd {segments}"),
            None => Ok(()),
        }
    }
}

impl Display for Handle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}

impl Display for Verb {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Replace => "replace",
        })
    }
}

impl Hook {
    /// As a filter of a device names it; a plain ingress has one place only.
    fn place(self, in_clsact: bool) -> &'static str {
        match self {
            _ if !in_clsact => "parent ffff:",
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

impl Display for Hook {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.place(true))
    }
}

impl Display for Police {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "action police {} index {}", self.parameters, self.index)
    }
}

impl Display for Tc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qdisc { verb, device, parent, handle, stab, qdisc } => {
                write!(f, "tc qdisc {verb} dev {device}")?;
                match parent {
                    Some(parent) => write!(f, " parent {parent}")?,
                    None => f.write_str(" root")?,
                }
                if let Some(handle) = handle {
                    write!(f, " handle {handle}")?;
                }
                if let Some(stab) = stab {
                    write!(f, " stab {stab}")?;
                }
                write!(f, " {qdisc}")
            }
            Self::Class { verb, device, parent, handle, parameters } => write!(
                f,
                "tc class {verb} dev {device} parent {parent} classid {handle} htb {parameters}"
            ),
            Self::Select { device, class, priority, selector } => {
                let parent = Handle { minor: 0, ..*class };
                write!(
                    f,
                    "tc filter add dev {device} parent {parent} protocol ip prio {priority}"
                )?;
                write!(f, " u32 {selector} flowid {class}")
            }
            Self::AddIngress(device) => write!(f, "tc qdisc add dev {device} handle ffff: ingress"),
            Self::AddClsact(device) => write!(f, "tc qdisc add dev {device} clsact"),
            Self::Rewrite { device, hook, in_clsact, priority, selector, set, changes } => {
                let place = hook.place(*in_clsact);
                write!(f, "tc filter add dev {device} {place} protocol ip prio {priority} flower")?;
                write!(f, "{selector} action pedit ex munge ip tos set {set:#04x}")?;
                write!(f, " retain {changes:#04x} pipe action csum ip4h continue")
            }
            Self::AddFilter { device, hook, in_clsact, policers, redirect } => {
                write!(f, "tc filter add dev {device} {} matchall", hook.place(*in_clsact))?;
                policers.iter().try_for_each(|police| write!(f, " {police}"))?;
                match redirect {
                    Some(ifb) => write!(f, " action mirred egress redirect dev {ifb}"),
                    None => Ok(()),
                }
            }
            Self::ReplacePolice(police) => write!(f, "tc actions replace {police}"),
        }
    }
}
