//! The headers of packets in the network.

use sojourn_core::Packet;
use sojourn_transport::Body;

/// Headers of packets in the network, reused without allocation once warm.
#[derive(Default)]
pub(crate) struct Slab {
    bodies: Vec<Body>,
    /// Duplicates in the network beside the first packet with this body.
    shares: Vec<u32>,
    shared: usize,
    free: Vec<u32>,
}

impl Slab {
    /// Keeps a body; gives its id.
    #[inline(always)]
    pub(crate) fn store(&mut self, body: Body) -> u32 {
        if let Some(id) = self.free.pop() {
            self.bodies[id as usize] = body;
            return id;
        }
        self.bodies.push(body);
        self.shares.push(0);
        (self.bodies.len() - 1) as u32
    }

    /// The header of a packet as it arrives: with the flags that the path has left of it. Each
    /// copy of a duplicated packet brings its own.
    #[inline]
    pub(crate) fn arrived(&mut self, pkt: &Packet) -> &Body {
        let body = &mut self.bodies[pkt.id as usize];
        match body {
            Body::Tcp(segment) => segment.ace = pkt.ecn_flags(),
            Body::Frame(frame) => (frame.tos, frame.ace) = (pkt.tos, pkt.ace),
            _ => {}
        }
        body
    }

    /// The header of a packet on its way.
    pub(crate) fn get(&self, id: u32) -> &Body {
        &self.bodies[id as usize]
    }

    /// One more packet carries this body.
    pub(crate) fn share(&mut self, id: u32) {
        self.shares[id as usize] += 1;
        self.shared += 1;
    }

    /// One packet with this body is gone; with the last one goes the body.
    pub(crate) fn release(&mut self, id: u32) {
        let shares = &mut self.shares[id as usize];
        if *shares == 0 {
            self.free.push(id);
        } else {
            *shares -= 1;
            self.shared -= 1;
        }
    }

    /// Packets in the network.
    pub(crate) fn live(&self) -> usize {
        self.bodies.len() - self.free.len() + self.shared
    }
}

#[cfg(test)]
mod tests;
