//! What the kernel reports of a connection.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::job::{Receiving, Sending};

/// Of the end that sends the data.
pub(super) fn sending(fd: BorrowedFd<'_>) -> Result<Sending, String> {
    let info = TcpInfo::of(fd)?;
    let in_flight = i64::from(info.u32(24) + info.u32(36)) - i64::from(info.u32(28) + info.u32(32));
    Ok(Sending {
        delivery_rate: info.u64(160),
        rtt_us: info.u32(68),
        min_rtt_us: info.u32(148),
        cwnd: info.u32(80),
        ssthresh: info.u32(76),
        in_flight: in_flight.max(0) as u32,
        pacing_rate: info.u64(104),
        retransmits: info.u32(100),
        dsack_dups: info.u32(216),
        delivered_ce: info.u32(196),
        segments_sent: info.u32(156),
        timeouts: info.u32(240) & 0xffff,
        acked_bytes: info.u64(120),
    })
}

/// Of the end that receives them.
pub(super) fn receiving(fd: BorrowedFd<'_>) -> Result<Receiving, String> {
    let info = TcpInfo::of(fd)?;
    Ok(Receiving {
        rcv_wnd: info.u32(232),
        received_ce: info.u32(248),
        segments_received: info.u32(152),
        acks_sent: info.u32(136),
    })
}

/// `struct tcp_info` of the kernel's interface: it grows at its end only, so that values are found
/// by their offset, and those that this kernel does not have are zero. Offsets: unacked 24, sacked
/// 28, lost 32, retrans 36, rtt 68, ssthresh 76, cwnd 80, total_retrans 100, pacing_rate 104,
/// bytes_acked 120, segs_out 136, min_rtt 148, data_segs_in 152, data_segs_out 156, delivery_rate
/// 160, delivered_ce 196, dsack_dups 216, rcv_wnd 232, total_rto 240 (16 bits), received_ce 248.
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
