//! Giving up rights that are needed only to open devices.
//!
//! Source: capabilities(7), PR_SET_NO_NEW_PRIVS(2const).

use std::io;

pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// What [`crate::realtime`] needs to ask.
pub const REAL_TIME: CapabilitySet = CapabilitySet::SYS_NICE.union(LOCKED);
/// What all threads need from then on: all new memory is locked, and without this right only up to a limit.
pub const LOCKED: CapabilitySet = CapabilitySet::IPC_LOCK;

/// Gives up all capabilities but those that are `kept` and there, for good: of this thread, and of the threads and
/// programs that it starts from now on. Threads that run already keep theirs.
///
/// # Errors
/// The kernel refuses, which it does to nobody.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    // Without CAP_SETPCAP the bounding set stays, from which `no_new_privs` gives nothing back.
    for one in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(one);
    }
    let _ = clear_ambient_capability_set();
    let left = rustix::thread::capabilities(None)?.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() },
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
