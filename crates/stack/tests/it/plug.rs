//! A cable in memory, which loses nothing.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use sojourn_live::device::Device;
use sojourn_live::tun::{Read, Written};

/// One direction.
struct Lane {
    packets: Mutex<VecDeque<Vec<u8>>>,
    /// Readable while there are packets.
    ready: OwnedFd,
}

/// One end.
pub(crate) struct Plug {
    incoming: Arc<Lane>,
    outgoing: Arc<Lane>,
}

/// Both ends.
pub(crate) fn cable() -> [Arc<dyn Device>; 2] {
    let lane = || {
        let ready = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
        Arc::new(Lane { packets: Mutex::default(), ready })
    };
    let (there, back) = (lane(), lane());
    let far = Plug { incoming: Arc::clone(&there), outgoing: Arc::clone(&back) };
    [Arc::new(Plug { incoming: back, outgoing: there }), Arc::new(far)]
}

impl AsFd for Plug {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.incoming.ready.as_fd()
    }
}

impl Device for Plug {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        let mut packets = self.incoming.packets.lock().unwrap();
        let Some(next) = packets.pop_front() else {
            // Whether it was readable or not, it is not any more.
            let _ = read(&self.incoming.ready, &mut [0; 8]);
            return Ok(Read::Nothing);
        };
        packet[..next.len()].copy_from_slice(&next);
        Ok(Read::Packet(next.len()))
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        let mut packets = self.outgoing.packets.lock().unwrap();
        packets.push_back(packet.to_vec());
        write(&self.outgoing.ready, &1_u64.to_ne_bytes())?;
        Ok(Written::Taken)
    }
}
