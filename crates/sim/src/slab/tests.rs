use sojourn_transport::tcp::Segment;

use super::*;

#[test]
fn each_copy_arrives_with_its_own_flags() {
    let mut slab = Slab::default();
    let id = slab.store(Body::Tcp(Segment { ace: 0b111, ..Segment::default() }));
    slab.share(id);
    let mut cleared = Packet { id, ace: 0b011, ..Packet::default() };
    cleared.set_syn(false);
    for (pkt, flags) in [(cleared, 0b011), (Packet { id, ace: 0b111, ..cleared }, 0b111)] {
        let Body::Tcp(segment) = slab.arrived(&pkt) else { panic!("TCP is kept as TCP") };
        assert_eq!(segment.ace, flags);
    }
}
