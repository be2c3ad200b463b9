//! Frames that pass an interface, seen by a listener.

use std::net::UdpSocket;
use std::time::UNIX_EPOCH;

use sojourn_core::Dur;
use sojourn_live::error::Error;
use sojourn_live::listener::Listener;
use sojourn_live::namespace::Namespace;
use sojourn_live::packet_socket::PacketSocket;
use sojourn_live::unfinished::Unfinished;

const PAIR: &str = "ip link add one type veth peer name two";
const SECOND: Dur = Dur(1_000_000_000);
/// Times that a frame is sent, a twentieth of a second after each other.
const ATTEMPTS: u32 = 400;

#[test]
fn a_datagram_over_loopback_is_heard_once_with_the_time_of_now() {
    let space = Namespace::new().expect("a namespace");
    // A new file has the kernel's time of day, of its last tick.
    let path = std::env::temp_dir().join(format!("sojourn-listening-{}", std::process::id()));
    std::fs::write(&path, "").expect("a file");
    let made = std::fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
    std::fs::remove_file(&path).expect("a file");
    let before = made.duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let mut listener = space
        .enter(|| {
            let listener = Listener::open("lo", 40).expect("an interface");
            let socket = UdpSocket::bind("127.0.0.1:5000").expect("a socket");
            socket.send_to(&[7; 100], "127.0.0.1:5000").expect("sent");
            listener
        })
        .expect("inside");
    assert!(listener.is_ethernet());
    let frame = listener.next(SECOND).unwrap().expect("a frame");
    assert_eq!((frame.original_len, frame.bytes.len()), (14 + 28 + 100, 40));
    assert_eq!(frame.bytes[12..15], [8, 0, 0x45]);
    assert!((before..before + 10 * SECOND.0).contains(&frame.time.0));
    assert!(listener.next(Dur(10_000_000)).unwrap().is_none());
    assert_eq!(listener.overflowed().unwrap(), 0);
}

#[test]
fn a_tag_that_the_kernel_takes_out_is_back_in_its_place_in_both_directions() {
    let space = Namespace::new().expect("a namespace");
    space.run(PAIR).expect("two interfaces");
    space.run("ip link set dev one up\nip link set dev two up").expect("up");
    // An EtherType for experiments (IEEE 802), behind a tag.
    let frame = [&[0xff; 6][..], &[2; 6], &[0x81, 0, 0x20, 5, 0x88, 0xb5], &[9; 60]].concat();
    for name in ["one", "two"] {
        let open = || {
            let listener = Listener::open(name, 1 << 16).expect("an interface");
            (listener, PacketSocket::open("one").expect("an interface"))
        };
        let (mut listener, sender) = space.enter(open).expect("inside");
        let is_ours = |bytes: &[u8]| bytes.get(16..18) == Some(&[0x88, 0xb5]);
        let mut heard = None;
        // Up to a second after it has a carrier an interface drops what it is given
        // (`linkwatch`): the frame is sent until it is heard.
        for _ in 0..ATTEMPTS {
            if heard.is_some() {
                break;
            }
            sender.send(Unfinished::default(), &frame).expect("sent");
            while let Some(found) = listener.next(SECOND / 20).unwrap() {
                if is_ours(found.bytes) {
                    heard = Some((found.original_len as usize, found.bytes.to_vec()));
                    break;
                }
            }
        }
        assert_eq!(heard, Some((frame.len(), frame.clone())), "{name}");
    }
}

#[test]
fn what_cannot_be_listened_to_is_refused_by_name() {
    let space = Namespace::new().expect("a namespace");
    space.run(PAIR).expect("two interfaces");
    let refused = |name: &str| space.enter(|| Listener::open(name, 0).map(drop)).expect("inside");
    assert!(matches!(refused("nowhere"), Err(Error::NoDevice(name)) if name == "nowhere"));
    assert!(matches!(refused("one"), Err(Error::Down(name)) if name == "one"));
}
