//! Kernel eras: which of Linux's generations an endpoint follows. An era is nothing but a row of
//! [`Kernel`]; every cell can be changed alone. Facts: `cc.md` 0.1, 1.4 to 1.11, 2.4.

use sojourn_cc::HystartEra;
use sojourn_core::Dur;

use super::reassembly::REMEMBERED;

/// Kernels whose TCP is modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 5.1 to 5.3, the kernels of the 2019 bakeoff. Nothing that is modelled here differs from 5.4.
    E2019,
    /// 5.4, the kernel of the 2020 tests.
    #[default]
    E2020,
    /// 5.15 as released.
    E5_15,
    /// 6.6 to 6.12.
    E6,
    /// 7.0 to 7.2.
    E7,
}

/// Proportional rate reduction below ssthresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrRule {
    /// Slow-start bound after an ACK of a retransmission that found none lost, else packet
    /// conservation.
    #[default]
    Linux5,
    /// One more than conservation after an ACK that advances and finds nothing lost.
    Linux6,
    /// RFC 9937: as in 6.x, and proportional to the flight that recovery began with instead of cwnd.
    Rfc9937,
}

/// How the test whether cwnd limits remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CwndLimited {
    /// The flight's new maximum decides anew, also to "not limited".
    #[default]
    Latest,
    /// Once limited, limited for the rest of the window.
    Sticky,
}

/// What an ACE field without option means that several counts of marks would fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AceReading {
    /// The greatest count: RFC 9768 appendix A.2.
    #[default]
    Greatest,
    /// The least count if the peer's ACKs cover more than four segments on average, else the
    /// greatest.
    ByAckSize,
    /// The least count (`tcp_ecn_unsafe_cep` of the L4STeam kernels).
    Least,
}

/// One flag for each behaviour that changed between kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Clock, thresholds and rounds of CUBIC's HyStart.
    pub hystart: HystartEra,
    /// PRR below ssthresh.
    pub prr: PrrRule,
    /// Memory of the cwnd-limited test.
    pub cwnd_limited: CwndLimited,
    /// Payload that a receive buffer may hold, in 1/256 of its size: 128 is `tcp_adv_win_scale` 1;
    /// later kernels measure the share of payload in what arrives.
    pub window_share: u32,
    /// `tcp_tso_rtt_log`: bursts grow by 64 KiB, halved per this power of two of minimum RTT in
    /// microseconds; 0 is off.
    pub tso_rtt_log: u32,
    /// `tcp_comp_sack_rtt_percent`: how long a SACK may be held back.
    pub comp_sack_rtt_percent: u32,
    /// `tcp_comp_sack_slack_ns`: what the timer of held-back SACKs may be late.
    pub comp_sack_slack: Dur,
    /// SACK blocks that an ACK is sure to have room for: a held-back SACK is sent before a new block would push
    /// one out of these (`TCP_SACK_BLOCKS_EXPECTED`, 5.8; before, all that are remembered).
    pub certain_sacks: usize,
    /// Reading of ambiguous ACE fields.
    pub ace: AceReading,
    /// The last segment of each TSO packet has PSH (5.4), not only the end of a write.
    pub push_bursts: bool,
    /// A full segment with PSH is acknowledged as soon as the application has read it.
    pub ack_pushed: bool,
    /// AccECN receivers acknowledge a change of the ECN field at once (6.18).
    pub accecn_edge_acks: bool,
    /// A second segment is acknowledged by the reader, after all that arrived in the same instant.
    pub reader_acks: bool,
    /// A burst waits to grow only if the next ACK is expected within a millisecond, not whenever half an RTT
    /// has passed since the oldest segment outstanding was sent (6.18 `tcp_tso_should_defer`).
    pub tso_defer_soon: bool,
    /// A burst that reaches the end of a buffer in the write queue is completed from the next one and does
    /// not wait (6.10 `tcp_grow_skb`).
    pub tso_buffers: bool,
    /// Dynamic right-sizing takes a smaller RTT sample as it is, and its window is not 16 segments above what was
    /// read (6.16 `tcp_rcv_rtt_update`, `tcp_rcv_space_adjust`).
    pub drs_exact: bool,
    /// What was sent more than a millisecond before the latest timestamp is discarded (PAWS, RFC 7323 5;
    /// `TCP_PAWS_WINDOW`).
    pub paws: bool,
    /// Forward RTO recovery (RFC 5682, `tcp_frto`).
    pub frto: bool,
    /// Reductions that prove spurious are taken back (RFC 4015 by timestamps, RFC 3708 by D-SACK).
    pub undo: bool,
}

impl Era {
    /// The row of the table.
    pub const fn kernel(self) -> Kernel {
        let v5_4 = Kernel {
            hystart: HystartEra::Until2020,
            prr: PrrRule::Linux5,
            cwnd_limited: CwndLimited::Latest,
            window_share: 128,
            tso_rtt_log: 0,
            comp_sack_rtt_percent: 5,
            comp_sack_slack: Dur::ZERO,
            certain_sacks: REMEMBERED,
            ace: AceReading::Greatest,
            push_bursts: true,
            ack_pushed: false,
            accecn_edge_acks: false,
            reader_acks: false,
            tso_defer_soon: false,
            tso_buffers: false,
            drs_exact: false,
            paws: true,
            frto: true,
            undo: true,
        };
        let v5_15 = Kernel {
            hystart: HystartEra::Until5_15,
            comp_sack_slack: Dur::from_micros(100),
            certain_sacks: 2,
            ..v5_4
        };
        let v6 = Kernel {
            hystart: HystartEra::Newer,
            prr: PrrRule::Linux6,
            cwnd_limited: CwndLimited::Sticky,
            window_share: MEASURED_SHARE,
            tso_rtt_log: 9,
            ack_pushed: true,
            ..v5_15
        };
        match self {
            Self::E2019 => Kernel { push_bursts: false, ..v5_4 },
            Self::E2020 => v5_4,
            Self::E5_15 => v5_15,
            Self::E6 => v6,
            Self::E7 => Kernel {
                comp_sack_rtt_percent: 33,
                comp_sack_slack: Dur::from_micros(10),
                ace: AceReading::ByAckSize,
                accecn_edge_acks: true,
                reader_acks: true,
                tso_defer_soon: true,
                tso_buffers: true,
                drs_exact: true,
                ..v6
            },
        }
    }
}

/// Share of payload that 6.6 and later find in full segments of 1448 bytes, 1/256: what a 7.2 kernel
/// advertises of its buffer, 1.252 of 2.097 MB.
const MEASURED_SHARE: u32 = 153;

impl Default for Kernel {
    fn default() -> Self {
        Era::default().kernel()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_changes_only_the_flags_that_its_kernels_changed() {
        let v5_1 = Era::E2019.kernel();
        assert_eq!(Kernel { push_bursts: true, ..v5_1 }, Era::E2020.kernel());
        assert!(!v5_1.push_bursts);
        assert_eq!(Era::default().kernel(), Kernel::default());
        let [old, v5_15, v6, v7] = [Era::E2020, Era::E5_15, Era::E6, Era::E7].map(Era::kernel);
        assert_eq!((v5_15.prr, v5_15.cwnd_limited), (old.prr, old.cwnd_limited));
        assert_eq!(v5_15.window_share, 128, "the share is measured from 6.6");
        assert_eq!([old, v5_15, v6, v7].map(|k| k.ack_pushed), [false, false, true, true]);
        assert_eq!([old, v5_15, v6, v7].map(|k| k.accecn_edge_acks), [false, false, false, true]);
        assert_eq!([old, v5_15, v6, v7].map(|k| k.tso_defer_soon), [false, false, false, true]);
        assert_eq!([old, v5_15, v6, v7].map(|k| k.tso_buffers), [false, false, false, true]);
        assert_eq!([old, v5_15, v6, v7].map(|k| k.drs_exact), [false, false, false, true]);
        assert_eq!((v6.ace, v6.comp_sack_rtt_percent), (old.ace, old.comp_sack_rtt_percent));
        assert_eq!((v6.hystart, v6.prr, v6.tso_rtt_log), (v7.hystart, v7.prr, v7.tso_rtt_log));
        assert!([old, v5_15, v6, v7].iter().all(|k| k.paws && k.frto && k.undo));
    }
}
