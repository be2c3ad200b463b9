//! What runs inside the guest: sends the packets of a train, each at its instant, or notes when and
//! how they arrive. Raw sockets, so that the train chooses every byte of the IP header.
//!
//! It never polls: a loop that does not sleep would stop virtual time for ever. Computing takes no
//! virtual time, so the clock that is read after `recv` is the time of the packet's arrival.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["clock"] => tool::clock(),
        ["send", train, log, source, destination] => tool::send(train, log, source, destination),
        ["receive", log, silence_s] => tool::receive(log, silence_s.parse()?),
        ["forward", folder] => tool::forward(folder.as_ref(), 0, 1),
        ["forward", folder, first, step] => {
            tool::forward(folder.as_ref(), first.parse()?, step.parse()?)
        }
        _ => {
            Err("usage: udp-train clock | send TRAIN LOG SOURCE DESTINATION | receive LOG SILENCE \
            | forward FOLDER [FIRST STEP]"
                .into())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod tool {
    use std::error::Error;

    pub(super) fn clock() -> Result<(), Box<dyn Error>> {
        Err("udp-train needs Linux".into())
    }

    pub(super) fn send(_: &str, _: &str, _: &str, _: &str) -> Result<(), Box<dyn Error>> {
        clock()
    }

    pub(super) fn receive(_: &str, _: u64) -> Result<(), Box<dyn Error>> {
        clock()
    }

    pub(super) fn forward(_: &std::path::Path, _: usize, _: usize) -> Result<(), Box<dyn Error>> {
        clock()
    }
}

#[cfg(target_os = "linux")]
mod tool {
    use std::error::Error;
    use std::fmt::Write as _;
    use std::fs;
    use std::io::{self, Write as _};
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::num::NonZeroU64;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::Path;
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::net::sockopt::{
        Timeout, set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force,
        set_socket_timeout,
    };
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};
    use rustix::net::{recv, sendto, socket};
    use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
    use rustix::time::{ClockId, Timespec, clock_gettime};
    use sojourn_core::{Dur, Time};
    use sojourn_kernel_judge::middlebox;
    use sojourn_kernel_judge::train::Train;
    use sojourn_live::clock::Clock;
    use sojourn_live::error as live;
    use sojourn_live::namespace::Namespace;
    use sojourn_live::realtime::Measures;
    use sojourn_live::tun::{Read, Tun, Written};
    use sojourn_middlebox::{Device, Forwarder, Hosts};

    const IP_HEADER: usize = 20;
    const HEADERS: usize = IP_HEADER + 8;
    const ETHERNET_HEADER: usize = 14;
    const SECOND: u64 = 1_000_000_000;
    /// Discard: nothing answers here, and the first flow's source port.
    const PORT: u16 = 9;
    const FIRST_SOURCE_PORT: u16 = 10_000;
    /// From the start of the sender to the first instant of the train.
    const LEAD_NS: u64 = 100_000_000;

    fn now_ns() -> u64 {
        let t = clock_gettime(ClockId::Monotonic);
        t.tv_sec as u64 * SECOND + t.tv_nsec as u64
    }

    pub(super) fn clock() -> Result<(), Box<dyn Error>> {
        Ok(writeln!(std::io::stdout(), "{}", now_ns())?)
    }

    pub(super) fn send(
        train: &str,
        log: &str,
        source: &str,
        destination: &str,
    ) -> Result<(), Box<dyn Error>> {
        let train = Train::parse(&fs::read_to_string(train)?)?;
        let (source, destination): (Ipv4Addr, Ipv4Addr) = (source.parse()?, destination.parse()?);
        // Without it the kernel may be 50 us late.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW))?;
        // The sender must not wait for its own buffer while the queue under test is full.
        set_socket_send_buffer_size_force(&raw, 1 << 28)?;
        let to = SocketAddrV4::new(destination, 0);
        let (mut frame, mut sent) = ([0_u8; 1500], String::new());
        let start = now_ns() + LEAD_NS;
        for (seq, p) in train.packets.iter().enumerate() {
            let len = p.len as usize - ETHERNET_HEADER;
            frame[0] = 0x45;
            frame[1] = p.tos;
            frame[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            // The kernel would draw one in place of zero.
            frame[4..6].copy_from_slice(&(seq as u16 | 1).to_be_bytes());
            frame[8..10].copy_from_slice(&[64, 17]);
            frame[12..16].copy_from_slice(&source.octets());
            frame[16..20].copy_from_slice(&destination.octets());
            frame[20..22].copy_from_slice(&(FIRST_SOURCE_PORT + p.flow).to_be_bytes());
            frame[22..24].copy_from_slice(&PORT.to_be_bytes());
            frame[24..26].copy_from_slice(&((len - IP_HEADER) as u16).to_be_bytes());
            frame[28..32].copy_from_slice(&(seq as u32).to_be_bytes());
            let at = start + p.time_ns;
            let at = Timespec { tv_sec: (at / SECOND) as i64, tv_nsec: (at % SECOND) as i64 };
            clock_nanosleep_absolute(ClockId::Monotonic, &at)?;
            sendto(&raw, &frame[..len], SendFlags::empty(), &to)?;
            writeln!(sent, "{}", now_ns())?;
        }
        Ok(fs::write(log, sent)?)
    }

    /// Ends after `silence_s` seconds without a packet.
    pub(super) fn receive(log: &str, silence_s: u64) -> Result<(), Box<dyn Error>> {
        let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP))?;
        set_socket_recv_buffer_size_force(&raw, 1 << 28)?;
        set_socket_timeout(&raw, Timeout::Recv, Some(Duration::from_secs(silence_s)))?;
        // Somebody has to own the port, or the kernel answers with ICMP.
        let _owner = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        let (mut frame, mut got) = ([0_u8; 1500], String::new());
        loop {
            let len = match recv(&raw, &mut frame[..], RecvFlags::empty()) {
                Ok((len, _)) => len,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            if len < HEADERS + 4 {
                return Err(format!("a packet of {len} bytes, which no train has").into());
            }
            let seq = u32::from_be_bytes([frame[28], frame[29], frame[30], frame[31]]);
            writeln!(got, "{seq} {} {}", now_ns(), frame[1])?;
        }
        Ok(fs::write(log, got)?)
    }

    /// Notes what passes its device, as `middlebox::{entered, left}` write it.
    struct Noted {
        tun: Arc<Tun>,
        entered: Mutex<String>,
        left: Mutex<String>,
    }

    impl AsFd for Noted {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.tun.as_fd()
        }
    }

    impl Device for Noted {
        fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
            self.tun.read(packet)
        }

        fn send(&self, packet: &[u8]) -> io::Result<Written> {
            self.tun.write(packet)
        }

        fn entered(&self, at: Time, packet: &[u8]) {
            self.entered.lock().unwrap().push_str(&middlebox::entered(at, packet));
        }

        fn left(&self, at: Time, packet: &[u8]) {
            self.left.lock().unwrap().push_str(&middlebox::left(at, packet[1], packet));
        }
    }

    const HOSTS: [&str; 2] = ["10.9.0.1", "10.9.0.2"];

    fn host(address: &str) -> Result<(Namespace, Arc<Tun>), live::Error> {
        let space = Namespace::new()?;
        space.run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1")?;
        let tun = space.enter(|| Tun::open("uplink"))??;
        space.run(format!(
            "ip addr add {address}/24 dev uplink\nip link set dev uplink txqueuelen 1000 up"
        ))?;
        Ok((space, Arc::new(tun)))
    }

    /// Sends the trains of the jobs in `folder`, or of each that is so many after the first, through the
    /// networks of their scenarios.
    pub(super) fn forward(folder: &Path, first: usize, step: usize) -> Result<(), Box<dyn Error>> {
        let [near, far] = [host(HOSTS[0])?, host(HOSTS[1])?];
        for job in (first..).step_by(step) {
            let job = folder.join(middlebox::job(job));
            if !job.is_dir() {
                break;
            }
            let file = |name: &str| job.join(name).to_string_lossy().into_owned();
            let scenario = middlebox::scenario(&fs::read_to_string(file("qdisc"))?)?;
            let devices = [&near, &far].map(|(_, tun)| {
                let (entered, left) = (Mutex::default(), Mutex::default());
                Arc::new(Noted { tun: Arc::clone(tun), entered, left })
            });
            // Every job begins at a whole second, so that the steps of the clock fall alike.
            let next = (now_ns() / SECOND + 1) as i64;
            let next = Timespec { tv_sec: next, tv_nsec: 0 };
            clock_nanosleep_absolute(ClockId::Monotonic, &next)?;
            let text = |error: Box<dyn Error>| error.to_string();
            thread::scope(|scope| -> Result<(), Box<dyn Error>> {
                let got = scope.spawn(|| {
                    far.0.enter(|| receive(&file("got"), middlebox::SILENCE_S).map_err(text))
                });
                let sent = scope.spawn(|| {
                    let [from, to] = HOSTS;
                    near.0.enter(|| send(&file("train"), &file("sent"), from, to).map_err(text))
                });
                let [near, far] = devices.each_ref().map(|end| Arc::clone(end) as Arc<dyn Device>);
                let hosts = Hosts::pair(near, far);
                let wanted = Measures { fifo: true, exact_timers: true, ..Measures::default() };
                let forwarder = Forwarder::new(scenario, hosts, Clock::start())?;
                forwarder.spin(Dur::ZERO).run(wanted, |_| false)?;
                for thread in [got, sent] {
                    thread.join().map_err(|_| "a thread panicked")???;
                }
                Ok(())
            })?;
            fs::write(file("entered"), &*devices[0].entered.lock().unwrap())?;
            fs::write(file("left"), &*devices[1].left.lock().unwrap())?;
        }
        Ok(())
    }
}
