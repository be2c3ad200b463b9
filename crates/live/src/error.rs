//! What a machine lacks for packets of its own, as the user reads it.

use std::io;

/// Why there is no device or namespace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `/dev/net/tun`, or no driver behind it.
    #[error(
        "no /dev/net/tun: expected the kernel's module tun (modprobe tun), in a container --device /dev/net/tun"
    )]
    NoTun,
    /// This user may not open `/dev/net/tun`.
    #[error(
        "/dev/net/tun: permission denied: expected a device that this user may open (0666 is usual)"
    )]
    TunForbidden,
    /// The name cannot be that of a device.
    #[error("device `{0}`: expected 1 to 15 letters, digits, `-`, `_` or `.`")]
    Name(String),
    /// Another program has the device.
    #[error("device `{0}`: in use")]
    Busy(String),
    /// This thread may not change the network that it is in.
    #[error("device `{0}`: no CAP_NET_ADMIN in this network namespace")]
    NotAdmin(String),
    /// This user may not see frames.
    #[error("device `{0}`: no CAP_NET_RAW in this network namespace; expected root, or `sudo`")]
    NotRaw(String),
    /// There is none of this name.
    #[error("device `{0}`: none of this name in this network namespace; `ip link` lists them")]
    NoDevice(String),
    /// It carries no Ethernet frames.
    #[error("device `{0}`: expected an Ethernet interface")]
    NotEthernet(String),
    /// It is switched off.
    #[error("device `{0}`: down; `ip link set dev {0} up` switches it on")]
    Down(String),
    /// Neither privilege nor a user namespace that would give it.
    #[error("no CAP_SYS_ADMIN and CAP_NET_ADMIN, and no user namespace: {0}; expected one of them")]
    NoUserNamespace(String),
    /// A process with several threads cannot enter a user namespace.
    #[error(
        "no CAP_SYS_ADMIN and CAP_NET_ADMIN, and this process has {0} threads: expected root, one thread, or a start under `unshare -Ur`"
    )]
    Threads(usize),
    /// A command failed in a namespace.
    #[error("`{line}` failed: {stderr}")]
    Command {
        /// What was run.
        line: String,
        /// What it printed on standard error.
        stderr: String,
    },
    /// Anything else that the kernel refused.
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
}

impl Error {
    /// For `map_err`: `what` did not work.
    pub(crate) fn of<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System(what, error.into())
    }
}
