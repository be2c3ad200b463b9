//! One TCP connection that always has data to send, as netperf's TCP_STREAM and iperf3, or as much
//! as the flow's `bytes` say.

use super::{App, Entry};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "bulk",
    summary: "One TCP connection that always has data, or as much as `bytes` say",
    reference: "netperf TCP_STREAM",
    params: &[],
    build: |args| match args.key() {
        Some(_) => Err(args.unknown()),
        None => Ok(App::Bulk),
    },
};
