//! What the kernel tells of a connection.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::job::FlowSample;

pub(super) fn sample(
    tx: BorrowedFd<'_>,
    rx: BorrowedFd<'_>,
    read: u64,
) -> Result<FlowSample, String> {
    let (tx, rx) = (TcpInfo::of(tx)?, TcpInfo::of(rx)?);
    let in_flight = i64::from(tx.u32(24) + tx.u32(36)) - i64::from(tx.u32(28) + tx.u32(32));
    Ok(FlowSample {
        goodput_bytes: read,
        rcv_wnd: rx.u32(232),
        received_ce: rx.u32(248),
        delivery_rate: tx.u64(160),
        rtt_us: tx.u32(68),
        cwnd: tx.u32(80),
        ssthresh: tx.u32(76),
        in_flight: in_flight.max(0) as u32,
        pacing_rate: tx.u64(104),
        retransmits: tx.u32(100),
        delivered_ce: tx.u32(196),
        segments_sent: tx.u32(156),
        timeouts: tx.u32(240) & 0xffff,
        acked_bytes: tx.u64(120),
        segments_received: rx.u32(152),
        acks_sent: rx.u32(136),
    })
}

/// `struct tcp_info` of the kernel's interface: it grows at its end only, so that values are found
/// by their offset, and those that this kernel does not have are zero. Offsets: retrans 36, unacked
/// 24, sacked 28, lost 32, rtt 68, ssthresh 76, cwnd 80, total_retrans 100, pacing_rate 104,
/// bytes_acked 120, segs_out 136, data_segs_in 152, data_segs_out 156, delivery_rate 160,
/// delivered_ce 196, rcv_wnd 232, total_rto 240 (16 bits), received_ce 248.
struct TcpInfo([u8; Self::SIZE]);

impl TcpInfo {
    const SIZE: usize = 320;

    #[expect(unsafe_code, reason = "no crate here knows this option")]
    fn of(fd: BorrowedFd<'_>) -> Result<Self, String> {
        let mut info = Self([0; Self::SIZE]);
        let mut len = Self::SIZE as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, the size of the array that lives longer.
        let status = unsafe {
            libc::getsockopt(
                fd.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.0.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if status == 0 {
            Ok(info)
        } else {
            Err(format!("TCP_INFO: {}", std::io::Error::last_os_error()))
        }
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }
}
